"""The gateway of examples/gateway with its parser swapped.

    python relays.py NAME PORT      one relay in front of the upstream at that port, until its
                                    standard input ends; prints its own port

Each does the gateway's whole work: it counts events, finds usage and `[DONE]`, and says how a
stream ended. Those that rewrite put another model's name into each event, by replacing text: the
change is the same for all, and cheap, so that what is compared is the parsing. The peers are met at
the door their users come through, a loop over events; where that costs them a write for every
event, there is a second relay that has their decoder work through a chunk first.
"""

from __future__ import annotations

import asyncio
import codecs
import sys
import threading
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "examples" / "gateway"))

from load import MODEL
from rapidsse import ServerSentEvent
from relay import DONE, INTERRUPTED, Relay, Rewriting, Tally, Watching, named

INNER, PUBLIC = f'"model":"{MODEL}"', '"model":"public"'


def change(data: str) -> str:
    return data.replace(INNER, PUBLIC)


class Bytes:
    """No parser: the bytes pass, and nothing is known of them."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.tally.completed = True
        self.events = 0

    async def stream(self, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        async for chunk in chunks:
            yield chunk

    def end(self) -> bytes:
        return b""


class Peer:
    """What every rewriting relay does with an event but parse it."""

    def __init__(self, change: Callable[[str], str] = change) -> None:
        self.tally = Tally()
        self.events = 0
        self._change = change

    def wire(self, event: str | None, data: str, id: str | None, retry: int | None) -> bytes:
        self.events += 1
        if data == DONE or event == "error" or '"error"' in data or '"total_tokens"' in data:
            self.tally.look(ServerSentEvent(event or "", data))
        if data != DONE:
            data = self._change(data)
        lines = []
        if event and event != "message":
            lines.append(f"event: {event}\n")
        if id:
            lines.append(f"id: {id}\n")
        if retry is not None:
            lines.append(f"retry: {retry}\n")
        if "\n" in data:
            data = data.replace("\n", "\ndata: ")
        return f"{''.join(lines)}data: {data}\n\n".encode()

    def end(self) -> bytes:
        return b"" if self.tally.completed else INTERRUPTED.encode()


class _Response:
    """The little of an httpx response that httpx-sse asks for."""

    def __init__(self, chunks: AsyncIterable[bytes]) -> None:
        self._chunks = chunks
        self.headers = {"content-type": "text/event-stream"}

    async def aiter_text(self) -> AsyncIterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        async for chunk in self._chunks:
            yield decoder.decode(chunk)


class HttpxSse(Peer):
    async def stream(self, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        from httpx_sse import EventSource

        response: Any = _Response(chunks)
        async for event in EventSource(response).aiter_sse():
            yield self.wire(event.event, event.data, event.id, event.retry)


class HttpxSseChunk(Peer):
    async def stream(self, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        from httpx_sse._decoders import SSEDecoder, SSELineDecoder

        lines, decoder = SSELineDecoder(), SSEDecoder()
        async for text in _Response(chunks).aiter_text():
            wire = []
            for line in lines.decode(text):
                event = decoder.decode(line.rstrip("\n"))
                if event is not None:
                    wire.append(self.wire(event.event, event.data, event.id, event.retry))
            if wire:
                yield b"".join(wire)


class OpenAI(Peer):
    async def stream(self, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        from openai._streaming import SSEDecoder

        async for event in SSEDecoder().aiter_bytes(aiter_of(chunks)):
            yield self.wire(event.event, event.data, event.id, event.retry)


async def aiter_of(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        yield chunk


class HandRolled(Peer):
    """What people write: right for this stream, and not for the standard's others."""

    async def stream(self, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        rest = b""
        async for chunk in chunks:
            *blocks, rest = (rest + chunk).split(b"\n\n")
            wire = [
                self.wire(None, line.decode()[6:], None, None)
                for block in blocks
                for line in block.split(b"\n")
                if line.startswith(b"data: ")
            ]
            if wire:
                yield b"".join(wire)


RELAYS: dict[str, Callable[[], Relay]] = {
    "no parser": Bytes,
    "rapidsse watching": Watching,
    "rapidsse rewriting": lambda: Rewriting(change),
    "httpx-sse rewriting": HttpxSse,
    "httpx-sse, by chunk": HttpxSseChunk,
    "openai SDK rewriting": OpenAI,
    "hand-rolled split": HandRolled,
    "rapidsse, JSON rewritten": lambda: Rewriting(named("public")),
    "httpx-sse, JSON rewritten": lambda: HttpxSse(named("public")),
}


async def alone(name: str, chunks: list[bytes]) -> float:
    """Processor seconds that a relay's own work on the chunks takes, without any network."""

    async def source() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    times = []
    for _ in range(4):
        relay = RELAYS[name]()
        began = time.thread_time()
        async for _ in relay.stream(source()):
            pass
        times.append(time.thread_time() - began)
    return min(times)


async def serve(name: str, upstream: str) -> None:
    import uvicorn
    from gateway import Gateway
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, Response

    async def busy(request: Request) -> Response:
        """Processor time of this process so far, in nanoseconds."""
        return PlainTextResponse(str(time.process_time_ns()))

    app = Gateway(f"http://127.0.0.1:{upstream}/v1", RELAYS[name]).app()
    app.add_route("/busy", busy)
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="warning", access_log=False, http="httptools"
    )
    server = uvicorn.Server(config)
    serving = asyncio.ensure_future(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    print(server.servers[0].sockets[0].getsockname()[1], flush=True)

    def until_stdin_ends() -> None:
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=until_stdin_ends, daemon=True).start()
    await serving


if __name__ == "__main__":
    import uvloop

    uvloop.run(serve(*sys.argv[1:]))
