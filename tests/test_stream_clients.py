"""EventStream over the responses of every client, from a real server."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from rapidsse import EventStream, ResponseError, StreamInterrupted
from rapidsse._bodies import _hurry_httpx
from stream_clients import ASYNC, CLIENTS, SYNC, Read
from stream_clients import read as read_paths
from stream_server import DATA, ERROR, STREAM, Server, stream_server
from support import run

POOLED = [name for name in CLIENTS if name != "urllib.request"]
# urllib.request raises an exception of its own for a wrong status.
CHECKED = POOLED
DONE = "[DONE]"


def read(client: str, server: Server, *paths: str, **options: Any) -> list[Read]:
    return read_paths(client, server.address, *paths, arrived=server.arrived, **options)


@pytest.fixture(scope="module", autouse=True)
def _collecting_what_is_new() -> Iterator[None]:
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def server() -> Iterator[Server]:
    with stream_server() as started:
        yield started
    gc.collect()  # what was left open would warn now, and a warning is an error


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("path", ["/chunked", "/length", "/gzip"])
def test_a_stream_to_its_end(client: str, server: Server, path: str) -> None:
    if client == "urllib.request" and path == "/gzip":
        return  # it decodes nothing
    (whole,) = read(client, server, path)
    assert (whole.data, whole.error) == ([*DATA, DONE], None)
    assert whole.stream.completed
    assert whole.stream.last_event_id == "2"
    (known,) = read(client, server, path, done=DONE)
    assert (known.data, known.error) == (DATA, None)
    assert known.stream.completed
    assert known.stream.last_event_id == "2"


@pytest.mark.parametrize(
    "path", ["/prompt/chunked", "/prompt/length", "/prompt/until-closed", "/prompt/gzip"]
)
@pytest.mark.parametrize("done", [None, DONE])
def test_events_come_at_once(client: str, server: Server, path: str, done: str | None) -> None:
    if client == "urllib.request" and path == "/prompt/gzip":
        return  # it decodes nothing
    (prompt,) = read(client, server, path, done=done)
    assert (prompt.data, prompt.error) == (DATA if done else [*DATA, DONE], None)


def test_an_empty_body(client: str, server: Server) -> None:
    empty, interrupted = (read(client, server, "/empty", done=done)[0] for done in (None, DONE))
    assert (empty.data, empty.error, empty.stream.completed) == ([], None, True)
    assert isinstance(interrupted.error, StreamInterrupted)
    assert interrupted.error.__cause__ is None
    assert interrupted.error.unfinished is None


# Interruptions


@pytest.mark.parametrize("path", ["/reset", "/cut/chunked", "/cut/length"])
def test_a_transport_error(client: str, server: Server, path: str) -> None:
    (known,) = read(client, server, path, done=DONE)
    assert known.data == DATA
    assert isinstance(known.error, StreamInterrupted)
    assert known.error.__cause__ is not None
    assert known.error.unfinished.data == "cut o"
    assert known.error.last_event_id == "2"
    assert not known.stream.completed
    (plain,) = read(client, server, path)
    assert plain.data == DATA
    assert type(plain.error) is type(known.error.__cause__)
    assert plain.stream.unfinished.data == "cut o"
    assert not plain.stream.completed


def test_a_transport_error_at_the_first_byte(client: str, server: Server) -> None:
    (known,) = read(client, server, "/at-once", done=DONE, last_event_id="7")
    assert known.data == []
    assert isinstance(known.error, StreamInterrupted)
    assert known.error.__cause__ is not None
    assert (known.error.unfinished, known.error.last_event_id) == (None, "7")


def test_a_body_that_ends_without_the_completion(client: str, server: Server) -> None:
    (known,) = read(client, server, "/undone", done=DONE)
    assert known.data == DATA
    assert isinstance(known.error, StreamInterrupted)
    assert known.error.__cause__ is None
    assert known.error.unfinished.data == "cut o"
    (plain,) = read(client, server, "/undone")
    assert (plain.data, plain.error) == (DATA, None)
    assert plain.stream.truncated
    assert not plain.stream.completed


# Responses that are no streams


@pytest.mark.parametrize("done", [None, DONE])
@pytest.mark.parametrize("client", CHECKED)
def test_an_error_with_a_body_of_json(client: str, server: Server, done: str | None) -> None:
    (refused,) = read(client, server, "/error", done=done)
    assert refused.data == []
    assert isinstance(refused.error, ResponseError)
    assert refused.error.status == 401
    assert refused.error.content_type == "application/json"
    assert refused.error.body == ERROR
    assert not refused.stream.completed


def test_the_exception_of_urllib_is_a_response_too(server: Server) -> None:
    import urllib.error
    import urllib.request

    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(server.address + "/error")
    with raised.value as response, pytest.raises(ResponseError) as refused:
        list(EventStream(response))
    assert (refused.value.status, refused.value.body) == (401, ERROR)


@pytest.mark.parametrize("client", CHECKED)
def test_a_wrong_status_of_the_right_type(client: str, server: Server) -> None:
    (refused,) = read(client, server, "/error-stream")
    assert isinstance(refused.error, ResponseError)
    assert (refused.error.status, refused.error.content_type) == (500, "text/event-stream")
    (unchecked,) = read(client, server, "/error-stream", check=False)
    assert (unchecked.data, unchecked.error) == ([*DATA, DONE], None)


def test_of_a_long_page_only_the_beginning_is_read(client: str, server: Server) -> None:
    (refused,) = read(client, server, "/page")
    assert isinstance(refused.error, ResponseError)
    assert (refused.error.status, refused.error.content_type) == (200, "text/html")
    assert len(refused.error.body) == 64 * 1024
    assert refused.error.body.startswith(b"<p>data: x\n\n<p>")


def test_no_type_is_no_event_stream(client: str, server: Server) -> None:
    (refused,) = read(client, server, "/untyped")
    assert isinstance(refused.error, ResponseError)
    assert (refused.error.content_type, refused.error.body) == ("", STREAM)


@pytest.mark.parametrize("done", [None, DONE])
def test_no_content_ends_quietly(client: str, server: Server, done: str | None) -> None:
    (nothing,) = read(client, server, "/none", done=done)
    assert (nothing.data, nothing.error, nothing.stream.completed) == ([], None, True)


# Connections


@pytest.mark.parametrize("client", POOLED)
@pytest.mark.parametrize("path", ["/chunked", "/length", "/gzip"])
@pytest.mark.parametrize(
    "done",
    [DONE, lambda event: event.data == DONE, lambda event: event.data == "b"],
    ids=["marker", "callable", "callable, more follows"],
)
def test_a_completed_stream_leaves_its_connection_to_the_next(
    client: str, server: Server, path: str, done: Any
) -> None:
    reads = read(client, server, path, path, path, done=done)
    assert all(each.stream.completed and each.error is None for each in reads)
    assert server.connections == 1


@pytest.mark.parametrize("client", POOLED)
def test_the_event_that_completes_may_be_the_last_looked_at(client: str, server: Server) -> None:
    reads = read(client, server, "/chunked", "/chunked", done=lambda event: True, leave=True)
    assert all(each.stream.completed and len(each.data) == 1 for each in reads)
    assert server.connections == 1


@pytest.mark.parametrize("path", ["/endless", "/flood", "/drip"])
def test_a_body_without_end_holds_nobody_up(client: str, server: Server, path: str) -> None:
    (known,) = read(client, server, path, done=DONE)
    assert (known.data, known.error, known.stream.completed) == (DATA, None, True)
    assert known.seconds < 3
    assert server.left.wait(5), "the connection is still open"


def test_leaving_early_closes_the_response(client: str, server: Server) -> None:
    began = time.monotonic()
    (left,) = read(client, server, "/endless", done=DONE, leave=True)
    assert (left.data, left.error, left.stream.completed) == (DATA[:1], None, False)
    assert server.left.wait(5), "the connection is still open"
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("client", SYNC)
def test_a_stream_that_is_dropped_closes_the_response(client: str, server: Server) -> None:
    with ExitStack() as stack:
        get = stack.enter_context(SYNC[client]())
        response = get(server.address + "/endless")
        if hasattr(response, "gen"):  # httpx makes its responses by context managers only
            response = stack.enter_context(response)
        for event in EventStream(response):
            assert event.data == DATA[0]
            break
        del response
        gc.collect()
        assert server.left.wait(5), "the connection is still open"


# Cancelled, or closed, or in the wrong loop


@pytest.mark.parametrize("client", ASYNC)
@pytest.mark.parametrize("done", [None, DONE])
def test_a_cancelled_task_leaves_nothing_open(client: str, server: Server, done: Any) -> None:
    async def reading(get: Any, arrived: asyncio.Event) -> None:
        async with get(server.address + "/prompt/chunked") as response:
            async for _ in EventStream(response, done=done):
                arrived.set()

    async def main() -> None:
        async with ASYNC[client]() as get:
            arrived = asyncio.Event()
            task = asyncio.create_task(reading(get, arrived))
            await arrived.wait()
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    run(main())
    server.arrived.set()


@pytest.mark.parametrize("client", ASYNC)
@pytest.mark.parametrize("done", [None, DONE])
def test_a_cancelled_step_never_looks_like_the_end(client: str, server: Server, done: Any) -> None:
    """aiohttp reads on after a cancelled step; the others cannot, and say so."""

    async def main() -> None:
        async with ASYNC[client]() as get, get(server.address + "/prompt/chunked") as response:
            stream = EventStream(response, done=done)
            events = aiter(stream)
            assert [(await anext(events)).data, (await anext(events)).data] == DATA
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(events), 0.05)
            server.arrived.set()
            if client == "aiohttp":
                rest = [event.data async for event in events]
                assert rest == ([] if done else [DONE])
                assert stream.completed
            else:
                with pytest.raises(StreamInterrupted if done else RuntimeError):
                    await anext(events)
                assert not stream.completed
            await stream.aclose()

    run(main())


def test_a_response_closed_before(client: str, server: Server) -> None:
    async def closed() -> Any:
        async with ASYNC[client.removeprefix("async ")]() as get:
            async with get(server.address + "/chunked") as response:
                pass
            async for event in EventStream(response):
                raise AssertionError(event)

    if client.startswith("async "):
        with pytest.raises(Exception, match=r"(?i)closed|read before"):
            run(closed())
    else:
        with SYNC[client]() as get:
            with get(server.address + "/chunked") as response:
                pass
            with pytest.raises(Exception, match=r"(?i)closed|read before"):
                list(EventStream(response))


def test_a_body_that_the_client_has_read_before(client: str, server: Server) -> None:
    """Where the client has kept it, it is parsed; elsewhere it is missed, not taken for empty."""
    httpx_like = ("httpx", "httpx2")
    name = client.removeprefix("async ")

    async def loaded() -> list[str]:
        async with ASYNC[name]() as get, get(server.address + "/chunked") as response:
            if name in httpx_like:
                await response.aread()
            elif name == "aiohttp":
                await response.read()
            else:
                await response.content
            return [event.data async for event in EventStream(response, done=DONE)]

    if client.startswith("async "):
        if name == "aiohttp":
            with pytest.raises(StreamInterrupted):
                run(loaded())
        else:
            assert run(loaded()) == DATA
        return
    with SYNC[name]() as get, get(server.address + "/chunked") as response:
        if name in (*httpx_like, "urllib.request"):
            response.read()
        else:
            assert (response.data if name == "urllib3" else response.content) == STREAM
        if name == "urllib.request":
            with pytest.raises(StreamInterrupted):
                list(EventStream(response, done=DONE))
        else:
            assert [event.data for event in EventStream(response, done=DONE)] == DATA


def test_the_wrong_loop(client: str, server: Server) -> None:
    name = client.removeprefix("async ")

    async def wrong() -> None:
        async with ASYNC[name]() as get, get(server.address + "/chunked") as response:
            with pytest.raises(TypeError, match="use `async for`"):
                list(EventStream(response))
            with pytest.raises(TypeError, match="use `async for`"):
                EventStream(response).__enter__()

    async def reverse() -> None:
        with SYNC[name]() as get, get(server.address + "/chunked") as response:
            with pytest.raises(TypeError, match="use `for`"):
                async for _ in EventStream(response):
                    pass
            with pytest.raises(TypeError, match="use `for`"):
                await EventStream(response).__aenter__()

    run(wrong() if client.startswith("async ") else reverse())


@pytest.mark.parametrize("client", ["httpx", "httpx2"])
def test_the_haste_of_the_last_reads_stays_with_their_response(client: str, server: Server) -> None:
    """The network stream is the next request's as soon as the response is closed."""
    with SYNC[client]() as get, get(server.address + "/endless") as response:
        network = response.extensions["network_stream"]
        timeouts: list[float | None] = []
        network.__class__ = type(
            "Recording",
            (type(network),),
            {"read": lambda self, size, timeout=None: timeouts.append(timeout)},
        )
        hurry = _hurry_httpx(response)
        assert hurry(0.5)
        network.read(1, timeout=60)
        network.read(1, timeout=0.1)
        network.read(1)
        response.close()
        network.read(1, timeout=60)
        assert hurry(None)
        assert "read" not in vars(network)
        assert timeouts == [0.5, 0.1, 0.5, 60]


def mock(request: Any) -> Any:
    """A server of httpx's own, which has no sockets."""
    import httpx

    if request.url.path == "/error":
        return httpx.Response(401, json=json.loads(ERROR))
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=STREAM)


def test_a_client_without_sockets() -> None:
    import httpx

    with httpx.Client(transport=httpx.MockTransport(mock), verify=False) as client:
        with client.stream("GET", "http://test/") as response:
            assert [event.data for event in EventStream(response, done=DONE)] == DATA
        assert response.is_closed
        error = client.stream("GET", "http://test/error")
        with error as response, pytest.raises(ResponseError) as raised:
            list(EventStream(response, done=DONE))
        assert json.loads(raised.value.body) == json.loads(ERROR)
    body = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=STREAM)
    assert [event.data for event in EventStream(body, done=DONE)] == DATA

    async def main() -> None:
        body = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=STREAM)
        assert [event.data async for event in EventStream(body, done=DONE)] == DATA

    run(main())


def test_urllib3_is_what_it_says() -> None:
    """niquests' urllib3-future takes urllib3's place unless the Makefile installs it."""
    import urllib3
    import urllib3_future

    assert urllib3.__version__ != urllib3_future.__version__
