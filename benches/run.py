"""Measures rapidsse against its peers, and writes RESULTS.md and chart.svg beside this file.

    python benches/run.py           all of it: some twenty minutes on a quiet machine
    python benches/run.py --quick   two cuttings, no Node, no Rust: under two minutes

What is compared with is in requirements.txt; what is not installed is left out and said so.
The quick run writes to `.work/`, so that it never replaces the published figures.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import extras
import peers
import race as timing
import report
import shapes
from node import BYTES_IN, Node
from race import race, repeat

HERE = Path(__file__).parent
WORK = HERE / ".work"


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="under two minutes, Python only")
    options.add_argument("--shapes", default=",".join(shapes.SHAPES), help="comma between each two")
    options.add_argument("--cuttings", default="", help="comma between each two")
    options.add_argument("--rounds", type=int, help="turns of each contender (11; quick: 5)")
    options.add_argument("--no-node", action="store_true")
    options.add_argument("--no-rust", action="store_true")
    options.add_argument("--no-peers", action="store_true", help="no peers in Python")
    options.add_argument("--no-extras", action="store_true", help="plain parsing only")
    options.add_argument(
        "--floor",
        metavar="DIR",
        type=Path,
        help="a folder with `floor`, an external lower-bound module with Inc/Parser types",
    )
    options.add_argument("--output", metavar="DIR", type=Path, help="where the results go")
    options.add_argument(
        "--busy",
        action="store_true",
        help="count this thread's processor time, without Node: for a machine that others use too",
    )
    options.add_argument("--render", action="store_true", help="write the last run's results again")
    options.add_argument("--peak", metavar="NAME", help=argparse.SUPPRESS)
    return options.parse_args()


def cell(
    stream: shapes.Stream,
    parsers: list[peers.Parser],
    verdicts: dict[tuple[str, str, str], str],
    node: Node | None,
    pace: extras.Pace,
) -> dict[str, Any]:
    """Checks, then times, all parsers on one stream."""
    contenders = {}
    marks: dict[str, str] = {}
    for parser in parsers:
        if parser.too_slow(stream):
            marks[parser.name] = "quadratic, not run"
            continue
        key = (parser.name, stream.shape, stream.cutting)
        if key not in verdicts:
            verdicts[key] = parser.check(stream)
        if verdicts[key]:
            marks[parser.name] = verdicts[key]
            continue
        contenders[parser.name] = repeat(lambda p=parser: p.run(stream.chunks))
    if node is not None:
        wrong = node.load(stream)
        ready = {way: node.ready(way, 0.2) for way in wrong if not wrong[way]}
        marks |= {f"node {way}": why for way, why in wrong.items() if why}
        best = min([ready[way] for way in BYTES_IN if way in ready], default=0.0)
        for way, seconds in ready.items():
            # A way that is far behind the best one needs no turns.
            if seconds <= 1.6 * best or way == "strings":
                contenders[f"node {way}"] = node.contender(way)
    return {
        "shape": stream.shape,
        "cutting": stream.cutting,
        "bytes": stream.size,
        "events": len(stream.events),
        "chunks": len(stream.chunks),
        "times": race(contenders, *pace),
        "marks": marks,
    }


def measure(options: argparse.Namespace) -> dict[str, Any]:
    began = time.time()
    quick = options.quick
    cuttings = options.cuttings.split(",") if options.cuttings else list(shapes.CUTTINGS)
    if quick and not options.cuttings:
        cuttings = ["16k", "event"]
    if options.busy:
        timing.clock = time.thread_time
    # Rounds, least seconds of a turn, most seconds of a contender's turns.
    rounds = options.rounds or (5 if quick else 11)
    pace = (rounds, 0.004, 0.5) if quick else (rounds, 0.01, 3.0)
    floor = None
    if options.floor:
        sys.path.insert(0, str(options.floor))
        floor = importlib.import_module("floor")

    parsers, missing = ([], []) if options.no_peers else peers.peers()
    own = peers.ours("_rapidsse") + peers.ours("_pure")
    floors = []
    if floor is not None:
        floors = peers.floor_parsers(floor, feed=False) + peers.floor_parsers(floor, feed=True)
    for reason in missing:
        print(f"left out: {reason}", file=sys.stderr)
    if missing:
        print("to have them: pip install -r benches/requirements.txt", file=sys.stderr)
    node = None
    if not (quick or options.no_node or options.busy):
        try:
            node = Node(WORK)
        except (OSError, ValueError) as error:
            missing.append(f"eventsource-parser on Node: {error}")
            print(f"left out: {missing[-1]}", file=sys.stderr)

    data: dict[str, Any] = {
        "quick": quick,
        "busy": options.busy,
        "rounds": rounds,
        "machine": report.machine(),
        "versions": report.versions(parsers, node),
        "notes": {parser.name: parser.note for parser in parsers},
        "quadratic": [parser.name for parser in parsers if parser.quadratic],
        "missing": missing,
        "own": [parser.name for parser in own],
        "peers": [parser.name for parser in parsers],
        "floors": bool(floors),
        "cells": [],
        "extras": {},
    }
    verdicts: dict[tuple[str, str, str], str] = {}
    try:
        for name in options.shapes.split(","):
            for cutting in cuttings:
                stream = shapes.stream(name, cutting, 256 * shapes.KIB if quick else None)
                made = cell(stream, own + floors + parsers, verdicts, node, pace)
                for parser in own:
                    if parser.name in made["marks"]:
                        raise AssertionError(f"{parser.name}: {made['marks'][parser.name]}")
                data["cells"].append(made)
                print(report.line(made), flush=True)
    finally:
        if node is not None:
            node.close()

    if not options.no_extras:
        more: list[tuple[str, Any]] = [
            ("watched", lambda: extras.watched(pace)),
            ("json", lambda: extras.json_payloads(pace)),
            ("async", lambda: extras.asynchronous(pace, floor)),
        ]
        if not quick:
            more += [
                ("feed whole", lambda: extras.feed_whole(pace)),
                ("growth", lambda: extras.growth((min(rounds, 7), 0.01, 20.0))),
                ("memory", extras.memory),
            ]
            if not options.no_rust:
                more.append(("rust", lambda: extras.rust(WORK, 5)))
        for title, call in more:
            print(f"measuring: {title}", flush=True)
            data["extras"][title] = call()
    data["minutes"] = (time.time() - began) / 60
    return data


def main() -> None:
    options = arguments()
    if options.peak:
        print(extras.peak(options.peak))
        return
    WORK.mkdir(exist_ok=True)
    kept = WORK / ("quick.json" if options.quick else "results.json")
    if options.render:
        data = json.loads(kept.read_text("utf-8"))
    else:
        data = measure(options)
        kept.write_text(json.dumps(data), "utf-8")
    output = options.output or (WORK if options.quick else HERE)
    output.mkdir(parents=True, exist_ok=True)
    (output / "RESULTS.md").write_text(report.page(data), "utf-8")
    (output / "chart.svg").write_text(report.chart(data), "utf-8")
    print()
    print(report.summary(data))
    print(f"\n{output / 'RESULTS.md'} and chart.svg, after {data['minutes']:.1f} minutes")


if __name__ == "__main__":
    main()
