"""Fields: what one line says. The rules for a line's bytes stand here and nowhere else.

A line that comes whole is `split` at once. Of a line that comes in pieces the first `HEAD` bytes
decide what it is, so nothing of a line that is ignored need be kept.
"""

from __future__ import annotations

from enum import Enum

MAX_RETRY = 2**63 - 1


class Field(Enum):
    """What a line is: one of the four fields, a comment, or a field that nobody knows."""

    DATA = b"data"
    EVENT = b"event"
    ID = b"id"
    RETRY = b"retry"
    COMMENT = b""
    UNKNOWN = None


DATA, EVENT, ID, RETRY = Field.DATA, Field.EVENT, Field.ID, Field.RETRY
COMMENT, UNKNOWN = Field.COMMENT, Field.UNKNOWN
NAMES = {b"data": DATA, b"event": EVENT, b"id": ID, b"retry": RETRY}

# The longest name, a colon and what may be the one space: so many bytes decide what a line is and
# where its value begins.
HEAD = len(b"retry: ")


def split(line: bytes) -> tuple[Field, bytes]:
    """A line's field and value: the first colon splits, one space after it goes."""
    name, _, value = line.partition(b": ")  # nearly every line; a known name has no colon in it
    field = NAMES.get(name)
    if field is None:
        name, _, value = line.partition(b":")
        field = NAMES.get(name, UNKNOWN if name else COMMENT)
        if field is COMMENT:
            value = value.removeprefix(b" ")
    return field, value


def milliseconds(value: bytes | bytearray) -> int | None:
    """A `retry` value: one or more ASCII digits, else None; clamped."""
    if not value.isdigit():
        return None
    return int(value) if len(value) < 19 else min(int(digits(value)), MAX_RETRY)


def digits(value: bytes | bytearray) -> bytes | bytearray:
    """So much of a `retry` value, or of the beginning of one, as decides what it is."""
    return value.lstrip(b"0")[:20] or b"0" if value.isdigit() else value[:1] and b"?"
