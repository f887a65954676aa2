"""Very many streams at once, for a long time: `make soak`.

A server process sends numbered events to every stream, cut anywhere, large ones now and then; this
process reads them all through aiter_events() in one event loop. Every event must come, once, in
order and with the right data, and memory must stay flat. Prints the figures; exits with 1 if
anything is lost or memory grows.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import random
import resource
import subprocess
import sys
import time
from typing import Any

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
LARGE = 20_000  # bytes
WARM_UP = 0.3  # of the time, after which memory must not grow by more than
GROWTH = 0.1  # of itself, and
ROOM = 4 * 1024 * 1024  # bytes


def text(number: int) -> str:
    """An event's data: mostly a token, sometimes several lines or a large one."""
    if number % 97 == 0:
        return f"{number} " + "long é€😀 " * (LARGE // 16)
    return f"{number} a token" + "\nand another line" * (number % 5 == 0)


def wire(number: int) -> bytes:
    end = ("\n", "\r\n", "\r")[number % 3]
    lines = [f"id: {number}", *(f"data: {line}" for line in text(number).split("\n"))]
    lines += [": a comment"] * (number % 7 == 0) + ["event: tick"] * (number % 2)
    return (end.join(lines) + 2 * end).encode()


async def send(writer: asyncio.StreamWriter, until: float, pause: float, chance: Any) -> None:
    """One stream. What is sent at once ends anywhere in an event."""
    writer.write(HEAD)
    number = 0
    rest = b""
    while time.time() < until:
        for _ in range(chance.randrange(1, 5)):
            rest += wire(number)
            number += 1
        cut = chance.randrange(len(rest))
        writer.write(rest[:cut])
        rest = rest[cut:]
        await writer.drain()
        await asyncio.sleep(pause * chance.uniform(0.5, 1.5))
    writer.write(rest + b"event: end\ndata: %d\n\n" % number)
    await writer.drain()
    writer.close()


async def serve(seconds: float, pause: float) -> None:
    until = time.time() + seconds
    opened = 0

    async def stream(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        opened += 1
        await send(writer, until, pause, random.Random(opened))

    server = await asyncio.start_server(stream, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


class Soak:
    """What all streams came to."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.events = 0
        self.ended = 0
        self.wrong: list[str] = []

    async def read(self, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await reader.readuntil(b"\r\n\r\n")
        expected = 0
        async with self.backend.aiter_events(reader, max_buffer_size=LARGE * 4) as events:
            async for event in events:
                if event.event == "end":
                    if event.data != str(expected):
                        self.wrong.append(f"{expected} of {event.data} events came")
                    self.ended += 1
                    break
                right = str(expected), text(expected), ("message", "tick")[expected % 2]
                if (event.id, event.data, event.event) != right:
                    self.wrong.append(f"event {event.id} came for {expected}")
                    break
                expected += 1
                self.events += 1
        writer.close()
        await writer.wait_closed()

    async def run(self, port: int, streams: int, seconds: float) -> list[int]:
        """Reads all streams to their ends; returns what was resident, in bytes, over the time."""
        started = time.monotonic()
        tasks = []
        for _ in range(streams):
            tasks.append(asyncio.create_task(self.read(port)))
            if len(tasks) % 50 == 0:
                await asyncio.sleep(0)
        resident = []
        while time.monotonic() - started < seconds:
            await asyncio.sleep(min(1.0, seconds / 20))
            if time.monotonic() - started > seconds * WARM_UP:
                resident.append(memory())
        await asyncio.wait_for(asyncio.gather(*tasks), 60 + seconds)
        return resident


def memory() -> int:
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def soak(backend: str, streams: int, seconds: float, pause: float) -> bool:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = streams + 200
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
    command = [sys.executable, __file__, "--serve", f"--seconds={seconds}", f"--pause={pause}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        done = Soak(importlib.import_module(backend))
        used = time.process_time()
        resident = asyncio.run(done.run(port, streams, seconds))
        used = time.process_time() - used
        server.communicate()

    # The fuller half against the emptier one, since the streams' buffers come and go.
    half = len(resident) // 2
    early, late = max(resident[:half]), max(resident[half:])
    flat = late <= early + max(early * GROWTH, ROOM)
    print(
        f"{backend}: {streams} streams, {seconds:g} s: {done.events} events, "
        f"{done.ended} streams complete, {len(done.wrong)} wrong; "
        f"{early / 2**20:.1f} MiB at most in the first half, {late / 2**20:.1f} in the second; "
        f"{used:.0f} s of CPU"
    )
    for wrong in done.wrong[:10]:
        print(wrong)
    return flat and not done.wrong and done.ended == streams


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--backend", default="rapidsse", help="a module (default: rapidsse)")
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--pause", type=float, default=2.0, help="between a stream's chunks, in s")
    chosen = parser.parse_args()
    if chosen.serve:
        asyncio.run(serve(chosen.seconds, chosen.pause))
        return 0
    return not soak(chosen.backend, chosen.streams, chosen.seconds, chosen.pause)


if __name__ == "__main__":
    sys.exit(main())
