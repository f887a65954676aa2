"""EventStream over HTTP/2: streams and connections that the server gives up in the middle.

The server speaks HTTP/2 from the first byte, without TLS, to clients that were told so.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, NamedTuple

import h2.config
import h2.connection
import h2.errors
import h2.events
import httpx
import httpx2
import niquests
import pytest
from rapidsse import EventStream, ServerSentEvent, StreamInterrupted
from support import run

WHOLE = "data: \U0001f600\n\nid: 2\ndata: two\n\n".encode()
CUT = "data: thr\u00e9e".encode()[:-2]  # inside a character
UNFINISHED = ServerSentEvent(data="thr\ufffd", id="2")
DONE = "[DONE]"
COMPLETION = b"data: [DONE]\n\n"
FAULTS = ["reset", "goaway", "lost"]
MODULES = {"httpx": httpx, "httpx2": httpx2}
SETTINGS = {"http1": False, "http2": True, "timeout": 10}
CLIENTS = [kind + name for name in (*MODULES, "niquests") for kind in ("", "async ")]
# As httpx and httpx2 call it, and niquests, asynchronous and not.
BROKEN = ("RemoteProtocolError", "ChunkedEncodingError", "ProtocolError")


def _serve(listener: socket.socket) -> None:
    """Serves one connection after the other, until the listener is shut."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, suppress(OSError):
            _converse(connection)


def _converse(connection: socket.socket) -> None:
    state = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    state.initiate_connection()
    connection.sendall(state.data_to_send())
    while received := connection.recv(65536):
        for event in state.receive_data(received):
            if isinstance(event, h2.events.RequestReceived):
                path = dict(event.headers)[b":path"].decode().removeprefix("/")
                ends = _answer(state, event.stream_id, path)
                connection.sendall(state.data_to_send())
                if ends:
                    connection.shutdown(socket.SHUT_WR)
        connection.sendall(state.data_to_send())


def _answer(state: h2.connection.H2Connection, stream: int, fault: str) -> bool:
    """Two events and what the path says. Whether the connection ends with it."""
    state.send_headers(stream, [(":status", "200"), ("content-type", "text/event-stream")])
    if fault == "whole":
        state.send_data(stream, WHOLE + COMPLETION, end_stream=True)
        return False
    state.send_data(stream, WHOLE + CUT)
    if fault == "reset":
        state.reset_stream(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)
    elif fault == "goaway":
        state.close_connection(h2.errors.ErrorCodes.INTERNAL_ERROR, last_stream_id=0)
    elif fault == "ended":
        state.end_stream(stream)
    return fault in ("goaway", "lost")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_serve, args=(listener,))
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)
        assert not thread.is_alive()


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@contextmanager
def opened(client: str, url: str) -> Iterator[Any]:
    """A response of a synchronous client."""
    if client == "niquests":
        with niquests.Session(disable_http1=True) as http:
            yield http.get(url, stream=True, timeout=10)
    else:
        with MODULES[client].Client(**SETTINGS) as http, http.stream("GET", url) as response:
            yield response


@asynccontextmanager
async def async_opened(client: str, url: str) -> AsyncIterator[Any]:
    """A response of an asynchronous one."""
    if client == "niquests":
        async with niquests.AsyncSession(disable_http1=True) as http:
            yield await http.get(url, stream=True, timeout=10)
    else:
        module = MODULES[client]
        async with module.AsyncClient(**SETTINGS) as http, http.stream("GET", url) as response:
            yield response


class Read(NamedTuple):
    """What came of a stream, and the error that ended it, if one did."""

    events: list[ServerSentEvent]
    stream: Any
    error: BaseException | None


def read(client: str, url: str, **options: Any) -> Read:
    if client.startswith("async "):
        return run(_aread(client.removeprefix("async "), url, options))
    events = []
    with opened(client, url) as response:
        assert response.http_version in ("HTTP/2", 20)
        with EventStream(response, **options) as stream:
            try:
                for event in stream:
                    events.append(event)
            except Exception as error:
                return Read(events, stream, error)
    return Read(events, stream, None)


async def _aread(client: str, url: str, options: dict[str, Any]) -> Read:
    events = []
    async with async_opened(client, url) as response:
        assert response.http_version in ("HTTP/2", 20)
        async with EventStream(response, **options) as stream:
            try:
                async for event in stream:
                    events.append(event)
            except Exception as error:
                return Read(events, stream, error)
    return Read(events, stream, None)


def test_a_whole_stream(client: str, address: str) -> None:
    events, stream, error = read(client, address + "whole", done=DONE)
    assert ([event.data for event in events], error) == (["\U0001f600", "two"], None)
    assert stream.completed


@pytest.mark.parametrize("fault", FAULTS)
def test_given_up_in_the_middle(client: str, address: str, fault: str) -> None:
    events, stream, error = read(client, address + fault, done=DONE)
    assert [(event.data, event.id) for event in events] == [("\U0001f600", ""), ("two", "2")]
    assert isinstance(error, StreamInterrupted)
    assert type(error.__cause__).__name__ in BROKEN
    assert error.unfinished == UNFINISHED
    assert error.last_event_id == "2"
    assert not stream.completed


@pytest.mark.parametrize("fault", FAULTS)
def test_given_up_where_nothing_completes(client: str, address: str, fault: str) -> None:
    events, stream, error = read(client, address + fault)
    assert [event.data for event in events] == ["\U0001f600", "two"]
    assert type(error).__name__ in BROKEN
    assert stream.unfinished == UNFINISHED


def test_ended_without_the_completion(client: str, address: str) -> None:
    events, stream, error = read(client, address + "ended", done=DONE)
    assert [event.data for event in events] == ["\U0001f600", "two"]
    assert isinstance(error, StreamInterrupted)
    assert error.__cause__ is None
    assert not stream.completed
