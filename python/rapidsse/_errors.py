"""The errors of both backends. No message and no repr holds payload."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rapidsse import ServerSentEvent


class SSEError(Exception):
    """The base of every error that rapidsse raises of its own."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class BufferSizeExceeded(SSEError):
    """A stream made the parser retain more than max_buffer_size allows.

    Attributes:
        limit (int): the limit, in bytes.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit

    def __str__(self) -> str:
        return f"the stream exceeds max_buffer_size, {self.limit} bytes"


class ParserClosed(SSEError):
    """A parser was fed after close()."""

    def __str__(self) -> str:
        return "the parser is closed; reset() begins a new stream"


class StreamInterrupted(SSEError):
    """A stream ended, or its transport failed, before it was complete.

    Attributes:
        unfinished (ServerSentEvent | None): the event that the end cut off, as far as it came.
        last_event_id (str): the last event ID, to resume from.
    """

    def __init__(self, unfinished: ServerSentEvent | None, last_event_id: str) -> None:
        super().__init__(unfinished, last_event_id)
        self.unfinished = unfinished
        self.last_event_id = last_event_id

    def __str__(self) -> str:
        where = "" if self.unfinished is None else ", inside an event"
        return f"the stream ended before it was complete{where}"


class ResponseError(SSEError):
    """A response is no event stream.

    Attributes:
        status (int): the HTTP status code.
        content_type (str): the media type it declares; empty if none.
        body (bytes): the beginning of the body.
    """

    def __init__(self, status: int, content_type: str, body: bytes) -> None:
        super().__init__(status, content_type, body)
        self.status = status
        self.content_type = content_type
        self.body = body

    def __str__(self) -> str:
        return f"the response is no event stream: status {self.status}, {len(self.body)} bytes read"
