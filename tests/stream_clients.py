"""The HTTP clients, each with one pool of connections and a streaming GET."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import Any

from rapidsse import EventStream
from support import run

Get = Callable[[str], AbstractContextManager[Any]]
AsyncGet = Callable[[str], AbstractAsyncContextManager[Any]]

TIMEOUT = 60.0
"""Long: a test that waits for it has failed (seconds)."""


@contextmanager
def _httpx(module: Any, **versions: bool) -> Iterator[Get]:
    with module.Client(timeout=TIMEOUT, verify=False, **versions) as client:
        yield lambda url: client.stream("GET", url)


@contextmanager
def httpx(**versions: bool) -> Iterator[Get]:
    import httpx

    with _httpx(httpx, **versions) as get:
        yield get


@contextmanager
def httpx2(**versions: bool) -> Iterator[Get]:
    import httpx2

    with _httpx(httpx2, **versions) as get:
        yield get


@contextmanager
def requests() -> Iterator[Get]:
    import requests

    with requests.Session() as session:
        yield lambda url: session.get(url, stream=True, timeout=TIMEOUT)


@contextmanager
def niquests(**versions: bool) -> Iterator[Get]:
    import niquests

    with niquests.Session(**versions) as session:
        yield lambda url: session.get(url, stream=True, timeout=TIMEOUT)


@contextmanager
def urllib3() -> Iterator[Get]:
    import urllib3

    with urllib3.PoolManager(timeout=TIMEOUT, retries=False) as pool:
        yield lambda url: pool.request("GET", url, preload_content=False)


@contextmanager
def urllib_request() -> Iterator[Get]:
    yield lambda url: urllib.request.urlopen(url, timeout=TIMEOUT)


@asynccontextmanager
async def _async_httpx(module: Any, **versions: bool) -> AsyncIterator[AsyncGet]:
    async with module.AsyncClient(timeout=TIMEOUT, verify=False, **versions) as client:
        yield lambda url: client.stream("GET", url)


@asynccontextmanager
async def async_httpx(**versions: bool) -> AsyncIterator[AsyncGet]:
    import httpx

    async with _async_httpx(httpx, **versions) as get:
        yield get


@asynccontextmanager
async def async_httpx2(**versions: bool) -> AsyncIterator[AsyncGet]:
    import httpx2

    async with _async_httpx(httpx2, **versions) as get:
        yield get


@asynccontextmanager
async def aiohttp() -> AsyncIterator[AsyncGet]:
    import aiohttp

    timeout = aiohttp.ClientTimeout(sock_read=TIMEOUT)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        yield lambda url: session.get(url)


@asynccontextmanager
async def async_niquests(**versions: bool) -> AsyncIterator[AsyncGet]:
    import niquests

    async with niquests.AsyncSession(**versions) as session:

        @asynccontextmanager
        async def get(url: str) -> AsyncIterator[Any]:
            response = await session.get(url, stream=True, timeout=TIMEOUT)
            try:
                yield response
            finally:
                await response.close()

        yield get


SYNC: dict[str, Callable[[], AbstractContextManager[Get]]] = {
    "httpx": httpx,
    "httpx2": httpx2,
    "requests": requests,
    "niquests": niquests,
    "urllib3": urllib3,
    "urllib.request": urllib_request,
}
ASYNC: dict[str, Callable[[], AbstractAsyncContextManager[AsyncGet]]] = {
    "httpx": async_httpx,
    "httpx2": async_httpx2,
    "aiohttp": aiohttp,
    "niquests": async_niquests,
}

# HTTP/2 from the first byte, without TLS.
_TO_HTTPX = {"http1": False, "http2": True}
_TO_NIQUESTS = {"disable_http1": True}
SYNC_HTTP2: dict[str, Callable[[], AbstractContextManager[Get]]] = {
    "httpx, HTTP/2": partial(httpx, **_TO_HTTPX),
    "httpx2, HTTP/2": partial(httpx2, **_TO_HTTPX),
    "niquests, HTTP/2": partial(niquests, **_TO_NIQUESTS),
}
ASYNC_HTTP2: dict[str, Callable[[], AbstractAsyncContextManager[AsyncGet]]] = {
    "httpx, HTTP/2": partial(async_httpx, **_TO_HTTPX),
    "httpx2, HTTP/2": partial(async_httpx2, **_TO_HTTPX),
    "niquests, HTTP/2": partial(async_niquests, **_TO_NIQUESTS),
}

CLIENTS = [*SYNC, *(f"async {name}" for name in ASYNC)]
CLIENTS_HTTP2 = [*SYNC_HTTP2, *(f"async {name}" for name in ASYNC_HTTP2)]


@dataclass
class Read:
    """What came of one request; `stream` is None where the client gave no response."""

    data: list[str] = field(default_factory=list)
    error: BaseException | None = None
    stream: Any = None
    seconds: float = 0.0


def read(
    client: str,
    address: str,
    *paths: str,
    arrived: Event | None = None,
    leave: bool = False,
    **options: Any,
) -> list[Read]:
    """Requests the paths one after the other by one client; with `leave`, an event of each.
    `arrived` is set at each event."""
    arrived = arrived or Event()
    if client.startswith("async "):
        client = client.removeprefix("async ")
        return run(_aread(client, address, paths, arrived, leave, options))
    reads = []
    with (SYNC | SYNC_HTTP2)[client]() as get:
        for path in paths:
            done = Read()
            began = time.monotonic()
            try:
                with get(address + path) as response:
                    began = time.monotonic()
                    with EventStream(response, **options) as done.stream:
                        for event in done.stream:
                            done.data.append(event.data)
                            arrived.set()
                            if leave:
                                break
            except Exception as error:
                done.error = error
            done.seconds = time.monotonic() - began
            reads.append(done)
    return reads


async def _aread(
    client: str, address: str, paths: tuple[str, ...], arrived: Event, leave: bool, options: Any
) -> list[Read]:
    reads = []
    async with (ASYNC | ASYNC_HTTP2)[client]() as get:
        for path in paths:
            done = Read()
            began = time.monotonic()
            try:
                async with get(address + path) as response:
                    began = time.monotonic()
                    async with EventStream(response, **options) as done.stream:
                        async for event in done.stream:
                            done.data.append(event.data)
                            arrived.set()
                            if leave:
                                break
            except Exception as error:
                done.error = error
            done.seconds = time.monotonic() - began
            reads.append(done)
    return reads
