"""A decoder for the openai and anthropic SDKs, which take one from a client's _make_sse_decoder().

The SDKs give it the chunks of a response and read `event`, `data`, `json()` and, in places, `id`,
`retry` and `raw` of what it yields. Neither SDK is imported here.
"""

from __future__ import annotations

import reprlib
from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal, final

from rapidsse import ServerSentEvent, aiter_events, iter_events

__all__ = ["SDKEvent", "SSEDecoder"]


@final
class SSEDecoder:
    """Decodes event streams for a client of the openai or anthropic SDK.

    One decoder can serve any number of streams, at the same time too: it keeps nothing of them.

    Args:
        max_buffer_size (int | None): the most that may be retained of a block, in bytes. Its lines
            are kept beside its data, so that an event counts about twice. None for no limit.
        unfinished: what becomes of an event that the end of the stream cut off. The standard and
            the SDKs' own decoders discard it; "raise" raises StreamInterrupted instead, "yield"
            hands it out.

    Raises:
        TypeError, ValueError: an option is of the wrong type or out of range.
    """

    __slots__ = ("_max_buffer_size", "_unfinished")

    def __init__(
        self,
        *,
        max_buffer_size: int | None = 64 * 1024 * 1024,
        unfinished: Literal["discard", "raise", "yield"] = "discard",
    ) -> None:
        # Refuses a wrong option here rather than inside an SDK's request.
        iter_events((), max_buffer_size=max_buffer_size, unfinished=unfinished)
        self._max_buffer_size = max_buffer_size
        self._unfinished: Literal["discard", "raise", "yield"] = unfinished

    # What these yield is an SDKEvent. It is written Any because each SDK's annotation asks for its
    # own event class, which has the same attributes.

    def iter_bytes(self, iterator: Iterator[bytes]) -> Iterator[Any]:
        """Yields an SDKEvent for each event in the chunks, as soon as its blank line has arrived.

        Raises:
            BufferSizeExceeded: a block exceeds max_buffer_size.
            StreamInterrupted: with unfinished="raise", the stream ended inside a block.
        """
        with iter_events(
            iterator, raw=True, max_buffer_size=self._max_buffer_size, unfinished=self._unfinished
        ) as events:
            for event in events:
                yield SDKEvent(event)

    async def aiter_bytes(self, iterator: AsyncIterator[bytes]) -> AsyncIterator[Any]:
        """iter_bytes() for async chunks."""
        async with aiter_events(
            iterator, raw=True, max_buffer_size=self._max_buffer_size, unfinished=self._unfinished
        ) as events:
            async for event in events:
                yield SDKEvent(event)


@final
class SDKEvent:
    """An event as the openai and anthropic SDKs read it.

    Args:
        item (ServerSentEvent): an event parsed with raw=True.

    Attributes:
        event (str | None): the block's type; None when it named none, which the SDKs tell apart
            from `event: message`.
    """

    __slots__ = ("_item", "event")

    event: str | None

    def __init__(self, item: ServerSentEvent) -> None:
        self._item = item
        event = item.event
        if event == "message":
            block = item.raw or b""
            # Most blocks need no look at their lines; and find() takes half the time of `in`.
            self.event = event if block.find(b"event") >= 0 and _says_message(block) else None
        else:
            self.event = event

    @property
    def data(self) -> str:
        """The block's data lines, joined with LF."""
        return self._item.data

    @property
    def id(self) -> str | None:
        """The last event ID as of this event; None when there is none."""
        return self._item.id or None

    @property
    def retry(self) -> int | None:
        """The block's own reconnection time in milliseconds, if it has a valid one."""
        return self._item.retry

    @property
    def raw(self) -> list[str]:
        """The block's lines without their endings, comments and unknown fields included."""
        return [line.decode("utf-8", "replace") for line in (self._item.raw or b"").splitlines()]

    def json(self) -> Any:
        """json.loads(data), in result and in error."""
        return self._item.json()

    def __repr__(self) -> str:
        return (
            f"SDKEvent(event={self.event!r}, data={reprlib.repr(self.data)}, "
            f"id={self.id!r}, retry={self.retry!r})"
        )


def _says_message(block: bytes) -> bool:
    """Whether a block whose type came out as "message" says so itself: else its type is empty."""
    types = [line for line in block.splitlines() if line == b"event" or line[:6] == b"event:"]
    return bool(types) and types[-1].endswith(b"message")
