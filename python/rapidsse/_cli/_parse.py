"""`rapidsse parse`: a stream's events as JSON, one a line."""

from __future__ import annotations

import argparse
import json
import stat
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

import rapidsse
from rapidsse._cli._terminal import (
    Fault,
    Progress,
    complain,
    is_terminal,
    mode_of,
    need_output,
    open_input,
    size_of,
    whole_number,
)

EXIT_OVERFLOW = 1
EXIT_TRUNCATED = 3

_BLOCK = 64 * 1024

_EPILOG = """\
exit status: 0 the stream ended between events, 1 --max-buffer-size was exceeded, 2 bad usage or
a file that cannot be read or written, 3 the stream ended inside a block
"""


def add(commands: Any) -> None:
    """Offers the command."""
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
        type=whole_number(1, "number of bytes"),
        default=64 * 1024 * 1024,
        metavar="BYTES",
        help="the most that may be retained of a block (default: 64 MiB)",
    )
    parse.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the events of the file; returns the exit status."""
    need_output()
    # Unbuffered: a block is read as soon as it is there.
    file, ours = open_input(options.file, buffering=0)
    try:
        return _print_items(file, options)
    finally:
        if ours:
            file.close()


def _progress(file: Any) -> Progress:
    """For a file whose events go into a file: in a terminal they would be written over, and what
    reads them from a pipe may well write to it too."""
    size = size_of(file)
    output = mode_of(sys.stdout)
    to_file = stat.S_ISREG(output) or (stat.S_ISCHR(output) and not is_terminal(sys.stdout))
    return Progress(size, wanted=size is not None and to_file)


def _blocks(file: Any, progress: Progress) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        progress.advance(len(block))
        yield block


def _print_items(file: BinaryIO | Any, options: argparse.Namespace) -> int:
    progress = _progress(file)
    iterator = rapidsse.iter_events(
        _blocks(file, progress) if progress.wanted else file,
        comments=options.comments,
        diagnostics=options.diagnostics,
        max_buffer_size=options.max_buffer_size,
    )
    try:
        for item in _until_unreadable(iterator, options.file):
            _print_line(_line(item, json_data=options.json_data))
    except rapidsse.BufferSizeExceeded as error:
        progress.clear()
        complain(str(error))
        return EXIT_OVERFLOW
    finally:
        progress.clear()
    if iterator.truncated:
        complain("the stream ended inside a block, which the standard discards")
        return EXIT_TRUNCATED
    return 0


def _until_unreadable(items: Iterator[Any], name: str) -> Iterator[Any]:
    while True:
        try:
            item = next(items)
        except StopIteration:
            return
        except OSError as error:
            raise Fault(f"{name}: {error.strerror}") from None
        yield item


def _print_line(line: str) -> None:
    try:
        print(line, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Fault(f"the output cannot be written: {error.strerror}") from None


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
