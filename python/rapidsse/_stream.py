"""EventStream: the events of an HTTP response, and whether they are all.

It is both kinds of iterator. Where nothing is to be looked at in each event, that is without `done`
and with DEBUG logging off, a loop gets the backend's own iterator; otherwise the stream itself,
whose steps are `__next__` and `__anext__`.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, TypeVar, overload

import rapidsse
from rapidsse._bodies import AsyncBody, Body, async_body, head, logger, sync_body
from rapidsse._errors import ResponseError, StreamInterrupted
from rapidsse._options import check_unfinished

if TYPE_CHECKING:
    from collections.abc import Collection

    from typing_extensions import Self, Unpack

    from rapidsse import Comment, Diagnostic, ServerSentEvent

    _Done = str | Callable[[ServerSentEvent], object] | None

_Item_co = TypeVar("_Item_co", bound="ServerSentEvent | Comment | Diagnostic", covariant=True)

_SHOWN = 64


class _Options(TypedDict, total=False):
    unfinished: Literal["discard", "raise", "yield"]
    last_event_id: str
    max_buffer_size: int | None
    raw: bool
    types: Collection[str] | None
    contains: Collection[bytes] | None


class EventStream(Generic[_Item_co]):
    """The events of a streaming response, for `for` and for `async for`.

    Args:
        response: a streaming response of httpx, httpx2, aiohttp, requests, niquests, urllib3 or
            urllib.request, or an iterable or async iterable of chunks of bytes.
        done (str | Callable[[ServerSentEvent], object] | None): what completes the stream, as its
            endpoint documents it. A str is compared with each event's whole data, and the event
            that equals it is not yielded. A callable is asked about each event, and the one it
            returns true for is the last one yielded. Without it, the end of the body completes
            the stream. rapidsse.completion has those of some providers.
        check (bool): whether a status outside 200-299 and a media type other than
            text/event-stream are refused. A status of 204 ends the stream quietly.
        **options: those of iter_events. `types`, `contains` and `unfinished` cannot be given
            together with `done`: a completion that was left out would look like an interruption.

    Nothing is read before the first step. The stream never reconnects. It closes the response
    when it ends, fails or is left: by its `with` or `async with` block, close() or aclose(). After
    its completion, what little may follow is read first, so that the connection can be used again:
    at most 64 KiB and for at most a second.

    Raises:
        TypeError, ValueError: arguments that are not as said; `for` over an asynchronous response,
            `async for` over a synchronous one; a response that was closed or read before.
        ResponseError: while iterating: the response is refused.
        StreamInterrupted: while iterating, with `done`: the body ended without it, or the
            transport failed, whose exception is the cause. Without `done`, the transport's
            exception passes through.
        BufferSizeExceeded: while iterating.

    Source: WHATWG HTML, Server-sent events, for what a response must be and what 204 means.
    """

    @overload
    def __init__(
        self: EventStream[ServerSentEvent],
        response: Any,
        *,
        done: _Done = None,
        check: bool = True,
        comments: Literal[False] = False,
        diagnostics: Literal[False] = False,
        **options: Unpack[_Options],
    ) -> None: ...
    @overload
    def __init__(
        self: EventStream[ServerSentEvent | Comment],
        response: Any,
        *,
        done: _Done = None,
        check: bool = True,
        comments: Literal[True],
        diagnostics: Literal[False] = False,
        **options: Unpack[_Options],
    ) -> None: ...
    @overload
    def __init__(
        self: EventStream[ServerSentEvent | Diagnostic],
        response: Any,
        *,
        done: _Done = None,
        check: bool = True,
        comments: Literal[False] = False,
        diagnostics: Literal[True],
        **options: Unpack[_Options],
    ) -> None: ...
    @overload
    def __init__(
        self: EventStream[ServerSentEvent | Comment | Diagnostic],
        response: Any,
        *,
        done: _Done = None,
        check: bool = True,
        comments: bool = False,
        diagnostics: bool = False,
        **options: Unpack[_Options],
    ) -> None: ...
    def __init__(
        self,
        response: Any,
        *,
        done: Any = None,
        check: bool = True,
        unfinished: Any = "discard",
        **options: Any,
    ) -> None:
        if done is not None and not isinstance(done, str) and not callable(done):
            raise TypeError(f"done must be a str, a callable or None, not {type(done).__name__}")
        if inspect.iscoroutinefunction(done):
            raise TypeError("done must not be a coroutine function: what it returns is always true")
        check_unfinished(unfinished)
        # Checks the options, and tells last_event_id and its like while there is no iterator.
        self._reader: Any = rapidsse.Parser(**options)
        if done is not None:
            for name in ("types", "contains"):
                if options.get(name) is not None:
                    raise ValueError(f"{name} cannot be given together with done")
            if unfinished != "discard":
                raise ValueError("unfinished cannot be given together with done")
        self._response = response
        self._done = done
        self._check = check
        self._options = {"unfinished": unfinished, **options}
        self._body: Any = None
        self._events: Any = None
        self._watching = True
        self._logging = False
        # The next step is no matter of parsing: the first, a refusal, or what follows completion.
        self._special = True
        # What one comparison per event can look for.
        self._marker: str | None = None
        self._refused: tuple[int, str] | None = None
        self._completed = False
        # The caller has been told, by an exception, that there is nothing more to come.
        self._told = False

    @property
    def response(self) -> Any:
        """The response, as it was given."""
        return self._response

    @property
    def completed(self) -> bool:
        """Whether the stream was complete (bool): with `done`, it has come; without, the body has
        ended, and not inside a block. False until then."""
        if self._completed or self._done is not None:
            return self._completed
        ended = self._body is not None and self._body.ended
        return ended and not self._told and not self._reader.truncated

    @property
    def last_event_id(self) -> str:
        """The last event ID as of the last item, to resume from (str)."""
        value: str = self._reader.last_event_id
        return value

    @property
    def retry(self) -> int | None:
        """The latest valid reconnection time as of the last item, in milliseconds (int | None)."""
        value: int | None = self._reader.retry
        return value

    @property
    def skipped(self) -> int:
        """Events that types and contains left out so far (int)."""
        value: int = self._reader.skipped
        return value

    @property
    def unfinished(self) -> ServerSentEvent | None:
        """The event that the end of the body, or its failure, cut off (ServerSentEvent | None)."""
        return None if self._events is None else self._events.unfinished

    @property
    def truncated(self) -> bool:
        """Whether the body ended, or failed, inside a block (bool)."""
        value: bool = self._reader.truncated
        return value

    # Beginning

    def _begin(self, body_of: Callable[[Any], Any], events_of: Callable[..., Any]) -> None:
        """Takes the response's body; what it is of was told by who loops over it first."""
        if self._events is not None:
            if not isinstance(self._body, Body if body_of is sync_body else AsyncBody):
                raise TypeError("the stream is being iterated in the other way, with async or not")
            return
        self._body = body_of(self._response)
        self._reader = self._events = events_of(self._body, **self._options)
        self._logging = logger.isEnabledFor(logging.DEBUG)
        if self._check:
            status, media_type = head(self._response)
            if status == 204:
                self._completed = True
            elif status is not None and (
                not 200 <= status <= 299 or media_type != "text/event-stream"
            ):
                self._refused = status, media_type
        self._special = self._completed or self._refused is not None
        self._watching = self._special or self._logging or self._done is not None
        if isinstance(self._done, str) and not (
            self._logging or self._options.get("comments") or self._options.get("diagnostics")
        ):
            self._marker = self._done

    # Looking at events

    def _completes(self, item: Any) -> bool:
        """Whether an item is the completion."""
        if self._logging:
            _log(item)
        done = self._done
        if done is None or not isinstance(item, rapidsse.ServerSentEvent):
            return False
        if isinstance(done, str):
            return bool(item.data == done)
        return bool(done(item))

    def _interrupted(self) -> StreamInterrupted:
        return StreamInterrupted(self._events.unfinished, self._events.last_event_id)

    def _at_end(self) -> None:
        """The body has ended."""
        if self._body.ended and self._done is not None and not self._told:
            self._told = True
            logger.warning("a stream was interrupted: its body ended without its completion")
            raise self._interrupted()

    def _refusal(self, body: bytes) -> ResponseError:
        assert self._refused is not None
        status, media_type = self._refused
        self._refused = None
        self._special = False
        self._told = True
        logger.warning(
            "a response was refused: status %d, %d bytes of its body read", status, len(body)
        )
        return ResponseError(status, media_type, body)

    # In a plain loop

    def __iter__(self) -> Iterator[_Item_co]:
        self._begin(sync_body, rapidsse.iter_events)
        events: Iterator[_Item_co] = self if self._watching else self._events
        return events

    def __next__(self) -> _Item_co:
        if self._special:
            self.__iter__()
            if self._completed:
                self.close()
                raise StopIteration
            if self._refused is not None:
                beginning = self._body.beginning()
                self._events.close()
                raise self._refusal(beginning)
        try:
            item: _Item_co = next(self._events)
        except StopIteration:
            self._at_end()
            raise
        except Exception as error:
            if self._done is not None and self._body.failed:
                raise self._interrupted() from error
            raise
        if self._marker is not None and item.data != self._marker:  # type: ignore[union-attr]
            return item
        if self._completes(item):
            self._completed = self._special = True
            if isinstance(self._done, str):
                self.close()
                raise StopIteration
        return item

    def __enter__(self) -> Self:
        self.__iter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the iteration and closes the response."""
        self.__iter__()
        if self._completed:
            self._body.drain()
        self._events.close()
        self._body.close()

    # In an asynchronous loop

    def __aiter__(self) -> AsyncIterator[_Item_co]:
        self._begin(async_body, rapidsse.aiter_events)
        events: AsyncIterator[_Item_co] = self if self._watching else self._events
        return events

    async def __anext__(self) -> _Item_co:
        if self._special:
            self.__aiter__()
            if self._completed:
                await self.aclose()
                raise StopAsyncIteration
            if self._refused is not None:
                beginning = await self._body.beginning()
                await self._events.aclose()
                raise self._refusal(beginning)
        try:
            item: _Item_co = await self._events.__anext__()
        except StopAsyncIteration:
            self._at_end()
            raise
        except Exception as error:
            if self._done is not None and self._body.failed:
                raise self._interrupted() from error
            raise
        if self._marker is not None and item.data != self._marker:  # type: ignore[union-attr]
            return item
        if self._completes(item):
            self._completed = self._special = True
            if isinstance(self._done, str):
                await self.aclose()
                raise StopAsyncIteration
        return item

    async def __aenter__(self) -> Self:
        self.__aiter__()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Ends the iteration and closes the response; to be awaited."""
        self.__aiter__()
        if self._completed:
            await self._body.drain()
        await self._events.aclose()
        await self._body.aclose()


def _log(item: Any) -> None:
    """An event's boundary: its type and sizes, never what it holds."""
    if isinstance(item, rapidsse.ServerSentEvent):
        logger.debug(
            "an event: type %.*r, %d characters of data, %s",
            _SHOWN,
            item.event[:_SHOWN],
            len(item.data),
            "with an id" if item.id else "without an id",
        )
    else:
        logger.debug("a %s", type(item).__name__.lower())
