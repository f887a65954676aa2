"""Known faults of other parsers: the only differences that a judge may have.

A fault is told by a rewriting of the stream: the faulty parser takes a stream as a right one takes
the rewritten stream. So a fault excuses exactly what it explains, and nothing beside it.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

V = TypeVar("V")
BOM = b"\xef\xbb\xbf"


class Fault(NamedTuple):
    """A fault, with the sentence of the standard that makes it one."""

    name: str
    standard: str
    rewrite: Callable[[bytes], bytes]


class Comparison:
    """What a judge says of many streams, next to what is expected of them.

    Attributes:
        streams (int): how many agree or differ by known faults.
        faulty (Counter[str]): how often each known fault explained a difference.
    """

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        self.streams = 0
        self.faulty: Counter[str] = Counter()

    def agrees(self, stream: bytes, told: V, expected: Callable[[bytes], V]) -> bool:
        """Whether what is told is what is expected, or what is expected of known faults."""
        if told == expected(stream):
            self.streams += 1
            return True
        for chosen in self.combinations():
            rewritten = stream
            for fault in chosen:
                rewritten = fault.rewrite(rewritten)
            if rewritten != stream and told == expected(rewritten):
                self.streams += 1
                self.faulty.update(fault.name for fault in chosen)
                return True
        return False

    def combinations(self) -> Iterable[tuple[Fault, ...]]:
        """One fault, then two at once, and so on."""
        for size in range(1, len(self.faults) + 1):
            yield from itertools.combinations(self.faults, size)

    def __str__(self) -> str:
        lines = [f"{self.streams} streams agree; of these, by a known fault of the judge:"]
        lines += [f"{count:>6} {name}" for name, count in sorted(self.faulty.items())]
        return "\n".join(lines)


def difference(name: str, stream: bytes, told: object, expected: object) -> str:
    """What to report."""
    return f"{name}: {stream!r}\n  expected {expected}\n  told     {told}"


def rewrite_retries(stream: bytes, new: Callable[[bytes], bytes]) -> bytes:
    """A stream with other values in its retry lines."""
    start = len(BOM) if stream.startswith(BOM) else 0
    pieces = re.split(rb"(\r\n|\r|\n)", stream[start:])
    for at, line in enumerate(pieces):
        name, _, value = line.partition(b":")
        if name == b"retry":
            pieces[at] = b"retry: " + new(value.removeprefix(b" "))
    return stream[:start] + b"".join(pieces)
