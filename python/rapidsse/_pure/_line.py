"""The unfinished line: what the network cut, collected until its end comes.

Its first bytes are held until they decide what it is; from then on its value is collected, or
nothing of it. Pieces are appended to one byte array, so that a line costs as much in 8-byte chunks
as in one, and no more memory than it has bytes.
"""

from __future__ import annotations

from rapidsse._pure._field import COMMENT, DATA, EVENT, HEAD, ID, RETRY, Field, digits, split


class Line:
    """A line that has not ended."""

    __slots__ = ("_collected", "_field", "_head", "begun", "collects", "value")

    def __init__(self, *, comments: bool) -> None:
        # Whose values are kept as they come, and counted by the guard.
        self._collected = (DATA, EVENT, ID, COMMENT) if comments else (DATA, EVENT, ID)
        self.clear()

    def clear(self) -> None:
        """Nothing has come of it."""
        self.begun = False  # something has come
        self._field: Field | None = None  # None while undecided
        self._head = b""
        self.collects = False  # what comes next is just appended to `value`
        self.value = bytearray()

    def push(self, piece: bytes) -> None:
        """Takes in what has come of the line; at least one byte."""
        if self.collects:
            self.value += piece
            return
        self.begun = True
        if self._field is None:
            head = self._head + piece
            if len(head) < HEAD:
                self._head = head
                return
            self._head = b""
            self._field, piece = split(head)
            self.collects = self._field in self._collected
        if self.collects:
            self.value += piece
        elif self._field is RETRY:
            self.value[:] = digits(self.value + piece)

    def end(self) -> tuple[Field, bytes | bytearray]:
        """The line has ended. Returns its field and value."""
        field, head, value = self._field, self._head, self.value
        self.clear()
        return split(head) if field is None else (field, value)

    def count(self) -> int:
        """The bytes that the guard counts."""
        if self._field is None:
            field, value = split(self._head)
            return len(value) if field in self._collected else 0
        return len(self.value) if self.collects else 0
