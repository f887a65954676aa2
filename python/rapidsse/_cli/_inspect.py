"""What `rapidsse check` sees in a captured stream.

The parser is the judge: it is fed line by line, so that each of its items and diagnostics belongs
to a line whose number and offset are known. Beside it runs a light scan for what the standard does
not see: line endings, frames that were fused or doubled, text that other readers would cut.

One pass, linear in the bytes. What is kept is bounded: the parser's block, a piece of a line, and
for each kind of finding a count with the first few places.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import rapidsse
from rapidsse._cli._hints import (
    BOM,
    FIELDS,
    MARKERS,
    Severity,
    is_fused,
    is_several,
    looks_like_json,
    not_json,
    unknown_line,
)

_NAMES = frozenset(name.encode() for name in FIELDS)

# A longer line is looked at in pieces: its beginning tells what it is.
_PIECE = 64 * 1024
# How much of a line is kept to be shown.
_SHOWN = 200
_PLACES = 20
_KINDS = 200
_TYPES = 1000

# What str.splitlines() takes for line breaks and the standard does not.
_CUTTERS = {
    b"\xe2\x80\xa8": "U+2028",
    b"\xe2\x80\xa9": "U+2029",
    b"\xc2\x85": "U+0085",
    b"\x0b": "U+000B",
    b"\x0c": "U+000C",
    b"\x1c": "U+001C",
    b"\x1d": "U+001D",
    b"\x1e": "U+001E",
}
_ENDINGS = {b"\n": "LF", b"\r\n": "CRLF", b"\r": "CR"}

_DOUBLED = re.compile(rb" ?(?:data|event|id|retry):")


class Place(NamedTuple):
    """Where something was found.

    Attributes:
        line (int): the line, from 1; a CRLF counts once.
        offset (int): the byte, from 0, the BOM included.
        text (bytes): the beginning of the line.
    """

    line: int
    offset: int
    text: bytes


@dataclass
class Finding:
    """Something that loses data ("error") or may ("warning").

    Attributes:
        kind (str): what it is, in a word; stable.
        severity (str): "error" or "warning".
        message (str): what it means, in plain words and without payload.
        count (int): how often.
        places (list[Place]): the first places.
    """

    kind: str
    severity: Severity
    message: str
    count: int = 0
    places: list[Place] = field(default_factory=list)

    def add(self, place: Place) -> None:
        self.count += 1
        if len(self.places) < _PLACES:
            self.places.append(place)


@dataclass
class _Texts:
    """Of the events of one type: how many are JSON, and what is wrong with the others."""

    json: int = 0
    others: dict[str, Finding] = field(default_factory=dict)


@dataclass
class Inspection:
    """A captured stream, as far as it was read.

    Attributes:
        size (int): in bytes.
        lines (int): the lines, a last one without its ending included.
        blank (int): the blank lines.
        endings (dict[str, int]): how many lines end with "LF", "CRLF" or "CR".
        bom (bool): whether it begins with a BOM.
        events (int): the events.
        types (dict[str, int]): the events of each type.
        comments (int): the comments.
        no_data (int): the blocks with a field and no data.
        largest (tuple[int, Place] | None): the block of the largest event, in bytes.
        longest (tuple[int, Place] | None): the longest line, in bytes.
        last_event_id (bool): whether there is a last event ID to resume from.
        retry (int | None): the last reconnection time, in milliseconds.
        marker (tuple[str, Place] | None): the completion marker that was seen last.
        findings (list[Finding]): errors first.
    """

    size: int = 0
    lines: int = 0
    blank: int = 0
    endings: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_ENDINGS.values(), 0))
    bom: bool = False
    events: int = 0
    types: dict[str, int] = field(default_factory=dict)
    comments: int = 0
    no_data: int = 0
    largest: tuple[int, Place] | None = None
    longest: tuple[int, Place] | None = None
    last_event_id: bool = False
    retry: int | None = None
    marker: tuple[str, Place] | None = None
    findings: list[Finding] = field(default_factory=list)


class Inspector:
    """Reads a captured stream block by block.

    `done` is what completes it: the data or the type of its last event; empty to look for the
    common ones and miss none.
    """

    def __init__(self, *, done: tuple[str, ...] = (), max_buffer_size: int) -> None:
        self.seen = Inspection()
        self._done = done
        self._markers = done or MARKERS
        self._parser = rapidsse.Parser(
            comments=True, diagnostics=True, max_buffer_size=max_buffer_size
        )
        self._findings: dict[tuple[str, str], Finding] = {}
        self._rest = b""
        self._texts: dict[str, _Texts] = {}
        self._known = 0  # lines with one of the four fields
        self._json_lines = 0
        self._ending = ""
        self._first: Place | None = None
        self._first_is_json = False
        self._other_ending: Place | None = None
        self._before = ""  # the data of the event before, where it was no JSON
        self._stopped = False
        # The line that is read.
        self._line = Place(1, 0, b"")
        self._length = 0
        self._longest = 0
        self._cutters: set[str] = set()
        # The block that is read.
        self._block: Place | None = None
        self._data: Place | None = None
        self._typed = False
        self._stray = False

    @property
    def stopped(self) -> bool:
        """Whether the parser gave up: a block is too large."""
        return self._stopped

    def feed(self, block: bytes) -> None:
        """Looks at the next bytes."""
        if not self.seen.size:
            self.seen.bom = block.startswith(BOM)
        self.seen.size += len(block)
        text = self._rest + block
        cutters = {name for sequence, name in _CUTTERS.items() if sequence in text}
        lines = text.splitlines(keepends=True)
        self._rest = b""
        # What may go on in the next block waits: a line, a CR that may begin a CRLF.
        if lines and not lines[-1].endswith(b"\n"):
            self._rest = lines.pop()
            if len(self._rest) > _PIECE and not self._rest.endswith(b"\r"):
                cut = _character_start(self._rest)
                lines.append(self._rest[:cut])
                self._rest = self._rest[cut:]
        for line in lines:
            if self._stopped:
                return
            self._piece(line, cutters)

    def close(self) -> Inspection:
        """The end of the stream."""
        if self._rest and not self._stopped:
            rest, self._rest = self._rest, b""
            self._piece(rest, {name for each, name in _CUTTERS.items() if each in rest})
        if self._length and not self._stopped:
            self.seen.lines += 1
            self._measure()
        if not self._stopped:
            self._end()
        self._sum_up()
        return self.seen

    # Lines

    def _piece(self, line: bytes, cutters: set[str]) -> None:
        """A line, or a piece of a long one: whatever has no ending goes on."""
        body = line.rstrip(b"\r\n")
        if body:
            if not self._length:
                self._line = Place(self._line.line, self._line.offset, body[:_SHOWN])
                self._begin(body)
            if cutters and self._line.text.startswith(b"data"):
                self._cutters |= {name for each, name in _CUTTERS.items() if each in body}
            self._length += len(body)
        try:
            items = self._parser.feed(line)
        except rapidsse.BufferSizeExceeded as error:
            self._stopped = True
            self._find(
                "too-large",
                "error",
                f"the block takes more than {error.limit:,} bytes (--max-buffer-size): no reader "
                "with this bound gets past it, and nothing after it was checked",
                self._block or self._line,
            )
            return
        for item in items:
            self._item(item, body)
        if len(line) != len(body):
            self._end_line(line[len(body) :])

    def _begin(self, body: bytes) -> None:
        """The beginning of a line that is not blank."""
        start = body[:_SHOWN]
        content = start.removeprefix(BOM) if self._line.offset == 0 else start
        if self._first is None:
            self._first = self._line
            self._first_is_json = content[:1] in b"{[" and not_json(body) is None
        if content.startswith(b":"):
            return
        self._json_lines += content[:1] in b"{["
        if self._block is None:
            self._block = self._line
        name, _, value = content.partition(b":")
        self._known += name in _NAMES
        if name == b"data":
            self._data = self._data or self._line
            if _DOUBLED.match(value):
                self._find(
                    "doubled-field",
                    "error",
                    'the value of "data:" begins with another field\'s name: a frame was wrapped '
                    "in a frame",
                    self._line,
                )
        elif name == b"event":
            self._typed = True

    def _end_line(self, ending: bytes) -> None:
        seen = self.seen
        seen.lines += 1
        name = _ENDINGS[ending]
        seen.endings[name] += 1
        self._ending = self._ending or name
        if name != self._ending and self._other_ending is None:
            self._other_ending = self._line
        if not self._length:
            seen.blank += 1
            self._block = self._data = None
            self._typed = self._stray = False
        elif self._length > self._longest:
            self._measure()
        if self._cutters:
            self._cut_elsewhere()
        next_offset = self._line.offset + self._length + len(ending)
        self._line = Place(self._line.line + 1, next_offset, b"")
        self._length = 0

    def _measure(self) -> None:
        if self._length > self._longest:
            self._longest = self._length
            self.seen.longest = (self._length, self._line)

    def _cut_elsewhere(self) -> None:
        for name in sorted(self._cutters):
            self._find(
                "line-separator",
                "warning",
                f"the data has {name}, which ends no line here, but readers that use "
                "str.splitlines() or text mode cut the event there",
                self._line,
            )
        self._cutters = set()

    # Items

    def _item(self, item: Any, body: bytes) -> None:
        if isinstance(item, rapidsse.ServerSentEvent):
            self._event(item)
        elif isinstance(item, rapidsse.Comment):
            self.seen.comments += 1
        else:
            self._diagnostic(item, body)

    def _diagnostic(self, item: rapidsse.Diagnostic, body: bytes) -> None:
        if item.kind == "invalid-utf-8":
            self._invalid_utf_8(body)
        elif item.kind == "unknown-field":
            self._stray = True
            severity, message = unknown_line(self._line.text, item.detail)
            self._find("unknown-field", severity, message, self._line)
        elif item.kind == "no-data":
            self.seen.no_data += 1
            # One with an ID or a reconnection time alone has done its work.
            if self._typed:
                self._find(
                    "no-data",
                    "error",
                    "the block has an event type and no data field: it makes no event",
                    self._block or self._line,
                )
        elif item.kind == "invalid-retry":
            message = 'the value of "retry:" is not ASCII digits alone: it is ignored'
            self._find("invalid-retry", "warning", message, self._line)
        else:
            message = 'the value of "id:" has U+0000: it is ignored'
            self._find("invalid-id", "warning", message, self._line)

    def _invalid_utf_8(self, body: bytes) -> None:
        place = self._line
        if len(body) == self._length:
            try:
                body.decode()
            except UnicodeDecodeError as error:
                place = Place(place.line, place.offset + error.start, place.text)
        message = "bytes that are not UTF-8 become U+FFFD"
        self._find("invalid-utf-8", "error", message, place)

    def _event(self, event: rapidsse.ServerSentEvent) -> None:
        seen = self.seen
        seen.events += 1
        block = self._block or self._line
        size = self._line.offset - block.offset
        if seen.largest is None or size > seen.largest[0]:
            seen.largest = (size, block)
        kind = event.event if event.event in seen.types or len(seen.types) < _TYPES else ""
        seen.types[kind] = seen.types.get(kind, 0) + 1
        if seen.marker is not None and self._done:
            message = "an event comes after the completion marker: who stops there misses it"
            self._find("after-completion", "warning", message, block)
        if event.data in self._markers or event.event in self._markers:
            marker = event.data if event.data in self._markers else event.event
            seen.marker = (marker, block)
        self._text(event.data, kind, self._data or block)

    def _text(self, data: str, kind: str, place: Place) -> None:
        """Is it JSON, and if not, why?"""
        before, self._before = self._before, ""
        if data in self._markers or data in MARKERS:
            return
        texts = self._texts.setdefault(kind, _Texts())
        fault = not_json(data)
        if fault is None:
            texts.json += data[:1] in ("{", "[")
            return
        if is_fused(data):
            self._find(
                "fused-frames",
                "error",
                "a field begins in the middle of the line: two frames were fused, the line "
                "ending between them is lost",
                place,
            )
            return
        if data.rstrip().endswith("\\n\\n"):
            self._find(
                "escaped-newline",
                "error",
                "the data ends with a backslash and an n: line endings were escaped once too often",
                place,
            )
            return
        if is_several(data):
            self._find(
                "missing-blank-line",
                "error",
                "each of the event's data lines is JSON of its own: the blank line between "
                "events is missing",
                place,
            )
            return
        self._before = data
        if self._stray:
            fault = "its block has lines without a field; text of several lines needs data: in each"
        elif before and not_json(f"{before}\n{data}") is None:
            fault = "with the event before it, it is: a blank line came in its middle"
        elif not looks_like_json(data):
            # Text may be what is meant: that is judged by its neighbours.
            message = f"the data is not JSON where its neighbours' is: {fault}"
            texts.others.setdefault(fault, Finding("not-json", "error", message)).add(place)
            return
        self._find("not-json", "error", f"the data is not JSON: {fault}", place)

    # The end

    def _end(self) -> None:
        seen = self.seen
        self._parser.close()
        seen.last_event_id = bool(self._parser.last_event_id)
        seen.retry = self._parser.retry
        if self._parser.truncated and not self._is_no_stream():
            message = "the stream ends inside a block: the standard discards it"
            self._find("unfinished-block", "error", message, self._block or self._line)
        for texts in self._texts.values():
            if texts.json >= sum(each.count for each in texts.others.values()):
                for found in texts.others.values():
                    self._merge(found)
        if self._done and seen.marker is None:
            message = "no completion marker (--done) was seen: the stream may be cut off"
            self._find("not-complete", "error", message, self._line)

    def _is_no_stream(self) -> bool:
        """No line of it is a field."""
        return self._known == 0

    def _sum_up(self) -> None:
        seen = self.seen
        if self._is_no_stream() and not self._stopped:
            for key in [each for each in self._findings if each[0] == "unknown-field"]:
                del self._findings[key]
            self._find("no-stream", "error", self._what_else(), self._first or self._line)
        if self._other_ending is not None:
            counts = " and ".join(name for name, count in seen.endings.items() if count)
            self._find(
                "mixed-endings",
                "warning",
                f"lines end with {counts}: allowed, but two writers are at work; this is where "
                "the endings change",
                self._other_ending,
            )
        rank = {"error": 0, "warning": 1}
        seen.findings = sorted(self._findings.values(), key=lambda each: rank[each.severity])

    def _what_else(self) -> str:
        """What a capture is that is no stream."""
        seen = self.seen
        if self._first is None:
            return "there are no events: nothing but blank lines" if seen.size else "it is empty"
        start = self._first.text.removeprefix(BOM).lstrip()
        if start.startswith(b"\x1f\x8b"):
            return "this is no event stream but gzip: decode it first"
        if start.startswith(b"HTTP/"):
            return "this begins with the HTTP response's head (curl -i): capture the body alone"
        if start.startswith(b"<"):
            return "this is no event stream but HTML or XML, such as an error page"
        if start[:1] in (b"{", b"["):
            if self._first_is_json and self._json_lines > 1:
                return "this is no event stream but NDJSON: JSON texts, one a line, no fields"
            return "this is no event stream but JSON, such as an error's body"
        if start.startswith(b":"):
            return "there are no events: nothing but comments"
        if b"\x00" in start:
            return "this is no event stream in UTF-8: it has NUL bytes, as UTF-16 does"
        return "this is no event stream: no line begins with a field's name"

    def _find(self, kind: str, severity: Severity, message: str, place: Place) -> None:
        key = (kind, message)
        if key not in self._findings and len(self._findings) >= _KINDS:
            key = (kind, "others of this kind")
        self._findings.setdefault(key, Finding(kind, severity, key[1])).add(place)

    def _merge(self, found: Finding) -> None:
        ours = self._findings.setdefault(
            (found.kind, found.message), Finding(found.kind, found.severity, found.message)
        )
        ours.count += found.count
        ours.places = sorted(ours.places + found.places, key=lambda each: each.offset)[:_PLACES]


def _character_start(text: bytes) -> int:
    """Where the last character of a text begins, so that no cut falls inside one."""
    start = len(text) - 1
    while start > len(text) - 4 and text[start] & 0xC0 == 0x80:
        start -= 1
    return start
