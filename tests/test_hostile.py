"""Bounded and linear under attack: streams that never end what they began, with a limit set.

Each goes on for as long as it takes; the parser must refuse it within its limit, or retain nothing.
Memory is watched by `test_bounded.py` and `test_leaks.py`, time per shape by `test_linear.py`.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from rapidsse import BufferSizeExceeded
from support import fed, plains

LIMIT = 64 * 1024
BYTES = 8 * 1024 * 1024
SECONDS = 20  # a hundred times what it takes; what is quadratic takes hours

# What comes again and again after a start, and the options under which it is retained.
RETAINED: dict[str, tuple[bytes, bytes, dict[str, Any]]] = {
    "an endless line": (b"data: ", b"x" * 1000, {}),
    "an endless line in 2-byte chunks": (b"data: ", b"xx", {}),
    "endless data lines": (b"", b"data: x\n" * 100, {}),
    "endless empty data lines": (b"", b"data\n" * 100, {}),
    "endless empty data lines of CR": (b"", b"data:\r" * 100, {}),
    "an endless type": (b"event: ", b"e" * 1000, {}),
    "an endless id": (b"id:", b"i" * 1000, {}),
    "an endless id that holds NUL": (b"id:", b"\0" * 1000, {}),
    "an endless told comment": (b":", b"c" * 1000, {"comments": True}),
    "endless raw comment lines": (b"", b":\n" * 100, {"raw": True}),
    "endless raw unknown lines": (b"", b"x\r\n" * 100, {"raw": True}),
    "endless skipped data": (b"data: ", b"x" * 1000, {"types": []}),
    "endless searched data": (b"data: ", b"x" * 1000, {"contains": [b"y"]}),
}
NOT_RETAINED: dict[str, tuple[bytes, bytes, dict[str, Any]]] = {
    "a comment forever": (b":", b"c" * 1000, {}),
    "comments forever": (b"", b": ping\n\n" * 100, {}),
    "an endless field name": (b"", b"n" * 1000, {}),
    "an endless field name with diagnostics": (b"", b"n" * 1000, {"diagnostics": True}),
    "an endless value of an unknown field": (b"what: ", b"v" * 1000, {"diagnostics": True}),
    "a retry of endless digits": (b"retry: ", b"9" * 1000, {}),
    "a retry of endless zeros": (b"retry: ", b"0" * 1000, {"diagnostics": True}),
    "blank lines forever": (b"", b"\r\n" * 400, {}),
    "types forever in one block": (b"", b"event: e\n" * 100, {}),
    "ids forever in one block": (b"", b"id: i\n" * 100, {}),
    "blocks without data forever": (b"", b"event: e\nid: i\n\n" * 100, {}),
    "broken UTF-8 forever": (b"what: ", b"\xf0\x9f\xff" * 333, {"diagnostics": True}),
}


@pytest.mark.parametrize("what", RETAINED)
def test_what_never_ends_is_refused_at_the_limit(backend: Any, what: str) -> None:
    start, chunk, options = RETAINED[what]
    parser = backend.Parser(max_buffer_size=LIMIT, **options)
    parser.feed(start)
    started = time.process_time()
    for _ in range(BYTES // len(chunk)):
        before = parser.buffered
        try:
            assert parser.feed(chunk) == []
        except BufferSizeExceeded:
            break
    else:
        pytest.fail("it was never refused")
    assert LIMIT - 2 * len(chunk) < before <= LIMIT
    assert parser.buffered == 0
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize("what", NOT_RETAINED)
def test_what_is_ignored_may_go_on_for_ever(backend: Any, what: str) -> None:
    start, chunk, options = NOT_RETAINED[what]
    parser = backend.Parser(max_buffer_size=64, **options)
    parser.feed(start)
    started = time.process_time()
    for _ in range(BYTES // 8 // len(chunk)):
        assert fed(parser, [chunk]) == []
        assert parser.buffered <= 2
    assert time.process_time() - started < SECONDS
    *_, event = parser.feed(b"\n\ndata: at last\n\n")
    assert event.data == "at last"


@pytest.mark.parametrize("digits", [19, 20, 4299, 4300, 4301, 100_000])
def test_a_retry_of_very_many_digits_is_clamped(backend: Any, digits: int) -> None:
    """More than `int()` takes, which has a bound of 4,300 digits."""
    largest = 2**63 - 1
    for number in (b"9" * digits, b"0" * digits + b"7"):
        right = 7 if number[0] == 48 else largest
        for size in (1, 1000, len(number) + 20):
            stream = b"retry: " + number + b"\ndata\n\n"
            parser = backend.Parser(max_buffer_size=16)
            (event,) = fed(parser, [stream[at : at + size] for at in range(0, len(stream), size)])
            assert (event.retry, parser.retry) == (right, right)


def test_very_many_distinct_types_and_ids(backend: Any) -> None:
    """In one chunk each: what a parser remembers of a stream must not slow it down either."""
    times = 200_000
    block = b"event: type-%d\nid: %d\ndata\n\n"
    chunks = [
        b"".join(block % (at, at) for at in range(start, start + 50_000))
        for start in range(0, times, 50_000)
    ]
    parser = backend.Parser(max_buffer_size=64)
    started = time.process_time()
    for number, chunk in enumerate(chunks):
        events = parser.feed(chunk)
        assert len(events) == 50_000
        assert plains(events[-1:])[0][:3] == (f"type-{events[-1].id}", "", events[-1].id)
        assert events[0].id == str(number * 50_000)
    assert time.process_time() - started < SECONDS * 2
