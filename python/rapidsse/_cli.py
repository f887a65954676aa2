"""The command `rapidsse`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import rapidsse

EXIT_OVERFLOW = 1
EXIT_USAGE = 2
EXIT_TRUNCATED = 3

_EPILOG = """\
exit status: 0 the stream ended between events, 1 --max-buffer-size was exceeded, 2 bad usage or
a file that cannot be read or written, 3 the stream ended inside a block
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = _arguments(arguments)
    try:
        return _parse(options)
    except _Fault as fault:
        _complain(str(fault))
        return EXIT_USAGE
    except BrokenPipeError:
        # Whoever read the output has left. Nothing is to be told, at exit neither.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="rapidsse", description="Tools for Server-Sent Events.")
    parser.add_argument("--version", action="version", version=rapidsse.__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    parse = commands.add_parser(
        "parse",
        help="print a stream's events as JSON, one a line, each as soon as it is complete",
        description="Prints a stream's events as JSON objects, one a line, each as soon as it is "
        "complete.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help="standard input if - or absent"
    )
    parse.add_argument("--comments", action="store_true", help="print comments too")
    parse.add_argument(
        "--diagnostics", action="store_true", help="print what the standard ignores silently"
    )
    parse.add_argument(
        "--json-data", action="store_true", help="print data that is JSON as JSON, not as a string"
    )
    parse.add_argument(
        "--max-buffer-size",
        type=_limit,
        default=64 * 1024 * 1024,
        metavar="BYTES",
        help="the most that may be retained of a block (default: 64 MiB)",
    )
    return parser.parse_args(arguments)


def _limit(value: str) -> int:
    limit = int(value)
    if limit < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return limit


_limit.__name__ = "number of bytes"


def _complain(message: str) -> None:
    print(f"rapidsse: {message}", file=sys.stderr)


def _parse(options: argparse.Namespace) -> int:
    # The standard streams are None where the caller has closed them.
    if sys.stdout is None:
        raise _Fault("there is no standard output")
    if options.file == "-":
        if sys.stdin is None:
            raise _Fault("there is no standard input")
        return _print_items(sys.stdin.buffer, options)
    try:
        # Unbuffered: a block is read as soon as it is there.
        file = open(options.file, "rb", buffering=0)  # noqa: SIM115
    except OSError as error:
        _complain(f"{options.file}: {error.strerror}")
        return EXIT_USAGE
    with file:
        return _print_items(file, options)


def _print_items(file: BinaryIO | Any, options: argparse.Namespace) -> int:
    iterator = rapidsse.iter_events(
        file,
        comments=options.comments,
        diagnostics=options.diagnostics,
        max_buffer_size=options.max_buffer_size,
    )
    try:
        for item in _until_unreadable(iterator, options.file):
            _print_line(_line(item, json_data=options.json_data))
    except rapidsse.BufferSizeExceeded as error:
        _complain(str(error))
        return EXIT_OVERFLOW
    if iterator.truncated:
        _complain("the stream ended inside a block, which the standard discards")
        return EXIT_TRUNCATED
    return 0


class _Fault(Exception):
    """A file that cannot be read, or an output that cannot be written."""


def _until_unreadable(items: Iterator[Any], name: str) -> Iterator[Any]:
    while True:
        try:
            item = next(items)
        except StopIteration:
            return
        except OSError as error:
            raise _Fault(f"{name}: {error.strerror}") from None
        yield item


def _print_line(line: str) -> None:
    try:
        print(line, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _Fault(f"the output cannot be written: {error.strerror}") from None


def _line(item: Any, *, json_data: bool) -> str:
    """An item as JSON: ASCII, so that no locale can spoil it, and no NaN or Infinity."""
    try:
        return json.dumps(_plain(item, json_data=json_data), allow_nan=False)
    except ValueError:
        return json.dumps(_plain(item, json_data=False))


def _refuse(constant: str) -> None:
    """NaN and the infinities are no JSON."""
    raise ValueError(constant)


def _plain(item: Any, *, json_data: bool) -> dict[str, Any]:
    if isinstance(item, rapidsse.Comment):
        return {"comment": item.text}
    if isinstance(item, rapidsse.Diagnostic):
        return {
            "diagnostic": item.kind,
            "line": item.line,
            "offset": item.offset,
            "detail": item.detail,
        }
    data: Any = item.data
    if json_data:
        try:
            data = json.loads(item.data, parse_constant=_refuse)
        except (ValueError, RecursionError):
            data = item.data
    return {"event": item.event, "data": data, "id": item.id, "retry": item.retry}
