"""The streams that other parsers judge: every conformance case, and random ones.

RAPIDSSE_JUDGE_STREAMS says how many random ones, by default 100. RAPIDSSE_JUDGE_SEED says which.
"""

from __future__ import annotations

import os
import random
from typing import NamedTuple

from rapidsse.testing import cases

COUNT = int(os.environ.get("RAPIDSSE_JUDGE_STREAMS", "100"))
SEED = int(os.environ.get("RAPIDSSE_JUDGE_SEED", "1"))

ENDINGS = [b"\n", b"\n", b"\r", b"\r\n"]
STARTS = (
    [b""] * 8 + [b"\xef\xbb\xbf"] * 3 + [b"\xef\xbb\xbf" * 2, b"\xef\xbb", b"\xef", "ï»¿".encode()]
)
NAMES = [b"data"] * 8 + [b"event"] * 3 + [b"id"] * 3 + [b"retry"] * 2 + [b""] * 2
ODD_NAMES = [b"Data", b"datax", b"dat", b" data", b"data ", b"id\0", b"\xef\xbb\xbfdata", b"\xff"]
SEPARATORS = [b": "] * 6 + [b":"] * 3 + [b":  ", b"", b" :", b":\t", b"::"]
TYPES = [b"error", b"open", b"message", b"x", b"delta", "é😀".encode(), b"a b", b" ", b"\t", b""]
IDS = [
    b"1",
    b"22",
    b"",
    b"a:b",
    b"\0",
    b"1\x002",
    "é".encode(),
    b" 7 ",
    b"\x01",
    b"\xff",
    b"0" * 40,
]
# What a reconnection tells apart: at once, soon, as by default, and not while anyone waits.
RETRIES = [b"0", b"10", b"0010", b"900", b"4000", b"600000", b"2147483648", b"9223372036854775807"]
ODD_RETRIES = [b""] * 6 + [b" 5", b"5 ", b"-5", b"+5", b"1e3", b"0x10", b"1.5", "٣".encode(), b"\0"]
HUGE_RETRIES = [b"18446744073709551616", b"9" * 40, b"0" * 30 + b"20"]
TEXTS = [b"", b"x", b"[DONE]", b'{"a": [1, 2]}', b" two", b"\t", b"a:b", b"data: x", b"w" * 300]
TEXTS += ["é€😀".encode(), "\u2028".encode(), "\x85".encode(), b"\0", b"\x0b\x0c\x1c"]
TEXTS += [
    b"\xff",
    b"\xc3",
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b"\xef\xbb\xbf",
]
VALUES = {b"event": TYPES, b"id": IDS}


class Stream(NamedTuple):
    """A stream, and the chunks that it is sent in."""

    name: str
    data: bytes
    chunks: list[bytes]


def every() -> list[Stream]:
    """The cases, each as its first cutting says, then the random ones."""
    fixed = [
        Stream(case.name, case.data, case.chunks(case.cuts[0] if case.cuts else ()))
        for case in cases()
    ]
    return fixed + [made(SEED * 1_000_000 + number) for number in range(COUNT)]


def made(number: int) -> Stream:
    """The random stream of a number, the same each time."""
    dice = random.Random(number)
    data = dice.choice(STARTS) + b"".join(piece(dice) for _ in range(dice.randrange(16)))
    if dice.random() < 0.7:
        data += dice.choice(ENDINGS) * 2
    edges = sorted(dice.randint(0, len(data)) for _ in range(dice.randrange(4)))
    chunks = [
        data[start:stop]
        for start, stop in zip([0, *edges], [*edges, len(data)], strict=True)
        if start < stop
    ]
    return Stream(f"random-{number}", data, chunks)


def piece(dice: random.Random) -> bytes:
    """A line, most often; blank lines, or any few bytes."""
    kind = dice.random()
    if kind < 0.25:
        return dice.choice(ENDINGS) * dice.randint(1, 2)
    if kind < 0.3:
        return dice.randbytes(dice.randrange(4))
    if kind < 0.35:
        return dice.choice(TEXTS)
    name = dice.choice(ODD_NAMES if dice.random() < 0.1 else NAMES)
    return name + dice.choice(SEPARATORS) + value(dice, name) + dice.choice(ENDINGS)


def value(dice: random.Random, name: bytes) -> bytes:
    if name == b"retry":
        kind = dice.random()
        return dice.choice(RETRIES if kind < 0.6 else ODD_RETRIES if kind < 0.9 else HUGE_RETRIES)
    return dice.choice(VALUES.get(name, TEXTS))
