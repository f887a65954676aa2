"""Chromium's EventSource as a judge: a page opens every stream, and tells what it dispatches.

The server is a few lines of HTTP/1.1 on 127.0.0.1. It answers a stream's first request with the
stream, cut into its chunks, and the reconnection, whose Last-Event-ID header it keeps, with 204,
which ends an EventSource.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rapidsse import parse
from streams import Stream

PAGE = Path(__file__).with_name("judge_page.html")
NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-background-timer-throttling", "--disable-renderer-backgrounding"),
    *("--disable-extensions", "--no-default-browser-check", "--no-proxy-server"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
PATIENCE = 8_000
"""How long a reconnection is waited for, in milliseconds."""
PATIENCE_WITH_ALL = 600
"""How long the browser may take with everything, in seconds."""


class Told(NamedTuple):
    """What the browser made of a stream."""

    events: list[tuple[str, str, str]]
    """Of each event, its type, data and lastEventId."""
    reconnected: float | None
    """How long after the end of the stream it asked again, in milliseconds; None: not in time."""
    last_event_id: bytes | None
    """The reconnection's Last-Event-ID header; None: there was none."""


def find() -> str | None:
    """The browser's path."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def ask(browser: str, streams: Sequence[Stream]) -> list[Told]:
    """What the browser makes of each stream."""
    return asyncio.run(_Judgement(streams).run(browser))


def _types(stream: bytes) -> list[str]:
    """Every type to listen for: the right ones, and any that a wrong parser might take for one."""
    text = stream.decode("utf-8", "replace")
    values = re.findall(r"event *:?([^\r\n]*)", text)
    right = {item.event for item in parse(stream)}
    return sorted({"message", *right, *values, *(value.strip() for value in values)} - {""})


class _Judgement:
    def __init__(self, streams: Sequence[Stream]) -> None:
        self.streams = streams
        self.asked = [0] * len(streams)
        self.told: list[dict[str, Any]] = [{} for _ in streams]
        self.last_event_ids: list[bytes | None] = [None] * len(streams)
        self.done = asyncio.Event()

    async def run(self, browser: str) -> list[Told]:
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        with tempfile.TemporaryDirectory(prefix="judge-", ignore_cleanup_errors=True) as profile:
            process = await asyncio.create_subprocess_exec(
                *(browser, *OPTIONS, f"--user-data-dir={profile}", address),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
            gone = asyncio.create_task(process.wait())
            told = asyncio.create_task(self.done.wait())
            try:
                await asyncio.wait(
                    [gone, told], timeout=PATIENCE_WITH_ALL, return_when=asyncio.FIRST_COMPLETED
                )
                assert told.done(), "the browser is gone, or too slow"
            finally:
                if not gone.done():
                    process.terminate()
                await gone
                told.cancel()
                server.close()
                await server.wait_closed()
        return [
            Told([tuple(event) for event in told["events"]], told["reconnected"], last_event_id)
            for told, last_event_id in zip(self.told, self.last_event_ids, strict=True)
        ]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            method, path, _ = head.split(b" ", 2)
            length = re.search(rb"\ncontent-length: *(\d+)", head, re.IGNORECASE)
            body = await reader.readexactly(int(length[1])) if length else b""
            await self.answer(writer, f"{method.decode()} {path.decode()}", head, body)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the browser goes
        finally:
            writer.close()

    async def answer(
        self, writer: asyncio.StreamWriter, request: str, head: bytes, body: bytes
    ) -> None:
        what, _, number = request.rpartition("/")
        if what == "GET /stream":
            await self.stream(writer, int(number), head)
        elif what == "POST /told":
            self.told[int(number)] = json.loads(body)
            respond(writer, "204 No Content")
        elif request == "GET /":
            respond(writer, "200 OK", "text/html", PAGE.read_bytes())
        elif request == "GET /jobs":
            jobs = [
                {"number": number, "types": _types(stream.data), "patience": PATIENCE}
                for number, stream in enumerate(self.streams)
            ]
            respond(writer, "200 OK", "application/json", json.dumps(jobs).encode())
        elif request == "POST /done":
            respond(writer, "204 No Content")
            self.done.set()
        else:
            respond(writer, "404 Not Found")

    async def stream(self, writer: asyncio.StreamWriter, number: int, head: bytes) -> None:
        self.asked[number] += 1
        if self.asked[number] > 1:
            header = re.search(rb"\r\nlast-event-id:[ \t]*(.*?)[ \t]*\r\n", head, re.IGNORECASE)
            self.last_event_ids[number] = header[1] if header else None
            respond(writer, "204 No Content")
            return
        respond(writer, "200 OK", "text/event-stream")
        for chunk in self.streams[number].chunks:
            await writer.drain()
            await asyncio.sleep(0.001)  # so that the browser may see the cut
            writer.write(chunk)


def respond(
    writer: asyncio.StreamWriter, status: str, content_type: str = "text/plain", body: bytes = b""
) -> None:
    """A response's head and body; its end is the connection's."""
    writer.write(f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n".encode())
    writer.write(b"Cache-Control: no-store\r\nConnection: close\r\n\r\n" + body)
