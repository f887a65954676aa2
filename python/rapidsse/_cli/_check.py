"""`rapidsse check`: what is wrong with a captured stream, in plain words."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rapidsse._cli._terminal import (
    Fault,
    Progress,
    is_terminal,
    need_output,
    open_input,
    printable,
    size_of,
    whole_number,
)

if TYPE_CHECKING:
    from rapidsse._cli._inspect import Finding, Inspection, Place

EXIT_FINDINGS = 1

_BLOCK = 256 * 1024
_PLACES = 4
_TYPES = 8

_EPILOG = """\
exit status: 0 clean, 1 there are findings, 2 bad usage or a file that cannot be read

Nothing of the stream's data is shown without --show-data; the names of event types are.
"""


def add(commands: Any) -> None:
    """Offers the command."""
    check = commands.add_parser(
        "check",
        help="say what is wrong with a captured stream, and where",
        description="Says what is wrong with a captured stream, and where: lines from 1, bytes "
        "from 0.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help="standard input if - or absent"
    )
    check.add_argument(
        "--done",
        action="append",
        default=[],
        metavar="MARKER",
        help="what completes the stream, as [DONE] or message_stop: the data or the type of its "
        "last event; a stream without it is a finding (may be given more than once)",
    )
    check.add_argument(
        "--show-data", action="store_true", help="show the beginning of the lines found"
    )
    check.add_argument(
        "--format", choices=("text", "json"), default="text", help="json for machines"
    )
    check.add_argument(
        "--max-buffer-size",
        type=whole_number(1, "number of bytes"),
        default=64 * 1024 * 1024,
        metavar="BYTES",
        help="the most that a block may take (default: 64 MiB)",
    )
    check.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the findings; returns the exit status."""
    need_output()
    seen = _inspect(options)
    name = "standard input" if options.file == "-" else options.file
    if options.format == "json":
        lines = [json.dumps(_plain(seen, name, show_data=options.show_data), indent=2)]
    else:
        lines = list(_Report(seen, name, show_data=options.show_data).lines())
    try:
        print("\n".join(lines), flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Fault(f"the output cannot be written: {error.strerror}") from None
    return EXIT_FINDINGS if seen.findings else 0


def _inspect(options: argparse.Namespace) -> Inspection:
    from rapidsse._cli._inspect import Inspector

    inspector = Inspector(done=tuple(options.done), max_buffer_size=options.max_buffer_size)
    file, ours = open_input(options.file)
    progress = Progress(size_of(file))
    try:
        while not inspector.stopped and (block := file.read(_BLOCK)):
            inspector.feed(block)
            progress.advance(len(block))
    except OSError as error:
        raise Fault(f"{options.file}: {error.strerror}") from None
    finally:
        progress.clear()
        if ours:
            file.close()
    return inspector.close()


def _plain(seen: Inspection, name: str, *, show_data: bool) -> dict[str, Any]:
    """An inspection as JSON."""

    def place(found: Place) -> dict[str, Any]:
        return {"line": found.line, "offset": found.offset}

    def shown(found: Place) -> dict[str, Any]:
        text = {"text": found.text.decode(errors="replace")} if show_data else {}
        return {**place(found), **text}

    def measured(found: tuple[int, Place] | None) -> dict[str, Any] | None:
        return None if found is None else {"bytes": found[0], **place(found[1])}

    return {
        "file": name,
        "bytes": seen.size,
        "lines": seen.lines,
        "blank_lines": seen.blank,
        "line_endings": seen.endings,
        "bom": seen.bom,
        "events": seen.events,
        "event_types": seen.types,
        "comments": seen.comments,
        "blocks_without_data": seen.no_data,
        "largest_event": measured(seen.largest),
        "longest_line": measured(seen.longest),
        "has_last_event_id": seen.last_event_id,
        "retry": seen.retry,
        "completion": (
            None if seen.marker is None else {"marker": seen.marker[0], **place(seen.marker[1])}
        ),
        "findings": [
            {
                "kind": found.kind,
                "severity": found.severity,
                "message": found.message,
                "count": found.count,
                "places": [shown(each) for each in found.places],
            }
            for found in seen.findings
        ],
    }


class _Style:
    """Colours, on a terminal that wants them (https://no-color.org), and signs it can show."""

    def __init__(self) -> None:
        self._colours = (
            is_terminal(sys.stdout)
            and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM") != "dumb"
        )
        try:
            "✓✗·".encode(sys.stdout.encoding or "ascii")
            self.signs = {"clean": "✓", "error": "✗", "warning": "!", "dot": "·"}
        except (UnicodeEncodeError, LookupError):
            self.signs = {"clean": "ok", "error": "x", "warning": "!", "dot": "-"}

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colours else text

    def bold(self, text: str) -> str:
        return self.paint(text, "1")

    def dim(self, text: str) -> str:
        return self.paint(text, "2")

    def signed(self, severity: str, text: str) -> str:
        code = {"clean": "32", "error": "31", "warning": "33"}[severity]
        return f"{self.paint(self.signs[severity], code)} {self.paint(text, f'1;{code}')}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


class _Report:
    """An inspection as text, in the terminal's width."""

    def __init__(self, seen: Inspection, name: str, *, show_data: bool) -> None:
        self._seen = seen
        self._name = name
        self._show_data = show_data
        self._style = _Style()
        self._width = max(min(shutil.get_terminal_size().columns, 100), 40)

    def lines(self) -> Iterator[str]:
        seen = self._seen
        style = self._style
        facts = [_count(seen.size, "byte"), _count(seen.lines, "line")]
        facts.append(_count(seen.events, "event"))
        summary = f" {style.signs['dot']} ".join(facts)
        title = printable(self._name, self._width)
        if len(title) + 2 + len(summary) <= self._width:
            yield f"{style.bold(title)}  {summary}"
        else:
            yield style.bold(title)
            yield from textwrap.wrap(summary, self._width)
        yield ""
        for name, fact in self._facts():
            first, *rest = textwrap.wrap(fact, self._width - 17) or [""]
            yield f"  {style.dim(f'{name:<13}')}  {first}"
            yield from (" " * 17 + line for line in rest)
        yield ""
        for found in seen.findings:
            yield from self._finding(found)
            yield ""
        yield self._verdict()

    def _facts(self) -> Iterator[tuple[str, str]]:
        seen = self._seen
        if seen.types:
            yield "event types", self._types()
        yield "comments", f"{seen.comments:,}"
        if seen.no_data:
            yield "without data", _count(seen.no_data, "block")
        endings = [f"{count:,} {name}" for name, count in seen.endings.items() if count]
        yield "line endings", ", ".join(endings) or "none"
        if seen.bom:
            yield "BOM", "at the start, as the standard allows"
        if seen.largest is not None:
            yield "largest event", self._measured(seen.largest)
        if seen.longest is not None:
            yield "longest line", self._measured(seen.longest)
        if seen.last_event_id or seen.retry is not None:
            retry = "" if seen.retry is None else f"retry after {seen.retry:,} ms"
            resume = "has a last event ID" if seen.last_event_id else "no last event ID"
            yield "reconnection", ", ".join(filter(None, (resume, retry)))
        if seen.marker is not None:
            marker, place = seen.marker
            yield "completion", f"{printable(marker, 40)} at {_place(place)}"
        elif seen.events:
            yield "completion", "no marker seen"

    def _types(self) -> str:
        types = sorted(self._seen.types.items(), key=lambda each: (-each[1], each[0]))
        shown = [f"{printable(name, 40) or '(others)'} {count:,}" for name, count in types[:_TYPES]]
        if len(types) > _TYPES:
            rest = types[_TYPES:]
            shown.append(f"{len(rest):,} more types {sum(count for _, count in rest):,}")
        return ", ".join(shown)

    def _measured(self, found: tuple[int, Place]) -> str:
        return f"{_count(found[0], 'byte')} at {_place(found[1])}"

    def _finding(self, found: Finding) -> Iterator[str]:
        style = self._style
        where = "" if found.count == 1 else f"{found.count:,} times"
        if not self._show_data:
            places = [_place(each) for each in found.places[:_PLACES]]
            if found.count > _PLACES:
                places.append("...")
            where += f"{': ' if where else ''}{'; '.join(places)}"
        # The first line has the sign and the kind before it.
        used = len(f"{style.signs[found.severity]} {found.kind}  ")
        first, *rest = textwrap.wrap("x" * used + where, self._width, subsequent_indent="    ")
        yield f"{style.signed(found.severity, found.kind)}  {style.dim(first[used:])}".rstrip()
        yield from map(style.dim, rest)
        yield from textwrap.wrap(
            found.message, self._width, initial_indent="    ", subsequent_indent="    "
        )
        if self._show_data:
            for place in found.places[:_PLACES]:
                yield f"    {style.dim(_place(place))}"
                text = printable(place.text.decode(errors="replace"), self._width - 8)
                yield f"      {style.dim('|')} {text}"
            if found.count > _PLACES:
                yield style.dim(f"    and {found.count - _PLACES:,} more")

    def _verdict(self) -> str:
        findings = self._seen.findings
        if not findings:
            return self._style.signed("clean", "clean")
        errors = sum(found.severity == "error" for found in findings)
        counts = [
            _count(number, name)
            for number, name in ((errors, "error"), (len(findings) - errors, "warning"))
            if number
        ]
        severity = "error" if errors else "warning"
        return self._style.signed(severity, ", ".join(counts))


def _place(place: Place) -> str:
    return f"line {place.line:,}, byte {place.offset:,}"
