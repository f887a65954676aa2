"""Bounded: ignored lines are never retained, and what is retained stays within its limit.

Python's allocations are traced; the compiled backend's are seen in the process's peak.
"""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from conftest import BACKENDS

MIB = 1024 * 1024
CONSTANT = MIB
TRACED = MIB  # tracing is slow
LIMIT = 4 * MIB

# What is fed again and again: a start, then a chunk.
IGNORED = {
    "comment": (b": ", b"x" * 65536),
    "comment in small chunks": (b": ", b"x" * 512),
    "unknown field": (b"unknown: ", b"x" * 65536),
    "unknown field without a colon": (b"", b"x" * 65536),
    "field name that goes on": (b"data", b"a" * 65536),
    "field name of spaces": (b"data ", b" " * 65536),
    "retry": (b"retry: ", b"1" * 65536),
    "retry of zeros": (b"retry: ", b"0" * 65536),
    "comment lines": (b"", b":x\n" * 500),
    "unknown lines": (b"", b"xyz: x\n" * 500),
    "blank lines": (b"", b"\r\n" * 500),
    "invalid UTF-8": (b"\xff", b"\xf0\x9f" * 32768),
    "event types one after another": (b"", b"event: x\n" * 500),
    "ids one after another": (b"", b"id: x\n" * 500),
    "retry lines": (b"", b"retry: 1\n" * 500),
}

# What counts: a start, then a chunk again and again, and how much the guard counts for it.
KEPT: dict[str, tuple[bytes, bytes, int, dict[str, Any]]] = {
    "one line": (b"data: ", b"x" * 65536, 65536, {}),
    "one line in small chunks": (b"data: ", b"x" * 64, 64, {}),
    "short lines": (b"", b"data: xy\n" * 1000, 3000, {}),
    "empty lines": (b"data\n", b"data\n" * 1000, 1000, {}),
    "a type": (b"event: ", b"x" * 65536, 65536, {}),
    "an id": (b"id: ", b"x" * 65536, 65536, {}),
    "a comment": (b":", b"x" * 65536, 65536, {"comments": True}),
    "raw bytes": (b"", b": x\n" * 1000, 4000, {"raw": True}),
    "raw bytes and a value": (b"data:", b"x" * 16384, 2 * 16384, {"raw": True}),
    "lines and a line": (b"data: 1\ndata: 2\ndata:", b"x" * 65536, 65536, {}),
}


def chunks(start: bytes, chunk: bytes, times: int) -> Iterable[bytes]:
    yield start
    for _ in range(times):
        yield chunk


def traced_peak(work: Callable[[], object]) -> int:
    """The most that Python allocates while something is done, in bytes."""
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        work()
        _, peak = tracemalloc.get_traced_memory()
        return peak - before
    finally:
        tracemalloc.stop()


PROCESS_PEAK = """
import importlib, sys
sys.path.insert(0, {tests!r})
import test_bounded
peak = lambda: int(next(line for line in open("/proc/self/status") if "VmHWM" in line).split()[1])
backend = importlib.import_module({module!r})
start, chunk, times, options = {what!r}
parser = backend.Parser(**options)
parser.feed(b"")
before = peak()
for piece in test_bounded.chunks(start, chunk, times):
    parser.feed(piece)
print((peak() - before) * 1024, parser.buffered)
"""


def process_peak(name: str, what: tuple[bytes, bytes, int, dict[str, Any]]) -> tuple[int, int]:
    """The most memory a process of its own gains while it feeds; and what is buffered then."""
    tests = __file__.rpartition("/")[0]
    code = PROCESS_PEAK.format(tests=tests, module=BACKENDS[name], what=what)
    done = subprocess.run(
        [sys.executable, "-"], input=code, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    gained, buffered = done.stdout.split()
    return int(gained), int(buffered)


def name_of(backend: Any) -> str:
    return next(name for name, module in BACKENDS.items() if module == backend.__name__)


def shape_of_kept(what: str, limit: int) -> tuple[bytes, bytes, int, dict[str, Any]]:
    """Chunks that nearly fill a limit, and the parser's options."""
    start, chunk, counted, options = KEPT[what]
    return start, chunk, limit // counted - 1, {**options, "max_buffer_size": limit}


@pytest.mark.parametrize("what", IGNORED)
def test_ignored_lines_retain_nothing(backend: Any, what: str) -> None:
    start, chunk = IGNORED[what]
    parser = backend.Parser(max_buffer_size=1024)

    def feed() -> None:
        for piece in chunks(start, chunk, TRACED // len(chunk) + 16):
            parser.feed(piece)
            assert parser.buffered <= 1

    assert traced_peak(feed) < MIB // 2


@pytest.mark.parametrize("what", ["comment", "unknown field"])
def test_50_mb_of_what_is_ignored_retain_nothing(backend: Any, what: str) -> None:
    start, chunk = IGNORED[what]
    times = 50_000_000 // len(chunk) + 1
    gained, buffered = process_peak(name_of(backend), (start, chunk, times, {}))
    assert gained < CONSTANT
    assert buffered == 0


@pytest.mark.parametrize("what", KEPT)
def test_what_is_kept_takes_at_most_twice_the_limit(backend: Any, what: str) -> None:
    gained, buffered = process_peak(name_of(backend), shape_of_kept(what, LIMIT))
    assert LIMIT * 0.9 < buffered <= LIMIT
    assert gained < 2 * LIMIT + CONSTANT


@pytest.mark.parametrize("what", KEPT)
def test_what_python_allocates_is_at_most_twice_the_limit(backend: Any, what: str) -> None:
    start, chunk, times, options = shape_of_kept(what, TRACED)
    parser = backend.Parser(**options)

    def feed() -> None:
        for piece in chunks(start, chunk, times):
            parser.feed(piece)

    assert traced_peak(feed) < 2 * TRACED + CONSTANT
    assert parser.buffered > TRACED * 0.9


def test_nothing_is_retained_after_the_overflow(backend: Any) -> None:
    parser = backend.Parser(max_buffer_size=LIMIT)
    big = b"data: " + b"x" * (LIMIT + 1)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        with pytest.raises(Exception, match="max_buffer_size"):
            parser.feed(big)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < CONSTANT
    assert parser.buffered == 0


def test_a_dispatched_event_leaves_nothing_behind(backend: Any) -> None:
    parser = backend.Parser()
    big = b"data: " + b"x" * LIMIT + b"\n\n"

    def feed() -> int:
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            assert len(parser.feed(big)) == 1
            after, _ = tracemalloc.get_traced_memory()
            return after - before
        finally:
            tracemalloc.stop()

    assert feed() < CONSTANT
    assert parser.buffered == 0


def test_a_chunk_is_not_kept_alive(backend: Any) -> None:
    parser = backend.Parser(raw=True, comments=True)
    chunk = bytearray(b": c\n" * 1000 + b"data: x")
    parser.feed(chunk)
    chunk.clear()  # a BufferError if anything holds on to it
    parser.feed(memoryview(b"yz\n\n"))


def test_an_iterator_makes_no_list_of_a_huge_chunk(backend: Any) -> None:
    chunk = b"data: x\n\n" * 1_000_000

    def work() -> None:
        events = backend.iter_events([chunk])
        for _ in range(10):
            assert next(events).data == "x"

    assert traced_peak(work) < len(chunk) + CONSTANT
