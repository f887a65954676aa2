"""The streams that are measured: ten shapes, seven cuttings, all from fixed seeds.

A shape is a list of writes, as a server would make them, and the events they carry. The events
come from the generator, not from a parser, so that every parser can be checked against them.
A cutting says where the bytes are cut into chunks. A shape is the same bytes under every cutting,
but for 64 and 8 bytes, where a shorter stream (a prefix of whole writes) keeps the runs short;
costs are stated per event and per byte, and every ratio compares equal streams.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

KIB = 1024
MIB = 1024 * KIB


class Expected(NamedTuple):
    """An event as every right parser must see it."""

    event: str
    data: str
    id: str = ""
    retry: int | None = None


@dataclass(frozen=True)
class Shape:
    """A named stream: `writes` are a server's writes, `events` what they carry, in order.

    A write carries one event or, in `heartbeat`, a comment and no event (then `carries` is False
    at its place).
    """

    name: str
    probes: str
    writes: list[bytes]
    carries: list[bool]
    events: list[Expected]


@dataclass(frozen=True)
class Stream:
    """A shape under a cutting, ready to be timed."""

    shape: str
    cutting: str
    chunks: list[bytes]
    events: list[Expected]
    size: int


Writes = list[tuple[bytes, Expected | None]]

_VOCABULARY = """
the of and to in is that for it as was with be by on not he his but at are this have from or
had an they which one you were her all she there would their we him been has when who will
stream parser token event chunk buffer gateway model answer question language
"""
WORDS = _VOCABULARY.split()
HEX = "0123456789abcdef"
CJK = "这是一个测试模型回答的汉字语言日本語の文字カナひらがな한국어문장입니다漢字東京都大阪"
EMOJI = "😀🚀🎉🧪🦀🐍🌍"


def _text(rng: random.Random, size: int) -> str:
    """Plain words, `size` characters of them."""
    words = ""
    while len(words) < size:
        words += " " + rng.choice(WORDS)
    return words[:size]


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _data(text: str, ending: str = "\n") -> bytes:
    return f"data: {text}{ending}{ending}".encode()


# What an OpenAI-compatible server sends: no event name, one JSON line of 230 to 300 bytes. The
# stream that gateways carry most, and the one all targets are first read on.
def openai(rng: random.Random) -> Writes:
    writes: Writes = []
    identity = "chatcmpl-" + "".join(rng.choices(HEX, k=24))
    for _ in range(4000):
        chunk = {
            "id": identity,
            "object": "chat.completion.chunk",
            "created": 1764547200,
            "model": "gpt-5-mini-2025-08-07",
            "system_fingerprint": "fp_" + "".join(rng.choices(HEX, k=10)),
            "choices": [
                {
                    "index": 0,
                    "delta": {"content": _text(rng, rng.randint(2, 56))},
                    "finish_reason": None,
                }
            ],
        }
        text = _compact(chunk)
        writes.append((_data(text), Expected("message", text)))
    return writes


# What Anthropic sends: an event line before each data line, about 120 bytes, now and then a ping.
# Probes the cost of a second field and of the event type, nearly always the same one.
def anthropic(rng: random.Random) -> Writes:
    writes: Writes = []
    for _ in range(4000):
        if rng.random() < 0.03:
            name, value = "ping", {"type": "ping"}
        else:
            name = "content_block_delta"
            delta = {"type": "text_delta", "text": _text(rng, rng.randint(1, 13))}
            value = {"type": name, "index": 0, "delta": delta}
        text = _compact(value)
        writes.append((f"event: {name}\n".encode() + _data(text), Expected(name, text)))
    return writes


# Blocks of 10 to 20 bytes: next to nothing to scan, so what an event costs by itself shows.
def short(rng: random.Random) -> Writes:
    writes: Writes = []
    for _ in range(16000):
        text = "".join(rng.choices("abcdefghijklmnop ", k=rng.randint(2, 12))).strip() or "ok"
        writes.append((_data(text), Expected("message", text)))
    return writes


# One line of 256 KiB per event (an image in base64, a file): bandwidth, and how often a parser
# copies or rescans what it has when a line spans many chunks.
def big(rng: random.Random) -> Writes:
    writes: Writes = []
    for _ in range(8):
        text = rng.randbytes(128 * KIB).hex()
        writes.append((_data(text), Expected("message", text)))
    return writes


# 50 data lines of 80 bytes per event (logs, code, some of it indented): the cost of a line that
# makes no event.
def multiline(rng: random.Random) -> Writes:
    writes: Writes = []
    for _ in range(300):
        lines = []
        for _ in range(50):
            indent = " " * rng.choice((0, 0, 0, 4))
            lines.append(indent + ("log" + _text(rng, 80))[: 80 - len(indent)])
        wire = "".join(f"data: {line}\n" for line in lines) + "\n"
        writes.append((wire.encode(), Expected("message", "\n".join(lines))))
    return writes


# Chinese, Japanese, Korean and some emoji in JSON: nearly every byte is part of a wide character,
# so decoding UTF-8 rules, and cuttings split characters.
def multibyte(rng: random.Random) -> Writes:
    writes: Writes = []
    for _ in range(4000):
        content = "".join(rng.choices(CJK, k=rng.randint(30, 55)))
        if rng.random() < 0.2:
            content += rng.choice(EMOJI)
        text = _compact({"content": content})
        writes.append((_data(text), Expected("message", text)))
    return writes


# A quiet stream: 15 keep-alive comments, each its own write with its blank line, for every event.
# Probes what bytes cost that come to nothing, and chunks that hold no event.
def heartbeat(rng: random.Random) -> Writes:
    writes: Writes = []
    for number in range(800):
        writes.extend((b": keep-alive\n\n", None) for _ in range(15))
        text = _compact({"n": number, "state": rng.choice(WORDS)})
        writes.append((_data(text), Expected("message", text)))
    return writes


# The openai stream with CRLF endings, which the standard allows and many servers send. Hand-rolled
# parsers that split at two LF find nothing here.
def crlf(rng: random.Random) -> Writes:
    return [(_data(event.data, "\r\n"), event) for _, event in openai(rng) if event is not None]


# id, event and retry besides data, as resumable servers send (MCP): four fields per event and an
# ID that is never twice the same.
def ids(rng: random.Random) -> Writes:
    writes: Writes = []
    for number in range(4000):
        event = Expected(
            "update",
            _compact({"n": number, "value": _text(rng, 12)}),
            f"{number:08d}-{''.join(rng.choices(HEX, k=4))}",
            3000,
        )
        wire = f"id: {event.id}\nevent: {event.event}\nretry: {event.retry}\n".encode()
        writes.append((wire + _data(event.data), event))
    return writes


# A single event of 1 MiB on one line: in small chunks it drips in, and whoever looks again at what
# came before is quadratic.
def drip(rng: random.Random) -> Writes:
    text = rng.randbytes(MIB // 2).hex()
    return [(_data(text), Expected("message", text))]


_MAKERS: list[Callable[[random.Random], Writes]] = [
    openai,
    anthropic,
    short,
    big,
    multiline,
    multibyte,
    heartbeat,
    crlf,
    ids,
    drip,
]

PROBES = {
    "openai": "chat-completion chunks, one JSON line of 230 to 300 bytes",
    "anthropic": "named events of about 120 bytes, pings",
    "short": "blocks of 10 to 20 bytes: what an event costs by itself",
    "big": "256 KiB one-line payloads: bandwidth and copies",
    "multiline": "50 data lines of 80 bytes: what a line costs",
    "multibyte": "CJK and emoji: what decoding costs",
    "heartbeat": "15 comments for each event: bytes that come to nothing",
    "crlf": "the openai stream with CRLF endings",
    "ids": "id, event, retry and data in each block",
    "drip": "one event of 1 MiB on one line: rescans show",
}

SHAPES = tuple(PROBES)

# Cutting -> bytes per chunk (None: see `cut`), bytes of stream at most (None: all of it).
CUTTINGS: dict[str, tuple[int | None, int | None]] = {
    "whole": (None, None),  # a body that was read at once
    "64k": (64 * KIB, None),  # what an HTTP client's read gives at most
    "16k": (16 * KIB, None),  # a TLS record
    "1460": (1460, None),  # a TCP segment
    "event": (None, None),  # one write per chunk: how tokens arrive from a model
    "64b": (64, 256 * KIB),  # a proxy that forwards crumbs
    "8b": (8, 64 * KIB),  # the worst that can be met
}

_made: dict[str, Shape] = {}


def shape(name: str) -> Shape:
    """The shape of that name; the same bytes on every machine and in every run."""
    if name not in _made:
        index = SHAPES.index(name)
        rng = random.Random(20261201 + (0 if name == "crlf" else index))
        writes = _MAKERS[index](rng)
        _made[name] = Shape(
            name,
            PROBES[name],
            [wire for wire, _ in writes],
            [event is not None for _, event in writes],
            [event for _, event in writes if event is not None],
        )
    return _made[name]


def pieces(body: bytes, size: int) -> list[bytes]:
    """`body` in chunks of `size` bytes."""
    return [body[at : at + size] for at in range(0, len(body), size)]


def stream(name: str, cutting: str, limit: int | None = None) -> Stream:
    """A shape under a cutting.

    `limit` is the most bytes the stream may have, if less than the cutting's own; the stream is
    then the longest run of whole writes within it, and has at least one event.
    """
    made = shape(name)
    size, most = CUTTINGS[cutting]
    if limit is not None:
        most = limit if most is None else min(most, limit)
    writes, count = made.writes, len(made.events)
    if most is not None and sum(map(len, writes)) > most:
        total = taken = count = 0
        for wire, carries in zip(made.writes, made.carries, strict=True):
            if total + len(wire) > most and count:
                break
            total += len(wire)
            taken += 1
            count += carries
        writes = writes[:taken]
    body = b"".join(writes)
    if cutting == "whole":
        chunks = [body]
    elif cutting == "event":
        chunks = list(writes)
    else:
        assert size is not None
        chunks = pieces(body, size)
    return Stream(name, cutting, chunks, made.events[:count], len(body))


if __name__ == "__main__":
    import argparse
    from pathlib import Path

    options = argparse.ArgumentParser(description="Lists the shapes, or writes them to files.")
    options.add_argument("--write", metavar="FOLDER", type=Path, help="write NAME.sse for each")
    folder = options.parse_args().write
    for name in SHAPES:
        made = shape(name)
        body = b"".join(made.writes)
        each = len(body) / len(made.events)
        print(f"{name:10} {len(body):9,} bytes {len(made.events):6} events {each:9.0f} bytes each")
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.sse").write_bytes(body)
