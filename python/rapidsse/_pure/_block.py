"""The block under assembly: what the lines since the last blank line add up to.

Values are kept as they were received, since the guard counts received bytes and a character may
take more room as text. They are moved in, not copied; `data` lines are joined as they come.
"""

from __future__ import annotations

from rapidsse._pure._field import COMMENT, DATA, EVENT, ID, UNKNOWN, Field, milliseconds


class Block:
    """The fields of an unfinished block."""

    __slots__ = (
        "_last_milliseconds",
        "_last_retry",
        "begun",
        "data",
        "event",
        "has_field",
        "id",
        "retry",
    )

    def __init__(self) -> None:
        self._last_retry: bytes | bytearray | None = None  # a short value, and what it says
        self._last_milliseconds = 0
        self.clear()

    def clear(self) -> None:
        """A new block begins."""
        self.begun = False  # a line other than a comment has come
        self.has_field = False  # a known one
        self.data: bytes | bytearray | None = None
        self.event: bytes | bytearray = b""
        self.id: bytes | bytearray | None = None
        self.retry: int | None = None

    def take(self, field: Field, value: bytes | bytearray) -> bool:
        """A line takes effect. Returns whether the standard ignores its value."""
        if field is COMMENT:
            return False
        self.begun = True
        if field is UNKNOWN:
            return False
        self.has_field = True
        if field is DATA:
            self.add_data(value)
        elif field is ID:
            if 0 in value:
                return True
            self.id = value
        elif field is EVENT:
            self.event = value
        elif value == self._last_retry:
            self.retry = self._last_milliseconds
        else:
            retry = milliseconds(value)
            if retry is None:
                return True
            self.retry = retry
            if len(value) < 19:  # servers say the same again and again
                self._last_retry, self._last_milliseconds = value, retry
        return False

    def add_data(self, value: bytes | bytearray) -> None:
        """One more `data` value, or several that are joined with LF."""
        self.begun = True
        if self.data is None:
            self.data = value
            return
        if not isinstance(self.data, bytearray):
            self.data = bytearray(self.data)
        self.data += b"\n"
        self.data += value

    def count(self) -> int:
        """The bytes that the guard counts."""
        return len(self.data or b"") + len(self.event) + len(self.id or b"")
