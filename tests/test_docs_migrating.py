"""The tables of docs/migrating/split.md and sseclient-py.md: each row, in the other and in ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import rapidsse
from pages import DOCS, blocks
from sseclient import SSEClient

SPLIT = DOCS / "migrating" / "split.md"
SSECLIENT = DOCS / "migrating" / "sseclient-py.md"


def rows(page: Any, heading: str) -> list[str]:
    """The first cells of the table under a heading."""
    text = page.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| (.*?) \|", text, re.MULTILINE)[1:]


def the_loop() -> Callable[[list[bytes]], list[str]]:
    """The loop that the page begins with."""
    names: dict[str, Any] = {}
    exec(blocks(SPLIT)[0].code.partition("\n\nfor data in")[0], names)
    return lambda chunks: list(names["events"](chunks))


def ours(chunks: list[bytes]) -> list[str]:
    return [event.data for event in rapidsse.iter_events(chunks)]


LOST = {
    "lines that end in CRLF or CR": [b"data: a\r\n\r\n"],
    "`data:x`, without the space": [b"data:a\n\n"],
    "a BOM at the start": [b"\xef\xbb\xbfdata: a\n\n"],
}
SPLIT_ROWS = [
    *LOST,
    "a chunk that ends inside a character",
    "two `data` lines in a block",
    "U+2028 or U+0085 in the data",
    "a comment, `event`, `id` or `retry` line",
    "a server that never sends a blank line",
    "the last event without its blank line",
]


def test_every_row_about_a_split_is_tested() -> None:
    assert sorted(rows(SPLIT, "What such a loop gets wrong")) == sorted(SPLIT_ROWS)


@pytest.mark.parametrize("row", LOST)
def test_what_the_loop_loses(row: str) -> None:
    assert the_loop()(LOST[row]) == []
    assert ours(LOST[row]) == ["a"]
    assert ours([b"data: a\r\r"]) == ["a"]


def test_what_else_the_loop_gets_wrong() -> None:
    cut = [b"data: \xc3", b"\xbc\n\n"]
    with pytest.raises(UnicodeDecodeError):
        the_loop()(cut)
    assert ours(cut) == ["ü"]
    assert the_loop()([b"data: a\ndata: b\n\n"]) == ["a", "b"]
    assert ours([b"data: a\ndata: b\n\n"]) == ["a\nb"]
    for separator in ("\u2028", "\x85"):
        assert the_loop()([f"data: a{separator}b\n\n".encode()]) == ["a"]
        assert ours([f"data: a{separator}b\n\n".encode()]) == [f"a{separator}b"]
    (event,) = rapidsse.parse(b"event: e\nid: 1\nretry: 5\ndata: a\n\n")
    assert (event.event, event.id, event.retry) == ("e", "1", 5)
    with pytest.raises(rapidsse.BufferSizeExceeded):
        list(rapidsse.iter_events([b"data: " + b"x" * 100], max_buffer_size=64))
    events = rapidsse.iter_events([b"data: a\n"])
    assert list(events) == []
    assert events.unfinished is not None


def sseclient(*chunks: bytes) -> list[Any]:
    return list(SSEClient(list(chunks)).events())


SSECLIENT_ROWS = [
    "cut inside an event",
    "bytes that are not UTF-8",
    "a BOM at the start",
    "`\\n` and `\\r\\n` in the same pair of line ends",
    "`retry: soon`",
    "an `id` with U+0000",
    "a block with an `id` and no data",
    "a block that never ends",
    "a long line in small chunks",
]


def test_every_row_about_sseclient_is_tested() -> None:
    """The last two are seen in benches/: no limit, and a copy of all it has with each piece."""
    assert rows(SSECLIENT, "What is different") == SSECLIENT_ROWS


def test_what_sseclient_does_otherwise() -> None:
    assert [event.data for event in sseclient(b"data: cut")] == ["cut"]
    assert ours([b"data: cut"]) == []
    with pytest.raises(UnicodeDecodeError):
        sseclient(b"data: \xff\n\n")
    assert ours([b"data: \xff\n\n"]) == ["\ufffd"]
    assert sseclient(b"\xef\xbb\xbfdata: a\n\n") == []
    mixed = b"data: a\n\r\ndata: b\n\n"
    assert [event.data for event in sseclient(mixed)] == ["a\nb"]
    assert ours([mixed]) == ["a", "b"]
    (event,) = sseclient(b"retry: soon\nid: \0\ndata: a\n\n")
    assert (event.retry, event.id) == ("soon", "\0")
    (event,) = rapidsse.parse(b"retry: soon\nid: \0\ndata: a\n\n")
    assert (event.retry, event.id) == (None, "")
    (event,) = sseclient(b"id: 1\n\ndata: a\n\n")
    assert event.id is None
    (event,) = rapidsse.parse(b"id: 1\n\ndata: a\n\n")
    assert event.id == "1"
    (event,) = sseclient(b"retry: 5\ndata: a\n\n")
    assert event.retry == "5"
