"""Bad input: refused with a message that says what to do; the network raises nothing else."""

from __future__ import annotations

import random
from typing import Any

import pytest
from conftest import BACKENDS, load
from rapidsse import BufferSizeExceeded, ParserClosed

STRIDED = memoryview(b"d-a-t-a-")[::2]
BAD_CHUNKS: list[tuple[Any, type[Exception], str]] = [
    ("data: secret\n\n", TypeError, "bytes"),
    (None, TypeError, "bytes"),
    (1, TypeError, "bytes"),
    (1.5, TypeError, "bytes"),
    ([100, 97], TypeError, "bytes"),
    (object(), TypeError, "bytes"),
    ({"data": b"secret"}, TypeError, "bytes"),
    (STRIDED, ValueError, "contiguous.*bytes"),
    (STRIDED[::-1], ValueError, "contiguous.*bytes"),
]


@pytest.mark.parametrize(("chunk", "error", "match"), BAD_CHUNKS)
def test_a_chunk_that_is_no_buffer(
    backend: Any, chunk: Any, error: type[Exception], match: str
) -> None:
    parser = backend.Parser()
    parser.feed(b"data: a\n")
    with pytest.raises(error, match=match) as found:
        parser.feed(chunk)
    assert "secret" not in str(found.value)
    assert [event.data for event in parser.feed(b"\n")] == ["a"]
    with pytest.raises(error, match=match):
        backend.parse(chunk)
    with pytest.raises(error, match=match):
        list(backend.iter_events([chunk]))


def test_str_is_told_to_be_fed_as_bytes(backend: Any) -> None:
    with pytest.raises(TypeError, match="feed the bytes"):
        backend.Parser().feed("data: x\n\n")


def test_a_bad_chunk_is_refused_before_a_closed_parser(backend: Any) -> None:
    parser = backend.Parser()
    parser.close()
    with pytest.raises(TypeError):
        parser.feed("text")
    with pytest.raises(ParserClosed):
        parser.feed(b"")
    overflowed = backend.Parser(max_buffer_size=1)
    with pytest.raises(BufferSizeExceeded):
        overflowed.feed(b"data: xx")
    with pytest.raises(TypeError):
        overflowed.feed(None)


BAD_OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"max_buffer_size": 0}, ValueError, "max_buffer_size.*None"),
    ({"max_buffer_size": -1}, ValueError, "max_buffer_size.*None"),
    ({"max_buffer_size": True}, TypeError, "max_buffer_size.*int"),
    ({"max_buffer_size": False}, TypeError, "max_buffer_size.*int"),
    ({"max_buffer_size": 1.0}, TypeError, "max_buffer_size.*int"),
    ({"max_buffer_size": "1"}, TypeError, "max_buffer_size.*int"),
    ({"last_event_id": "secret\0"}, ValueError, "last_event_id"),
    ({"last_event_id": "secret\r"}, ValueError, "last_event_id"),
    ({"last_event_id": "secret\n"}, ValueError, "last_event_id"),
    ({"last_event_id": b"secret"}, TypeError, "last_event_id.*str"),
    ({"last_event_id": None}, TypeError, "last_event_id.*str"),
    ({"comments": 1}, TypeError, "comments.*True or False"),
    ({"diagnostics": None}, TypeError, "diagnostics.*True or False"),
    ({"raw": "yes"}, TypeError, "raw.*True or False"),
    ({"types": "secret"}, TypeError, "types"),
    ({"types": b"secret"}, TypeError, "types"),
    ({"types": [b"secret"]}, TypeError, "types.*str"),
    ({"types": ["a", 1]}, TypeError, "types.*str"),
    ({"types": 5}, TypeError, "types"),
    ({"contains": b"secret"}, TypeError, "contains"),
    ({"contains": "secret"}, TypeError, "contains"),
    ({"contains": bytearray(b"secret")}, TypeError, "contains"),
    ({"contains": ["secret"]}, TypeError, "contains.*bytes"),
    ({"contains": [b"x", bytearray(b"secret")]}, TypeError, "contains.*bytes"),
    ({"contains": [b""]}, ValueError, "contains.*empty"),
    ({"contains": [b"x", b""]}, ValueError, "contains.*empty"),
    ({"contains": 5}, TypeError, "contains"),
    ({"unknown": 1}, TypeError, "unknown"),
    ({"max_buffer": 1}, TypeError, "max_buffer"),
]


@pytest.mark.parametrize(("options", "error", "match"), BAD_OPTIONS)
def test_an_option_that_is_wrong(
    backend: Any, options: dict[str, Any], error: type[Exception], match: str
) -> None:
    for call in (
        lambda: backend.Parser(**options),
        lambda: backend.parse(b"", **options),
        lambda: backend.iter_events([], **options),
        lambda: backend.aiter_events([], **options),
    ):
        with pytest.raises(error, match=match) as found:
            call()
        assert type(found.value) is error
        assert "secret" not in str(found.value)


def messages(options: dict[str, Any]) -> set[str]:
    found = set()
    for name in BACKENDS:
        with pytest.raises((TypeError, ValueError)) as error:
            load(name).Parser(**options)
        found.add(str(error.value))
    return found


@pytest.mark.parametrize("options", [row[0] for row in BAD_OPTIONS if len(row[0]) == 1][:27])
def test_both_backends_say_it_in_the_same_words(options: dict[str, Any]) -> None:
    assert len(messages(options)) == 1


@pytest.mark.parametrize("chunk", [row[0] for row in BAD_CHUNKS])
def test_both_backends_refuse_a_chunk_in_the_same_words(chunk: Any) -> None:
    found = set()
    for name in BACKENDS:
        with pytest.raises((TypeError, ValueError)) as error:
            load(name).Parser().feed(chunk)
        found.add(str(error.value))
    assert len(found) == 1


def test_options_have_names(backend: Any) -> None:
    with pytest.raises(TypeError):
        backend.Parser("id")
    with pytest.raises(TypeError):
        backend.parse(b"", "id")
    with pytest.raises(TypeError):
        backend.Parser().feed()
    with pytest.raises(TypeError):
        backend.Parser().feed(b"", b"")


@pytest.mark.parametrize(
    ("value", "error"),
    [("a\0", ValueError), ("a\n", ValueError), (b"a", TypeError), (None, TypeError)],
)
def test_reset_refuses_what_the_constructor_refuses(
    backend: Any, value: Any, error: type[Exception]
) -> None:
    parser = backend.Parser(last_event_id="1")
    parser.feed(b"data: a\n")
    with pytest.raises(error, match="last_event_id"):
        parser.reset(value)
    assert parser.last_event_id == "1"
    assert [event.data for event in parser.feed(b"\n")] == ["a"]


@pytest.mark.parametrize("value", ["", "keep", "Raise", None, 1, True, ["raise"]])
def test_unfinished_is_one_of_three_words(backend: Any, value: Any) -> None:
    for function in (backend.iter_events, backend.aiter_events):
        with pytest.raises((ValueError, TypeError), match="discard"):
            function([], unfinished=value)


def test_the_network_can_raise_nothing_but_an_overflow(backend: Any) -> None:
    choose = random.Random(7)
    alphabet = b"datevnidretry: \r\n\0\xff\xc3\xa9\xef\xbb\xbf0123456789"
    for _ in range(300):
        noise = bytes(choose.choices(alphabet, k=choose.randrange(200)))
        chunk = choose.choice([noise, choose.randbytes(200)])
        parser = backend.Parser(
            comments=True, diagnostics=True, raw=True, types={"x"}, contains=[b"a"]
        )
        parser.feed(chunk)
        parser.close()
        limited = backend.Parser(max_buffer_size=10, comments=True, raw=True)
        try:
            limited.feed(chunk)
            limited.close()
        except BufferSizeExceeded:
            assert limited.closed


def test_a_parser_does_not_pickle(backend: Any) -> None:
    import copy
    import pickle

    parser = backend.Parser()
    with pytest.raises(TypeError):
        pickle.dumps(parser)
    with pytest.raises(TypeError):
        copy.copy(parser)


def test_iterators_are_made_by_their_functions_only(backend: Any) -> None:
    for kind in (backend.EventIterator, backend.AsyncEventIterator):
        with pytest.raises(TypeError):
            kind()
