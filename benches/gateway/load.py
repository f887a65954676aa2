"""What the relays are put under: an upstream that streams answers, and the clients that read them.

    python load.py        the upstream, until its standard input ends; prints its address

The bytes are those of the shape `openai` in ../shapes.py, with usage and `[DONE]` at their end.
Every event is an HTTP chunk of its own, as servers write them. What differs between the loads is
how many events arrive at once.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop

sys.path.insert(0, str(Path(__file__).parent.parent))

import shapes

MODEL = "gpt-5-mini-2025-08-07"
USAGE = {"prompt_tokens": 9, "completion_tokens": 512, "total_tokens": 521}


@dataclass(frozen=True)
class Load:
    """How an answer arrives.

    Attributes:
        title: for the page.
        together: events in one write.
        pause: seconds between two writes; 0 for as fast as they are taken.
        events: of one stream, `[DONE]` included.
    """

    title: str
    together: int
    pause: float
    events: int


STREAMS = 50  # at once
LOADS = {
    "tokens": Load("one event at a time, 100 a second and stream", 1, 0.01, 250),
    "bursts": Load("16 events at a time, 25 times a second and stream", 16, 0.04, 800),
    "full": Load("as fast as the relay takes them", 64, 0, 2400),
}


def events(load: Load) -> list[bytes]:
    """A stream's events, as they are sent."""
    writes = [write for write, _ in shapes.openai(random.Random(1))][: load.events - 2]
    usage = json.dumps({"model": MODEL, "choices": [], "usage": USAGE}, separators=(",", ":"))
    return [*writes, f"data: {usage}\n\n".encode(), b"data: [DONE]\n\n"]


def writes(load: Load) -> list[bytes]:
    """The same in chunked coding, in the server's writes."""
    framed = [b"%x\r\n%b\r\n" % (len(event), event) for event in events(load)]
    parts = [
        b"".join(framed[at : at + load.together]) for at in range(0, len(framed), load.together)
    ]
    parts[-1] += b"0\r\n\r\n"
    return parts


WRITES = {name: writes(load) for name, load in LOADS.items()}
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


class Answering(asyncio.Protocol):
    """The upstream's end of a connection: the request's body names the load."""

    def __init__(self) -> None:
        self._received = b""
        self._writable = asyncio.Event()
        self._writable.set()
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        _, ended, body = self._received.partition(b"\r\n\r\n")
        if ended and body.endswith(b"}"):
            self._received = b""
            task = asyncio.ensure_future(self._answer(json.loads(body)["load"]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, name: str) -> None:
        pause = LOADS[name].pause
        self._transport.write(HEAD)
        loop = asyncio.get_running_loop()
        # Each stream has a beat of its own.
        due = loop.time() + pause * random.random()
        for part in WRITES[name]:
            if pause:
                due += pause
                await asyncio.sleep(due - loop.time())
            await self._writable.wait()
            self._transport.write(part)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, error: Exception | None) -> None:
        for task in self._tasks:
            task.cancel()


class Reading(asyncio.Protocol):
    """A client: it asks, and is done when the body has ended."""

    def __init__(self, request: bytes, done: asyncio.Future[None]) -> None:
        self._request = request
        self._done = done
        self._end = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._end = (self._end + data[-5:])[-5:]
        if self._end == b"0\r\n\r\n":
            self._transport.close()
            self._done.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(ConnectionError("the relay closed the connection"))


async def drive(port: int, name: str) -> None:
    """Reads so many streams of the load at once, through the relay at that port."""
    body = json.dumps({"load": name, "stream": True}).encode()
    request = (
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: relay\r\ncontent-type: application/json\r\n"
        b"content-length: %d\r\n\r\n%b" % (len(body), body)
    )
    reading = [read_one(port, request) for _ in range(STREAMS)]
    await asyncio.wait_for(asyncio.gather(*reading), 120)


async def read_one(port: int, request: bytes) -> None:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    await loop.create_connection(lambda: Reading(request, done), "127.0.0.1", port)
    await done


async def upstream() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Answering, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    uvloop.run(upstream())
