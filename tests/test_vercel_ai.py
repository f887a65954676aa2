"""The Vercel AI SDK's UI message format, streamed by Node and read to its [DONE].

`make systems` installs what the server in tests/node/ai/ needs.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from rapidsse import aiter_events, iter_events
from support import run

HERE = Path(__file__).parent / "node" / "ai"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of the Node server."""
    assert (HERE / "node_modules").is_dir(), "`make systems` installs it"
    with subprocess.Popen(
        ["node", "server.mjs"],
        cwd=HERE,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        address = process.stdout.readline().strip()
        assert address, "the Node server did not start"
        try:
            yield address
        finally:
            process.stdin.close()  # which stops it
            process.wait(10)


def read_sync(url: str) -> tuple[bytes, list[Any]]:
    received: list[bytes] = []

    def tee(chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            received.append(chunk)
            yield chunk

    with (
        httpx2.stream("GET", url) as response,
        iter_events(tee(response.iter_bytes()), unfinished="raise") as events,
    ):
        assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
        found = list(events)
    return b"".join(received), found


def read_async(url: str) -> list[Any]:
    async def read() -> list[Any]:
        async with (
            httpx2.AsyncClient() as client,
            client.stream("GET", url) as response,
            aiter_events(response.aiter_bytes(), unfinished="raise") as events,
        ):
            return [event async for event in events]

    return run(read())


def test_a_ui_message_is_read_to_its_done(server: str) -> None:
    _, events = read_sync(server)
    assert read_async(server) == events
    *parts, last = events
    assert last.data == "[DONE]"
    kinds = [part.json()["type"] for part in parts]
    assert kinds[0] == "start"
    assert kinds[-1] == "finish"
    deltas = [part.json()["delta"] for part in parts if part.json()["type"] == "text-delta"]
    assert "".join(deltas) == "Été 東京 — 👩‍🚀\u2028line\u2029 ends\x85\r\nof none\n"
    # A payload that quotes the marker is payload.
    assert {"type": "data-weather", "data": {"text": "[DONE]"}} in [part.json() for part in parts]


def test_eventsource_parser_gets_the_same_from_the_same_bytes(server: str) -> None:
    received, events = read_sync(server)
    response = httpx2.post(server, content=received)
    assert [(event.event, event.data, event.id) for event in events] == [
        tuple(theirs) for theirs in json.loads(response.content)
    ]
    assert len(events) > 10
