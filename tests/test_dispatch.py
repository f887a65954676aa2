"""Earliest dispatch: an event comes out with the byte that completes its blank line."""

from __future__ import annotations

from typing import Any

import pytest
from support import byte_by_byte


def counts(backend: Any, stream: bytes, **options: Any) -> list[int]:
    """How many items have come out after each byte."""
    parser = backend.Parser(**options)
    return [len(parser.feed(byte)) for byte in byte_by_byte(stream)]


@pytest.mark.parametrize(
    ("stream", "at"),
    [
        (b"data: a\n\n", [8]),
        (b"data: a\r\r", [8]),
        (b"data: a\r\n\r\n", [9]),
        (b"data: a\n\r\n", [8]),
        (b"data: a\r\n\n", [9]),
        (b"data: a\r\r\n", [8]),
        (b"data: a\r\r\ndata: b\r\r\n", [8, 18]),
        (b"data: a\n\r\r\n\ndata\r\n\n", [8, 18]),
        (b"\xef\xbb\xbfdata\n\n", [8]),
        (b"data\n\n\n\n", [5]),
    ],
)
def test_with_the_completing_byte_and_no_later(backend: Any, stream: bytes, at: list[int]) -> None:
    expected = [1 if place in at else 0 for place in range(len(stream))]
    assert counts(backend, stream) == expected
    for place in at:
        parser = backend.Parser()
        assert len(parser.feed(stream[:place])) == at.index(place)
        assert len(parser.feed(stream[place : place + 1])) == 1


def test_a_comment_comes_out_when_its_line_ends(backend: Any) -> None:
    assert counts(backend, b": a\r\n:\n", comments=True) == [0, 0, 0, 1, 0, 0, 1]


def test_a_diagnostic_comes_out_when_its_line_ends(backend: Any) -> None:
    stream = b"x: 1\r\nretry: z\r\r\n"
    expected = [0] * len(stream)
    expected[4] = expected[14] = expected[15] = 1
    assert counts(backend, stream, diagnostics=True) == expected


def test_retry_changes_when_its_line_ends(backend: Any) -> None:
    parser = backend.Parser()
    parser.feed(b"retry: 25")
    assert parser.retry is None
    parser.feed(b"\r")
    assert parser.retry == 25
    parser.feed(b"\nretry: 30\n")
    assert parser.retry == 30
    parser.feed(b"retry: no\nretry: -1\n")
    assert parser.retry == 30


def test_last_event_id_changes_with_the_blank_line(backend: Any) -> None:
    parser = backend.Parser(last_event_id="old")
    parser.feed(b"id: new\n")
    assert parser.last_event_id == "old"
    assert parser.feed(b"\r") == []
    assert parser.last_event_id == "new"
    parser.feed(b"\nid\ndata: x\n")
    assert parser.last_event_id == "new"
    (event,) = parser.feed(b"\n")
    assert (event.id, parser.last_event_id) == ("", "")


def test_iteration_hands_out_an_event_before_it_asks_for_more(backend: Any) -> None:
    asked = []

    def source() -> Any:
        for number in range(3):
            asked.append(number)
            yield b"data: %d\r\r" % number

    events = backend.iter_events(source())
    for number in range(3):
        assert next(events).data == str(number)
        assert asked == list(range(number + 1))


def test_no_chunk_is_asked_for_after_the_items_of_one(backend: Any) -> None:
    def source() -> Any:
        yield b"data: 1\n\ndata: 2\n\ndata: 3\n\n"
        raise AssertionError("asked too early")

    events = backend.iter_events(source())
    assert [next(events).data for _ in range(3)] == ["1", "2", "3"]
