"""eventsource-parser on Node says what both backends say: events, last event ID, retry.

Which streams: see `streams`. What is known of it, and nothing else, is in FAULTS.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
from typing import Any, NamedTuple

import pytest
from conftest import BACKENDS, load
from faults import BOM, Comparison, Fault, difference, rewrite_retries
from node_projects import installed
from streams import Stream, every

LARGEST = 2**63 - 1
"""What the backends make of a larger retry, and this module of the judge's."""


class Meaning(NamedTuple):
    events: list[tuple[str, str, str]]
    """Of each event, its type, data and last event ID."""
    last_event_id: str
    retry: int | None


def as_double(value: bytes) -> bytes:
    digits = value.lstrip(b"0")
    if not re.fullmatch(rb"\d+", value) or len(digits) > 300:
        return value
    return b"%d" % int(float(value))


def second_bom(stream: bytes) -> bytes:
    return BOM + stream.removeprefix(BOM + BOM) if stream.startswith(BOM + BOM) else stream


def mojibake(stream: bytes) -> bytes:
    start = BOM if stream.startswith(BOM) else b""
    return start + stream.removeprefix(start).removeprefix("ï»¿".encode())


FAULTS = [
    Fault(
        "a retry goes through a double",
        "If the field value consists of only ASCII digits, then interpret the field value as an "
        "integer in base ten.",
        lambda stream: rewrite_retries(stream, as_double),
    ),
    Fault(
        "a second BOM is dropped",
        "stream = [ bom ] *event: one leading BOM, which the decoder has dropped already.",
        second_bom,
    ),
    Fault(
        "the characters of a BOM decoded as Latin-1 are dropped",
        "Streams must be decoded using the UTF-8 decode algorithm: three characters are no BOM.",
        mojibake,
    ),
]


def expected(stream: bytes) -> Meaning:
    """What the backends say, which is the same."""
    first, *others = (said(load(name), stream) for name in BACKENDS)
    assert all(other == first for other in others), stream
    return first


def said(backend: Any, stream: bytes) -> Meaning:
    parser = backend.Parser(max_buffer_size=None)
    events = [(event.event, event.data, event.id) for event in parser.feed(stream)]
    return Meaning(events, parser.last_event_id, parser.retry)


def ask(streams: list[Stream]) -> list[Meaning]:
    """What eventsource-parser makes of each stream."""
    node, project = installed("judge")
    lines = [
        json.dumps([base64.b64encode(chunk).decode() for chunk in stream.chunks])
        for stream in streams
    ]
    done = subprocess.run(
        [node, "judge.mjs"],
        cwd=project,
        input="\n".join(lines),
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [meaning(json.loads(line)) for line in done.stdout.split("\n")[:-1]]


def meaning(told: dict[str, Any]) -> Meaning:
    retry = None if told["retry"] is None else min(int(told["retry"]), LARGEST)
    return Meaning([tuple(event) for event in told["events"]], told["id"], retry)


def test_eventsource_parser_says_what_both_backends_say(
    capsys: pytest.CaptureFixture[str],
) -> None:
    streams = every()
    comparison = Comparison(FAULTS)
    differing = [
        difference(stream.name, stream.data, told, expected(stream.data))
        for stream, told in zip(streams, ask(streams), strict=True)
        if not comparison.agrees(stream.data, told, expected)
    ]
    with capsys.disabled():
        print(f"\neventsource-parser: {comparison}")
    assert not differing, "\n".join(differing)
