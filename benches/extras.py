"""What is measured besides plain parsing: async, filters, JSON, memory, growth, the Rust core.

Each function returns named times (or bytes) of one race; `report.py` says what they mean.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import peers
import shapes
from race import Times, race, repeat

HERE = Path(__file__).parent

# Least and most seconds of a contender's turns, and how many (see `race`).
Pace = tuple[int, float, float]


def feed_whole(pace: Pace) -> dict[str, Times]:
    """A body at once through `feed`, against the iterator over the same bytes in 16 KiB pieces.

    `feed` has to make all events before it returns the first, and the memory for them is new.
    """
    by_iterator, by_feed = peers.ours("_rapidsse")
    found = {}
    for name in shapes.SHAPES:
        whole, cut = shapes.stream(name, "whole"), shapes.stream(name, "16k")
        found[name] = race(
            {
                "feed(whole)": repeat(lambda s=whole: by_feed.run(s.chunks)),
                "iter_events, 16 KiB": repeat(lambda s=cut: by_iterator.run(s.chunks)),
            },
            *pace,
        )
    return found


async def _source(chunks: list[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def _async_contenders(chunks: list[bytes], source: Any, floor: Any) -> dict[str, Any]:
    backend = importlib.import_module("rapidsse._rapidsse")

    async def around_feed() -> AsyncIterator[Any]:
        feed = backend.Parser().feed
        async for chunk in source(chunks):
            for event in feed(chunk):
                yield event

    contenders = {
        "aiter_events": lambda: peers.visit_async(backend.aiter_events(source(chunks))),
        "generator around feed": lambda: peers.visit_async(around_feed()),
    }
    if floor is not None and source is floor.ASource:
        for lines, text in peers.FLOOR_MODES:
            contenders[f"floor {lines},{text}"] = lambda a=lines, b=text: peers.visit_async(
                floor.AIter(floor.ASource(chunks), floor.Parser(a, b, 0))
            )
    return contenders


def asynchronous(pace: Pace, floor: Any = None) -> dict[str, Times]:
    """`aiter_events`, one event per chunk, against an async generator that calls `feed`.

    The source never waits, so that no event loop's turn is in the figure. With the external
    lower-bound module there is a compiled source too, and its own iterator to compare with.
    """
    found = {}
    for name in ("openai", "anthropic", "short", "multibyte"):
        for cutting in ("event", "16k"):
            made = shapes.stream(name, cutting)
            sources: dict[str, Any] = {"generator": _source}
            if floor is not None:
                sources["compiled"] = floor.ASource
            for label, source in sources.items():
                contenders = _async_contenders(made.chunks, source, floor)
                for contender, call in contenders.items():
                    got = call()
                    if got != len(made.events):
                        raise AssertionError(f"{contender}: {got} events")
                found[f"{name}, {cutting}, {label} source"] = race(
                    {key: repeat(call) for key, call in contenders.items()}, *pace
                )
    return found


def watched(pace: Pace) -> Times:
    """`types` and `contains` that keep 1 event in 1,000 of the openai stream in 16 KiB chunks."""
    backend = importlib.import_module("rapidsse._rapidsse")
    writes = list(shapes.shape("openai").writes)
    for at in range(500, len(writes), 1000):
        writes[at] = b"event: error\n" + writes[at].replace(
            b'"finish_reason":null', b'"finish_reason":"stop","usage":{"total_tokens":1}'
        )
    chunks = shapes.pieces(b"".join(writes), 16 * shapes.KIB)
    kept = len(range(500, len(writes), 1000))
    options: dict[str, dict[str, Any]] = {
        "everything": {},
        "types": {"types": {"error"}},
        "contains": {"contains": [b'"usage"']},
        "types and contains": {"types": {"error"}, "contains": [b'"usage"']},
    }

    def iterate(given: dict[str, Any]) -> int:
        return peers.visit(backend.iter_events(chunks, **given))

    def feed(given: dict[str, Any]) -> int:
        return peers.visit_lists((backend.Parser(**given).feed, chunks))

    contenders = {}
    for label, given in options.items():
        for way, call in (("iter_events", iterate), ("feed", feed)):
            got = call(given)
            if got != (kept if given else len(writes)):
                raise AssertionError(f"{label}: {got} events")
            contenders[f"{way}, {label}"] = repeat(lambda f=call, g=given: f(g))
    return race(contenders, *pace)


def json_payloads(pace: Pace) -> Times:
    """`event.json()` on the openai payloads, against the parsers that are called on the text."""
    backend = importlib.import_module("rapidsse._rapidsse")
    events = backend.parse(b"".join(shapes.shape("openai").writes))[:1000]

    def own() -> None:
        for event in events:
            event.json()

    def standard() -> None:
        loads = json.loads
        for event in events:
            loads(event.data)

    contenders = {"event.json()": repeat(own), "json.loads(event.data)": repeat(standard)}
    if [event.json() for event in events] != [json.loads(event.data) for event in events]:
        raise AssertionError("event.json() differs from json.loads")
    try:
        import orjson
    except ImportError:
        pass
    else:

        def fast() -> None:
            loads = orjson.loads
            for event in events:
                loads(event.data)

        contenders["orjson.loads(event.data)"] = repeat(fast)
    return race(contenders, *pace)


def growth(pace: Pace) -> dict[str, Times]:
    """An event of 1 MiB and one of 4 MiB, dripping in 8 bytes at a time: cost per byte."""
    found = {}
    for name in ("_rapidsse", "_pure"):
        for parser in peers.ours(name):
            contenders = {}
            for size in (1, 4):
                # The same chunk again and again, so that what is measured is not how long the
                # machine takes to read the chunks of the larger event from its memory.
                chunks = [b"data: xx", *[b"x" * 8] * (size * shapes.MIB // 8), b"\n\n"]
                if parser.run(chunks) != 1:
                    raise AssertionError(parser.name)
                contenders[f"{size} MiB"] = repeat(lambda p=parser, c=chunks: p.run(c))
            found[parser.name] = race(contenders, *pace)
    return found


# Memory: each parser in a process of its own, which prints how far its peak rose.

BIG_EVENT = 64 * shapes.MIB


def _big_event() -> Iterator[bytes]:
    """One event of 64 MiB in 16 KiB chunks; the source itself holds a single chunk."""
    size = 16 * shapes.KIB
    yield b"data: " + b"x" * (size - 6)
    chunk = b"x" * size
    for _ in range(BIG_EVENT // size - 1):
        yield chunk
    yield b"xxxxxx\n\n"


def _status(key: str) -> int:
    text = Path("/proc/self/status").read_text()
    found = re.search(rf"^{key}:\s+(\d+) kB", text, re.M)
    assert found is not None
    return int(found[1]) * 1024


def peak(name: str) -> int:
    """Bytes by which the process grew at most while the parser took one event of 64 MiB."""
    for parser in _memory_parsers():
        if parser.name == name:
            break
    else:
        raise LookupError(name)
    parser.run([b"data: x\n\n"] * 10)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts from here
    before = _status("VmRSS")
    if parser.run(_big_event()) != 1:
        raise AssertionError(parser.name)
    return _status("VmHWM") - before


def _memory_parsers() -> list[peers.Parser]:
    chosen: list[peers.Parser] = []
    for name in ("_rapidsse", "_pure"):
        backend = importlib.import_module(f"rapidsse.{name}")
        label = "" if name == "_rapidsse" else "pure "
        chosen += [
            peers.Parser(
                f"{label}iter_events",
                "rapidsse",
                lambda chunks, b=backend: b.iter_events(chunks, max_buffer_size=None),
                peers._plain,
            ),
            peers.Parser(
                f"{label}feed",
                "rapidsse",
                lambda chunks, b=backend: (b.Parser(max_buffer_size=None).feed, chunks),
                peers._plain,
                loop=peers.visit_lists,
            ),
        ]
    return chosen + [parser for parser in peers.peers()[0] if not parser.quadratic]


def memory() -> dict[str, list[float]]:
    """Peak growth over the event's size, three processes for each parser."""
    if not Path("/proc/self/clear_refs").exists():
        return {}
    found: dict[str, list[float]] = {}
    for parser in _memory_parsers():
        for _ in range(3):
            done = subprocess.run(
                [sys.executable, HERE / "run.py", "--peak", parser.name],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode == 0:
                found.setdefault(parser.name, []).append(int(done.stdout) / BIG_EVENT)
    return found


# The Rust core: criterion, which measures one after the other; several short passes over all of
# them take the place of turns.


def rust(work: Path, passes: int) -> dict[str, Times]:
    """Seconds per stream of each crate, one for each pass; groups are named by chunk size."""
    if not shutil.which("cargo"):
        return {}
    work.mkdir(parents=True, exist_ok=True)
    work = work.resolve()
    body = work / "openai.sse"
    body.write_bytes(b"".join(shapes.shape("openai").writes))
    target = work / "rust"
    found: dict[str, Times] = {}
    for _ in range(passes):
        shutil.rmtree(target / "criterion", ignore_errors=True)
        options = "--warm-up-time=0.3 --measurement-time=1 --sample-size=30 --noplot"
        done = subprocess.run(
            ["cargo", "bench", "-q", "--bench", "core", "--", *options.split(" ")],
            cwd=HERE / "rust",
            env={**os.environ, "SSE_STREAM": str(body), "CARGO_TARGET_DIR": str(target)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.stderr.write(done.stderr[-2000:])
            return {}
        for line in done.stderr.splitlines():
            if line.startswith("wrong events"):
                print(line, file=sys.stderr)
        for path in sorted((target / "criterion").glob("openai-*/*/new/estimates.json")):
            group, name = path.parts[-4], path.parts[-3]
            seconds = json.loads(path.read_text())["median"]["point_estimate"] / 1e9
            found.setdefault(group, {}).setdefault(name, []).append(seconds)
    return found
