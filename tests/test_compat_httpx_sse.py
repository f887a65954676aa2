"""rapidsse.compat.httpx_sse: the same user code under both imports, with the named differences."""

from __future__ import annotations

import importlib
import inspect
import ssl
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import httpx_sse
import pytest
import rapidsse
from provider_streams import CHAT, MESSAGES, inside_characters, wire
from rapidsse.compat import httpx_sse as ours
from scripted import Scripted, scripted_server
from support import byte_by_byte, run

TLS = ssl.create_default_context()  # made once: each takes a tenth of a second
MODULES = {"httpx-sse": "httpx_sse", "rapidsse": "rapidsse.compat.httpx_sse"}


@pytest.fixture(scope="module")
def server() -> Iterator[Scripted]:
    with scripted_server() as script:
        yield script


# The user's code, as it stands after the import line


def read_sync(module: str, url: str) -> list[Any]:
    package: Any = importlib.import_module(module)
    connect_sse = package.connect_sse
    with (
        httpx.Client(verify=TLS) as client,
        connect_sse(client, "GET", url, params={"q": "1"}) as event_source,
    ):
        event_source.response.raise_for_status()
        return [(sse.event, sse.data, sse.id, sse.retry) for sse in event_source.iter_sse()]


def read_async(module: str, url: str) -> list[Any]:
    package: Any = importlib.import_module(module)
    aconnect_sse = package.aconnect_sse

    async def read() -> list[Any]:
        async with (
            httpx.AsyncClient(verify=TLS) as client,
            aconnect_sse(client, "POST", url, json={"q": "1"}) as event_source,
        ):
            event_source.response.raise_for_status()
            return [
                (sse.event, sse.data, sse.id, sse.retry) async for sse in event_source.aiter_sse()
            ]

    return run(read())


WAYS = {"sync": read_sync, "async": read_async}

SAME = {
    "chat": wire(CHAT),
    "messages": wire(MESSAGES),
    "crlf": wire(CHAT, b"\r\n"),
    "cr": wire(CHAT, b"\r"),
    "ids that stay": b"id: 7\ndata: 1\n\ndata: 2\n\nid\ndata:\n\n",
    "a retry time and a comment": b": hi\n\nretry: 15\n:\ndata: 1\n\ndata: 2\n\n",
    "an id with NUL": b"id: 1\ndata: 1\n\nid: 2\0\ndata: 2\n\n",
    "many data lines": b"data\ndata:\ndata:  x\ndata: y\n\n",
    "unknown fields": b"datas: 1\nDATA: 2\n data: 3\ndata : 4\ndata: 5\n\n",
    "broken UTF-8": b"data: \xe6\x97 \xff \xf0\x9f\n\n",
    "no line ends": "data: a\u2028b\x85c\x0bd\x0ce\x1cf\n\n".encode(),
    "cut off": b"data: 1\n\ndata: 2\n",
    "empty": b"",
}

# httpx-sse's events, which are not the standard's, and ours, which are.
DIFFERENT = {
    "a heartbeat after an id": (
        b"id: 7\ndata: 1\n\n: ping\n\n",
        [("message", "1", "7", None), ("message", "", "7", None)],
        [("message", "1", "7", None)],
    ),
    "a type without data": (
        b"event: ping\n\ndata: 1\n\n",
        [("ping", "", "", None), ("message", "1", "", None)],
        [("message", "1", "", None)],
    ),
    "a retry time of its own": (
        b"retry: 15\n\ndata: 1\n\n",
        [("message", "", "", 15), ("message", "1", "", None)],
        [("message", "1", "", None)],
    ),
    "a BOM": (
        b"\xef\xbb\xbfdata: 1\n\ndata: 2\n\n",
        [("message", "2", "", None)],
        [("message", "1", "", None), ("message", "2", "", None)],
    ),
    "a retry time that is no run of digits": (
        b"retry: -1_5\ndata: 1\n\n",
        [("message", "1", "", -15)],
        [("message", "1", "", None)],
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SAME)
def test_the_same_code_gives_the_same(server: Scripted, name: str, way: str) -> None:
    stream = SAME[name]
    for pieces in ([stream], inside_characters(stream), byte_by_byte(stream[:400])):
        server.answer([piece for piece in pieces if piece])
        theirs, events = (WAYS[way](module, server.url) for module in MODULES.values())
        assert events == theirs


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", DIFFERENT)
def test_where_the_standard_wins(server: Scripted, name: str, way: str) -> None:
    stream, theirs, right = DIFFERENT[name]
    server.answer([stream])
    assert WAYS[way](MODULES["httpx-sse"], server.url) == theirs
    assert WAYS[way](MODULES["rapidsse"], server.url) == right


def test_the_charset_is_utf_8_whatever_the_response_says(server: Scripted) -> None:
    server.answer(["data: é\n\n".encode()], content_type="text/event-stream; charset=latin-1")
    assert read_sync("httpx_sse", server.url)[0][1] == "Ã©"
    assert read_sync("rapidsse.compat.httpx_sse", server.url)[0][1] == "é"


def test_an_event_comes_with_its_cr() -> None:
    """httpx-sse looks at the next byte first."""
    chunks = [b"data: 1\r\r", b"data: 2\r\r"]

    def chunks_read(module: Any) -> int:
        source = iter(chunks)
        response = httpx.Response(
            200, headers={"content-type": "text/event-stream"}, content=source
        )
        next(module.EventSource(response).iter_sse())
        return len(chunks) - len(list(source))

    assert chunks_read(httpx_sse) == 2
    assert chunks_read(ours) == 1


def test_the_request_is_the_same(server: Scripted) -> None:
    for options in ({}, {"headers": {"X-Mine": "1"}}, {"headers": httpx.Headers({"X-Mine": "1"})}):
        server.answer([])
        del server.requests[:]
        for module in (httpx_sse, ours):
            package: Any = module
            with (
                httpx.Client(verify=TLS) as client,
                package.connect_sse(client, "GET", server.url, **options),
            ):
                pass
        theirs, mine = server.requests
        assert ("accept", "text/event-stream") in mine
        assert ("cache-control", "no-store") in mine
        assert sorted(mine) == sorted(theirs)


def test_the_given_headers_stay_as_they_are(server: Scripted) -> None:
    """httpx-sse adds to them."""
    server.answer([])
    headers = {"X-Mine": "1"}
    with (
        httpx.Client(verify=TLS) as client,
        ours.connect_sse(client, "GET", server.url, headers=headers),
    ):
        assert headers == {"X-Mine": "1"}


# Errors


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("module", MODULES.values())
def test_a_response_that_is_no_event_stream(server: Scripted, module: str, way: str) -> None:
    server.answer([b'{"error": "secret"}'], content_type="application/json")
    error: Any = importlib.import_module(module).SSEError
    with pytest.raises(error) as raised:
        WAYS[way](module, server.url)
    assert isinstance(raised.value, httpx.TransportError)
    assert "application/json" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_media_type_has_no_case(server: Scripted) -> None:
    server.answer([b"data: 1\n\n"], content_type="Text/Event-Stream;charset=UTF-8")
    with pytest.raises(httpx_sse.SSEError):
        read_sync("httpx_sse", server.url)
    assert read_sync("rapidsse.compat.httpx_sse", server.url)[0][1] == "1"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("module", MODULES.values())
def test_a_bad_status_is_the_users_to_look_at(server: Scripted, module: str, way: str) -> None:
    server.answer([b"no"], status=503, content_type="text/plain")
    with pytest.raises(httpx.HTTPStatusError):
        WAYS[way](module, server.url)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("module", MODULES.values())
def test_a_connection_that_breaks(server: Scripted, module: str, way: str) -> None:
    server.answer([b"data: 1\n\n"], breaks=True)
    with pytest.raises(httpx.RemoteProtocolError):
        WAYS[way](module, server.url)


def endless() -> Iterator[bytes]:
    while True:
        yield b"data: secret" * 100_000


async def async_endless() -> AsyncIterator[bytes]:
    for chunk in endless():
        yield chunk


def test_the_guard_is_an_error_that_the_users_code_knows() -> None:
    headers = {"content-type": "text/event-stream"}
    with pytest.raises(ours.SSEError) as raised:
        next(ours.EventSource(httpx.Response(200, headers=headers, content=endless())).iter_sse())
    errors = [raised.value]

    async def read() -> None:
        response = httpx.Response(200, headers=headers, content=async_endless())
        with pytest.raises(ours.SSEError) as raised:
            await ours.EventSource(response).aiter_sse().__anext__()
        errors.append(raised.value)

    run(read())
    for error in errors:
        assert isinstance(error.__cause__, rapidsse.BufferSizeExceeded)
        assert isinstance(error, rapidsse.SSEError)
        assert "secret" not in str(error)


# The names


def test_every_public_name_is_there() -> None:
    assert set(ours.__all__) == set(httpx_sse.__all__) - {"__version__"}
    for name in ("connect_sse", "aconnect_sse"):
        theirs, mine = (inspect.signature(getattr(each, name)) for each in (httpx_sse, ours))
        assert list(mine.parameters) == list(theirs.parameters)


def test_an_event() -> None:
    for module in (httpx_sse, ours):
        package: Any = module
        event = package.ServerSentEvent(event="x", data='{"n": 1}', id="7", retry=15)
        assert (event.event, event.data, event.id, event.retry) == ("x", '{"n": 1}', "7", 15)
        assert event.json() == {"n": 1}
        empty = package.ServerSentEvent()
        assert (empty.event, empty.data, empty.id, empty.retry) == ("message", "", "", None)
    assert ours.ServerSentEvent is rapidsse.ServerSentEvent
    assert httpx_sse.ServerSentEvent(None).event == "message"
    with pytest.raises(TypeError):
        ours.ServerSentEvent(None)  # type: ignore[arg-type]
