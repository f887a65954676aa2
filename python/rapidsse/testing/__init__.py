"""Event streams with their right values, for tests of this parser or of any other.

`cases()` reads the table `cases.jsonl`; `cuts()` cuts a stream as networks do. Every case holds
for every cutting.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

__all__ = ["Case", "Expected", "cases", "cuts"]

_SHORT = 200


class Expected(NamedTuple):
    """An event as it must come out."""

    event: str
    data: str
    id: str


@dataclass(frozen=True)
class Case:
    """A stream and what it means.

    Attributes:
        name (str): what the case is about; unique.
        origin (str): the standard, the suite or the public report it comes from.
        data (bytes): the whole stream.
        events (tuple[Expected, ...]): the events, in order.
        retry (int | None): the last valid reconnection time in milliseconds, at most 2**63 - 1.
        last_event_id (str): the last event ID at the end of the stream.
        comments (tuple[str, ...]): the comments, less one leading space each.
        unfinished (Expected | None): the event that the end of the stream cut off.
        truncated (bool): whether the stream ends inside a block.
        cuts (tuple[tuple[int, ...], ...]): cuttings that matter here, each as the positions of
            its cuts.
        events_after_chunk (tuple[int, ...]): how many events must have come out after each chunk
            of the first of `cuts`; empty where nothing is said.
        note (str): why the values are as they are.
    """

    name: str
    origin: str
    data: bytes
    events: tuple[Expected, ...]
    retry: int | None
    last_event_id: str
    comments: tuple[str, ...]
    unfinished: Expected | None
    truncated: bool
    cuts: tuple[tuple[int, ...], ...]
    events_after_chunk: tuple[int, ...]
    note: str

    def chunks(self, cutting: tuple[int, ...]) -> list[bytes]:
        """The stream, cut at the positions given."""
        edges = [0, *cutting, len(self.data)]
        return [self.data[start:stop] for start, stop in itertools.pairwise(edges)]


def cases() -> list[Case]:
    """The table of cases."""
    table = files(__name__).joinpath("cases.jsonl").read_text(encoding="utf-8")
    return [_case(json.loads(line)) for line in table.splitlines() if line]


def cuts(data: bytes) -> Iterator[list[bytes]]:
    """Cuttings of a stream worth trying, each a list of chunks.

    The whole, byte by byte, 3-byte chunks, both of these with empty chunks between and, for short
    streams, every single cut.
    """
    yield [data]
    single = [data[at : at + 1] for at in range(len(data))]
    yield single
    triple = [data[at : at + 3] for at in range(0, len(data), 3)]
    yield triple
    for chunks in (single, triple):
        yield [chunk for full in chunks for chunk in (b"", full)] + [b""]
    if len(data) <= _SHORT:
        for at in range(1, len(data)):
            yield [data[:at], data[at:]]


def _case(line: dict[str, Any]) -> Case:
    unfinished = line.get("unfinished")
    return Case(
        name=line["name"],
        origin=line["origin"],
        data=b"".join(bytes.fromhex(piece) * times for piece, times in line["input"]),
        events=tuple(_expected(event) for event in line["events"]),
        retry=line["retry"],
        last_event_id=_text(line["last_event_id"]),
        comments=tuple(_text(comment) for comment in line["comments"]),
        unfinished=None if unfinished is None else _expected(unfinished),
        truncated=line["truncated"],
        cuts=tuple(tuple(cutting) for cutting in line.get("cuts", ())),
        events_after_chunk=tuple(line.get("events_after_chunk", ())),
        note=line.get("note", ""),
    )


def _expected(event: dict[str, Any]) -> Expected:
    return Expected(_text(event["event"]), _text(event["data"]), _text(event["id"]))


def _text(value: str | list[tuple[str, int]]) -> str:
    """A string, written out or as pieces with repeats."""
    if isinstance(value, str):
        return value
    return "".join(piece * times for piece, times in value)
