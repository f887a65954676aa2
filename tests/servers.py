"""Real servers on 127.0.0.1, in threads that end with the `with` that started them.

Both serve /events/NAME: a few events, each sent only after the one before was acknowledged with a
request to /seen/NAME. A reader that holds an event back gets "held back" in its place. And /events:
a short stream that just ends.
"""

from __future__ import annotations

import asyncio
import threading
import urllib.request
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

EVENTS = 4
PATIENCE = 5.0  # seconds
PLAIN = [("message_start", '{"n": 1}'), ("delta", '{"text": "é😀"}'), ("message", "[DONE]")]


def data(number: int) -> str:
    return f'{{"n": {number}, "text": "é😀"}}'


def seen(url: str) -> None:
    """Tells the server that its event has arrived."""
    with urllib.request.urlopen(url.replace("/events/", "/seen/"), timeout=PATIENCE) as response:
        response.read()


class Acknowledged:
    """Who has seen what; used in the server's event loop only."""

    def __init__(self) -> None:
        self._arrived: dict[str, asyncio.Queue[None]] = defaultdict(asyncio.Queue)

    def arrived(self, name: str) -> None:
        self._arrived[name].put_nowait(None)

    async def texts(self, name: str) -> AsyncIterator[str]:
        """What is to be sent, each when its turn has come."""
        for number in range(EVENTS):
            yield data(number)
            try:
                await asyncio.wait_for(self._arrived[name].get(), PATIENCE)
            except asyncio.TimeoutError:
                yield "held back"
                return


@contextmanager
def sse_starlette() -> Iterator[str]:
    """uvicorn with sse-starlette; its address."""
    import uvicorn
    from sse_starlette import EventSourceResponse
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route

    acknowledged = Acknowledged()

    async def acknowledging(request: Request) -> Response:
        async def events() -> AsyncIterator[dict[str, str]]:
            async for text in acknowledged.texts(request.path_params["name"]):
                yield {"event": "delta", "data": text}

        return EventSourceResponse(events())

    async def plain(request: Request) -> Response:
        async def events() -> AsyncIterator[dict[str, str]]:
            for event, text in PLAIN:
                yield {"event": event, "data": text}

        return EventSourceResponse(events())

    async def arrived(request: Request) -> Response:
        acknowledged.arrived(request.path_params["name"])
        return PlainTextResponse("thanks")

    app = Starlette(
        routes=[
            Route("/events", plain),
            Route("/events/{name}", acknowledging),
            Route("/seen/{name}", arrived),
        ]
    )
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="error", lifespan="off", ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            thread.join(0.01)
            assert thread.is_alive(), "uvicorn did not start"
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)


@contextmanager
def aiohttp_server() -> Iterator[str]:
    """An aiohttp server, whose events come in pieces cut inside characters; its address."""
    from aiohttp import web

    acknowledged = Acknowledged()

    async def respond(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        return response

    async def acknowledging(request: web.Request) -> web.StreamResponse:
        response = await respond(request)
        name = request.match_info["name"]
        ending = {"cr": b"\r", "lf": b"\n"}.get(name.rpartition("-")[2], b"\r\n")
        async for text in acknowledged.texts(name):
            lines = [b"event: delta", b"data: " + text.encode(), b"", b""]
            wire = ending.join(lines)
            middle = wire.index(b"\xc3") + 1 if b"\xc3" in wire else 5
            for piece in (wire[:middle], wire[middle:]):
                await response.write(piece)
                await asyncio.sleep(0.005)
        await response.write_eof()
        return response

    async def plain(request: web.Request) -> web.StreamResponse:
        response = await respond(request)
        for event, text in PLAIN:
            await response.write(f"event: {event}\r\ndata: {text}\r\n\r\n".encode())
        await response.write_eof()
        return response

    async def arrived(request: web.Request) -> web.Response:
        acknowledged.arrived(request.match_info["name"])
        return web.Response(text="thanks")

    async def serve() -> None:
        app = web.Application()
        app.router.add_get("/events", plain)
        app.router.add_get("/events/{name}", acknowledging)
        app.router.add_get("/seen/{name}", arrived)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        address.append(f"http://127.0.0.1:{runner.addresses[0][1]}")
        loop.append(asyncio.get_running_loop())
        started.set()
        await stop.wait()
        await runner.cleanup()

    address: list[str] = []
    loop: list[Any] = []
    started = threading.Event()
    stop = asyncio.Event()
    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    try:
        assert started.wait(10), "the aiohttp server did not start"
        yield address[0]
    finally:
        if loop:
            loop[0].call_soon_threadsafe(stop.set)
        thread.join(10)


SERVERS = {"uvicorn with sse-starlette": sse_starlette, "aiohttp": aiohttp_server}
