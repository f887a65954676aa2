"""The pure backend against the judge and the table of cases, in a second or two.

This is what mutation testing runs for each mutant (`cosmic-ray`); the tests proper are far
more thorough, and slower. Exits with an error at the first difference.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

import judge
from rapidsse import BufferSizeExceeded, _pure
from rapidsse.testing import cases
from support import plain, plains

PIECES = [
    *(b"data: x\n", b"data:y\r", b"data\r\n", b"data: [1]\n\n", b"data: a\n\ndata: b\n\n", b"data"),
    *(b"event: error\n", b"event:x\r\n", b"event", b"id: 7\n", b"id: \0\n", b"id\n", b"id:"),
    *(b"retry: 12\n", b"retry: 99999999999999999999\n", b"retry: 1x\n", b"retry:0", b"retry\n"),
    *(b": c\n", b":", b": ping\n\n", b" ", b"7", b"x", b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r"),
    *(b"\r\n\r\n", judge.BOM, b"\xef\xbb", b"\xff", b"\xc3", b"\xa9", b"\xe2\x82", b"\0"),
    *(b"Data: z\n", b"other\n", b"a-b_c 9: v\n", b"n" * 64 + b": v\n", b"n" * 65 + b": v\n"),
    *(
        "data: é€\n\n".encode(),
        "é".encode(),
        b"data: " + b"w" * 300 + b"\n\n",
        b"data: end\n\n" * 90,
    ),
]


def cuttings(stream: bytes, chance: random.Random) -> Iterator[list[bytes]]:
    yield [stream]
    if len(stream) < 300:
        yield [stream[at : at + 1] for at in range(len(stream))]
    for most in (7, 40):
        chunks = []
        at = 0
        while at < len(stream):
            size = chance.randrange(most)
            chunks.append(stream[at : at + size])
            at += size
        yield chunks


def check(chunks: list[bytes], options: judge.Options) -> None:
    verdict = judge.judge(b"".join(chunks), options)
    parser = _pure.Parser(**vars(options))
    items = []
    stop = 0
    overflow = False
    for chunk in chunks:
        before = len(items)
        stop += len(chunk)
        try:
            items += parser.feed(chunk)
        except BufferSizeExceeded:
            overflow = True
        if verdict.overflow is not None and stop >= verdict.overflow:
            assert parser.closed
            assert overflow or len(items) > before
            break
        assert len(items) == len(verdict.told(0, stop))
    else:
        assert verdict.overflow is None
        assert parser.buffered == verdict.buffered
        assert (parser.last_event_id, parser.retry) == (verdict.last_event_id, verdict.retry)
        assert plain(parser.close()) == verdict.unfinished
        assert parser.truncated is verdict.truncated
    assert plains(items) == [item for _, item in verdict.items]
    assert (parser.last_event_id, parser.retry) == (verdict.last_event_id, verdict.retry)
    assert (parser.skipped, parser.buffered) == (verdict.skipped, 0)

    if verdict.overflow is None:
        steps = _pure.iter_events(chunks, unfinished="yield", **vars(options))
        expected = [item for _, item in verdict.items]
        if verdict.unfinished is not None:
            expected.append(verdict.unfinished)
        assert plains(steps) == expected
        assert steps.truncated is verdict.truncated


def main(seed: int, examples: int) -> None:
    chance = random.Random(seed)
    for number in range(examples):
        stream = b"".join(chance.choices(PIECES, k=chance.randrange(1, 16)))
        short = len(stream) < 200
        options = judge.Options(
            last_event_id=chance.choice(["", "before"]),
            max_buffer_size=chance.choice([None, chance.randrange(1, 60)]) if short else None,
            comments=chance.random() < 0.3,
            diagnostics=chance.random() < 0.3,
            raw=chance.random() < 0.3,
            types=chance.choice([None, None, None, {"error"}, {"message"}, set()]),
            contains=chance.choice([None, None, None, [b"x"], [b"\n", b"a"], []]),
        )
        for chunks in cuttings(stream, chance):
            check(chunks, options)
        if number % 10 == 0:
            check([stream], judge.Options())
    for case in cases():
        if len(case.data) < 2000:
            for chunks in ([case.data], [case.data[at : at + 1] for at in range(len(case.data))]):
                check(chunks, judge.Options(comments=True))
                check(chunks, judge.Options())


if __name__ == "__main__":
    main(1, int(sys.argv[1]) if len(sys.argv) > 1 else 400)
