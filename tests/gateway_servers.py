"""The gateway and an upstream that does as it is told, as processes on free ports of 127.0.0.1.

    python tests/gateway_servers.py gateway|upstream
    python tests/gateway_servers.py command COMMAND...

Each runs until its standard input ends, so that none outlives whoever started it. The first two
print their address.

The upstream answers `POST /v1/chat/completions` as the request's body says, a JSON object:
    pieces: what to send, as text whose characters are bytes (latin-1), a chunk for each.
    ending: "clean" (the default), "abort" (the connection is closed inside the body) or "silence"
        (until the client leaves).
    held: a name; each piece but the first waits for a request to `/seen/NAME`, or for the one to
        `/open/NAME`, after which nothing waits.
    times: how often each of them is sent, if not once.
    status, type: of the answer (200, text/event-stream).
    fields: more of its header fields, names to values.
    mute: seconds before the answer's head is sent.
`GET /state` tells of its connections as JSON: `open` and `left` (streams whose client has gone),
`sent` (bytes that the network has taken), and `headers` of the last request.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

GATEWAY = Path(__file__).parent.parent / "examples" / "gateway"
PATIENCE = 10.0  # seconds


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=PATIENCE) as response:
        body: bytes = response.read()
    return body


def state(upstream: str) -> dict[str, Any]:
    got: dict[str, Any] = json.loads(get(f"{upstream}/state"))
    return got


def counters(gateway: str) -> dict[str, float]:
    lines = get(f"{gateway}/metrics").decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


@contextmanager
def serving(kind: str, **environment: str) -> Iterator[tuple[str, int]]:
    """A process of its own; its address and process ID."""
    process = subprocess.Popen(
        [sys.executable, __file__, kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **environment},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = process.stdout.readline().decode().strip()
        assert address, f"the {kind} did not start"
        yield address, process.pid
    finally:
        process.stdin.close()
        process.stdout.close()
        assert process.wait(PATIENCE) == 0


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
    return port


@contextmanager
def running(command: list[str], port: int, **options: Any) -> Iterator[None]:
    """Any command that serves on the port, from when it does."""
    process = subprocess.Popen(
        [sys.executable, __file__, "command", *command], stdin=subprocess.PIPE, **options
    )
    assert process.stdin is not None
    try:
        until = time.monotonic() + PATIENCE
        while not _listens(port):
            assert process.poll() is None, f"{command} did not start"
            assert time.monotonic() < until, f"{command} does not listen"
            time.sleep(0.02)
        yield
    finally:
        process.stdin.close()
        process.wait(PATIENCE)


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


class Upstream:
    def __init__(self) -> None:
        self.open = 0
        self.left = 0
        self.sent = 0
        self.headers: dict[str, str] = {}
        self.opened: set[str] = set()
        self.seen: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(0))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self._answer(reader, writer):
                pass
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; whether there may be another."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        fields = (line.partition(":") for line in head[1:] if line)
        headers = {name.lower(): value.strip() for name, _, value in fields}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if method == "GET":
            _, verb, *name = path.split("/")
            if verb == "open":
                self.opened.update(name)
            if verb in ("open", "seen"):
                self.seen[name[0]].release()
            state = {name: vars(self)[name] for name in ("open", "left", "sent", "headers")}
            answer = json.dumps(state).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(answer) + answer)
            await writer.drain()
            return True
        self.headers = headers
        return await self._act(json.loads(body), reader, writer)

    async def _act(
        self, script: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        self.open += 1
        gone = asyncio.ensure_future(reader.read(1))
        acting = asyncio.ensure_future(self._play(script, writer))
        try:
            await asyncio.wait({gone, acting}, return_when=asyncio.FIRST_COMPLETED)
            if not acting.done():
                self.left += 1
                return False
            return acting.result()
        except ConnectionError:
            self.left += 1
            return False
        finally:
            self.open -= 1
            for task in (gone, acting):
                task.cancel()
            await asyncio.gather(gone, acting, return_exceptions=True)

    async def _play(self, script: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(script.get("mute", 0))
        head = (
            f"HTTP/1.1 {script.get('status', 200)} Whatever\r\nx-request-id: abc\r\n"
            f"content-type: {script.get('type', 'text/event-stream; charset=utf-8')}\r\n"
            "transfer-encoding: chunked\r\n"
        )
        fields = script.get("fields", {}).items()
        head += "".join(f"{name}: {value}\r\n" for name, value in fields)
        writer.write(f"{head}\r\n".encode())
        for number, piece in enumerate(script.get("pieces", [])):
            if number and "held" in script:
                await self.turn(script["held"])
            for _ in range(script["times"][number] if "times" in script else 1):
                await self._send(piece.encode("latin-1"), writer)
        ending = script.get("ending", "clean")
        if ending == "silence":
            await asyncio.sleep(3600)
        if ending == "abort":
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def turn(self, name: str) -> None:
        await self.seen[name].acquire()
        if name in self.opened:
            self.seen[name].release()

    async def _send(self, piece: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        await writer.drain()
        self.sent += len(piece)
        await asyncio.sleep(0)


async def upstream() -> None:
    server = await asyncio.start_server(Upstream().serve, "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, sys.stdin.read)


async def gateway() -> None:
    import uvicorn

    sys.path.insert(0, str(GATEWAY))
    import gateway as example

    config = uvicorn.Config(
        example.app, host="127.0.0.1", port=0, log_level="error", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    serve = asyncio.ensure_future(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    print(f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", flush=True)

    def until_stdin_ends() -> None:
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=until_stdin_ends, daemon=True).start()
    await serve


def command(words: list[str]) -> int:
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL)

    def until_stdin_ends() -> None:
        sys.stdin.read()
        process.terminate()

    threading.Thread(target=until_stdin_ends, daemon=True).start()
    return process.wait()


if __name__ == "__main__":
    if sys.argv[1] == "command":
        sys.exit(command(sys.argv[2:]))
    asyncio.run({"gateway": gateway, "upstream": upstream}[sys.argv[1]]())
