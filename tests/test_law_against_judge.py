"""Chunks don't matter, Earliest dispatch, Nothing lost, Two backends: both against the judge.

Hypothesis makes streams, cuttings and options. RAPIDSSE_FUZZ_SECONDS makes it run for so long,
with new seeds all the time.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import judge
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from judge import Options, Verdict
from rapidsse import BufferSizeExceeded, ParserClosed, StreamInterrupted
from rapidsse.testing import cuts
from support import plain, plains, run

FUZZ_SECONDS = float(os.environ.get("RAPIDSSE_FUZZ_SECONDS", "0"))

PIECES = [
    *(b"data", b"data:", b"data: ", b"data: x", b"data:  ", b"data: [DONE]\n\n", b'data: {"a":1}'),
    *(b"event", b"event:", b"event: ", b"event: error\n", b"event: x"),
    *(b"id", b"id:", b"id: ", b"id: 7\n", b"id: \0\n", b"retry", b"retry: ", b"retry: 12\n"),
    *(b"retry: 99999999999999999999\n", b"retry:0", b"retry: 1x\n"),
    *(b":", b": ", b": comment\n", b"::", b" ", b"  ", b"\t"),
    *(b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", b"\r\n\r\n", b"\n\r", b"\r\n\n"),
    *(judge.BOM, b"\xef", b"\xef\xbb", b"\0", b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98"),
    *(b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90", b"\x80", b"\xbf"),
    *("é".encode(), "€".encode(), "😀".encode(), "\u2028".encode(), "\x85".encode()),
    *(b"\x0b", b"\x0c", b"\x1c", b"x", b"7", b"error", b"Data: ", b"datax: ", b"unknown: y\n"),
    *(b"payload that lost its field name", b"a-b_c 9:", b"n" * 64 + b": v\n", b"n" * 65 + b":"),
]
lines = st.builds(
    lambda *parts: b"".join(parts),
    st.sampled_from([b"data", b"data", b"data", b"event", b"id", b"retry", b"", b"other"]),
    st.sampled_from([b": ", b":", b":  ", b""]),
    st.sampled_from(
        [b"", b"x", b"a", b"12", b"error", b'"a"', b"[DONE]", b"\0", b"\xff", b"w" * 9]
    ),
    st.sampled_from([b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", b"\r\n\r\n"]),
)
pieces = st.one_of(
    st.sampled_from(PIECES), st.sampled_from(PIECES), lines, lines, st.binary(max_size=3)
)
streams = st.builds(
    lambda start, rest: start + b"".join(rest),
    st.sampled_from([b"", b"", judge.BOM, b"\xef", b"\xef\xbb"]),
    st.lists(pieces, max_size=20),
)
needles = st.sampled_from([b"x", b"\n", b"\xe2\x82", b"a", b'"a"', b"\xff", b"[DONE]"])
options = st.builds(
    Options,
    last_event_id=st.sampled_from(["", "", "before", "é\ud800"]),
    max_buffer_size=st.one_of(st.none(), st.none(), st.integers(1, 40), st.integers(1, 200)),
    comments=st.booleans(),
    diagnostics=st.booleans(),
    raw=st.booleans(),
    types=st.one_of(
        st.none(), st.none(), st.sets(st.sampled_from(["message", "error", "x", "\ufffd"]))
    ),
    contains=st.one_of(st.none(), st.none(), st.lists(needles, max_size=2)),
)


@st.composite
def cuttings(draw: st.DrawFn, stream: bytes) -> list[bytes]:
    """A stream cut anywhere, with empty chunks too; or whole; or byte by byte."""
    size = len(stream)
    how = draw(st.integers(0, 4))
    if how == 0:
        return [stream]
    if how == 1:
        return [stream[at : at + 1] for at in range(size)]
    edges = [0, *sorted(draw(st.lists(st.integers(0, size), max_size=8))), size]
    return [stream[start:stop] for start, stop in itertools.pairwise(edges)]


@st.composite
def examples(draw: st.DrawFn) -> tuple[list[bytes], Options]:
    return draw(cuttings(draw(streams))), draw(options)


def unlimited(chosen: Options) -> Options:
    return Options(**{**vars(chosen), "max_buffer_size": None})


def attributes(of: Any) -> tuple[str, int | None, int]:
    return of.last_event_id, of.retry, of.skipped


def compare_feed(backend: Any, chunks: list[bytes], chosen: Options) -> None:
    stream = b"".join(chunks)
    verdict = judge.judge(stream, chosen)
    parser = backend.Parser(**vars(chosen))
    stop = 0
    raised = False
    for chunk in chunks:
        start, stop = stop, stop + len(chunk)
        overflow = verdict.overflow
        expected = verdict.told(start, stop)
        if overflow is None or stop < overflow:
            assert plains(parser.feed(chunk)) == expected
            so_far = judge.meaning(stream[:stop], unlimited(chosen))
            assert attributes(parser) == attributes(so_far)
            assert parser.buffered == so_far.buffered
            assert not parser.closed
            assert not parser.truncated
        else:
            if start < overflow and expected:
                assert plains(parser.feed(chunk)) == expected
            else:
                with pytest.raises(BufferSizeExceeded) as error:
                    parser.feed(chunk)
                assert error.value.limit == chosen.max_buffer_size
                raised = True
            assert attributes(parser) == attributes(verdict)
            assert parser.closed
            assert parser.buffered == 0

    if verdict.overflow is not None and not raised:
        with pytest.raises(BufferSizeExceeded):
            parser.close()
    assert plain(parser.close()) == verdict.unfinished
    assert attributes(parser) == attributes(verdict)
    assert (parser.closed, parser.buffered) == (True, 0)
    assert parser.truncated is verdict.truncated
    assert parser.close() is None
    assert parser.truncated is verdict.truncated
    error_kind = ParserClosed if verdict.overflow is None else BufferSizeExceeded
    with pytest.raises(error_kind):
        parser.feed(b"data: late\n\n")

    parser.reset("new")
    assert (parser.last_event_id, parser.retry, parser.skipped) == ("new", None, 0)
    assert (parser.closed, parser.truncated, parser.buffered) == (False, False, 0)


def compare_parse(backend: Any, chunks: list[bytes], chosen: Options) -> None:
    stream = b"".join(chunks)
    verdict = judge.judge(stream, chosen)
    if verdict.overflow is not None:
        with pytest.raises(BufferSizeExceeded):
            backend.parse(stream, **vars(chosen))
    else:
        assert plains(backend.parse(stream, **vars(chosen))) == verdict.told(0, len(stream))


Step = Callable[[], Any]


def compare_steps(
    iterator: Any, step: Step, chunks: list[bytes], chosen: Options, policy: str
) -> None:
    stream = b"".join(chunks)
    verdict = judge.judge(stream, chosen)
    assert attributes(iterator) == (chosen.last_event_id, None, 0)
    for end, expected in verdict.items:
        assert plain(step()) == expected
        assert attributes(iterator) == attributes(judge.meaning(stream[:end], unlimited(chosen)))
        assert (iterator.unfinished, iterator.truncated) == (None, False)
    if verdict.overflow is not None:
        with pytest.raises(BufferSizeExceeded):
            step()
    elif policy == "raise" and verdict.truncated:
        with pytest.raises(StreamInterrupted) as error:
            step()
        assert plain(error.value.unfinished) == verdict.unfinished
        assert error.value.last_event_id == verdict.last_event_id
    elif policy == "yield" and verdict.unfinished is not None:
        assert plain(step()) == verdict.unfinished
    for _ in range(2):
        with pytest.raises((StopIteration, StopAsyncIteration)):
            step()
    check_end(iterator, verdict)


def check_end(iterator: Any, verdict: Verdict) -> None:
    assert attributes(iterator) == attributes(verdict)
    assert plain(iterator.unfinished) == verdict.unfinished
    assert iterator.truncated is verdict.truncated


def compare_iter(backend: Any, chunks: list[bytes], chosen: Options, policy: str) -> None:
    iterator = backend.iter_events(iter(chunks), unfinished=policy, **vars(chosen))
    compare_steps(iterator, lambda: next(iterator), chunks, chosen, policy)


def compare_aiter(backend: Any, chunks: list[bytes], chosen: Options, policy: str) -> None:
    async def source() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    def step() -> Any:
        """Awaits a step with no event loop: the source never waits."""

        async def body() -> Any:
            return await iterator.__anext__()

        try:
            body().send(None)
        except StopIteration as stop:
            return stop.value
        raise AssertionError("the source never waits")

    iterator = backend.aiter_events(source(), unfinished=policy, **vars(chosen))
    compare_steps(iterator, step, chunks, chosen, policy)


policies = st.sampled_from(["discard", "raise", "yield"])


def search(check: Callable[..., None], *arguments: Any, examples_each: int) -> None:
    """Runs a property: the same examples each time, or new ones until the time is over."""
    quiet = {
        "deadline": None,
        "database": None,
        "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
    }
    fixed = settings(max_examples=examples_each, derandomize=FUZZ_SECONDS == 0, **quiet)
    started = time.monotonic()
    number = time.time_ns()
    while True:
        prepared = fixed(given(*arguments)(check))
        if FUZZ_SECONDS:
            prepared = seed(number)(prepared)
        prepared()
        number += 1
        if time.monotonic() - started >= FUZZ_SECONDS / 6:
            return


def test_feed_says_what_the_judge_says(backend: Any) -> None:
    def check(example: tuple[list[bytes], Options]) -> None:
        compare_feed(backend, *example)
        compare_parse(backend, *example)

    search(check, examples(), examples_each=1500)


def test_iteration_says_what_the_judge_says(backend: Any) -> None:
    def check(example: tuple[list[bytes], Options], policy: str) -> None:
        compare_iter(backend, *example, policy)

    search(check, examples(), policies, examples_each=600)


def test_async_iteration_says_what_the_judge_says(backend: Any) -> None:
    def check(example: tuple[list[bytes], Options], policy: str) -> None:
        compare_aiter(backend, *example, policy)

    search(check, examples(), policies, examples_each=600)


@pytest.mark.parametrize(
    ("stream", "limit"),
    [
        (b"x: 12\n", 5),
        (b" \n\neventdata: \n", 11),
        (b"\xef\xbb\n", 1),
        (b"\xef\xbb\n", 2),
        (b"\xefx\n", 1),
        (b"data: a\n\n\xff\r\n", 1),
        (b"data: a\ndata:\xff\n", 16),
    ],
)
def test_an_overflow_by_the_byte_that_completes_an_item(
    backend: Any, stream: bytes, limit: int
) -> None:
    """The item is delivered, then the error comes, for every cutting. Once found at random."""
    chosen = Options(max_buffer_size=limit, raw=True, diagnostics=True)
    for chunks in cuts(stream):
        compare_feed(backend, chunks, chosen)
        compare_iter(backend, chunks, chosen, "discard")
        compare_aiter(backend, chunks, chosen, "discard")


def test_steps_work_in_an_event_loop_too(backend: Any) -> None:
    async def collect(chunks: list[bytes]) -> list[Any]:
        async def source() -> AsyncIterator[bytes]:
            for chunk in chunks:
                yield chunk

        return [item async for item in backend.aiter_events(source(), comments=True)]

    chunks = [b"data: a\n", b"\n:c\ndata: b\n\nda", b"ta: c\n\n"]
    expected = judge.meaning(b"".join(chunks), Options(comments=True)).items
    assert plains(run(collect(chunks))) == [item for _, item in expected]
