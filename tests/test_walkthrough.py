"""The walkthrough's seven steps, from bytes to events."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import byte_by_byte, fed


def data_of(backend: Any, chunks: list[bytes]) -> list[str]:
    return [event.data for event in fed(backend.Parser(), chunks)]


# 1. Chunks are not events


def test_two_json_events_whole_and_byte_by_byte(backend: Any) -> None:
    stream = b'data: {"n": 1}\n\ndata: {"n": 2}\n\n'
    for chunks in ([stream], byte_by_byte(stream)):
        assert [json.loads(data) for data in data_of(backend, chunks)] == [{"n": 1}, {"n": 2}]
        assert [event.json() for event in fed(backend.Parser(), chunks)] == [{"n": 1}, {"n": 2}]


def test_a_chunk_may_hold_two_events_or_half_of_one(backend: Any) -> None:
    parser = backend.Parser()
    assert [event.data for event in parser.feed(b"data: 1\n\ndata: 2\n\nda")] == ["1", "2"]
    assert parser.feed(b"ta: ") == []
    assert parser.feed(b"3\n") == []
    assert [event.data for event in parser.feed(b"\n")] == ["3"]


# 2. One decoder for the whole stream


@pytest.mark.parametrize("word", ["😀", "Привет", "こんにちは", "مرحبا", "👩‍🚀", "नमस्ते"])
def test_a_word_split_inside_its_sequences(backend: Any, word: str) -> None:
    stream = f"data: {word}\n\n".encode()
    assert data_of(backend, byte_by_byte(stream)) == [word]
    for cut in range(len(stream)):
        assert data_of(backend, [stream[:cut], stream[cut:]]) == [word]


def test_a_bom_goes_only_at_the_start(backend: Any) -> None:
    bom = "\ufeff".encode()
    stream = bom + b"data: " + bom + b"a\n\n" + bom + b"data: lost\n\ndata: b\n\n"
    for chunks in ([stream], byte_by_byte(stream)):
        assert data_of(backend, chunks) == ["\ufeffa", "b"]
    assert data_of(backend, [bom + bom + b"data: lost\n\ndata: b\n\n"]) == ["b"]


# 3. Every line ending


@pytest.mark.parametrize("ending", [b"\n", b"\r", b"\r\n"])
def test_every_line_ending(backend: Any, ending: bytes) -> None:
    lines = [b"event: x", b"data: a", b"data: b", b"", b"data: c", b"", b""]
    stream = ending.join(lines)
    for chunks in ([stream], byte_by_byte(stream)):
        events = fed(backend.Parser(), chunks)
        assert [(event.event, event.data) for event in events] == [("x", "a\nb"), ("message", "c")]


def test_a_crlf_split_across_reads(backend: Any) -> None:
    assert data_of(backend, [b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n"]) == ["a\nb"]


def test_nothing_else_ends_a_line(backend: Any) -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei"
    assert data_of(backend, [f"data: {text}\n\n".encode()]) == [text]


# 4. Fields


def test_two_data_fields_join_with_a_newline(backend: Any) -> None:
    (event,) = fed(backend.Parser(), [b'data: {"count":\ndata: 2}\n\n'])
    assert event.data == '{"count":\n2}'
    assert event.json() == {"count": 2}


def test_two_spaces_after_the_colon_leave_one(backend: Any) -> None:
    assert data_of(backend, [b"data:  a\n\n"]) == [" a"]
    assert data_of(backend, [b"data:a\n\n"]) == ["a"]


def test_a_heartbeat_makes_nothing(backend: Any) -> None:
    assert data_of(backend, [b": keep-alive\n\n", b":\n\n", b": ping\r\n\r\n"]) == []


# 5. Blank lines dispatch


def test_empty_data_makes_an_event(backend: Any) -> None:
    assert data_of(backend, [b"data:\n\n", b"data\n\n"]) == ["", ""]


def test_no_data_makes_none(backend: Any) -> None:
    parser = backend.Parser()
    assert parser.feed(b"event: x\nid: 5\nretry: 10\n\n") == []
    assert (parser.last_event_id, parser.retry) == ("5", 10)


def test_unfinished_is_discarded(backend: Any) -> None:
    parser = backend.Parser()
    assert parser.feed(b"data: a\n\ndata: cut") == [backend.ServerSentEvent(data="a")]
    unfinished = parser.close()
    assert unfinished.data == "cut"
    assert parser.truncated


# 6. Completion markers are ordinary data


def test_completion_markers_are_ordinary_data(backend: Any) -> None:
    stream = b"data: [DONE]\n\nevent: message_stop\ndata: {}\n\ndata: after\n\n"
    events = fed(backend.Parser(), [stream])
    assert [(event.event, event.data) for event in events] == [
        ("message", "[DONE]"),
        ("message_stop", "{}"),
        ("message", "after"),
    ]


# 7. Error bodies never become events


@pytest.mark.parametrize(
    "body",
    [
        b'{"error": {"message": "Invalid API key", "code": 401}}',
        b'{"error":\n "data: not a field"}\n\n',
        b"<html>\n<head><title>502 Bad Gateway</title></head>\n\n<body>\n</body>\n</html>\n\n",
        b"Service Unavailable\r\n\r\n",
        b"upstream connect error or disconnect/reset before headers",
        b'{"m": "a"}\n{"m": "b"}\n\n',
    ],
)
def test_error_bodies_never_become_events(backend: Any, body: bytes) -> None:
    for chunks in ([body], byte_by_byte(body)):
        parser = backend.Parser()
        assert fed(parser, chunks) == []
        assert parser.close() is None
