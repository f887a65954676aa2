"""The filter: which events are worth making."""

from __future__ import annotations


class Filter:
    """Keeps the events of some types and those whose data has some bytes."""

    __slots__ = ("_contains", "_types")

    def __init__(self, types: frozenset[str] | None, contains: tuple[bytes, ...] | None) -> None:
        self._types = types or frozenset()
        self._contains = contains or ()

    def keeps(self, event: str, data: bytes | bytearray) -> bool:
        """Whether an event is kept; `data` as it was received."""
        return event in self._types or any(needle in data for needle in self._contains)
