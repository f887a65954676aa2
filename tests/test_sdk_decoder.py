"""rapidsse.sdk: the decoder that the openai and anthropic SDKs accept, next to their own."""

from __future__ import annotations

import importlib
import os
import platform
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anthropic._streaming
import openai._streaming
import pytest
import rapidsse
from hypothesis import given
from hypothesis import strategies as st
from rapidsse import BufferSizeExceeded, StreamInterrupted
from rapidsse.sdk import SDKEvent, SSEDecoder
from support import async_source, byte_by_byte, run

OWN: dict[str, Any] = {
    "openai": openai._streaming.SSEDecoder,
    "anthropic": anthropic._streaming.SSEDecoder,
}


def sync_events(decoder: Any, chunks: list[bytes]) -> list[Any]:
    return list(decoder.iter_bytes(iter(chunks)))


def async_events(decoder: Any, chunks: list[bytes]) -> list[Any]:
    async def read() -> list[Any]:
        return [event async for event in decoder.aiter_bytes(async_source(chunks))]

    return run(read())


def fields(event: Any) -> tuple[Any, ...]:
    return event.event, event.data, event.id, event.retry


WAYS = {"sync": sync_events, "async": async_events}

# A block's lines and the type that the SDKs are to see.
TYPES: dict[str, tuple[list[bytes], str | None]] = {
    "none": ([], None),
    "a type": ([b"event: ping"], "ping"),
    "message": ([b"event: message"], "message"),
    "message, no space": ([b"event:message"], "message"),
    "message, two spaces": ([b"event:  message"], " message"),
    "message after another": ([b"event: ping", b"event: message"], "message"),
    "empty": ([b"event:"], None),
    "empty, no colon": ([b"event"], None),
    "empty after message": ([b"event: message", b"event"], None),
    "message in data": ([b'data: "event: message"'], None),
    "message in a comment": ([b":event: message"], None),
    "message in an unknown field": ([b"events: message", b"event : message"], None),
}


@pytest.mark.parametrize("ending", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TYPES)
def test_no_type_is_told_from_message(name: str, way: str, ending: bytes) -> None:
    lines, expected = TYPES[name]
    stream = ending.join([*lines, b"data: {}", b"", b""])
    for chunks in ([stream], byte_by_byte(stream)):
        for decoder in (SSEDecoder(), OWN["openai"](), OWN["anthropic"]()):
            assert [event.event for event in WAYS[way](decoder, chunks)] == [expected]


text = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=9)
line = st.one_of(
    text.map(lambda value: f"data: {value}"),
    text.map(lambda value: f"data:{value}"),
    text.map(lambda value: f": {value}"),
    text.map(lambda value: f"x{value}"),
    st.sampled_from(["event: message", "event:", "event", "event: ping", "data", "retry: 15"]),
    text.filter(lambda value: value.strip(" ")).map(lambda value: f"id: {value}"),
)
# With data in every block and no BOM, on which the SDKs' own decoders follow the standard.
blocks = st.lists(
    st.tuples(st.lists(line, max_size=4), text, st.lists(line, max_size=4)).map(
        lambda parts: [*parts[0], f"data: {parts[1]}", *parts[2], ""]
    ),
    max_size=4,
)


@st.composite
def cut_streams(draw: st.DrawFn) -> list[bytes]:
    lines = [line for block in draw(blocks) for line in block]
    ending = draw(st.sampled_from(["\n", "\r", "\r\n"]))
    stream = "".join(line + ending for line in lines).encode()
    cuts = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    return [stream[start:stop] for start, stop in zip([0, *cuts], [*cuts, None], strict=True)]


@given(cut_streams())
def test_as_the_own_decoders_where_they_follow_the_standard(chunks: list[bytes]) -> None:
    ours = sync_events(SSEDecoder(), chunks)
    assert list(map(fields, ours)) == list(map(fields, async_events(SSEDecoder(), chunks)))
    for own in OWN.values():
        assert list(map(fields, ours)) == list(map(fields, sync_events(own(), chunks)))
    own_raw = [event.raw for event in sync_events(OWN["anthropic"](), chunks)]
    assert [event.raw for event in ours] == own_raw


def test_an_event() -> None:
    stream = (
        b': hi\nid: 7\nretry: 15\nmore: \xff\ndata: {"n":\ndata: 1}\n\ndata: 2\n\nid\ndata:\n\n'
    )
    first, second, third = sync_events(SSEDecoder(), [stream])
    assert isinstance(first, SDKEvent)
    assert fields(first) == (None, '{"n":\n1}', "7", 15)
    assert first.json() == {"n": 1}
    assert first.raw == [": hi", "id: 7", "retry: 15", "more: \ufffd", 'data: {"n":', "data: 1}"]
    assert fields(second) == (None, "2", "7", None)
    assert fields(third) == (None, "", None, None)
    assert repr(second) == "SDKEvent(event=None, data='2', id='7', retry=None)"
    assert len(repr(sync_events(SSEDecoder(), [b"data: " + b"x" * 9999 + b"\n\n"])[0])) < 200
    with pytest.raises(AttributeError):
        first.data = "other"


@pytest.mark.parametrize(
    "block", [b"event: ping\n\n", b"id: 8\n\n", b"retry: 1\n\n", b": hi\n\n", b"\n"]
)
@pytest.mark.parametrize("way", WAYS)
def test_a_block_without_data_is_no_event(way: str, block: bytes) -> None:
    events = WAYS[way](SSEDecoder(), [b"id: 7\n\n", block, b"data: 1\n\n"])
    assert [event.data for event in events] == ["1"]


# The table in docs/migrating/sdk-decoder.md; what fails is in test_sdk_clients.py.


@pytest.mark.parametrize(
    ("stream", "own", "ours"),
    [
        (b"retry: -1\ndata: 1\n\n", (None, "1", None, -1), (None, "1", None, None)),
        (b"id\ndata: 1\n\n", (None, "1", "", None), (None, "1", None, None)),
    ],
)
def test_where_the_fields_differ(stream: bytes, own: Any, ours: Any) -> None:
    for decoder in OWN.values():
        assert list(map(fields, sync_events(decoder(), [stream]))) == [own]
    assert list(map(fields, sync_events(SSEDecoder(), [stream]))) == [ours]


@pytest.mark.parametrize(
    "chunks",
    [
        [b"data: 1\n\r\n", b"data: 2\n\n"],
        [b"data: 1\r\n\r", b"\ndata: 2\n\n"],
        [b"data: 1\r\r\n", b"data: 2\n\n"],
    ],
)
def test_an_event_comes_with_its_blank_line(chunks: list[bytes]) -> None:
    """The anthropic SDK's own decoder waits for a pair of like endings."""

    def chunks_read(decoder: Any) -> int:
        source = iter(chunks)
        next(decoder.iter_bytes(source))
        return len(chunks) - len(list(source))

    assert chunks_read(OWN["anthropic"]()) == 2
    assert chunks_read(SSEDecoder()) == 1


# Errors and ends


@pytest.mark.parametrize("way", WAYS)
def test_the_guard(way: str) -> None:
    with pytest.raises(BufferSizeExceeded, match="max_buffer_size, 10 bytes"):
        WAYS[way](SSEDecoder(max_buffer_size=10), [b"data: 0123456789"])
    assert WAYS[way](SSEDecoder(max_buffer_size=None), [b"data: 0123456789\n\n"])


@pytest.mark.parametrize("way", WAYS)
def test_an_unfinished_event(way: str) -> None:
    chunks = [b"data: 1\n\ndata: 2\n"]
    assert [event.data for event in WAYS[way](SSEDecoder(), chunks)] == ["1"]
    lenient = WAYS[way](SSEDecoder(unfinished="yield"), chunks)
    assert [(event.data, event.raw) for event in lenient] == [
        ("1", ["data: 1"]),
        ("2", ["data: 2"]),
    ]
    with pytest.raises(StreamInterrupted):
        WAYS[way](SSEDecoder(unfinished="raise"), chunks)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"max_buffer_size": 0}, ValueError),
        ({"max_buffer_size": "1"}, TypeError),
        ({"unfinished": "keep"}, ValueError),
        ({"raw": True}, TypeError),
    ],
)
def test_a_wrong_option_is_refused_at_once(options: dict[str, Any], error: type) -> None:
    with pytest.raises(error):
        SSEDecoder(**options)


def test_closing_closes_the_source() -> None:
    closed: list[str] = []

    def source() -> Iterator[bytes]:
        try:
            while True:
                yield b"data: 1\n\n"
        finally:
            closed.append("sync")

    async def async_source() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"data: 1\n\n"
        finally:
            closed.append("async")

    events: Any = SSEDecoder().iter_bytes(source())
    next(events)
    events.close()
    assert closed == ["sync"]

    async def leave() -> None:
        events: Any = SSEDecoder().aiter_bytes(async_source())
        await events.__anext__()
        await events.aclose()
        assert closed == ["sync", "async"]

    run(leave())


@pytest.mark.parametrize("way", WAYS)
def test_an_error_of_the_source_passes(way: str) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"data: 1\n\n"
        raise ConnectionError("broken")

    with pytest.raises(ConnectionError, match="broken"):
        WAYS[way](SSEDecoder(), chunks())  # type: ignore[arg-type]


def test_one_decoder_serves_streams_side_by_side() -> None:
    decoder = SSEDecoder()
    one = decoder.iter_bytes(iter([b"id: 1\ndata: 1", b"\n\n"]))
    two = decoder.iter_bytes(iter([b"data: 2\n\n"]))
    assert [fields(next(two)), fields(next(one))] == [
        (None, "2", None, None),
        (None, "1", "1", None),
    ]


# What the SDKs' types and a plain import ask


@pytest.mark.skipif(
    platform.python_implementation() != "CPython", reason="mypy runs on CPython only"
)
@pytest.mark.parametrize("sdk", OWN)
def test_it_is_of_the_protocol(sdk: str, tmp_path: Path) -> None:
    """For mypy too; with the SDK's module alone, as its whole package takes half a minute."""
    module = importlib.import_module(f"{sdk}._streaming")
    assert isinstance(SSEDecoder(), module.SSEBytesDecoder)

    copy = tmp_path / "alone"
    copy.mkdir()
    (copy / "__init__.py").touch()
    (copy / "_streaming.py").write_text(
        Path(str(module.__file__)).read_text(encoding="utf-8"), encoding="utf-8"
    )
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\nstrict = True\n[mypy-alone.*]\nignore_errors = True\n"
        "[mypy-httpx2.*,anyio.*]\nfollow_imports = skip\n"
    )
    (tmp_path / "case.py").write_text(
        "from alone._streaming import SSEBytesDecoder, ServerSentEvent\n"
        "from rapidsse.sdk import SSEDecoder\n"
        "right: SSEBytesDecoder = SSEDecoder()\n"
        "wrong: SSEBytesDecoder = ServerSentEvent()\n"
    )
    environment = dict(os.environ)
    package = Path(rapidsse.__file__).parent
    if package.parent.name not in ("site-packages", "dist-packages"):
        environment["MYPYPATH"] = str(package.parent)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--config-file", "mypy.ini"),
            *("--cache-dir", "cache", "case.py"),
        ],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line.partition(": ")[0] for line in errors] == ["case.py:4"], done.stdout


def test_no_sdk_and_no_client_is_imported() -> None:
    code = (
        "import sys, rapidsse, rapidsse.sdk, rapidsse.compat\n"
        "print({'openai', 'anthropic', 'httpx', 'httpx2', 'httpx_sse', 'anyio'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "set()\n"
