"""The conformance cases, for the tests of any event stream parser.

Every case holds for every cutting, and after any prefix the events so far are those of the prefix.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["Case", "Event", "cases", "cut", "cuts"]


@dataclass(frozen=True)
class Event:
    """An event as the standard dispatches it; `id` is the last event ID as of it."""

    event: str
    data: str
    id: str


@dataclass(frozen=True)
class Case:
    """A stream and what comes of it.

    Attributes:
        name, origin: what it is about, and whose behaviour or which report it mirrors.
        data: the stream.
        events: what is dispatched, in order.
        comments: the text after each comment's colon, less one leading space.
        retry: the latest valid reconnection time in milliseconds, at most 2**63 - 1, or None.
        last_event_id: as of the end.
        cuts: cuttings that once went wrong, each as places in the stream.
        events_after_chunk: for the first of these, how many events have come out after each chunk.
        checks_unfinished, unfinished: whether the case says what the end cuts off, and what.
        note: what is remarkable.
    """

    name: str
    origin: str
    data: bytes
    events: tuple[Event, ...]
    comments: tuple[str, ...]
    retry: int | None
    last_event_id: str
    cuts: tuple[tuple[int, ...], ...] = ()
    events_after_chunk: tuple[int, ...] | None = None
    checks_unfinished: bool = False
    unfinished: Event | None = None
    note: str = ""


def _text(value: str | list[list[Any]]) -> str:
    """A string, or pieces of one with their repeats."""
    return value if isinstance(value, str) else "".join(text * times for text, times in value)


def _event(fields: dict[str, Any]) -> Event:
    return Event(_text(fields["event"]), _text(fields["data"]), _text(fields["id"]))


def _case(fields: dict[str, Any]) -> Case:
    unfinished = fields.get("unfinished")
    after = fields.get("events_after_chunk")
    return Case(
        name=fields["name"],
        origin=fields["origin"],
        data=b"".join(bytes.fromhex(piece) * times for piece, times in fields["input"]),
        events=tuple(map(_event, fields["events"])),
        comments=tuple(map(_text, fields["comments"])),
        retry=fields["retry"],
        last_event_id=_text(fields["last_event_id"]),
        cuts=tuple(map(tuple, fields.get("cuts", ()))),
        events_after_chunk=None if after is None else tuple(after),
        checks_unfinished="unfinished" in fields,
        unfinished=None if unfinished is None else _event(unfinished),
        note=fields.get("note", ""),
    )


@cache
def cases() -> tuple[Case, ...]:
    """Every case of the table."""
    table = resources.files(__name__).joinpath("cases.jsonl").read_text("utf-8")
    return tuple(_case(json.loads(line)) for line in table.splitlines())


def cut(data: bytes, places: tuple[int, ...]) -> list[bytes]:
    """The chunks between places in a stream."""
    bounds = (0, *places, len(data))
    return [data[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]


def cuts(data: bytes, *, short: int = 200) -> Iterator[list[bytes]]:
    """The cuttings worth trying: whole, byte by byte, in threes, with empty chunks in between, and
    for streams of at most `short` bytes in two at every place."""
    yield [data]
    yield [data[i : i + 1] for i in range(len(data))]
    threes = [data[i : i + 3] for i in range(0, len(data), 3)]
    yield threes
    yield [chunk for three in threes for chunk in (b"", three, b"")]
    if len(data) <= short:
        for place in range(1, len(data)):
            yield [data[:place], data[place:]]
