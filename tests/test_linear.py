"""Linear: four times the bytes take about four times as long, for every cutting.

What is quadratic takes sixteen times as long; the bound of ten leaves room for noise, and a shape
is measured again before it fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from support import fed

KIB = 1024
BOUND = 10


def chunked(stream: bytes, size: int) -> list[bytes]:
    return [stream[at : at + size] for at in range(0, len(stream), size)]


# Each shape makes the chunks of a stream of about n bytes, and says what it probes.
SHAPES: dict[str, tuple[Callable[[int], Iterable[bytes]], dict[str, Any]]] = {
    # one value collected from very many pieces
    "long-line-in-8-byte-chunks": (lambda n: chunked(b"data: " + b"x" * n + b"\n\n", 8), {}),
    "long-line-byte-by-byte": (lambda n: chunked(b"data: " + b"x" * (n // 4) + b"\n\n", 1), {}),
    # very many values joined, in one chunk and across chunks
    "empty-data-lines": (lambda n: [b"data\n" * (n // 5) + b"\n"], {}),
    "empty-data-lines-in-chunks": (lambda n: chunked(b"data\n" * (n // 5) + b"\n", 7), {}),
    # very many events out of one chunk: no rest of it is copied for each
    "events-in-one-chunk": (lambda n: [b"data: x\n\n" * (n // 9)], {}),
    "cr-events-in-one-chunk": (lambda n: [b"data: x\r\r" * (n // 9)], {}),
    "events-in-one-chunk-told-carefully": (
        lambda n: [b": c\nid: 1\ndata: x\n\n" * (n // 20)],
        {"comments": True, "diagnostics": True, "raw": True},
    ),
    # long lines that are ignored, and lines that are told
    "comment-in-8-byte-chunks": (lambda n: chunked(b":" + b"x" * n + b"\n", 8), {}),
    "told-comment-in-8-byte-chunks": (
        lambda n: chunked(b":" + b"x" * n + b"\n", 8),
        {"comments": True},
    ),
    "unknown-field-in-8-byte-chunks": (lambda n: chunked(b"x" * n + b"\n", 8), {}),
    "unknown-field-with-diagnostics": (
        lambda n: chunked(b"x" * n + b"\n", 8),
        {"diagnostics": True},
    ),
    # a number of very many digits, which int() takes quadratic time for
    "retry-digits": (lambda n: [b"retry: " + b"9" * n + b"\n"], {}),
    "retry-zeros-in-8-byte-chunks": (lambda n: chunked(b"retry: " + b"0" * n + b"5\n", 8), {}),
    # types and ids that come in pieces, or again and again
    "event-in-8-byte-chunks": (lambda n: chunked(b"event: " + b"e" * n + b"\n", 8), {}),
    "id-in-8-byte-chunks": (lambda n: chunked(b"id: " + b"i" * n + b"\n", 8), {}),
    "id-lines-in-one-block": (lambda n: [b"id: abc\n" * (n // 8)], {}),
    "event-lines-in-one-block": (lambda n: [b"event: abc\n" * (n // 11)], {}),
    # a long ID that every event carries is decoded once
    "sticky-id": (lambda n: [b"id: " + b"i" * KIB + b"\n" + b"data\n\n" * (n // 6)], {}),
    # nothing but line ends
    "blank-lines": (lambda n: [b"\n" * n], {}),
    "crlf-byte-by-byte": (lambda n: chunked(b"\r\n" * (n // 8), 1), {}),
    # sequences that are no UTF-8, whole and cut
    "bad-utf-8": (lambda n: chunked(b"data: " + b"\xf0\x9f\xff" * (n // 3) + b"\n\n", 8), {}),
    "bad-utf-8-with-diagnostics": (
        lambda n: chunked(b"data: " + b"\xf0\x9f\xff" * (n // 3) + b"\n\n", 8),
        {"diagnostics": True},
    ),
    # raw bytes collected besides the values
    "raw-in-8-byte-chunks": (
        lambda n: chunked(b"data: " + b"x" * n + b"\r\n\r\n", 8),
        {"raw": True},
    ),
    "raw-of-many-lines": (lambda n: chunked(b":\r\ndata\r\n" * (n // 9), 64), {"raw": True}),
    # the guard's count where the limit is near
    "near-the-limit": (lambda n: chunked(b"data\n" * (n // 5), 7), {"near": True}),
    "near-the-limit-in-one-line": (lambda n: chunked(b"data:" + b"x" * n, 8), {"near": True}),
    # needles that almost match
    "needle-that-almost-matches": (
        lambda n: [b"data: " + b"a" * n + b"\n\n"],
        {"contains": [b"a" * 500 + b"b" + b"a" * 500]},
    ),
    "skipped-events": (lambda n: [b"data: x\n\n" * (n // 9)], {"types": ["other"]}),
}


def assert_linear(work: Callable[[int], Callable[[], object]], size: int) -> None:
    """`work(n)` prepares n bytes of work and returns what does it."""

    def best(size: int) -> float:
        times = []
        for _ in range(3):
            do = work(size)
            started = time.process_time()
            do()
            times.append(time.process_time() - started)
        return min(times)

    ratios = []
    for _ in range(3):
        small = best(size)
        if small < 0.002:  # too short to be compared: begin with more
            return assert_linear(work, size * 4)
        ratios.append(best(size * 4) / small)
        if ratios[-1] < BOUND:
            return None
    raise AssertionError(f"four times the bytes took {ratios} times as long")


@pytest.mark.parametrize("shape", SHAPES)
def test_time_grows_with_the_bytes(backend: Any, shape: str) -> None:
    make, options = SHAPES[shape]

    def work(size: int) -> Callable[[], object]:
        chunks = list(make(size))
        settings = dict(options)
        if settings.pop("near", False):
            settings["max_buffer_size"] = sum(map(len, chunks))
        parser = backend.Parser(**settings)
        return lambda: fed(parser, chunks)

    assert_linear(work, 32 * KIB)


def test_iterating_grows_with_the_bytes(backend: Any) -> None:
    def work(size: int) -> Callable[[], object]:
        chunk = b"data: x\n\n" * (size // 9)
        return lambda: sum(1 for _ in backend.iter_events([chunk]))

    assert_linear(work, 32 * KIB)


def test_reading_attributes_between_chunks_costs_nothing_that_grows(backend: Any) -> None:
    def work(size: int) -> Callable[[], object]:
        chunks = chunked(b"data\n" * (size // 10) + b"data: " + b"x" * (size // 2), 8)
        parser = backend.Parser(raw=True, comments=True)

        def read() -> None:
            for chunk in chunks:
                parser.feed(chunk)
                assert parser.buffered >= 0
                assert parser.last_event_id == ""

        return read

    assert_linear(work, 32 * KIB)


def test_encoding_grows_with_the_bytes(backend: Any) -> None:
    def work(size: int) -> Callable[[], object]:
        event = backend.ServerSentEvent(data="x\r\n" * (size // 3))
        return event.encode

    assert_linear(work, 32 * KIB)


def test_a_line_of_16_mib_in_8_byte_chunks(backend: Any) -> None:
    """In full size, and time: a million and a half chunks, or two, each second."""
    chunk = b"x" * 8
    parser = backend.Parser()
    parser.feed(b"data:")
    started = time.perf_counter()
    for _ in range(2 * KIB * KIB):
        parser.feed(chunk)
    (event,) = parser.feed(b"\n\n")
    assert len(event.data) == 16 * KIB * KIB
    assert time.perf_counter() - started < 30


def test_a_million_empty_data_lines_and_a_million_events(backend: Any) -> None:
    million = 1_000_000
    started = time.perf_counter()
    parser = backend.Parser()
    (event,) = parser.feed(b"data\n" * million + b"\n")
    assert event.data == "\n" * (million - 1)
    events = parser.feed(b"data\n\n" * million)
    assert len(events) == million
    assert time.perf_counter() - started < 30
