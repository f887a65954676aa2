"""The judge: the standard and the contract, read off a whole stream, slowly and obviously.

Nothing here is incremental. What a stream means is worked out from all of its bytes at once; what
a parser must have said after some of them is the meaning of that prefix; and the guard's verdict
is found by counting every prefix.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

BOM = b"\xef\xbb\xbf"
MAX_RETRY = 2**63 - 1


class Event(NamedTuple):
    event: str
    data: str
    id: str
    retry: int | None
    raw: bytes | None


class Comment(NamedTuple):
    text: str


class Diagnostic(NamedTuple):
    kind: str
    line: int
    offset: int
    detail: str


Item = Event | Comment | Diagnostic


@dataclass(frozen=True)
class Options:
    last_event_id: str = ""
    max_buffer_size: int | None = None
    comments: bool = False
    diagnostics: bool = False
    raw: bool = False
    types: Collection[str] | None = None
    contains: Collection[bytes] | None = None


@dataclass
class Verdict:
    """What a stream comes to."""

    items: list[tuple[int, Item]]
    """Each item with the number of bytes after which it is complete."""
    last_event_id: str
    retry: int | None
    skipped: int
    buffered: int
    unfinished: Event | None
    truncated: bool
    overflow: int | None = None
    """The number of bytes after which the guard's limit is exceeded."""

    def told(self, start: int, stop: int) -> list[Item]:
        """The items that the bytes from `start` to `stop` complete."""
        return [item for end, item in self.items if start < end <= stop]


class Line(NamedTuple):
    number: int
    start: int
    content: bytes
    ending: bytes  # empty: the line is unfinished

    @property
    def complete_at(self) -> int:
        """A CR completes a line at once."""
        return self.start + len(self.content) + 1

    @property
    def next(self) -> int:
        return self.start + len(self.content) + len(self.ending)


@dataclass
class Block:
    start: int
    data: list[bytes] = field(default_factory=list)
    event: bytes = b""
    id: bytes | None = None
    retry: int | None = None
    has_known_field: bool = False
    has_line: bool = False  # one that is no comment


def judge(stream: bytes, options: Options = Options()) -> Verdict:
    """The verdict on a stream, the guard's included."""
    limit = options.max_buffer_size
    if limit is not None:
        for length in range(1, len(stream) + 1):
            if meaning(stream[:length], options).buffered > limit:
                verdict = meaning(stream[:length], options)
                verdict.overflow = length
                verdict.buffered = 0
                verdict.unfinished = None
                verdict.truncated = False
                return verdict
    return meaning(stream, options)


def meaning(stream: bytes, options: Options = Options()) -> Verdict:
    """The verdict on a stream where nothing limits it."""
    start = len(BOM) if stream.startswith(BOM) else 0
    items: list[tuple[int, Item]] = []
    last_event_id = options.last_event_id
    retry = None
    skipped = 0
    block = Block(start)
    unfinished_line = Line(1, start, b"", b"")

    for line in lines(stream, start):
        if not line.ending:
            unfinished_line = line
        elif line.content:
            name, value = split(line.content)
            if not is_utf8(line.content):
                detail = name if name in ("data", "event", "id", "retry") else ""
                found = Diagnostic("invalid-utf-8", line.number, line.start, detail)
                items.append((line.complete_at, found))
            kind, detail = take(block, name, value, line.content)
            if kind:
                found = Diagnostic(kind, line.number, line.start, detail)
                items.append((line.complete_at, found))
            if name == "retry" and not kind:
                retry = block.retry
            if name == "":
                items.append((line.complete_at, Comment(decode(value))))
        else:
            if block.id is not None:
                last_event_id = decode(block.id)
            if block.data:
                made = event(block, last_event_id, stream[block.start : line.start], options)
                if keeps(block, options):
                    items.append((line.complete_at, made))
                else:
                    skipped += 1
            elif block.has_known_field:
                found = Diagnostic("no-data", line.number, line.start, "")
                items.append((line.complete_at, found))
            block = Block(line.next)

    if not options.comments:
        items = [(end, item) for end, item in items if not isinstance(item, Comment)]
    if not options.diagnostics:
        items = [(end, item) for end, item in items if not isinstance(item, Diagnostic)]

    could_become_a_bom = len(stream) < len(BOM) and BOM.startswith(stream)
    buffered = 0 if could_become_a_bom else count(block, unfinished_line, stream, options)
    truncated = block.has_line or unfinished_line.content != b""

    unfinished = None
    if unfinished_line.content:
        name, value = split(unfinished_line.content)
        take(block, name, value, unfinished_line.content)
    if block.data:
        id = last_event_id if block.id is None else decode(block.id)
        unfinished = event(block, id, stream[block.start :], options)

    return Verdict(items, last_event_id, retry, skipped, buffered, unfinished, truncated)


def lines(stream: bytes, start: int) -> Iterator[Line]:
    """The lines of a stream, the unfinished one (which may be empty) last."""
    number = 1
    while True:
        stop = start
        while stop < len(stream) and stream[stop] not in b"\r\n":
            stop += 1
        ending = stream[stop : stop + 2]
        if ending != b"\r\n":
            ending = ending[:1]
        line = Line(number, start, stream[start:stop], ending)
        yield line
        if not ending:
            return
        start = line.next
        number += 1


def split(content: bytes) -> tuple[str, bytes]:
    """A line's field name and value; a comment's name is empty."""
    name, _, value = content.partition(b":")
    if value.startswith(b" "):
        value = value[1:]
    return decode(name), value


def take(block: Block, name: str, value: bytes, content: bytes) -> tuple[str, str]:
    """What a line does to its block. Returns the kind and detail of what there is to tell."""
    if name == "":
        return "", ""
    block.has_line = True
    if name not in ("data", "event", "id", "retry"):
        harmless = re.fullmatch(rb"([A-Za-z0-9_ -]{1,64}):.*", content, re.DOTALL)
        return "unknown-field", name if harmless else ""
    block.has_known_field = True
    if name == "data":
        block.data.append(value)
    elif name == "event":
        block.event = value
    elif name == "id":
        if b"\0" in value:
            return "invalid-id", ""
        block.id = value
    else:
        if not re.fullmatch(rb"[0-9]+", value):
            return "invalid-retry", ""
        digits = value.lstrip(b"0")
        block.retry = MAX_RETRY if len(digits) > 19 else min(int(digits or b"0"), MAX_RETRY)
    return "", ""


def event(block: Block, id: str, raw: bytes, options: Options) -> Event:
    return Event(
        event=decode(block.event) or "message",
        data=decode(b"\n".join(block.data)),
        id=id,
        retry=block.retry,
        raw=raw if options.raw else None,
    )


def keeps(block: Block, options: Options) -> bool:
    if options.types is None and options.contains is None:
        return True
    of_type = (decode(block.event) or "message") in (options.types or ())
    data = b"\n".join(block.data)
    return of_type or any(needle in data for needle in options.contains or ())


def count(block: Block, line: Line, stream: bytes, options: Options) -> int:
    """What the guard counts at the end of a stream."""
    total = len(b"\n".join(block.data)) + len(block.event) + len(block.id or b"")
    name, value = split(line.content)
    if name in ("data", "event", "id"):
        total += len(value)
    if line.content.startswith(b":") and options.comments:
        total += len(value)
    if options.raw:
        total += len(stream) - block.start
    return total


def decode(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def is_utf8(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
