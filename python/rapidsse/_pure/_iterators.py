"""Iteration over a source of chunks, one item parsed per step.

Both iterators hold the parser, the source and the items of the chunk at hand, which are parsed as
they are asked for, and end in one of three ways. What they do in common is in `_Steps`.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import GenericAlias
from typing import Any, ClassVar, NoReturn, cast

from rapidsse._errors import StreamInterrupted
from rapidsse._options import check_unfinished
from rapidsse._pure._parser import Overflow, Parser, Refused
from rapidsse._sources import Close, async_chunks, closing, sync_chunks

_NOTHING: Iterator[Any] = iter(())


class _Steps:
    __slots__ = (
        "_chunks",
        "_close",
        "_ended",
        "_items",
        "_parser",
        "_policy",
        "_turn",
        "_unfinished",
    )

    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)

    def _open(self, chunks: Any, close: Close | None, unfinished: Any, options: Any) -> None:
        self._policy = check_unfinished(unfinished)
        self._parser = Parser(**options)
        self._chunks = chunks
        self._close = close
        self._items = _NOTHING
        self._ended = False
        # Deleted by the step that is under way: of two that are begun at once, one fails.
        self._turn = True
        self._unfinished: Any = None

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle 'rapidsse.{type(self).__name__}' object")

    @property
    def last_event_id(self) -> str:
        """The last event ID as of the last item (str)."""
        return self._parser.last_event_id

    @property
    def retry(self) -> int | None:
        """The latest valid reconnection time as of the last item, in milliseconds (int | None)."""
        return self._parser.retry

    @property
    def skipped(self) -> int:
        """Events that types and contains left out so far (int)."""
        return self._parser.skipped

    @property
    def unfinished(self) -> Any:
        """The event that the end of the stream cut off (ServerSentEvent | None)."""
        return self._unfinished

    @property
    def truncated(self) -> bool:
        """Whether the stream ended inside a block (bool)."""
        return self._parser.truncated

    def _stop(self) -> None:
        """The stream is over, by its end or by a fault."""
        if self._ended:  # closed while the source was asked
            return
        self._unfinished = self._parser.close()
        self._ended = True
        self._items = _NOTHING

    def _fail(self) -> None:
        """The source raised an exception."""
        self._chunks = self._close = None
        self._stop()

    def _end(self) -> None:
        """The source has no more chunks: what is still to come is in `_items`."""
        self._chunks = self._close = None
        self._stop()
        if self._policy == "raise" and self._parser.truncated:
            raise StreamInterrupted(self._unfinished, self._parser.last_event_id)
        if self._policy == "yield" and self._unfinished is not None:
            self._items = iter((self._unfinished,))

    def _refuse(self, refused: Refused) -> NoReturn:
        """What the source gave is no chunk."""
        self._stop()
        assert refused.__cause__ is not None
        raise refused.__cause__

    def _overflow(self) -> NoReturn:
        self._ended = True
        self._items = _NOTHING
        raise self._parser._exceeded() from None

    def _leave(self) -> Close | None:
        """Ends the iteration early; returns what closes the source."""
        close, self._chunks, self._close = self._close, None, None
        self._ended = True
        self._items = _NOTHING
        self._parser._shut()
        return close


def _is_of(error: BaseException) -> bool:
    """Whether the frame that caught an exception has also raised it."""
    return error.__traceback__ is not None and error.__traceback__.tb_next is None


def _busy() -> RuntimeError:
    return RuntimeError("the iterator is already waiting for its source")


class EventIterator(_Steps):
    """The items of a stream, one parsed per step. Made by iter_events()."""

    __slots__ = ()

    def __new__(cls) -> NoReturn:
        raise TypeError("cannot create 'rapidsse.EventIterator' instances")

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("type 'rapidsse.EventIterator' is not an acceptable base type")

    def __iter__(self) -> EventIterator:
        return self

    def __next__(self) -> Any:
        # The generator under it keeps two threads apart; only where it has ended must this do so.
        try:
            for item in self._items:
                return item
        except Overflow:
            self._overflow()
        except Refused as refused:
            self._refuse(refused)
        except Exception as error:
            if isinstance(error, ValueError) and _is_of(error):
                raise _busy() from None  # the generator is already executing
            self._fail()
            raise
        except BaseException:  # an interrupt, which ends nothing
            if not self._ended:
                self._items = self._parser._run(self._chunks)
            raise
        try:
            del self._turn
        except AttributeError:
            raise _busy() from None
        try:
            if not self._ended:
                self._end()
            for item in self._items:
                return item
            raise StopIteration
        finally:
            self._turn = True

    def __enter__(self) -> EventIterator:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the iteration. A source that is an iterator is closed; a file stays open."""
        close = self._leave()
        if close is not None:
            close()


class AsyncEventIterator(_Steps):
    """The items of a stream, one parsed per step. Made by aiter_events()."""

    __slots__ = ()

    def __new__(cls) -> NoReturn:
        raise TypeError("cannot create 'rapidsse.AsyncEventIterator' instances")

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("type 'rapidsse.AsyncEventIterator' is not an acceptable base type")

    def __aiter__(self) -> AsyncEventIterator:
        return self

    async def __anext__(self) -> Any:
        try:
            del self._turn
        except AttributeError:
            raise _busy() from None
        try:
            while True:
                for item in self._items:
                    return item
                if self._ended:
                    raise StopAsyncIteration
                try:
                    chunk = await self._chunks.__anext__()
                except StopAsyncIteration:
                    self._end()
                except Exception:
                    self._fail()
                    raise
                else:
                    if self._ended:  # closed while the source made the chunk
                        continue
                    if type(chunk) is not bytes or not self._parser._goes_on(chunk):
                        self._items = self._parser._run((chunk,))
        except Overflow:
            self._overflow()
        except Refused as refused:
            self._refuse(refused)
        finally:
            self._turn = True

    async def __aenter__(self) -> AsyncEventIterator:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Ends the iteration; to be awaited. A source that is an iterator is closed; a file stays
        open."""
        await closing(self._leave)


for _kind in (EventIterator, AsyncEventIterator):
    _kind.__module__ = "rapidsse"
Parser.__module__ = "rapidsse"


def iter_events(chunks: Any, /, *, unfinished: Any = "discard", **options: Any) -> EventIterator:
    """Iterates over the items of a stream, parsing one per step.

    Args:
        chunks (Iterable[bytes] | BinaryIO): an iterable of chunks, or a binary file, which is
            read in blocks that return as soon as bytes are there; never by lines.
        unfinished (str): what becomes of an event that the end of the stream cut off: 'discard',
            as in the standard, 'raise' StreamInterrupted, or 'yield' it.
        **options: those of Parser.

    Raises:
        TypeError, ValueError: a source or an option that is not as said.
        BufferSizeExceeded, StreamInterrupted: while iterating.

    Source: WHATWG HTML, Server-sent events, parsing an event stream.
    """
    iterator: EventIterator = object.__new__(cast("type[EventIterator]", EventIterator))
    iterator._open(*sync_chunks(chunks), unfinished, options)
    iterator._items = iterator._parser._run(iterator._chunks)
    return iterator


def aiter_events(
    chunks: Any, /, *, unfinished: Any = "discard", **options: Any
) -> AsyncEventIterator:
    """Iterates over the items of a stream, parsing one per step.

    Args:
        chunks (AsyncIterable[bytes] | StreamReader): an async iterable of chunks, an object with
            aiohttp's readany(), or an async binary file; never read by lines. What iter_events
            takes is taken too, and blocks the event loop while it is read.
        unfinished (str): what becomes of an event that the end of the stream cut off: 'discard',
            as in the standard, 'raise' StreamInterrupted, or 'yield' it.
        **options: those of Parser.

    Raises:
        TypeError, ValueError: a source or an option that is not as said.
        BufferSizeExceeded, StreamInterrupted: while iterating.

    Source: WHATWG HTML, Server-sent events, parsing an event stream.
    """
    iterator: AsyncEventIterator = object.__new__(
        cast("type[AsyncEventIterator]", AsyncEventIterator)
    )
    iterator._open(*async_chunks(chunks), unfinished, options)
    return iterator
