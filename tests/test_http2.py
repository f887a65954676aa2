"""EventStream over HTTP/2: streams and connections that the server gives up in the middle.

The server speaks HTTP/2 from the first byte, without TLS, to clients that were told so.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import h2.config
import h2.connection
import h2.errors
import h2.events
import pytest
from rapidsse import ServerSentEvent, StreamInterrupted
from stream_clients import CLIENTS_HTTP2, read

WHOLE = "data: \U0001f600\n\nid: 2\ndata: two\n\n".encode()
DATA = ["\U0001f600", "two"]
CUT = "data: thr\u00e9e".encode()[:-2]  # inside a character
UNFINISHED = ServerSentEvent(data="thr\ufffd", id="2")
DONE = "[DONE]"
COMPLETION = b"data: [DONE]\n\n"
FAULTS = ["reset", "goaway", "lost"]


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


@pytest.fixture(params=CLIENTS_HTTP2)
def client(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_a_whole_stream(client: str, address: str) -> None:
    (got,) = read(client, address, "whole", done=DONE)
    assert (got.data, got.error) == (DATA, None)
    assert got.stream.completed


@pytest.mark.parametrize("fault", FAULTS)
def test_given_up_in_the_middle(client: str, address: str, fault: str) -> None:
    (known,) = read(client, address, fault, done=DONE)
    assert known.data == DATA
    assert isinstance(known.error, StreamInterrupted)
    assert known.error.__cause__ is not None
    assert known.error.unfinished == UNFINISHED
    assert known.error.last_event_id == "2"
    assert not known.stream.completed
    (plain,) = read(client, address, fault)
    assert plain.data == DATA
    assert type(plain.error) is type(known.error.__cause__)
    assert plain.stream.unfinished == UNFINISHED


def test_ended_without_the_completion(client: str, address: str) -> None:
    (got,) = read(client, address, "ended", done=DONE)
    assert got.data == DATA
    assert isinstance(got.error, StreamInterrupted)
    assert got.error.__cause__ is None
    assert not got.stream.completed
