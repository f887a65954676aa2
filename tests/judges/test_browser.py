"""A real browser's EventSource says what both backends say: types, data, IDs, reconnection times.

Which streams: see `streams`. What is known of Chromium, and nothing else, is in FAULTS.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import browser
import pytest
from conftest import BACKENDS, load
from faults import BOM, Comparison, Fault, difference, rewrite_retries
from streams import Stream, every

DEFAULT_RETRY = 3_000
"""Chromium's reconnection time as long as a stream sets none, in milliseconds."""
AS_BY_DEFAULT, NOT_AWAITED = 2_000, 5_000
"""What tells reconnection times apart, in milliseconds. No stream has one near to these."""
TRIES = 3
"""A busy machine may keep the browser from reconnecting in time."""
NEVER = "not while it is waited for"
PROBE = b"\n\nretry: 0\n\n"
"""Makes the browser tell its last event ID at once."""


class Meaning(NamedTuple):
    events: list[tuple[str, str, str]]
    reconnects: str
    """How soon."""
    last_event_id: bytes | None
    """The reconnection's header; None without one."""


def end_after_bom(stream: bytes) -> bytes:
    """As if the character were the first of a field's name."""
    return re.sub(rb"\A\xef\xbb\xbf[\r\n]", BOM + b"x", stream)


def ignored_if_huge(value: bytes) -> bytes:
    digits = value.lstrip(b"0")
    huge = re.fullmatch(rb"\d+", value) and (len(digits), digits) > (20, b"18446744073709551615")
    return b"ignored" if huge else value


FAULTS = [
    Fault(
        "a line end straight after the BOM is taken into the next line",
        "stream = [ bom ] *event: what follows the BOM is a line, which may be empty.",
        end_after_bom,
    ),
    Fault(
        "an empty retry sets the default",
        "If the field value consists of only ASCII digits, then interpret the field value as an "
        "integer in base ten, and set the event stream's reconnection time to that integer. "
        "Otherwise, ignore the field.",
        lambda stream: rewrite_retries(stream, lambda value: value or b"%d" % DEFAULT_RETRY),
    ),
    Fault(
        "a retry above 2**64 - 1 is ignored",
        "If the field value consists of only ASCII digits, then interpret the field value as an "
        "integer in base ten, and set the event stream's reconnection time to that integer.",
        lambda stream: rewrite_retries(stream, ignored_if_huge),
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
    reconnects = when(DEFAULT_RETRY if parser.retry is None else parser.retry)
    if reconnects == NEVER or not parser.last_event_id:
        return Meaning(events, reconnects, None)
    header = parser.last_event_id.encode().strip(b" \t")  # HTTP keeps no space around a value
    return Meaning(events, reconnects, header)


def meaning(told: browser.Told) -> Meaning:
    return Meaning(told.events, when(told.reconnected), told.last_event_id)


def when(milliseconds: float | None) -> str:
    if milliseconds is None or milliseconds > NOT_AWAITED:
        return NEVER
    return "soon" if milliseconds < AS_BY_DEFAULT else "as by default"


def probed(stream: Stream) -> Stream:
    return Stream(stream.name + ", probed", stream.data + PROBE, [*stream.chunks, PROBE])


def test_chromium_says_what_both_backends_say(capsys: pytest.CaptureFixture[str]) -> None:
    chromium = browser.find()
    assert chromium is not None, "Chromium or Chrome must be installed"
    streams = every()
    streams += [probed(stream) for stream in streams if expected(stream.data).reconnects == NEVER]
    comparison = Comparison(FAULTS)
    for _ in range(TRIES):
        answers = zip(streams, browser.ask(chromium, streams), strict=True)
        differing = [
            (stream, meaning(told))
            for stream, told in answers
            if not comparison.agrees(stream.data, meaning(told), expected)
        ]
        streams = [stream for stream, _ in differing]
        if not streams:
            break
    with capsys.disabled():
        print(f"\nChromium: {comparison}")
    assert not differing, "\n".join(
        difference(stream.name, stream.data, told, expected(stream.data))
        for stream, told in differing
    )
