"""What diagnostics have to know of a line besides its name and value.

A line may come in pieces and be long, so its UTF-8 is checked as it comes and only the beginning
of it is kept.
"""

from __future__ import annotations

import codecs

# The longest name of an unknown field that is told, and what it may be made of.
NAME = 64
HARMLESS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_ ")


class Watch:
    """Looks at one line as it comes."""

    __slots__ = ("_decoder", "_start", "valid")

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._start = b""
        self.valid = True

    def push(self, piece: bytes) -> None:
        if len(self._start) <= NAME:
            self._start += piece[: NAME + 1 - len(self._start)]
        self._decode(piece, final=False)

    def end(self) -> None:
        self._decode(b"", final=True)

    def _decode(self, piece: bytes, *, final: bool) -> None:
        if self.valid:
            try:
                self._decoder.decode(piece, final)
            except UnicodeDecodeError:
                self.valid = False

    def name(self) -> str:
        """An unknown field's name, if it looks like one: what lost its `data:` is payload."""
        name, colon, _ = self._start.partition(b":")
        return name.decode() if colon and HARMLESS.issuperset(name) else ""
