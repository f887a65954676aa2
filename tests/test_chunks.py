"""Chunks don't matter: the cuts that broke other parsers, and every kind of buffer."""

from __future__ import annotations

import array
import importlib
import mmap
from typing import Any

import judge
import pytest
from rapidsse.testing import cuts
from support import fed, plain, plains

STREAM = (
    b"\xef\xbb\xbf: hello\r\nid: 1\r\nevent: greeting\rdata: caf\xc3\xa9 \xf0\x9f\x98\x80\r\n\r\n"
    b"retry: 2500\ndata\ndata: \xff\n\nunknown: \xe2\x82\nid: \0\rretry: x\r\r\nevent: last\n\n"
    b"data: cut"
)
EVERYTHING = judge.Options(comments=True, diagnostics=True, raw=True)


def verdict_of(backend: Any, chunks: list[bytes]) -> tuple[Any, ...]:
    parser = backend.Parser(comments=True, diagnostics=True, raw=True)
    items = plains(fed(parser, chunks))
    unfinished = plain(parser.close())
    return items, unfinished, parser.last_event_id, parser.retry, parser.truncated


def test_everything_is_the_same_for_every_cutting(backend: Any) -> None:
    whole = judge.meaning(STREAM, EVERYTHING)
    expected = (
        [item for _, item in whole.items],
        whole.unfinished,
        whole.last_event_id,
        whole.retry,
        whole.truncated,
    )
    for chunks in cuts(STREAM):
        assert verdict_of(backend, chunks) == expected


def test_everything_is_the_same_for_every_two_cuts(backend: Any) -> None:
    short = b"\xef\xbb\xbfdata: a\xe2\x82\xac\r\n\r\nid: 1\rdata\r\r: c\n"
    expected = verdict_of(backend, [short])
    for first in range(len(short) + 1):
        for second in range(first, len(short) + 1):
            chunks = [short[:first], short[first:second], short[second:]]
            assert verdict_of(backend, chunks) == expected


@pytest.mark.parametrize("size", [1, 2, 3, 1000, 65535, 65536, 65537, 200_000])
@pytest.mark.parametrize("ending", [b"\n", b"\r", b"\r\n"])
def test_long_values_are_the_same_in_chunks_of_every_size(
    backend: Any, size: int, ending: bytes
) -> None:
    value = "é€😀x".encode() * 15_000
    stream = b"event: long" + ending + b"data: " + value + ending + ending
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    (event,) = fed(backend.Parser(), chunks)
    assert event.data == value.decode()
    assert event.event == "long"


@pytest.mark.parametrize(
    "make",
    [
        bytes,
        bytearray,
        memoryview,
        lambda data: memoryview(bytearray(data)),
        lambda data: memoryview(b"--" + data + b"--")[2:-2],
        lambda data: array.array("B", data),
        lambda data: memoryview(data).cast("b"),
        lambda data: memoryview(data).cast("c"),
        type("Bytes", (bytes,), {}),
    ],
)
def test_any_contiguous_buffer_is_a_chunk(backend: Any, make: Any) -> None:
    data = b"data: a\n\ndata: b\n\n"
    assert [event.data for event in backend.Parser().feed(make(data))] == ["a", "b"]
    assert [event.data for event in backend.parse(make(data))] == ["a", "b"]
    assert [event.data for event in backend.iter_events([make(data)])] == ["a", "b"]


def test_buffers_of_more_dimensions_or_larger_elements_are_their_bytes(backend: Any) -> None:
    data = b"data: abcd\n\nxyzw"
    parser = backend.Parser()
    assert [event.data for event in parser.feed(memoryview(data).cast("I"))] == ["abcd"]
    parser.reset()
    table = memoryview(data).cast("B", (4, 4))
    assert [event.data for event in parser.feed(table)] == ["abcd"]


def test_a_chunk_may_be_changed_after_it_was_fed(backend: Any) -> None:
    chunk = bytearray(b"data: first\n\ndata: sec")
    parser = backend.Parser(raw=True)
    (first,) = parser.feed(chunk)
    chunk[:] = b"X" * 4
    (second,) = parser.feed(b"ond\n\n")
    assert (first.data, first.raw) == ("first", b"data: first\n")
    assert (second.data, second.raw) == ("second", b"data: second\n")


def test_a_memory_map_is_a_chunk_and_is_let_go(backend: Any) -> None:
    with mmap.mmap(-1, 4096) as mapped:
        mapped[:9] = b"data: a\n\n"
        parser = backend.Parser()
        assert [event.data for event in parser.feed(mapped)] == ["a"]
    assert parser.buffered == 0


@pytest.mark.parametrize("waiting", [0, 1, 5, 40])
def test_the_pure_backend_wherever_a_block_becomes_a_long_one(
    monkeypatch: pytest.MonkeyPatch, waiting: int
) -> None:
    """Blocks are taken in line by line from a size on that short streams do not reach."""
    monkeypatch.setattr("rapidsse._pure._parser.WAITING", waiting)
    monkeypatch.setattr("rapidsse._pure._parser.GROWS", waiting // 2)
    monkeypatch.setattr("rapidsse._pure._parser.WINDOW", 16)
    backend = importlib.import_module("rapidsse._pure")
    for limit in (None, len(STREAM)):
        chosen = judge.Options(max_buffer_size=limit)
        whole = judge.meaning(STREAM, chosen)
        for chunks in cuts(STREAM):
            parser = backend.Parser(max_buffer_size=limit)
            assert plains(fed(parser, chunks)) == [item for _, item in whole.items]
            assert parser.buffered == whole.buffered
            assert plain(parser.close()) == whole.unfinished
            assert (parser.last_event_id, parser.retry) == (whole.last_event_id, whole.retry)
            assert parser.truncated is whole.truncated
