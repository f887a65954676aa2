"""The options: each alone, and what they do together."""

from __future__ import annotations

from types import GenericAlias
from typing import Any

import judge
import pytest
from support import plain, plains

STREAM = (
    b": first\nid: 1\ndata: a\n\n"
    b"event: error\nretry: 5\ndata: bad\ndata: news\n\n"
    b"id: 2\nevent: ping\n\n"
    b'event: usage\ndata: {"usage": 1}\n\n'
    b":last\n"
)


def test_only_events_unless_asked(backend: Any) -> None:
    assert {type(item) for item in backend.parse(STREAM)} == {backend.ServerSentEvent}


def test_comments_are_in_stream_order(backend: Any) -> None:
    items = backend.parse(STREAM, comments=True)
    assert [type(item).__name__ for item in items] == ["Comment", *["ServerSentEvent"] * 3, "Comment"]  # fmt: skip  # noqa: E501
    assert [items[0].text, items[-1].text] == ["first", "last"]


DIAGNOSED = [
    (b"\xff\n", [("invalid-utf-8", 1, 0, ""), ("unknown-field", 1, 0, "")]),
    (b": \xff\n", [("invalid-utf-8", 1, 0, "")]),
    (b"data: \xff\n", [("invalid-utf-8", 1, 0, "data")]),
    (b"data: \xc3\n", [("invalid-utf-8", 1, 0, "data")]),
    (b"name: \xff\n", [("invalid-utf-8", 1, 0, ""), ("unknown-field", 1, 0, "name")]),
    (b"retry: \xff\n", [("invalid-utf-8", 1, 0, "retry"), ("invalid-retry", 1, 0, "")]),
    (b"id: \xff\0\n", [("invalid-utf-8", 1, 0, "id"), ("invalid-id", 1, 0, "")]),
    (b"datax: 1\n", [("unknown-field", 1, 0, "datax")]),
    (b"datax\n", [("unknown-field", 1, 0, "")]),
    (b" data: 1\n", [("unknown-field", 1, 0, " data")]),
    (b"a-b_c 9:\n", [("unknown-field", 1, 0, "a-b_c 9")]),
    (b"n" * 64 + b":\n", [("unknown-field", 1, 0, "n" * 64)]),
    (b"n" * 65 + b":\n", [("unknown-field", 1, 0, "")]),
    (b'{"a": 1}\n', [("unknown-field", 1, 0, "")]),
    (b"caf\xc3\xa9: 1\n", [("unknown-field", 1, 0, "")]),
    (b"retry: 1x\n", [("invalid-retry", 1, 0, "")]),
    (b"retry\n", [("invalid-retry", 1, 0, "")]),
    (b"id: \0\n", [("invalid-id", 1, 0, "")]),
    (b"event: x\n\n", [("no-data", 2, 9, "")]),
    (b"id: \0\n\n", [("invalid-id", 1, 0, ""), ("no-data", 2, 6, "")]),
    (b"retry: x\n\n", [("invalid-retry", 1, 0, ""), ("no-data", 2, 9, "")]),
    (b"datax: 1\n\n", [("unknown-field", 1, 0, "datax")]),
    (b": c\n\n\n", []),
    (b"data\n\n", []),
    (b"\r\n\r\rx:\n", [("unknown-field", 4, 4, "x")]),
    (b"\xef\xbb\xbfx:\n", [("unknown-field", 1, 3, "x")]),
    (b"\xef\xbbx:\n", [("invalid-utf-8", 1, 0, ""), ("unknown-field", 1, 0, "")]),
    (b"\xef\xbb\xbf\r\nx:\r\ny:\r", [("unknown-field", 2, 5, "x"), ("unknown-field", 3, 9, "y")]),
    (b"event: e\r\n\r\nx:\n", [("no-data", 2, 10, ""), ("unknown-field", 3, 12, "x")]),
    (b"unfinished", []),
]


@pytest.mark.parametrize(("stream", "expected"), DIAGNOSED, ids=lambda value: repr(value)[:40])
def test_diagnostics(backend: Any, stream: bytes, expected: list[tuple[Any, ...]]) -> None:
    for size in (1, 2, 3, 1000):
        parser = backend.Parser(diagnostics=True)
        items = [
            item
            for at in range(0, len(stream), size)
            for item in parser.feed(stream[at : at + size])
        ]
        parser.close()
        found = [plain(item) for item in items if isinstance(item, backend.Diagnostic)]
        assert found == [judge.Diagnostic(*each) for each in expected]


def test_an_invalid_comment_is_diagnosed_before_it_is_told(backend: Any) -> None:
    items = backend.parse(b": \xff\n", comments=True, diagnostics=True)
    assert [type(item).__name__ for item in items] == ["Diagnostic", "Comment"]


def test_no_data_comes_after_the_id_took_effect(backend: Any) -> None:
    parser = backend.Parser(diagnostics=True)
    assert len(parser.feed(b"id: 4\n\n")) == 1
    assert parser.last_event_id == "4"


def test_offsets_and_lines_count_from_reset(backend: Any) -> None:
    parser = backend.Parser(diagnostics=True)
    parser.feed(b"\n\nx:\n")
    parser.reset()
    assert plains(parser.feed(b"x:\n")) == [judge.Diagnostic("unknown-field", 1, 0, "x")]


def test_diagnostics_hold_no_payload(backend: Any) -> None:
    items = backend.parse(b"secret, a line that lost its name\n", diagnostics=True)
    assert "secret" not in repr(items)


def raws(backend: Any, stream: bytes) -> list[bytes]:
    found = [event.raw for event in backend.parse(stream, raw=True)]
    single = backend.Parser(raw=True)
    fed = [single.feed(stream[at : at + 1]) for at in range(len(stream))]
    assert [event.raw for events in fed for event in events] == found
    return found


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\n", [b"data: a\n"]),
        (b"data: a\r\n\r\n", [b"data: a\r\n"]),
        (b"data: a\r\r", [b"data: a\r"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"data: a\r\n", b"data: b\r\n"]),
        (b"data: a\r\r\ndata: b\r\r\n", [b"data: a\r", b"data: b\r"]),
        (b"\n\n: c\nx\ndata: a\nid: \0\n\n", [b": c\nx\ndata: a\nid: \0\n"]),
        (b"event: gone\n\ndata: a\n\n", [b"data: a\n"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"data: a\n"]),
        (b"\xef\xbbx\ndata: a\n\n", [b"\xef\xbbx\ndata: a\n"]),
        (b"data: \xff\xe2\n\n", [b"data: \xff\xe2\n"]),
        (b"data: a\r\n\rdata: b\n\r", [b"data: a\r\n", b"data: b\n"]),
    ],
)
def test_raw_is_the_block_to_the_byte(backend: Any, stream: bytes, expected: list[bytes]) -> None:
    assert raws(backend, stream) == expected


def test_raw_is_none_unless_asked(backend: Any) -> None:
    assert [event.raw for event in backend.parse(STREAM)] == [None] * 3


def test_raw_of_an_unfinished_event_runs_to_the_end(backend: Any) -> None:
    parser = backend.Parser(raw=True)
    parser.feed(b"data: a\n\r: c\ndata: b\r\nid: ")
    assert parser.close().raw == b": c\ndata: b\r\nid: "


def kept(backend: Any, **options: Any) -> tuple[list[str], int, str, int | None]:
    parser = backend.Parser(**options)
    events = [event.data for event in parser.feed(STREAM)]
    return events, parser.skipped, parser.last_event_id, parser.retry


def test_filters_keep_skip_and_follow(backend: Any) -> None:
    usage = '{"usage": 1}'
    for options, expected in [
        ({"types": {"error"}}, ["bad\nnews"]),
        ({"types": ["error", "usage"]}, ["bad\nnews", usage]),
        ({"types": {"message"}}, ["a"]),
        ({"types": ("ping",)}, []),
        ({"types": []}, []),
        ({"contains": [b'"usage"']}, [usage]),
        ({"contains": {b"a", b"bad"}}, ["a", "bad\nnews", usage]),
        ({"contains": (b"d\nn",)}, ["bad\nnews"]),
        ({"contains": []}, []),
        ({"types": {"error"}, "contains": [b"usage"]}, ["bad\nnews", usage]),
        ({"types": [], "contains": []}, []),
        ({"types": frozenset({"error"}), "contains": None}, ["bad\nnews"]),
    ]:
        assert kept(backend, **options) == (expected, 3 - len(expected), "2", 5)


def test_filters_in_a_large_chunk(backend: Any) -> None:
    parser = backend.Parser(types=["error"], contains=[b"7\n8"])
    kept = b"event: error\ndata: e\n\ndata: 7\ndata: 8\n\n"
    events = parser.feed(b"data: skipped\n\n" * 500 + kept + b"data: skipped\n\n" * 500)
    assert [event.data for event in events] == ["e", "7\n8"]
    assert parser.skipped == 1000


def test_contains_searches_bytes_before_decoding(backend: Any) -> None:
    stream = b"data: \xff\n\ndata: \xef\xbf\xbd\n\n"
    assert len(backend.parse(stream, contains=[b"\xff"])) == 1
    assert len(backend.parse(stream, contains=["\ufffd".encode()])) == 1


def test_contains_looks_at_data_only(backend: Any) -> None:
    stream = b"event: x\nid: x\n: x\nx: x\ndata: y\n\n"
    assert backend.parse(stream, contains=[b"x"]) == []


def test_types_compares_the_decoded_type(backend: Any) -> None:
    stream = b"event: \xff\ndata: 1\n\nevent: caf\xc3\xa9\ndata: 2\n\nevent:\ndata: 3\n\n"
    for type_, data in (("\ufffd", "1"), ("café", "2"), ("message", "3")):
        assert [event.data for event in backend.parse(stream, types={type_})] == [data]
    assert backend.parse(stream, types={"", "\ud800"}) == []


def test_filters_leave_comments_and_the_unfinished_event_alone(backend: Any) -> None:
    parser = backend.Parser(types=[], comments=True, diagnostics=True)
    items = parser.feed(b": c\nx:\ndata: a\n\ndata: b")
    assert [type(item).__name__ for item in items] == ["Comment", "Diagnostic"]
    assert parser.close().data == "b"
    assert parser.skipped == 1


def test_collections_are_taken_over_once(backend: Any) -> None:
    types, needles = {"error"}, [b"x"]
    parser = backend.Parser(types=types, contains=needles)
    types.add("message")
    needles.append(b"a")
    assert len(parser.feed(STREAM)) == 1


def test_last_event_id_starts_and_sticks(backend: Any) -> None:
    parser = backend.Parser(last_event_id="é0")
    assert parser.last_event_id == "é0"
    assert [event.id for event in parser.feed(b"data\n\nid: 1\ndata\n\nid\ndata\n\n")] == [
        *("é0", "1", "")
    ]
    parser.reset("again")
    assert parser.last_event_id == "again"
    parser.reset()
    assert parser.last_event_id == ""


def test_reset_is_as_new_with_the_same_options(backend: Any) -> None:
    parser = backend.Parser(comments=True, raw=True, types={"x"}, last_event_id="0")
    parser.feed(b"\xef\xbb\xbfid: 1\nretry: 5\ndata: a\n\ndata: half\r")
    parser.reset()
    found = (parser.last_event_id, parser.retry, parser.skipped, parser.buffered)
    assert found == ("", None, 0, 0)
    comment, event = parser.feed(b"\xef\xbb\xbf: c\nevent: x\ndata: b\n\n")
    assert (comment.text, event.data, event.id) == ("c", "b", "")
    assert event.raw == b": c\nevent: x\ndata: b\n"


def test_reset_forgets_a_cr_and_half_a_bom(backend: Any) -> None:
    parser = backend.Parser()
    parser.feed(b"data: a\r")
    parser.reset()
    parser.feed(b"\ndata: b\n")
    assert [event.data for event in parser.feed(b"\n")] == ["b"]
    parser.reset()
    parser.feed(b"\xef\xbb")
    parser.reset()
    assert [event.data for event in parser.feed(b"data: c\n\n")] == ["c"]


CLOSED = [
    (b"", None, False),
    (b"data: a\n\n", None, False),
    (b"data: a\n\n\r\n", None, False),
    (b": c\n", None, False),
    (b": c", None, True),
    (b"\xef\xbb\xbf", None, False),
    (b"\xef\xbb", None, True),
    (b"\xef", None, True),
    (b"unknown\n", None, True),
    (b"event: message_stop", None, True),
    (b"event: message_stop\n", None, True),
    (b"id: 5", None, True),
    (b"retry: 5\n", None, True),
    (b"data: a\n\nid: 5\n", None, True),
    (b"dat", None, True),
    (b"data", ("message", "", "before", None), True),
    (b"data:", ("message", "", "before", None), True),
    (b"data: a", ("message", "a", "before", None), True),
    (b"data: a\n", ("message", "a", "before", None), True),
    (b"data: a\r\ndata", ("message", "a\n", "before", None), True),
    (b"data: a\n: c\n", ("message", "a", "before", None), True),
    (b"data: \xf0\x9f", ("message", "\ufffd", "before", None), True),
    (b"data: a\nid: 5", ("message", "a", "5", None), True),
    (b"data: a\nid: 5\nid: 6\0", ("message", "a", "5", None), True),
    (b"data: a\nevent: x", ("x", "a", "before", None), True),
    (b"data: a\nretry: 12", ("message", "a", "before", 12), True),
    (b"data: a\nretry: 12\nretry: x", ("message", "a", "before", 12), True),
]


@pytest.mark.parametrize(("stream", "unfinished", "truncated"), CLOSED)
def test_close_hands_over_what_had_arrived(
    backend: Any, stream: bytes, unfinished: tuple[Any, ...] | None, truncated: bool
) -> None:
    parser = backend.Parser(last_event_id="before", diagnostics=True, comments=True)
    parser.feed(stream)
    before = (parser.last_event_id, parser.retry)
    assert parser.truncated is False
    assert parser.close() == (unfinished and backend.ServerSentEvent(*unfinished))
    assert parser.truncated is truncated
    assert (parser.last_event_id, parser.retry) == before
    assert (parser.closed, parser.buffered) == (True, 0)
    assert parser.close() is None
    assert parser.truncated is truncated


def test_attributes_are_read_only(backend: Any) -> None:
    parser = backend.Parser()
    for name in (
        *("last_event_id", "retry", "buffered", "closed", "truncated", "skipped"),
        "other",
    ):
        with pytest.raises(AttributeError):
            setattr(parser, name, 1)


def test_subscriptable_at_run_time(backend: Any) -> None:
    for kind in (backend.Parser, backend.EventIterator, backend.AsyncEventIterator):
        alias = kind[backend.ServerSentEvent]
        assert isinstance(alias, GenericAlias)
        assert alias.__origin__ is kind
        assert alias.__args__ == (backend.ServerSentEvent,)
    assert isinstance(backend.Parser[int](comments=True), backend.Parser)


def test_what_is_a_bool_is_a_bool(backend: Any) -> None:
    parser = backend.Parser()
    assert parser.closed is False
    assert parser.truncated is False
    parser.close()
    assert parser.closed is True


def test_feed_returns_a_new_list(backend: Any) -> None:
    parser = backend.Parser()
    first, second = parser.feed(b""), parser.feed(b"")
    assert first == second == []
    assert first is not second
