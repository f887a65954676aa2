"""The conformance cases: streams and what they mean."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

_LONGEST_SHOWN = 60


class Expected(NamedTuple):
    """An event as it must come out."""

    event: str
    data: str
    id: str


class Events(tuple[Expected, ...]):
    """The events of a stream, equal to any sequence of the same events.

    An event may be a tuple `(event, data, id)` or an object that has these as attributes, as the
    events of rapidsse, httpx-sse and others do.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return len(self) == len(other) and all(map(_is_same, self, other))

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    __hash__ = tuple.__hash__

    def differences(self, other: Iterable[Any]) -> list[str]:
        """What is wrong with events that should be these, a line for each; empty if nothing."""
        lines = []
        for number, (expected, event) in enumerate(itertools.zip_longest(self, other), 1):
            if expected is None:
                lines.append(f"event {number}: {_shown(event)} should not be there")
            elif event is None:
                lines.append(f"event {number}: {_shown(expected)} is missing")
            elif not _is_same(expected, event):
                lines.append(f"event {number}: {_shown(event)} should be {_shown(expected)}")
        return lines


@dataclass(frozen=True)
class Case:
    """A stream and what it means.

    Attributes:
        name (str): what the case is about; unique.
        origin (str): the standard, the suite or the public report it comes from.
        data (bytes): the whole stream.
        events (Events): the events, in order.
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
    events: Events
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
    table = files("rapidsse.testing").joinpath("cases.jsonl").read_text(encoding="utf-8")
    return [_case(json.loads(line)) for line in table.splitlines() if line]


def _case(line: dict[str, Any]) -> Case:
    unfinished = line.get("unfinished")
    return Case(
        name=line["name"],
        origin=line["origin"],
        data=b"".join(bytes.fromhex(piece) * times for piece, times in line["input"]),
        events=Events(_expected(event) for event in line["events"]),
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


def _plain(event: Any) -> Any:
    if isinstance(event, tuple):
        return tuple(event)
    try:
        return event.event, event.data, event.id
    except AttributeError:
        return event


def _is_same(expected: Expected, event: Any) -> bool:
    return bool(tuple(expected) == _plain(event))


def _shown(event: Any) -> str:
    plain = _plain(event)
    if not isinstance(plain, tuple):
        return repr(plain)
    return f"({', '.join(map(_shortened, plain))})"


def _shortened(value: Any) -> str:
    text = repr(value)
    if len(text) <= _LONGEST_SHOWN:
        return text
    return f"{text[: _LONGEST_SHOWN // 2]}...{text[-_LONGEST_SHOWN // 2 :]}"
