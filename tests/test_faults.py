"""Every client with every fault of the network: no event is lost or invented, and an end that is
not the end is an error."""

from __future__ import annotations

import gc
import urllib.request
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
import stream_clients
from rapidsse import StreamInterrupted, parse
from rapidsse.testing import FaultServer, Reply
from stream_clients import CLIENTS, read

STREAM = (
    'data: {"caf\u00e9": "\U0001f600"}\r\n\r\n: heartbeat\r\n\r\nid: 2\r\ndata: two\r\ndata: lines'
    "\r\n\r\nevent: ping\r\ndata\r\n\r\ndata: [DONE]\r\n\r\n"
).encode()
DONE = "[DONE]"
DATA = [event.data for event in parse(STREAM)]
DECOMPRESSING = [name for name in CLIENTS if name != "urllib.request"]
STEP = 7  # bytes between two places of a cut
CUTS = [
    ("chunked", "reset"),
    ("chunked", "close"),
    ("chunked", "end"),
    ("chunked", "garbage"),
    ("length", "reset"),
    ("length", "close"),
    ("close", "reset"),
    ("close", "close"),
]


def cuttings(clients: list[str]) -> list[tuple[str, str, str]]:
    """Each client with each way to be cut. aiohttp by itself waits for ever, whatever its timeout,
    for a body whose broken chunk comes together with the head."""
    every = [(client, *cut) for client in clients for cut in CUTS]
    return [each for each in every if each != ("async aiohttp", "chunked", "garbage")]


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> Iterator[str]:
    gc.collect()
    yield str(request.param)
    gc.collect()  # what was left open would warn now, and a warning is an error


def complete(body: bytes) -> list[str]:
    """The data of the events that a body completes."""
    return [event.data for event in parse(body)]


def compressed(chunk: int | str) -> bytes:
    """The body as it is sent with gzip."""
    with (
        FaultServer(STREAM, chunk=chunk, gzip=True) as server,
        urllib.request.urlopen(server.url) as response,
    ):
        body: bytes = response.read()
    return body


def check(client: str, replies: list[Reply], bodies: list[bytes]) -> None:
    """Reads a reply after the other; `bodies` are what can be known of each, decoded."""
    with FaultServer(STREAM, *replies) as server:
        reads = read(client, server.url, *["/"] * len(replies), done=DONE)
    for reply, body, got in zip(replies, bodies, reads, strict=True):
        expected = complete(body)
        if got.stream is None:
            # What is too much came together with the head, and aiohttp looks at both at once.
            assert (client, reply.length_error < 0) == ("async aiohttp", True), reply
        elif DONE in expected:
            assert (got.data, got.error) == (DATA[:-1], None), reply
            assert got.stream.completed
        else:
            assert got.data == expected, reply
            assert isinstance(got.error, StreamInterrupted), reply
            assert not got.stream.completed


@pytest.mark.parametrize("chunk", ["whole", "event", 3])
@pytest.mark.parametrize(("client", "framing", "cut"), cuttings(CLIENTS))
def test_cut_anywhere(client: str, framing: Any, cut: Any, chunk: Any) -> None:
    places = range(0, len(STREAM) + 1, STEP)
    replies = [Reply(chunk=chunk, framing=framing, cut_at=place, cut=cut) for place in places]
    check(client, replies, [STREAM[:place] for place in places])


@pytest.mark.parametrize(("client", "framing", "cut"), cuttings(DECOMPRESSING))
def test_a_compressed_stream_cut_anywhere(client: str, framing: Any, cut: Any) -> None:
    body = compressed("event")
    places = range(0, len(body) + 1, STEP)
    replies = [
        Reply(chunk="event", gzip=True, framing=framing, cut_at=place, cut=cut) for place in places
    ]
    check(client, replies, [zlib.decompressobj(31).decompress(body[:place]) for place in places])


@pytest.mark.parametrize("error", [-40, -1, 1, 40])
def test_a_wrong_length(client: str, error: int) -> None:
    reply = Reply(framing="length", length_error=error)
    check(client, [reply], [STREAM[: len(STREAM) + error]])


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_a_byte_at_a_time(client: str, framing: Any) -> None:
    compressions = [False, True] if client in DECOMPRESSING else [False]
    replies = [Reply(chunk=1, framing=framing, gzip=gzip) for gzip in compressions]
    check(client, replies, [STREAM] * len(replies))


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_a_stall(client: str, framing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own read timeout ends it."""
    monkeypatch.setattr(stream_clients, "TIMEOUT", 0.2)
    places = [0, len(STREAM) // 2, len(STREAM) - 3]
    replies = [Reply(framing=framing, stall_at=place) for place in places]
    check(client, replies, [STREAM[:place] for place in places])
