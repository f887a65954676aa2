"""Earliest dispatch, over real connections: each event arrives before the next is sent."""

from __future__ import annotations

import asyncio
import itertools
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from servers import EVENTS, SERVERS, data, seen
from support import run

EXPECTED = [("delta", data(number)) for number in range(EVENTS)]
names = itertools.count()


@pytest.fixture(scope="module", params=list(SERVERS))
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    with SERVERS[request.param]() as address:
        yield address


@pytest.fixture(params=["crlf", "cr", "lf"])
def url(server: str, request: pytest.FixtureRequest) -> str:
    return f"{server}/events/{next(names)}-{request.param}"


def read(url: str, events: Any) -> list[tuple[str, str]]:
    """The events, each acknowledged when it has come."""
    found = []
    for event in events:
        found.append((event.event, event.data))
        seen(url)
    assert not events.truncated
    return found


async def aread(url: str, events: Any) -> list[tuple[str, str]]:
    found = []
    async for event in events:
        found.append((event.event, event.data))
        await asyncio.to_thread(seen, url)
    assert not events.truncated
    return found


def test_httpx(backend: Any, url: str) -> None:
    import httpx

    with httpx.stream("GET", url) as response:
        assert read(url, backend.iter_events(response.iter_bytes())) == EXPECTED


def test_httpx_raw(backend: Any, url: str) -> None:
    import httpx

    with httpx.stream("GET", url) as response:
        assert read(url, backend.iter_events(response.iter_raw())) == EXPECTED


def test_httpx_async(backend: Any, url: str) -> None:
    import httpx

    async def main() -> list[tuple[str, str]]:
        async with httpx.AsyncClient() as client, client.stream("GET", url) as response:
            return await aread(url, backend.aiter_events(response.aiter_bytes()))

    assert run(main()) == EXPECTED


def test_httpx2(backend: Any, url: str) -> None:
    import httpx2

    with httpx2.stream("GET", url) as response:
        assert read(url, backend.iter_events(response.iter_bytes())) == EXPECTED


def test_httpx2_async(backend: Any, url: str) -> None:
    import httpx2

    async def main() -> list[tuple[str, str]]:
        async with httpx2.AsyncClient() as client, client.stream("GET", url) as response:
            return await aread(url, backend.aiter_events(response.aiter_bytes()))

    assert run(main()) == EXPECTED


@pytest.mark.parametrize("how", ["content", "iter_any"])
def test_aiohttp(backend: Any, url: str, how: str) -> None:
    import aiohttp

    async def main() -> list[tuple[str, str]]:
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            source = response.content if how == "content" else response.content.iter_any()
            return await aread(url, backend.aiter_events(source))

    assert run(main()) == EXPECTED


def test_requests(backend: Any, url: str) -> None:
    import requests

    with requests.get(url, stream=True, timeout=10) as response:
        assert read(url, backend.iter_events(response.iter_content(None))) == EXPECTED


def test_urllib3(backend: Any, url: str) -> None:
    import requests

    with requests.get(url, stream=True, timeout=10) as response:
        assert read(url, backend.iter_events(response.raw)) == EXPECTED


def test_urllib(backend: Any, url: str) -> None:
    with urllib.request.urlopen(url, timeout=10) as response:
        assert read(url, backend.iter_events(response)) == EXPECTED
        assert not response.closed


def test_a_parser_fed_by_hand(backend: Any, url: str) -> None:
    import httpx

    parser = backend.Parser()
    found = []
    with httpx.stream("GET", url) as response:
        for chunk in response.iter_bytes():
            for event in parser.feed(chunk):
                found.append((event.event, event.data))
                seen(url)
    assert found == EXPECTED
    assert parser.close() is None


def test_leaving_early_lets_the_connection_go(backend: Any, url: str) -> None:
    import httpx

    async def main() -> None:
        async with (
            httpx.AsyncClient() as client,
            client.stream("GET", url) as response,
            backend.aiter_events(response.aiter_bytes()) as events,
        ):
            event = await events.__anext__()
            assert (event.event, event.data) == EXPECTED[0]

    run(main())
