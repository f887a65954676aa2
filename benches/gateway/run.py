"""Measures what a parser costs a gateway, and writes RESULTS.md beside this file.

    python benches/gateway/run.py            about twelve minutes
    python benches/gateway/run.py --quick    about three; writes to ../.work/

The upstream and each relay are processes of their own on this machine. What counts is the processor
time of the relay's process, so that the load's own work and whoever else uses the machine is not in
the figures. In every round each relay is started anew and has its turn under each load, in the
other order every other round; the two whose difference is small have four turns.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import page
import rapidsse
import report
import uvloop
from load import LOADS, STREAMS, drive, events
from relays import RELAYS, alone, change

HERE = Path(__file__).parent
PAIR = [page.NONE, page.WATCHING, page.WATCHING, page.NONE]
ORDER = [*PAIR, *list(RELAYS)[2:], *PAIR]
PACKAGES = ("aiohttp", "httptools", "httpx-sse", "openai", "starlette", "uvicorn", "uvloop")
# Hash seeds change the layout of a process, and so its speed, by chance.
ENVIRONMENT = {**os.environ, "PYTHONHASHSEED": "0"}


@contextmanager
def process(*arguments: str) -> Iterator[int]:
    """A process that prints its port and ends with its standard input; the port."""
    started = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    assert started.stdin is not None
    assert started.stdout is not None
    try:
        yield int(started.stdout.readline())
    finally:
        started.stdin.close()
        started.stdout.close()
        started.wait(10)


def get(port: int, path: str) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as response:
        body: bytes = response.read()
    return body


def check(port: int, name: str) -> None:
    """One stream through the relay: the events must be right before they are timed."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/chat/completions",
        json.dumps({"load": "bursts", "stream": True}).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        got = rapidsse.parse(response.read())
    expected = [event.data for event in rapidsse.parse(b"".join(events(LOADS["bursts"])))]
    if name not in ("no parser", "rapidsse watching"):
        expected = [change(data) for data in expected]
    assert [event.data for event in got] == expected, name


def turn(port: int, load: str) -> tuple[float, float]:
    """Processor seconds of the relay, and seconds of the wall, for the load's streams."""
    before, began = int(get(port, "/busy")), time.perf_counter()
    uvloop.run(drive(port, load))
    wall = time.perf_counter() - began
    return (int(get(port, "/busy")) - before) / 1e9, wall


def in_memory(name: str) -> list[bytes]:
    """One stream's events as they arrive under the load, as far as the load says."""
    sent, together = events(LOADS[name]), LOADS[name].together
    return [b"".join(sent[at : at + together]) for at in range(0, len(sent), together)]


def measure(rounds: int) -> dict[str, Any]:
    times: dict[str, dict[str, list[float]]] = {load: {} for load in LOADS}
    walls: dict[str, dict[str, list[float]]] = {load: {} for load in LOADS}
    own: dict[str, dict[str, list[float]]] = {load: {} for load in LOADS}
    with process(str(HERE / "load.py")) as upstream:
        for number in range(rounds):
            with ExitStack() as stack:
                ports = {
                    name: stack.enter_context(process(str(HERE / "relays.py"), name, str(upstream)))
                    for name in RELAYS
                }
                for name, port in ports.items():
                    check(port, name)
                for load in LOADS:
                    for name in ORDER[:: -1 if number % 2 else 1]:
                        busy, wall = turn(ports[name], load)
                        times[load].setdefault(name, []).append(busy)
                        walls[load].setdefault(name, []).append(wall)
            for load in LOADS:
                chunks = in_memory(load)
                for name in RELAYS:
                    own[load].setdefault(name, []).append(asyncio.run(alone(name, chunks)))
            print(f"round {number + 1} of {rounds}", flush=True)
    return {
        "times": times,
        "walls": walls,
        "alone": own,
        "events": {name: load.events * STREAMS for name, load in LOADS.items()},
        "machine": report.machine(),
        "versions": {
            "rapidsse": f"{rapidsse.__version__} ({rapidsse.BACKEND})",
            "CPython": sys.version.split()[0],
            **{name: metadata.version(name) for name in PACKAGES},
        },
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--quick", action="store_true", help="two rounds, to ../.work/")
    chosen = options.parse_args()
    (HERE.parent / ".work").mkdir(exist_ok=True)
    data = measure(2 if chosen.quick else chosen.rounds)
    output = HERE.parent / ".work" / "gateway" if chosen.quick else HERE
    output.mkdir(parents=True, exist_ok=True)
    (HERE.parent / ".work" / "gateway.json").write_text(json.dumps(data), "utf-8")
    (output / "RESULTS.md").write_text(page.page(data), "utf-8")
    print(page.summary(data))
    print(f"\n{output / 'RESULTS.md'}")


if __name__ == "__main__":
    main()
