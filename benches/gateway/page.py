"""Turns what `run.py` measured into a page and a few lines for the terminal."""

from __future__ import annotations

from typing import Any

from load import LOADS, STREAMS
from race import Ratio, digits, median
from report import table

Data = dict[str, Any]

NONE, WATCHING, REWRITING, PEER = (
    "no parser",
    "rapidsse watching",
    "rapidsse rewriting",
    "httpx-sse rewriting",
)


def paired(slower: list[float], faster: list[float]) -> Ratio:
    """The median of the ratios of turns that were close in time, and their middle half.

    Other users of the machine come and go between rounds: within one, both have the same.
    """
    # Where one has two turns in a round and the other one, the first two are compared.
    slower = slower[:: max(1, len(slower) // len(faster))]
    faster = faster[:: max(1, len(faster) // len(slower))]
    pairs = sorted(a / b for a, b in zip(slower, faster, strict=True))
    quarter = len(pairs) // 4
    return Ratio(median(pairs), pairs[quarter], pairs[-1 - quarter])


def added(data: Data, load: str) -> Ratio:
    """Processor time of watching, against no parser."""
    times = data["times"][load]
    return paired(times[WATCHING], times[NONE])


def added_alone(data: Data, load: str) -> float:
    """The same from the parser's own work, measured in memory: a share of no parser's time."""
    each = own(data, load)
    bare: float = median(data["times"][load][NONE]) * 1e6 / data["events"][load]
    return (each[WATCHING] - each[NONE]) / bare


def own(data: Data, load: str) -> dict[str, float]:
    """Microseconds per event of each relay's loop over chunks in memory."""
    scale = STREAMS * 1e6 / data["events"][load]
    return {name: median(taken) * scale for name, taken in data["alone"][load].items()}


def ahead(data: Data, load: str, peer: str = PEER) -> Ratio:
    """Events per processor second of rewriting, against a peer's."""
    times = data["times"][load]
    return paired(times[peer], times[REWRITING])


def ceiling(data: Data, load: str) -> Ratio:
    """The same, had rewriting cost nothing at all."""
    times = data["times"][load]
    return paired(times[PEER], times[NONE])


def percent(value: Ratio) -> str:
    more = [100 * (part - 1) for part in value]
    return f"{more[0]:+.1f} % ({more[1]:+.1f} to {more[2]:+.1f})"


def verdict(value: Ratio, least: float = 0, most: float = float("inf")) -> str:
    """Whether the ratio keeps to the bounds; what the noise is too large to say is not said."""
    if least <= value.low and value.high <= most:
        return "met"
    if value.high < least or most < value.low:
        return "not met"
    return "not certain, the spread is too wide"


def page(data: Data) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    parts = [
        "# What a parser costs a gateway",
        "Made by `make bench-gateway`. The gateway of `examples/gateway` with its parser swapped; "
        "[relays.py](relays.py) says what each does, [load.py](load.py) what it is put under.",
        f"Machine: {data['machine']}. {versions}. "
        f"{len(data['times']['full'][REWRITING])} rounds, {STREAMS} streams at once.",
        "Counted is the processor time of the relay's process; its clients and its upstream are "
        "processes of their own. Times are medians over the rounds; a ratio is the median of the "
        "ratios in single rounds, with their middle half in parentheses. An event per processor "
        "second is an event per second and core. "
        "*Its own* is what the relay's loop over the chunks takes in memory, without the network, "
        "and what share of the whole that is: parsing, and for those that rewrite the change and "
        "the encoding too. *Core in use* is how busy the relay was; where it is far below 100 %, "
        "events came no faster.",
        "The less a relay has to do for an event beside parsing it, the more a parser matters: "
        "when every event arrives alone, two network calls for each outweigh any parser; when "
        "the relay is at its limit, events arrive together, and the parser decides how many.",
        "## Targets",
        table(
            [
                "load",
                "watching, over no parser (target: 5 %)",
                "its own work alone",
                "rewriting, events/s against httpx-sse (target: 2)",
                "were rewriting free",
            ],
            [
                [
                    f"{name}: {load.title}",
                    f"{percent(added(data, name))}, {verdict(added(data, name), most=1.05)}",
                    f"{100 * added_alone(data, name):+.1f} %",
                    f"{ahead(data, name)}, {verdict(ahead(data, name), least=2)}",
                    ceiling(data, name),
                ]
                for name, load in LOADS.items()
            ],
        ),
    ]
    parts.append(
        "*Its own work alone* is the parser's feed and the loop around it, measured in memory, as "
        "a share of the relay without a parser: it says the same as the column before it, without "
        "the noise of the network. *Were rewriting free* is what the ratio would be if parsing, "
        "changing and encoding took no time: where it is below 2, no parser can reach the target, "
        "since the relay's time goes into receiving and sending each event."
    )
    for name, load in LOADS.items():
        parts += [f"## {name}: {load.title}", cell(data, name)]
    return "\n\n".join(parts) + "\n"


def cell(data: Data, load: str) -> str:
    events, times, walls = data["events"][load], data["times"][load], data["walls"][load]
    each = own(data, load)
    return table(
        [
            "relay",
            "events/s per core",
            "µs per event",
            "against no parser",
            "its own µs per event",
            "core in use",
        ],
        [
            [
                name,
                f"{events / median(taken):,.0f}",
                digits(median(taken) * 1e6 / events),
                paired(taken, times[NONE]),
                f"{digits(each[name])} ({100 * each[name] * events / median(taken) / 1e6:.0f} %)",
                f"{100 * median(taken) / median(walls[name]):.0f} %",
            ]
            for name, taken in times.items()
        ],
    )


def summary(data: Data) -> str:
    lines = []
    for load in LOADS:
        lines.append(
            f"{load}: watching {percent(added(data, load))}; rewriting {ahead(data, load)}"
        )
        for name, taken in data["times"][load].items():
            lines.append(f"  {name:28}{median(taken) * 1e6 / data['events'][load]:8.2f} µs/event")
    return "\n".join(lines)
