"""Timing in turns, and what is made of the times.

All contenders of a cell are timed in rounds, A B C A B C …, so that a machine that slows down slows
all of them. A figure is a ratio of medians over the rounds; its spread is the middle half of the
ratios within each round.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

Run = Callable[[int], float]  # so many runs -> seconds for all of them
Times = dict[str, list[float]]  # contender -> seconds per run, one for each round


class Ratio(NamedTuple):
    """How many times longer one took than the other, with the middle half of the rounds."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{digits(self.value)} ({digits(self.low)}-{digits(self.high)})"


def digits(value: float) -> str:
    """Three digits that matter, no exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


# What `repeat` reads. The processor time of this thread instead of the wall's is for a machine that
# others use at the same time (`run.py --busy`); published figures are the wall's.
clock = time.perf_counter


def repeat(call: Callable[[], object]) -> Run:
    """A contender in this process."""

    def run(times: int) -> float:
        began = clock()
        for _ in range(times):
            call()
        return clock() - began

    return run


def race(contenders: dict[str, Run], rounds: int, least: float, most: float) -> Times:
    """Times all contenders in turns.

    Args:
        contenders: name to run.
        rounds: how often each has its turn.
        least: seconds that a turn takes at least; fast contenders run several times in it.
        most: seconds of turns after which a slow contender has had enough rounds (at least 3).
    """
    counts = {}
    for name, run in contenders.items():
        run(1)
        counts[name] = max(1, round(least / max(run(1), 1e-9)))
    times: Times = {name: [] for name in contenders}
    gc.collect()
    for number in range(rounds):
        # Every other round the other way round: no one always runs in another's wake.
        for name in list(contenders)[:: -1 if number % 2 else 1]:
            if number >= 3 and sum(times[name]) * counts[name] > most:
                continue
            times[name].append(contenders[name](counts[name]) / counts[name])
    return times


def median(times: list[float]) -> float:
    return statistics.median(times)


def ratio(slower: list[float], faster: list[float]) -> Ratio:
    """`slower` against `faster`, round by round where both ran."""
    pairs = sorted(a / b for a, b in zip(slower, faster, strict=False))
    quarter = len(pairs) // 4
    return Ratio(median(slower) / median(faster), pairs[quarter], pairs[-1 - quarter])


def fastest(times: Times, names: list[str]) -> str | None:
    """The name with the least median among those that ran."""
    ran = [name for name in names if times.get(name)]
    return min(ran, key=lambda name: median(times[name])) if ran else None
