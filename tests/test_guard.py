"""The guard: what max_buffer_size counts, to the byte, and what follows an overflow."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from rapidsse import BufferSizeExceeded, ParserClosed
from support import byte_by_byte

# Each part: some bytes, and the count after each of them.
Parts = list[tuple[bytes, list[int]]]

COUNTS: list[tuple[str, dict[str, Any], Parts]] = [
    ("data", {}, [(b"data: ab", [0, 0, 0, 0, 0, 0, 1, 2]), (b"\n\n", [2, 0])]),
    ("data without a space", {}, [(b"data:ab\r\n\r\n", [0, 0, 0, 0, 0, 1, 2, 2, 2, 0, 0])]),
    ("only one space goes", {}, [(b"data:  a\n", [0, 0, 0, 0, 0, 0, 1, 2, 2])]),
    (
        "a line feed between two data lines counts when the second ends",
        {},
        [(b"data: a\n", [0] * 6 + [1, 1]), (b"data:b\n", [1] * 5 + [2, 3]), (b"\n", [0])],
    ),
    ("empty data lines", {}, [(b"data\ndata\ndata\n\n", [0] * 9 + [1] * 5 + [2, 0])]),
    (
        "an old type counts until the new line ends",
        {},
        [(b"event:ab\n", [0] * 6 + [1, 2, 2]), (b"event:c\n", [2] * 6 + [3, 1])],
    ),
    ("a type is dropped with its block", {}, [(b"event:ab\n\n", [0] * 6 + [1, 2, 2, 0])]),
    ("an empty type", {}, [(b"event:a\nevent\n", [0] * 6 + [1] * 7 + [0])]),
    (
        "an old id counts until the new line ends",
        {},
        [(b"id:ab\n", [0] * 3 + [1, 2, 2]), (b"id:c\n", [2] * 3 + [3, 1]), (b"\n", [0])],
    ),
    (
        "an id that holds NUL counts until its line ends",
        {},
        [(b"id:a\n", [0] * 3 + [1, 1]), (b"id:\0b\n", [1] * 3 + [2, 3, 1])],
    ),
    ("the ID of earlier blocks", {}, [(b"id:ab\n\nid:c\n", [0] * 3 + [1, 2, 2, 0, 0, 0, 0, 1, 1])]),
    ("retry", {}, [(b"retry: 123\n", [0] * 11)]),
    ("unknown fields", {}, [(b"datax: abc\nda", [0] * 13)]),
    ("comments nobody asked for", {}, [(b": abc\n", [0] * 6)]),
    ("requested comments", {"comments": True}, [(b": abc\n:x\n", [0, 0, 1, 2, 3, 0, 0, 1, 0])]),
    (
        "a comment inside a block",
        {"comments": True},
        [(b"data:a\n: bc\n", [0] * 5 + [1] * 4 + [2, 3, 1])],
    ),
    ("the BOM", {}, [(b"\xef\xbb\xbfdata:a", [0] * 8 + [1])]),
    ("the BOM with raw", {"raw": True}, [(b"\xef\xbb\xbfda", [0, 0, 0, 1, 2])]),
    ("what only began like a BOM, with raw", {"raw": True}, [(b"\xef\xbbd\n", [0, 0, 3, 4])]),
    (
        "raw bytes besides the values",
        {"raw": True},
        [(b"data:ab\r\n", [1, 2, 3, 4, 5, 7, 9, 10, 11]), (b"\r\n", [0, 0])],
    ),
    ("raw bytes of ignored lines", {"raw": True}, [(b":a\nx\n\n", [1, 2, 3, 4, 5, 0])]),
    ("raw with comments", {"raw": True, "comments": True}, [(b":ab\n", [1, 3, 5, 4])]),
    (
        "filters change nothing",
        {"types": [], "contains": []},
        [(b"data:ab\n\n", [0] * 5 + [1, 2, 2, 0])],
    ),
    ("bytes, not characters", {}, [("data:é€😀".encode(), [0] * 5 + list(range(1, 10)))]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "parts"), [row[1:] for row in COUNTS], ids=[row[0] for row in COUNTS]
)
def test_what_is_counted_after_each_byte(
    backend: Any, options: dict[str, Any], parts: Parts
) -> None:
    stream = b"".join(part for part, _ in parts)
    expected = [count for _, counts in parts for count in counts]
    parser = backend.Parser(**options)
    found = []
    for byte in byte_by_byte(stream):
        parser.feed(byte)
        found.append(parser.buffered)
    assert found == expected
    for stop in range(len(stream) + 1):
        parser.reset()
        parser.feed(stream[:stop])
        assert parser.buffered == (expected[stop - 1] if stop else 0)


@pytest.mark.parametrize(
    ("options", "parts"), [row[1:] for row in COUNTS], ids=[row[0] for row in COUNTS]
)
def test_the_first_byte_above_the_limit_overflows(
    backend: Any, options: dict[str, Any], parts: Parts
) -> None:
    stream = b"".join(part for part, _ in parts)
    counts = [count for _, counts in parts for count in counts]
    for limit in range(1, max(counts)):
        first = next(place for place, count in enumerate(counts) if count > limit)
        parser = backend.Parser(**options, max_buffer_size=limit)
        parser.feed(stream[:first])
        assert not parser.closed
        with pytest.raises(BufferSizeExceeded):
            parser.feed(stream[first : first + 1])
        whole = backend.Parser(**options, max_buffer_size=limit)
        with contextlib.suppress(BufferSizeExceeded):
            whole.feed(stream)
        assert whole.closed
    if max(counts):
        parser = backend.Parser(**options, max_buffer_size=max(counts))
        parser.feed(stream)
        assert not parser.closed


def overflowed(backend: Any, chunk: bytes, **options: Any) -> Any:
    parser = backend.Parser(max_buffer_size=4, **options)
    with pytest.raises(BufferSizeExceeded):
        parser.feed(chunk)
    return parser


def test_items_before_the_overflow_are_delivered_first(backend: Any) -> None:
    for late in (b"", b"data: x\n\n"):
        parser = backend.Parser(max_buffer_size=4)
        events = parser.feed(b"data: ab\n\ndata: cd\n\ndata: 12345")
        assert [event.data for event in events] == ["ab", "cd"]
        assert (parser.closed, parser.buffered) == (True, 0)
        with pytest.raises(BufferSizeExceeded) as error:
            parser.feed(late)
        assert error.value.limit == 4


def test_nothing_after_the_overflow_is_delivered(backend: Any) -> None:
    parser = backend.Parser(max_buffer_size=4)
    events = parser.feed(b"data: ab\n\ndata: 12345\n\nid: 9\nretry: 5\ndata: z\n\n")
    assert [event.data for event in events] == ["ab"]
    assert (parser.last_event_id, parser.retry) == ("", None)


def test_an_error_that_waits_comes_out_of_close_once(backend: Any) -> None:
    parser = backend.Parser(max_buffer_size=4)
    parser.feed(b"data: a\n\ndata: 12345")
    with pytest.raises(BufferSizeExceeded):
        parser.close()
    assert parser.close() is None
    assert parser.truncated is False
    with pytest.raises(BufferSizeExceeded):
        parser.feed(b"")


def test_once_raised_every_feed_raises_and_close_returns_none(backend: Any) -> None:
    parser = overflowed(backend, b"data: 12345")
    for _ in range(3):
        with pytest.raises(BufferSizeExceeded):
            parser.feed(b"")
    assert parser.close() is None
    assert parser.truncated is False
    with pytest.raises(BufferSizeExceeded):
        parser.feed(b"data: x\n\n")


def test_what_was_known_before_stays_known(backend: Any) -> None:
    stream = b"id: 1\nretry: 7\ndata: ab\n\ndata: no\n\nid: 2\ndata: 12345"
    parser = backend.Parser(max_buffer_size=4, contains=[b"ab"])
    assert len(parser.feed(stream)) == 1
    with pytest.raises(BufferSizeExceeded):
        parser.feed(b"")
    assert (parser.last_event_id, parser.retry, parser.skipped) == ("1", 7, 1)


def test_reset_begins_anew(backend: Any) -> None:
    parser = overflowed(backend, b"data: 12345")
    parser.reset("5")
    assert (parser.closed, parser.last_event_id) == (False, "5")
    assert [event.id for event in parser.feed(b"data: x\n\n")] == ["5"]
    with pytest.raises(BufferSizeExceeded):
        parser.feed(b"data: 12345")


def test_reset_forgets_an_error_that_waits(backend: Any) -> None:
    parser = backend.Parser(max_buffer_size=4)
    parser.feed(b"data: a\n\ndata: 12345")
    parser.reset()
    assert parser.feed(b"") == []
    assert parser.close() is None


def test_a_diagnostic_told_by_the_overflowing_byte_is_delivered(backend: Any) -> None:
    parser = backend.Parser(max_buffer_size=2, diagnostics=True)
    parser.feed(b"data: a\n")
    (told,) = parser.feed(b"data:\xff\n")
    assert told.kind == "invalid-utf-8"
    assert parser.closed
    with pytest.raises(BufferSizeExceeded):
        parser.feed(b"")


def test_the_count_is_the_limit_exactly(backend: Any) -> None:
    for size in (1, 100, 65536, 70_000):
        parser = backend.Parser(max_buffer_size=size)
        (event,) = parser.feed(b"data: " + b"x" * size + b"\n\n")
        assert len(event.data) == size
        with pytest.raises(BufferSizeExceeded):
            parser.feed(b"data: " + b"x" * (size + 1) + b"\n\n")


def test_the_default_limit_is_64_mib_and_parse_has_none(backend: Any) -> None:
    size = 64 * 1024 * 1024
    body = b"data: " + b"x" * (size + 1) + b"\n\n"
    parser = backend.Parser()
    parser.feed(memoryview(body)[: size + 6])
    assert parser.buffered == size
    with pytest.raises(BufferSizeExceeded) as error:
        parser.feed(b"x")
    assert error.value.limit == size
    (event,) = backend.parse(body)
    assert len(event.data) == size + 1


def test_parse_raises_at_once(backend: Any) -> None:
    with pytest.raises(BufferSizeExceeded):
        backend.parse(b"data: a\n\ndata: 12345", max_buffer_size=4)


def test_no_limit_and_any_larger_limit(backend: Any) -> None:
    for limit in (None, 2**31, 2**63, 2**64, 10**30):
        parser = backend.Parser(max_buffer_size=limit)
        assert [event.data for event in parser.feed(b"data: x\n\n")] == ["x"]


def test_closed_by_close_is_no_overflow(backend: Any) -> None:
    parser = backend.Parser(max_buffer_size=4)
    parser.feed(b"data: 1234")
    assert parser.close().data == "1234"
    with pytest.raises(ParserClosed):
        parser.feed(b"data: 12345")


def test_the_message_holds_no_payload(backend: Any) -> None:
    parser = backend.Parser(max_buffer_size=4)
    with pytest.raises(BufferSizeExceeded) as error:
        parser.feed(b"data: secret")
    assert "secret" not in str(error.value) + repr(error.value)
    assert "4" in str(error.value)
