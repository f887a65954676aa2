"""A gateway for OpenAI-style chat completions that relays event streams as they come.

    UPSTREAM=http://127.0.0.1:9000/v1 uvicorn --app-dir examples/gateway gateway:app

Settings, by environment:
    UPSTREAM: base URL of the upstream, before `/chat/completions`.
    UPSTREAM_TIMEOUT: seconds that the upstream may be silent (300).
    MODEL_NAME: if set, every event is rewritten to carry this model's name; if not, the bytes pass
        untouched.

It keeps no state but its counters, at `/metrics`; they are this process's own.
"""

from __future__ import annotations

import asyncio
import io
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from rapidsse import BufferSizeExceeded
from relay import Relay, Rewriting, Watching, named
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

# Each is about one connection (RFC 9110, section 7.6.1), or is made anew on the other side.
HOP_BY_HOP = {
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
NOT_UPSTREAM = HOP_BY_HOP | {"host", "content-length", "accept-encoding"}
NOT_DOWNSTREAM = {name.encode() for name in HOP_BY_HOP | {"date", "server"}}


class Gateway:
    """The endpoint, an ASGI app, and its counters.

    Args:
        upstream: base URL, before `/chat/completions`.
        relay: makes what one stream goes through.
        timeout: seconds that the upstream may be silent.
    """

    def __init__(self, upstream: str, relay: Callable[[], Relay], timeout: float = 300) -> None:
        self._url = f"{upstream.rstrip('/')}/chat/completions"
        self._relay = relay
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=timeout)
        self.counters: Counter[str] = Counter()
        self.active = 0

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Holds the connections to the upstream: as many as there are clients."""
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),  # one client's cookies are not another's
            timeout=self._timeout,
            auto_decompress=False,
        ) as self._session:
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            body = await request.body()
        except ClientDisconnect:
            self.counters['streams_total{outcome="left"}'] += 1
            return
        self.active += 1
        try:
            if not await while_client_stays(self._answer(request, body, send), receive):
                self.counters['streams_total{outcome="left"}'] += 1
        finally:
            self.active -= 1

    async def _answer(self, request: Request, body: bytes, send: Send) -> None:
        headers = [pair for pair in request.headers.items() if pair[0] not in NOT_UPSTREAM]
        headers.append(("accept-encoding", "identity"))
        try:
            upstream = await self._session.post(
                self._url, data=io.BytesIO(body), headers=headers, allow_redirects=False
            )
        except (aiohttp.ClientError, asyncio.TimeoutError):
            self.counters["unreachable_total"] += 1
            error = {"message": "the upstream does not answer", "type": "upstream_error"}
            await JSONResponse({"error": error}, 502)(request.scope, request.receive, send)
            return
        async with upstream:
            streams = is_event_stream(upstream)
            dropped = NOT_DOWNSTREAM | {b"content-length"} if streams else NOT_DOWNSTREAM
            fields = [(name.lower(), value) for name, value in upstream.raw_headers]
            await send(
                {
                    "type": "http.response.start",
                    "status": upstream.status,
                    "headers": [field for field in fields if field[0] not in dropped],
                }
            )
            if streams:
                await self._stream(upstream, send)
            else:
                self.counters["passed_through_total"] += 1
                async for chunk in upstream.content.iter_any():
                    await send_body(send, chunk)
            await send({"type": "http.response.body"})

    async def _stream(self, upstream: aiohttp.ClientResponse, send: Send) -> None:
        relay = self._relay()
        counters = self.counters
        try:
            try:
                # send() waits while the client is slow, and nothing is read meanwhile: the
                # upstream's own connection fills up, and it has to wait too.
                async for piece in relay.stream(upstream.content.iter_any()):
                    await send_body(send, piece)
            except (aiohttp.ClientError, asyncio.TimeoutError, BufferSizeExceeded):
                pass  # what that means for the client is the relay's to say
            last = relay.end()
            if last:
                await send_body(send, last)
            tally = relay.tally
            outcome = (
                "completed" if tally.completed else "failed" if tally.failed else "interrupted"
            )
            counters[f'streams_total{{outcome="{outcome}"}}'] += 1
        finally:
            counters["events_total"] += relay.events
            for name in ("prompt_tokens", "completion_tokens"):
                tokens = relay.tally.usage.get(name)
                counters[f"{name}_total"] += tokens if isinstance(tokens, int) else 0

    async def metrics(self, request: Request) -> Response:
        """The counters of this process, in Prometheus' text format."""
        lines = [f"gateway_{name} {value}" for name, value in sorted(self.counters.items())]
        lines.append(f"gateway_active {self.active}")
        return PlainTextResponse("".join(f"{line}\n" for line in lines))

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self, methods=["POST"]),
                Route("/metrics", self.metrics),
            ],
            lifespan=self.lifespan,
        )


def is_event_stream(response: aiohttp.ClientResponse) -> bool:
    """Whether the body is a stream of events that can be read as it is."""
    coding = response.headers.get("content-encoding", "identity")
    return (
        response.status == 200
        and response.content_type == "text/event-stream"
        and coding == "identity"
    )


async def send_body(send: Send, chunk: bytes) -> None:
    await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def while_client_stays(work: Coroutine[Any, Any, None], receive: Receive) -> bool:
    """Does the work, or cancels it as soon as the client has left; whether it was done.

    The request's body must have been read: all that the client can still say is that it leaves.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(receive())
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
            return True
        return False
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


def from_environment() -> Gateway:
    """The gateway as the environment says."""
    model = os.environ.get("MODEL_NAME")
    return Gateway(
        os.environ.get("UPSTREAM", "http://127.0.0.1:9000/v1"),
        (lambda: Rewriting(named(model))) if model else Watching,
        float(os.environ.get("UPSTREAM_TIMEOUT", "300")),
    )


app = from_environment().app()
