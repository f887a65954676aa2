"""Turns what `run.py` measured into a page, a chart and a few lines for the terminal."""

from __future__ import annotations

import math
import os
import platform
import re
import subprocess
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import chart as drawing
import peers
from node import BYTES_IN
from race import Ratio, Times, digits, fastest, median, ratio
from shapes import CUTTINGS, PROBES

Data = dict[str, Any]
Cell = dict[str, Any]

ITER, FEED, PURE, PURE_FEED = "iter_events", "feed", "pure iter_events", "pure feed"
BYTES_WAYS = [f"node {way}" for way in BYTES_IN]
FLOOR_ITER = [f"floor {a},{b}" for a, b in peers.FLOOR_MODES]
FLOOR_FEED = [f"{name} feed" for name in FLOOR_ITER]
CUT_NAMES = {
    "whole": "whole",
    "64k": "64 KiB",
    "16k": "16 KiB",
    "1460": "1460 B",
    "event": "one event",
    "64b": "64 B",
    "8b": "8 B",
}


# The machine.


def machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
        model = found[1] if found else model
    except OSError:
        pass
    system = (
        platform.freedesktop_os_release() if hasattr(platform, "freedesktop_os_release") else {}
    )
    name = system.get("PRETTY_NAME", platform.system())
    return f"{model}, {os.cpu_count()} cores, {name}, {platform.machine()}"


def versions(parsers: list[peers.Parser], node: Any) -> dict[str, str]:
    import rapidsse

    found = {
        "rapidsse": rapidsse.__version__,
        "CPython": platform.python_version(),
    }
    for parser in parsers:
        if parser.package:
            found[parser.name] = parser.version
    for name in ("aiohttp", "orjson"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    if node is not None:
        found |= {"Node": node.version, "eventsource-parser": node.parser}
    lock = Path(__file__).parent / "rust" / "Cargo.lock"
    if lock.exists():
        text = lock.read_text()
        for name in ("eventsource-stream", "sseer", "sse-core", "sse-stream"):
            crate = re.search(rf'name = "{name}"\nversion = "(.+)"', text)
            if crate:
                found[f"{name} (crate)"] = crate[1]
    try:
        done = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
        found["rustc"] = done.stdout.split()[1]
    except (OSError, subprocess.CalledProcessError):
        pass
    return found


# Picking figures out of a cell.


def nanoseconds(cell: Cell, name: str) -> float:
    """Per event."""
    return median(cell["times"][name]) * 1e9 / cell["events"]


def cost(cell: Cell, name: str) -> str:
    """Per event and per byte."""
    each = nanoseconds(cell, name)
    return f"{digits(each)} / {digits(each * cell['events'] / cell['bytes'])}"


def best_peer(data: Data, cell: Cell) -> str | None:
    return fastest(cell["times"], data["peers"])


def against(cell: Cell, slower: str | None, faster: str) -> Ratio | None:
    times = cell["times"]
    if slower is None or not times.get(slower) or not times.get(faster):
        return None
    return ratio(times[slower], times[faster])


def geometric(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def table(head: list[str], rows: Iterable[list[object]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = ["" if value is None else str(value) for value in row]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def line(cell: Cell) -> str:
    """A cell as a line for the terminal, while it goes on."""
    times = cell["times"]
    each = nanoseconds(cell, ITER)
    words = [f"{cell['shape']:10} {cell['cutting']:6} {digits(each):>10} ns/event"]
    others = [name for name in times if name not in (ITER, FEED, PURE, PURE_FEED)]
    for label, names in (
        ("Python", [n for n in others if not n.startswith(("node ", "floor "))]),
        ("Node", BYTES_WAYS),
        ("floor", FLOOR_ITER),
    ):
        best = fastest(times, names)
        if best:
            words.append(f"{label} {against(cell, best, ITER)} {best}")
    return "  ".join(words)


# The page.


def page(data: Data) -> str:
    parts = [
        "# Results",
        "",
        "Made by `python benches/run.py"
        + (" --quick" if data["quick"] else "")
        + (" --busy`" if data["busy"] else "`")
        + f" in {data['minutes']:.0f} minutes; how to read it and to run it again: "
        "[README.md](README.md).",
        "",
        f"- Machine: {data['machine']}.",
        "- Versions: " + ", ".join(f"{k} {v}" for k, v in data["versions"].items()) + ".",
        f"- Every figure comes from one run in turns (A B A B ..., {data['rounds']} rounds). "
        "A ratio is one of medians; in parentheses the middle half of the rounds' own ratios.",
        "- *ns/event / ns/byte*: bytes in, a Python loop visits every event and reads its text.",
    ]
    parts += [f"- Left out: {reason}." for reason in data["missing"]]
    for title, write in SECTIONS:
        text = write(data)
        if text:
            parts += ["", f"## {title}", "", text]
    return "\n".join(parts) + "\n"


def _python(data: Data) -> str:
    rows = []
    for cell in data["cells"]:
        peer = best_peer(data, cell)
        rows.append(
            [
                cell["shape"],
                CUT_NAMES[cell["cutting"]],
                cost(cell, ITER),
                peer,
                cost(cell, peer) if peer else None,
                against(cell, peer, ITER),
                against(cell, peer, FEED),
            ]
        )
    if not any(row[3] for row in rows):
        return ""
    head = ["shape", "chunks", "`iter_events`", "fastest right peer", "its cost"]
    return (
        "How many times longer the fastest Python peer takes, among those that get the events of "
        "that stream right.\n\n" + table([*head, "against `iter_events`", "against `feed`"], rows)
    )


def _everyone(data: Data) -> str:
    blocks = []
    for cutting in ("16k", "event"):
        rows = []
        for cell in data["cells"]:
            if cell["cutting"] != cutting:
                continue
            row: list[object] = [cell["shape"]]
            for name in data["peers"]:
                found = against(cell, name, ITER)
                row.append(found if found else f"*{cell['marks'].get(name, '')}*")
            rows.append(row)
        if rows and data["peers"]:
            blocks.append(
                f"Chunks: {CUT_NAMES[cutting]}.\n\n" + table(["shape", *data["peers"]], rows)
            )
    if not blocks:
        return ""
    notes = "\n".join(
        f"- {name}: {note}." for name, note in data["notes"].items() if note and data["peers"]
    )
    return (
        "How many times longer each takes than `iter_events`; where its events are wrong, what is "
        "wrong instead of a figure.\n\n" + "\n\n".join(blocks) + "\n\nThe door of each:\n\n" + notes
    )


def _node(data: Data) -> str:
    rows, ratios = [], []
    for cell in data["cells"]:
        best = fastest(cell["times"], BYTES_WAYS)
        if best is None:
            continue
        found = against(cell, best, ITER)
        assert found is not None
        ratios.append(found.value)
        rows.append(
            [
                cell["shape"],
                CUT_NAMES[cell["cutting"]],
                cost(cell, ITER),
                best.removeprefix("node "),
                cost(cell, best),
                found,
                against(cell, "node strings", ITER),
            ]
        )
    if not rows:
        return ""
    head = ["shape", "chunks", "`iter_events`", "best way in on Node", "its cost", "bytes in"]
    return (
        f"Bytes in, both: eventsource-parser takes **{digits(geometric(ratios))} times** as long "
        f"in the geometric mean of {len(ratios)} cells (least {digits(min(ratios))}). The best of "
        "a streaming `TextDecoder`, `StringDecoder` and `TextDecoderStream` is taken in each. The "
        "last column is another race: there Node is given ready-made strings, decoding not "
        "counted, while ours still takes bytes.\n\n" + table([*head, "(strings in)"], rows)
    )


def _sdks(data: Data) -> str:
    names = ["openai SDK", "anthropic SDK"]
    rows = []
    for cell in data["cells"]:
        if cell["shape"] in ("openai", "anthropic"):
            row = [cell["shape"], CUT_NAMES[cell["cutting"]]]
            rows.append([*row, *(against(cell, name, ITER) for name in names)])
    if not any(any(row[2:]) for row in rows):
        return ""
    return "How many times longer the SDKs' own decoders take than `iter_events`.\n\n" + table(
        ["shape", "chunks", *names], rows
    )


def _feed(data: Data) -> str:
    rows = [
        [
            cell["shape"],
            CUT_NAMES[cell["cutting"]],
            cost(cell, FEED),
            against(cell, FEED, ITER),
        ]
        for cell in data["cells"]
    ]
    text = (
        "`feed` makes a list for each chunk; its time against that of `iter_events` over the same "
        "chunks.\n\n" + table(["shape", "chunks", "`feed`", "against `iter_events`"], rows)
    )
    whole = data["extras"].get("feed whole")
    if whole:
        rows = [
            [name, ratio(times["feed(whole)"], times["iter_events, 16 KiB"])]
            for name, times in whole.items()
        ]
        text += (
            "\n\nThe whole stream in one `feed`, against `iter_events` over the same bytes in "
            "16 KiB pieces:\n\n" + table(["shape", "times as long"], rows)
        )
    return text


def _pure(data: Data) -> str:
    rows = []
    for cell in data["cells"]:
        peer = best_peer(data, cell)
        rows.append(
            [
                cell["shape"],
                CUT_NAMES[cell["cutting"]],
                cost(cell, PURE),
                peer,
                against(cell, peer, PURE),
                against(cell, "httpx-sse", PURE),
                against(cell, PURE, ITER),
            ]
        )
    head = ["shape", "chunks", "pure `iter_events`", "fastest right peer", "its time against ours"]
    return (
        "The pure-Python backend against the Python peers (all of them pure Python), and how many "
        "times longer it takes than the compiled one.\n\n"
        + table([*head, "httpx-sse against ours", "against compiled"], rows)
    )


def _floor(data: Data) -> str:
    if not data["floors"]:
        return ""
    rows = []
    for cell in data["cells"]:
        one, two = fastest(cell["times"], FLOOR_ITER), fastest(cell["times"], FLOOR_FEED)
        if one and two:
            row = [cell["shape"], CUT_NAMES[cell["cutting"]], cost(cell, one)]
            row += [against(cell, ITER, one), cost(cell, two), against(cell, FEED, two)]
            rows.append(row)
    return (
        "Our time against that of an external lower-bound module, which does the least that makes "
        "the same events and is no conforming parser (no BOM, no limit).\n\n"
        + table(
            ["shape", "chunks", "its iterator", "`iter_events`", "its feed", "`feed`"],
            rows,
        )
    )


def _async(data: Data) -> str:
    found = data["extras"].get("async")
    if not found:
        return ""
    rows = []
    for name, times in found.items():
        own = times["aiter_events"]
        row = [name, ratio(own, times["generator around feed"])]
        floor = fastest(times, FLOOR_ITER)
        rows.append([*row, ratio(own, times[floor]) if floor else None])
    head = ["stream, chunks, source", "against a generator around `feed`"]
    wide = len(head) + any(row[2] for row in rows)
    return (
        "The time of `aiter_events` against that of an async generator which calls `feed`; the "
        "source never waits, and no event loop's turn is counted.\n\n"
        + table([*head, "against the lower bound"][:wide], [row[:wide] for row in rows])
    )


def _watched(data: Data) -> str:
    times: Times = data["extras"].get("watched")
    if not times:
        return ""
    rows = []
    for name in times:
        way, options = name.split(", ")
        if options != "everything":
            rows.append([f"`{way}`", options, ratio(times[name], times[f"{way}, everything"])])
    return (
        "`types` and `contains` that keep 1 event in 1,000 of the openai stream, 16 KiB chunks: "
        "time against that of the full parse.\n\n" + table(["through", "options", "time"], rows)
    )


def _json(data: Data) -> str:
    times: Times = data["extras"].get("json")
    if not times:
        return ""
    own = times["event.json()"]
    rows = [
        [f"`{name}`", digits(median(taken) * 1e9 / 1000), ratio(taken, own)]
        for name, taken in times.items()
    ]
    return "On the payloads of the openai stream.\n\n" + table(
        ["call", "ns", "time against `event.json()`"], rows
    )


def _growth(data: Data) -> str:
    found = data["extras"].get("growth")
    if not found:
        return ""
    rows = []
    for name, times in found.items():
        small, large = times["1 MiB"], times["4 MiB"]
        step = ratio(large, small)
        rows.append(
            [
                f"`{name}`",
                digits(median(small) * 1e9 / 2**20),
                Ratio(*(value / 4 for value in step)),
            ]
        )
    return "One event that drips in 8 bytes at a time; 1.00 is linear.\n\n" + table(
        ["through", "ns/byte at 1 MiB", "cost per byte, 4 MiB against 1 MiB"], rows
    )


def _memory(data: Data) -> str:
    found = data["extras"].get("memory")
    if not found:
        return ""
    rows = [
        [f"`{name}`", f"{median(values):.2f} ({min(values):.2f}-{max(values):.2f})"]
        for name, values in found.items()
    ]
    return (
        "How far the process's peak rises while one event of 64 MiB comes in 16 KiB chunks, in "
        "sizes of the event (its text is 1 of them); in parentheses the least and the most of "
        "three processes. Quadratic peers are left out.\n\n" + table(["parser", "peak"], rows)
    )


def _rust(data: Data) -> str:
    found = data["extras"].get("rust")
    if not found:
        return ""
    rows = []
    for group, times in sorted(found.items(), key=lambda item: -int(item[0].split("-")[1])):
        for name in times:
            if name.startswith("rapidsse"):
                others = [one for one in times if not one.startswith("rapidsse")]
                best = fastest(times, others)
                each = median(times[name]) * 1e9 / 4000
                row = [f"{group.split('-')[1]} B", name, digits(each), best]
                rows.append([*row, ratio(times[best], times[name]) if best else None])
    others = []
    for group, times in found.items():
        for name, taken in times.items():
            if not name.startswith("rapidsse"):
                each = digits(median(taken) * 1e9 / 4000)
                chunk = f"{group.split('-')[1]} B"
                others.append([chunk, name, each, ratio(taken, times["rapidsse"])])
    return (
        "The core without Python, on the openai stream, measured by criterion in several passes. "
        "`rapidsse` hands out checked text borrowed from its buffer, `rapidsse-owned` an event "
        "that owns its strings.\n\n"
        + table(["chunks", "ours", "ns/event", "fastest peer", "its time against ours"], rows)
        + "\n\n"
        + table(["chunks", "crate", "ns/event", "time against `rapidsse`"], others)
    )


def _wrong(data: Data) -> str:
    found: dict[tuple[str, str, str], list[str]] = {}
    for cell in data["cells"]:
        for name, why in cell["marks"].items():
            found.setdefault((name, cell["shape"], why), []).append(CUT_NAMES[cell["cutting"]])
    if not found:
        return ""
    rows = [[name, shape, why, ", ".join(cuts)] for (name, shape, why), cuts in found.items()]
    return (
        "Every parser's events are compared with those that the stream was made from, before it is "
        "timed. These failed, or would not have been done in time.\n\n"
        + table(["parser", "shape", "what", "chunks"], sorted(rows))
    )


def _streams(data: Data) -> str:
    seen: dict[str, Cell] = {}
    for cell in data["cells"]:
        if cell["shape"] not in seen or cell["bytes"] > seen[cell["shape"]]["bytes"]:
            seen[cell["shape"]] = cell
    return table(
        ["shape", "what it probes", "bytes", "events"],
        [[name, PROBES[name], f"{c['bytes']:,}", f"{c['events']:,}"] for name, c in seen.items()],
    )


SECTIONS: list[tuple[str, Callable[[Data], str]]] = [
    ("The streams", _streams),
    ("Python parsers", _python),
    ("Every Python parser", _everyone),
    ("The SDKs' decoders", _sdks),
    ("eventsource-parser on Node", _node),
    ("The Rust core", _rust),
    ("`feed`", _feed),
    ("Async", _async),
    ("`types` and `contains`", _watched),
    ("`event.json()`", _json),
    ("The pure-Python backend", _pure),
    ("Linear time", _growth),
    ("Memory", _memory),
    ("The lower bound", _floor),
    ("Wrong events", _wrong),
]


# The chart, and the last lines of a run.

_COLOURS = {
    "fastest Python peer": "#b45309",
    "httpx-sse": "#7c3aed",
    "openai SDK": "#be185d",
    "anthropic SDK": "#1d4ed8",
    "eventsource-parser on Node": "#65a30d",
}


def chart(data: Data) -> str:
    cuttings = [cut for cut in ("16k", "event") if any(c["cutting"] == cut for c in data["cells"])]
    cuttings = cuttings or list(dict.fromkeys(cell["cutting"] for cell in data["cells"]))[:2]
    panels = {cut: f"chunks: {CUT_NAMES[cut]}" for cut in cuttings}
    series = []
    for name, colour in _COLOURS.items():
        values = {}
        for cell in data["cells"]:
            if cell["cutting"] not in panels:
                continue
            peer: str | None = name
            if name == "fastest Python peer":
                peer = best_peer(data, cell)
            elif name.endswith("Node"):
                peer = fastest(cell["times"], BYTES_WAYS)
            found = against(cell, peer, ITER)
            if found:
                values[panels[cell["cutting"]], cell["shape"]] = found.value
        if values:
            series.append(drawing.Series(name, colour, values))
    return drawing.draw(
        "Time to parse a stream, against rapidsse",
        "Bytes in, every event visited in its own language's loop. Further right is slower; "
        "logarithmic. Wrong events: no dot.",
        list(panels.values()),
        list(dict.fromkeys(cell["shape"] for cell in data["cells"])),
        series,
    )


def summary(data: Data) -> str:
    lines = []
    for cutting in CUTTINGS:
        found = [
            (against(cell, best_peer(data, cell), ITER), cell["shape"])
            for cell in data["cells"]
            if cell["cutting"] == cutting
        ]
        values = [(one.value, shape) for one, shape in found if one]
        if values:
            low, high = min(values), max(values)
            lines.append(
                f"{CUT_NAMES[cutting]:>9}: the fastest right Python peer takes "
                f"{digits(geometric(v for v, _ in values))} times as long as iter_events "
                f"(from {digits(low[0])} on {low[1]} to {digits(high[0])} on {high[1]})"
            )
    nodes = []
    for cell in data["cells"]:
        best = against(cell, fastest(cell["times"], BYTES_WAYS), ITER)
        if best:
            nodes.append(best.value)
    if nodes:
        mean = digits(geometric(nodes))
        lines.append(
            f"eventsource-parser on Node, bytes in: {mean} times as long (least {min(nodes):.2f})"
        )
    return "\n".join(lines)
