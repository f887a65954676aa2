"""Items: immutable values that compare, hash, copy and pickle alike in both backends."""

from __future__ import annotations

import copy
import json
import pickle
import sys
from collections.abc import Callable
from typing import Any

import pytest
import rapidsse
from hypothesis import given, settings
from hypothesis import strategies as st

FIELDS: list[dict[str, Any]] = [
    {},
    {"event": "error", "data": "x", "id": "7", "retry": 3000},
    {"data": "é€😀\n\0"},
    {"data": "a" * 64},
    {"data": "a" * 65, "event": "e" * 65, "id": "i" * 65},
    {"data": 'it\'s "quoted"\n' * 20},
    {"retry": 0},
    {"retry": 10**30},
    {"data": "\ud800", "event": "\udfff"},
]
events = pytest.mark.parametrize("fields", FIELDS)


class Text(str):
    __slots__ = ()


def of_each_kind(backend: Any) -> list[Any]:
    return [
        backend.ServerSentEvent("error", "x", "7", 3000),
        backend.Comment("text"),
        backend.Diagnostic("unknown-field", 1, 0, "name"),
    ]


def test_defaults(backend: Any) -> None:
    event = backend.ServerSentEvent()
    found = (event.event, event.data, event.id, event.retry, event.raw)
    assert found == ("message", "", "", None, None)
    assert backend.ServerSentEvent("").event == "message"


def test_fields_and_defaults_are_those_of_httpx2(backend: Any) -> None:
    import httpx2

    theirs, ours = httpx2.ServerSentEvent(), backend.ServerSentEvent()
    for name in ("event", "data", "id", "retry"):
        assert getattr(theirs, name) == getattr(ours, name)
    theirs = httpx2.ServerSentEvent(event="e", data="d", id="i", retry=1)
    ours = backend.ServerSentEvent(event="e", data="d", id="i", retry=1)
    for name in ("event", "data", "id", "retry"):
        assert getattr(theirs, name) == getattr(ours, name)


def test_positions(backend: Any) -> None:
    event = backend.ServerSentEvent("e", "d", "i", 1)
    assert (event.event, event.data, event.id, event.retry) == ("e", "d", "i", 1)
    with pytest.raises(TypeError):
        backend.ServerSentEvent("e", "d", "i", 1, b"raw")
    with pytest.raises(TypeError):
        backend.ServerSentEvent(raw=b"raw")
    with pytest.raises(TypeError):
        backend.ServerSentEvent("e", event="e")
    with pytest.raises(TypeError):
        backend.Comment()
    with pytest.raises(TypeError):
        backend.Diagnostic("no-data")


@pytest.mark.parametrize("name", ["event", "data", "id"])
@pytest.mark.parametrize("value", [None, 1, b"bytes", ["x"]])
def test_text_must_be_str(backend: Any, name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=name):
        backend.ServerSentEvent(**{name: value})
    with pytest.raises(TypeError, match="text"):
        backend.Comment(value)


@pytest.mark.parametrize("value", ["1", 1.0, b"1"])
def test_retry_must_be_int(backend: Any, value: Any) -> None:
    with pytest.raises(TypeError, match="retry"):
        backend.ServerSentEvent(retry=value)


def test_a_diagnostics_numbers_must_be_int(backend: Any) -> None:
    with pytest.raises(TypeError, match="line"):
        backend.Diagnostic("no-data", "1", 0, "")
    with pytest.raises(TypeError, match="offset"):
        backend.Diagnostic("no-data", 1, None, "")


def test_subclasses_of_str_and_int_become_plain(backend: Any) -> None:
    event = backend.ServerSentEvent(Text("e"), Text("d"), Text("i"), True)
    assert [type(value) for value in (event.event, event.data, event.id)] == [str, str, str]
    assert type(event.retry) is int
    assert type(backend.Comment(Text("c")).text) is str
    diagnostic = backend.Diagnostic(Text("k"), True, False, Text("d"))
    found = (diagnostic.kind, diagnostic.line, diagnostic.offset, diagnostic.detail)
    assert [type(value) for value in found] == [str, int, int, str]
    assert backend.ServerSentEvent(Text("")).event == "message"


def test_immutable(backend: Any) -> None:
    for item in of_each_kind(backend):
        before = repr(item)
        for name in (*item.__match_args__, "raw", "other", "__class__"):
            with pytest.raises((AttributeError, TypeError)):
                setattr(item, name, "changed")
            with pytest.raises((AttributeError, TypeError)):
                delattr(item, name)
        assert not hasattr(item, "__dict__")
        assert repr(item) == before


def test_final(backend: Any) -> None:
    for name in (
        "ServerSentEvent",
        "Comment",
        "Diagnostic",
        "Parser",
        "EventIterator",
        "AsyncEventIterator",
    ):
        with pytest.raises(TypeError):
            type("Sub", (getattr(backend, name),), {})


def test_where_they_say_they_come_from(backend: Any) -> None:
    for name in ("ServerSentEvent", "Comment", "Diagnostic", "Parser"):
        kind = getattr(backend, name)
        assert (kind.__module__, kind.__qualname__) == ("rapidsse", name)
        assert kind.__doc__


def test_match_args(backend: Any) -> None:
    assert backend.ServerSentEvent.__match_args__ == ("event", "data", "id", "retry")
    assert backend.Comment.__match_args__ == ("text",)
    assert backend.Diagnostic.__match_args__ == ("kind", "line", "offset", "detail")
    found = []
    for item in of_each_kind(backend):
        match item:
            case backend.ServerSentEvent("error", data, id, retry):
                found.append((data, id, retry))
            case backend.Comment(text):
                found.append(text)
            case backend.Diagnostic(kind, line, offset, detail):
                found.append((kind, line, offset, detail))
    assert found == [("x", "7", 3000), "text", ("unknown-field", 1, 0, "name")]


@events
def test_equal_and_hashed_alike_across_backends(
    backend: Any, other: Any, fields: dict[str, Any]
) -> None:
    one, two = backend.ServerSentEvent(**fields), other.ServerSentEvent(**fields)
    assert one == two
    assert two == one
    assert one == two
    assert hash(one) == hash(two)
    assert {one: "found"}[two] == "found"
    assert repr(one) == repr(two)


@pytest.mark.parametrize(
    "change", [{"event": "other"}, {"data": "other"}, {"id": "other"}, {"retry": 1}]
)
def test_different_across_backends(backend: Any, other: Any, change: dict[str, Any]) -> None:
    one = backend.ServerSentEvent("e", "d", "i", 2)
    two = other.ServerSentEvent(**{"event": "e", "data": "d", "id": "i", "retry": 2, **change})
    assert one != two
    assert two != one


def test_the_other_items_compare_and_hash_across_backends(backend: Any, other: Any) -> None:
    for one, two in zip(of_each_kind(backend), of_each_kind(other), strict=True):
        assert one == two
        assert two == one
        assert hash(one) == hash(two)
        assert repr(one) == repr(two)
    assert backend.Comment("a") != other.Comment("b")
    assert backend.Diagnostic("a", 1, 0, "") != other.Diagnostic("a", 1, 1, "")
    items = {*of_each_kind(backend), *of_each_kind(other)}
    assert len(items) == 3


def test_not_equal_to_anything_else_and_not_ordered(backend: Any) -> None:
    for item in of_each_kind(backend):
        for value in (None, 1, "x", tuple(getattr(item, name) for name in item.__match_args__)):
            assert item != value
            assert item != value
        assert item.__eq__(1) is NotImplemented
        with pytest.raises(TypeError):
            assert item < item
    event, comment, diagnostic = of_each_kind(backend)
    assert event != comment != diagnostic != event


def raw_event(backend: Any) -> Any:
    (event,) = backend.parse(b"id: 7\nretry: 5\nevent: e\ndata: x\n: c\n\n", raw=True)
    assert event.raw == b"id: 7\nretry: 5\nevent: e\ndata: x\n: c\n"
    return event


def test_raw_is_outside_equality_hash_repr_and_match_args(backend: Any, other: Any) -> None:
    event = raw_event(backend)
    plain = other.ServerSentEvent("e", "x", "7", 5)
    assert event == plain
    assert hash(event) == hash(plain)
    assert repr(event) == repr(plain)
    assert "raw" not in event.__match_args__


def test_copies_keep_raw(backend: Any) -> None:
    event = raw_event(backend)
    for made in (copy.copy(event), copy.deepcopy(event), copy.deepcopy([event])[0]):
        assert made == event
        assert made.raw == event.raw
    for item in of_each_kind(backend):
        assert copy.copy(item) == item
        assert copy.deepcopy(item) == item


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_keep_raw_and_load_under_the_active_backend(backend: Any, protocol: int) -> None:
    for item in (*of_each_kind(backend), raw_event(backend)):
        made = pickle.loads(pickle.dumps(item, protocol))
        assert made == item
        assert hash(made) == hash(item)
        assert type(made) is getattr(rapidsse, type(item).__name__)
        if isinstance(item, backend.ServerSentEvent):
            assert made.raw == item.raw


def test_pickles_are_the_same_bytes(backend: Any, other: Any) -> None:
    for one, two in zip(of_each_kind(backend), of_each_kind(other), strict=True):
        assert pickle.dumps(one) == pickle.dumps(two)


def replace(item: Any, **changes: Any) -> Any:
    if sys.version_info >= (3, 13):
        return copy.replace(item, **changes)
    return item.__replace__(**changes)


def test_replace_drops_raw(backend: Any) -> None:
    event = raw_event(backend)
    made = replace(event, data="y")
    assert (made.event, made.data, made.id, made.retry) == ("e", "y", "7", 5)
    assert made.raw is None
    assert type(made) is backend.ServerSentEvent
    assert replace(event) == event
    assert replace(event).raw is None
    assert replace(event, event="").event == "message"
    assert replace(backend.Comment("a"), text="b") == backend.Comment("b")
    diagnostic = backend.Diagnostic("no-data", 1, 2, "")
    assert replace(diagnostic, line=3) == backend.Diagnostic("no-data", 3, 2, "")
    with pytest.raises(TypeError):
        replace(event, raw=b"")
    with pytest.raises(TypeError):
        replace(event, data=1)
    with pytest.raises(TypeError):
        replace(event, other="x")


def test_repr(backend: Any) -> None:
    event = backend.ServerSentEvent("error", "it's\n", "7", 3000)
    assert repr(event) == "ServerSentEvent(event='error', data=\"it's\\n\", id='7', retry=3000)"
    assert eval(repr(event), {"ServerSentEvent": backend.ServerSentEvent}) == event
    long = repr(backend.ServerSentEvent(data="secret " * 1000))
    assert len(long) < 200
    assert "7000 characters" in long
    assert repr(backend.Comment("x")) == "Comment('x')"
    expected = "Diagnostic(kind='no-data', line=1, offset=0, detail='')"
    assert repr(backend.Diagnostic("no-data", 1, 0, "")) == expected


# encode()

encodable = st.builds(
    lambda event, data, id, retry: {"event": event, "data": data, "id": id, "retry": retry},
    st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"])),
    st.one_of(st.none(), st.integers(0, 2**63 - 1)),
)
TRICKY = st.text(st.sampled_from("\r\n\0: adtieven\ufeff\u2028\x85\x0b\ud800é"), max_size=20)


def with_line_breaks(data: str) -> str:
    return data.replace("\r\n", "\n").replace("\r", "\n")


def check_round_trip(backend: Any, fields: dict[str, Any]) -> None:
    event = backend.ServerSentEvent(**fields)
    wire = event.encode()
    expected = replace(event, data=with_line_breaks(event.data))
    assert backend.parse(wire) == [expected]
    assert backend.parse(b"\xef\xbb\xbf" + wire + wire) == [expected, expected]
    assert wire.endswith(b"\n\n")


def test_encode_round_trips(backend: Any) -> None:
    @settings(max_examples=300, deadline=None, database=None, derandomize=True)
    @given(encodable)
    def check(fields: dict[str, Any]) -> None:
        check_round_trip(backend, fields)

    check()


def test_injection_is_impossible(backend: Any) -> None:
    """Whatever the fields hold: either encode() refuses, or one such event comes out."""

    @settings(max_examples=500, deadline=None, database=None, derandomize=True)
    @given(TRICKY, TRICKY, TRICKY, st.one_of(st.none(), st.integers()))
    def check(event: str, data: str, id: str, retry: int | None) -> None:
        fields = {"event": event, "data": data, "id": id, "retry": retry}
        refused = (
            any(mark in event + id for mark in "\r\n")
            or "\0" in id
            or "\ud800" in event + data + id
            or (retry is not None and not 0 <= retry <= 2**63 - 1)
        )
        if refused:
            with pytest.raises(ValueError, match="must") as error:
                backend.ServerSentEvent(**fields).encode()
            assert not isinstance(error.value, UnicodeError)
            assert error.value.__cause__ is None
            assert error.value.__context__ is None or error.value.__suppress_context__
        else:
            check_round_trip(backend, fields)

    check()


@pytest.mark.parametrize(
    ("fields", "wire"),
    [
        ({}, b"data: \n\n"),
        ({"data": "x"}, b"data: x\n\n"),
        ({"data": " x"}, b"data:  x\n\n"),
        ({"data": "a\r\nb\rc\nd\n"}, b"data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"),
        ({"data": "\n\r"}, b"data: \ndata: \ndata: \n\n"),
        (
            {"event": "e", "data": "x", "id": "7", "retry": 5},
            b"event: e\nid: 7\nretry: 5\ndata: x\n\n",
        ),
        ({"event": "message", "id": ""}, b"data: \n\n"),
        ({"retry": 2**63 - 1}, b"retry: 9223372036854775807\ndata: \n\n"),
        ({"event": " e", "id": " "}, b"event:  e\nid:  \ndata: \n\n"),
        ({"event": "a\0b"}, b"event: a\0b\ndata: \n\n"),
    ],
)
def test_wire_form(backend: Any, fields: dict[str, Any], wire: bytes) -> None:
    event = backend.ServerSentEvent(**fields)
    assert event.encode() == wire
    assert backend.parse(wire) == [replace(event, data=with_line_breaks(event.data))]


@pytest.mark.parametrize(
    "fields",
    [
        {"event": "secret\n"},
        {"event": "secret\rdata: x"},
        {"id": "secret\n"},
        {"id": "secret\r"},
        {"id": "secret\0"},
        {"data": "secret\ud800"},
        {"event": "secret\udcff"},
        {"id": "secret\ud800"},
        {"retry": -1},
        {"retry": 2**63},
        {"retry": 10**5000},
    ],
)
def test_encode_refuses_and_quotes_nothing(
    backend: Any, other: Any, fields: dict[str, Any]
) -> None:
    messages = []
    for module in (backend, other):
        with pytest.raises(ValueError, match="must") as error:
            module.ServerSentEvent(**fields).encode()
        assert type(error.value) is ValueError
        assert "secret" not in str(error.value)
        assert error.value.__context__ is None or error.value.__suppress_context__
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_comment_encode(backend: Any) -> None:
    for text in ("", "x", " x", "é\0", ": x"):
        comment = backend.Comment(text)
        assert comment.encode() == b": " + text.encode() + b"\n"
        assert backend.parse(comment.encode(), comments=True) == [comment]
    for text in ("secret\n", "secret\r", "secret\ud800"):
        with pytest.raises(ValueError, match="must") as error:
            backend.Comment(text).encode()
        assert "secret" not in str(error.value)


# json()

BIG = "1" * 5000


def outcome(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """What a call returns, or what it raises."""
    try:
        return call(), None
    except (ValueError, RecursionError) as error:
        return None, error


@pytest.mark.parametrize(
    "text",
    [
        *("{}", "[]", "null", "true", "1", "-0", "1.5e300", "1e999", "-1e999", '""', '"\\ud800"'),
        *('{"a": [1, 2.0, "é€😀", {"b": null}]}', '{"a": 1, "a": 2}', " \n[1]\t ", "1.0", "1e5"),
        *("NaN", "Infinity", "-Infinity", "[NaN]", '"\\u00e9"', '"\\ud83d\\ude00"', "0.1"),
        *("123456789012345678901234567890", "1.7976931348623157e308", "5e-324", "-0.0"),
        *("", " ", "{", "[1,]", "{'a': 1}", '{"a" 1}', "tru", "01", "+1", ".5", "1.", "[1] 2"),
        *('"\n"', '"\t"', '"\x00"', '"', '"\\x"', '"\\u12"', "\ufeff{}", '{"a":}', "nul", "--1"),
        *("[" * 50 + "]" * 50, "[" * 100_000, '"\ud800"', "{1: 2}", "[1 2]", "\u00a01", BIG),
        *(
            "9" * 18,
            "9" * 19,
            "-" + "9" * 18,
            "-" + "9" * 19,
            "[" + "1" * 640 + "]",
            "-" + "1" * 641,
        ),
        *(
            "00",
            "-01",
            "-",
            "-a",
            "0x1",
            "truex",
            "[true,false,null]",
            "\r\n{ } \t",
            '{"":{"":[]}}',
        ),
        *(
            '"a\x7f\\/\\b\\f\\n\\r\\t\\"\\\\"',
            '{"\\u0061": 1, "a": 2}',
            '["a" "b"]',
            '{"a":1 "b":2}',
            "[]]",
        ),
        *("9" * 400 + ".0", "1E+2", "1e", "1e+", "-", "[", "]", '{"a":1,}', "[,]", "/**/1"),
    ],
    ids=lambda text: ascii(text[:20]),
)
def test_json_is_json_loads_in_result_and_error(backend: Any, text: str) -> None:
    event = backend.ServerSentEvent(data=text)
    expected, error = outcome(lambda: json.loads(text))
    found, raised = outcome(event.json)
    assert repr(found) == repr(expected)
    assert type(raised) is type(error)
    if isinstance(error, json.JSONDecodeError):
        assert str(raised) == str(error)
        assert vars(raised) == vars(error)


def test_json_of_random_values(backend: Any) -> None:
    value = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    )

    @settings(max_examples=200, deadline=None, database=None, derandomize=True)
    @given(value, st.booleans())
    def check(value: Any, escaped: bool) -> None:
        text = json.dumps(value, ensure_ascii=escaped)
        assert repr(backend.ServerSentEvent(data=text).json()) == repr(json.loads(text))

    check()


def test_json_of_random_text(backend: Any) -> None:
    @settings(max_examples=500, deadline=None, database=None, derandomize=True)
    @given(st.text(st.sampled_from('{}[]",:0123456789.eE+-truefalsn \\u\n'), max_size=12))
    def check(text: str) -> None:
        test_json_is_json_loads_in_result_and_error(backend, text)

    check()


def test_json_of_strings_of_every_length(backend: Any) -> None:
    for length in range(140):
        for at in {0, 1, 7, 8, 31, 32, length // 2, length - 1, length} & set(range(length + 1)):
            for inside in ("", "é", "\x1f", '\\"', "\\u00e9", "😀"):
                text = "x" * at + inside + "y" * (length - at)
                test_json_is_json_loads_in_result_and_error(backend, f'{{"{text}": "{text}"}}')


def test_json_tells_keys_apart_that_are_alike(backend: Any) -> None:
    for length in (2, 3, 4, 5, 8, 15, 16, 17, 30, 64, 65):
        for middle in ("a", "b", "a", "é", "b"):
            text = ("x" * length + middle + "x" * length)[-length:]
            alike = ["x" * (length // 2) + middle + "x" * (length - length // 2 - 1), text]
            keys = {one: one for one in alike}
            assert backend.ServerSentEvent(data=json.dumps(keys)).json() == keys


def test_json_gives_a_new_object_each_time(backend: Any) -> None:
    event = backend.ServerSentEvent(data="[]")
    event.json().append(1)
    assert event.json() == []


# The errors


def test_errors_pickle_and_hold_no_payload(backend: Any) -> None:
    event = backend.ServerSentEvent(data="secret")
    errors = [
        rapidsse.BufferSizeExceeded(5),
        rapidsse.ParserClosed(),
        rapidsse.StreamInterrupted(event, "secret"),
        rapidsse.StreamInterrupted(None, ""),
        rapidsse.ResponseError(502, "text/html", b"secret"),
    ]
    for error in errors:
        assert isinstance(error, rapidsse.SSEError)
        assert str(error)
        assert "secret" not in str(error) + repr(error)
        made = pickle.loads(pickle.dumps(error))
        assert type(made) is type(error)
        assert vars(made) == vars(error)
        assert str(made) == str(error)
    assert errors[0].limit == 5
    assert (errors[2].unfinished, errors[2].last_event_id) == (event, "secret")
    assert (errors[4].status, errors[4].content_type, errors[4].body) == (
        502,
        "text/html",
        b"secret",
    )
