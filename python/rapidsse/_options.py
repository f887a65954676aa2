"""What may be given to parsers and items: one rule and one message for both backends."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NoReturn, cast

DEFAULT_MAX_BUFFER_SIZE = 64 * 1024 * 1024

Checked = tuple[
    str, "int | None", bool, bool, bool, "frozenset[str] | None", "tuple[bytes, ...] | None"
]


def _kind(value: object) -> str:
    return type(value).__name__


def check_options(
    *,
    last_event_id: object = "",
    max_buffer_size: object = DEFAULT_MAX_BUFFER_SIZE,
    comments: object = False,
    diagnostics: object = False,
    raw: object = False,
    types: object = None,
    contains: object = None,
) -> Checked:
    """A parser's options, checked and in their plainest form."""
    return (
        check_last_event_id(last_event_id),
        _check_limit(max_buffer_size),
        _check_flag("comments", comments),
        _check_flag("diagnostics", diagnostics),
        _check_flag("raw", raw),
        _check_types(types),
        _check_contains(contains),
    )


def check_last_event_id(value: object) -> str:
    """The last event ID to start from, as a plain str."""
    if not isinstance(value, str):
        raise TypeError(f"last_event_id must be a str, not {_kind(value)}")
    if any(forbidden in value for forbidden in "\0\r\n"):
        raise ValueError("last_event_id must not contain U+0000, CR or LF")
    return str.__str__(value)


def _check_limit(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"max_buffer_size must be an int or None, not {_kind(value)}")
    if value < 1:
        raise ValueError("max_buffer_size must be at least 1 byte; None means no limit")
    return int(value)


def _check_flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {_kind(value)}")
    return value


def _check_types(value: object) -> frozenset[str] | None:
    return None if value is None else frozenset(_check_collection("types", value, str))


def _check_contains(value: object) -> tuple[bytes, ...] | None:
    if value is None:
        return None
    needles = tuple(bytes(needle) for needle in _check_collection("contains", value, bytes))
    if b"" in needles:
        raise ValueError("contains must not hold empty bytes: every event has them")
    return needles


def _check_collection(name: str, value: object, of: type[Any]) -> list[Any]:
    if isinstance(value, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"{name} must be a collection of {of.__name__}, not one {_kind(value)}")
    try:
        elements = list(cast("Collection[Any]", value))
    except TypeError:
        raise TypeError(
            f"{name} must be a collection of {of.__name__} or None, not {_kind(value)}"
        ) from None
    for element in elements:
        if not isinstance(element, of):
            raise TypeError(f"{name} must hold {of.__name__} only, not {_kind(element)}")
    return elements


def check_unfinished(value: object) -> str:
    """What an iterator does with an event that the end of the stream cut off."""
    if isinstance(value, str) and value in ("discard", "raise", "yield"):
        return value
    raise ValueError("unfinished must be 'discard', 'raise' or 'yield'")


def bad_chunk(chunk: object) -> Exception:
    """The exception for a chunk that is no C-contiguous buffer."""
    if isinstance(chunk, str):
        return TypeError("a chunk must be bytes, not str; feed the bytes, decoding is our work")
    try:
        memoryview(cast("bytes", chunk)).release()
    except TypeError:
        return TypeError(
            f"a chunk must be bytes, bytearray or another C-contiguous buffer, not {_kind(chunk)}"
        )
    return ValueError("a chunk must be C-contiguous; pass bytes(chunk)")


def bad_field(name: str, expected: str, value: object) -> TypeError:
    """The exception for an item's field of a wrong type."""
    return TypeError(f"{name} must be {expected}, not {_kind(value)}")


def refuse_bytes(function: str, chunks: object) -> NoReturn:
    """Refuses a whole body, or text, where chunks are expected."""
    if isinstance(chunks, str):
        raise TypeError(f"{function}() takes chunks of bytes, not str")
    raise TypeError(f"{function}() takes an iterable of chunks; for a whole body use parse()")
