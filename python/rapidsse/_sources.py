"""What can be iterated: anything that gives chunks of bytes, and never by lines.

Both backends get a plain iterator (or async iterator) of chunks from here, and what closes it: an
iterator is closed by whoever uses it up, a file by whoever opened it.
"""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from rapidsse._options import refuse_bytes

_BLOCK = 64 * 1024

Close = Callable[[], Any]


def sync_chunks(chunks: Any) -> tuple[Iterator[Any], Close | None]:
    """An iterator over the chunks of a source, and what closes it."""
    if isinstance(chunks, (str, bytes, bytearray, memoryview)):
        refuse_bytes("iter_events", chunks)
    read = _block_reader(chunks)
    if read is not None:
        return iter(read, b""), None
    try:
        iterator = iter(chunks)
    except TypeError:
        hint = "; use aiter_events()" if hasattr(chunks, "__aiter__") else ""
        raise TypeError(
            "iter_events() takes an iterable of chunks or a binary file, "
            f"not {type(chunks).__name__}{hint}"
        ) from None
    return iterator, getattr(iterator, "close", None)


def _block_reader(source: Any) -> Callable[[], bytes] | None:
    """What reads a binary file in blocks that return as soon as bytes are there."""
    if isinstance(source, io.TextIOBase):
        raise TypeError("a file must be opened in binary mode")
    read1 = getattr(source, "read1", None)
    if callable(read1):
        return lambda: read1(_BLOCK)
    if isinstance(source, io.RawIOBase):
        return lambda: _read_raw(source)
    read = getattr(source, "read", None)
    if callable(read) and callable(getattr(source, "readline", None)):
        # A file of somebody's own, which iterates by lines.
        return lambda: read(_BLOCK)
    return None


def _read_raw(source: io.RawIOBase) -> bytes:
    block = source.read(_BLOCK)
    if block is None:
        raise BlockingIOError("the file is in non-blocking mode and has no bytes yet")
    return block


def async_chunks(chunks: Any) -> tuple[AsyncIterator[Any], Close | None]:
    """An async iterator over the chunks of a source, and what closes it."""
    if isinstance(chunks, (str, bytes, bytearray, memoryview)):
        refuse_bytes("aiter_events", chunks)
    readany = getattr(chunks, "readany", None)
    if callable(readany):
        return _Blocks(readany), None
    if hasattr(chunks, "__aiter__"):
        read = getattr(chunks, "read", None)
        if callable(read):
            return _Blocks(lambda: read(_BLOCK)), None
        iterator = chunks.__aiter__()
        return iterator, getattr(iterator, "aclose", None)
    try:
        blocking, close = sync_chunks(chunks)
    except TypeError:
        raise TypeError(
            "aiter_events() takes an async iterable of chunks, an object with readany() or a "
            f"binary file, not {type(chunks).__name__}"
        ) from None
    return _Blocking(blocking), close


class _Blocks:
    """The blocks that an awaitable read gives until it gives none."""

    def __init__(self, read: Callable[[], Awaitable[bytes]]) -> None:
        self._read = read

    def __aiter__(self) -> _Blocks:
        return self

    async def __anext__(self) -> bytes:
        block = await self._read()
        if not block:
            raise StopAsyncIteration
        return block


class _Blocking:
    """The chunks of an iterator, which blocks the event loop while it makes them."""

    def __init__(self, chunks: Iterator[Any]) -> None:
        self._chunks = chunks

    def __aiter__(self) -> _Blocking:
        return self

    async def __anext__(self) -> Any:
        try:
            return next(self._chunks)
        except StopIteration:
            raise StopAsyncIteration from None


async def ready(value: Any) -> Any:
    return value


async def closing(leave: Callable[[], Close | None]) -> None:
    """Ends an async iteration: `leave` gives what closes the source, if that is to be done."""
    close = leave()
    if close is not None:
        closed = close()
        if hasattr(closed, "__await__"):
            await closed
