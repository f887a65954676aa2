"""What every command does with files, terminals and faults."""

from __future__ import annotations

import argparse
import os
import stat
import sys
import time
from typing import Any, BinaryIO

EXIT_USAGE = 2

# Work that is done sooner shows no progress; a person sees no more than this many steps a second.
_PATIENCE = 0.5  # seconds
_STEP = 0.1  # seconds


class Fault(Exception):
    """A file that cannot be read, an output that cannot be written, a library that is missing."""


def complain(message: str) -> None:
    """One line on standard error."""
    print(f"rapidsse: {message}", file=sys.stderr)


def whole_number(least: int, name: str) -> Any:
    """An argparse type: an int that is at least `least`."""

    def number(value: str) -> int:
        found = int(value)
        if found < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}")
        return found

    number.__name__ = name
    return number


def open_input(name: str, *, buffering: int = -1) -> tuple[BinaryIO | Any, bool]:
    """A file, or standard input for "-"; and whether it is the caller's to close.

    Raises:
        Fault: it cannot be opened.
    """
    # The standard streams are None where the caller has closed them.
    if name == "-":
        if sys.stdin is None:
            raise Fault("there is no standard input")
        return sys.stdin.buffer, False
    try:
        return open(name, "rb", buffering=buffering), True
    except OSError as error:
        raise Fault(f"{name}: {error.strerror}") from None


def need_output() -> None:
    """Raises Fault where there is no standard output."""
    if sys.stdout is None:
        raise Fault("there is no standard output")


def is_terminal(stream: Any) -> bool:
    return stream is not None and bool(stream.isatty())


def mode_of(file: Any) -> int:
    """The mode of an open file, as in `os.stat_result.st_mode`; 0 where it has none."""
    try:
        return os.fstat(file.fileno()).st_mode
    except (OSError, ValueError):
        return 0


def size_of(file: Any) -> int | None:
    """The size in bytes of a regular file, None of anything else."""
    return os.fstat(file.fileno()).st_size if stat.S_ISREG(mode_of(file)) else None


def printable(text: str, longest: int) -> str:
    """Text that cannot steer a terminal, shortened to `longest` characters."""
    shown = "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in text[: longest + 1]
    )
    return shown if len(shown) <= longest else shown[: max(longest - 3, 0)] + "..."


class Progress:
    """How far the work is, on standard error while that is a terminal; nothing anywhere else."""

    def __init__(self, size: int | None, *, wanted: bool = True) -> None:
        self._wanted = wanted and is_terminal(sys.stderr)
        self._size = size
        self._done = 0
        self._next = time.monotonic() + _PATIENCE
        self._shown = False

    @property
    def wanted(self) -> bool:
        return self._wanted

    def advance(self, count: int) -> None:
        """`count` more bytes are done."""
        self._done += count
        if not self._wanted:
            return
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _STEP
        self._shown = True
        print(f"\r{self._text()}\x1b[K", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Takes the progress off the screen."""
        if self._shown:
            self._shown = False
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _text(self) -> str:
        done = f"{self._done / 1e6:,.1f}"
        if not self._size:
            return f"{done} MB"
        share = min(self._done / self._size, 1)
        bar = "#" * round(share * 30)
        return f"[{bar:<30}] {share:4.0%}  {done} of {self._size / 1e6:,.1f} MB"
