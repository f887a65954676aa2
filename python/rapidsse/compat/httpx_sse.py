"""The names of the httpx-sse package, over rapidsse: switching is one changed import.

Where httpx-sse departs from the standard, the standard wins: docs/migrating/httpx-sse.md lists how.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx

import rapidsse
from rapidsse import BufferSizeExceeded, ServerSentEvent, aiter_events, iter_events

__all__ = ["EventSource", "SSEError", "ServerSentEvent", "aconnect_sse", "connect_sse"]


class SSEError(rapidsse.SSEError, httpx.TransportError):
    """A response is no event stream, or a block of it exceeds max_buffer_size.

    For the second, `__cause__` is the BufferSizeExceeded.
    """


class EventSource:
    """The events of a streaming response of httpx.

    Args:
        response (httpx.Response): a response whose body has not been read.
    """

    def __init__(self, response: httpx.Response) -> None:
        self._response = response

    @property
    def response(self) -> httpx.Response:
        return self._response

    def iter_sse(self) -> Iterator[ServerSentEvent]:
        """Yields each event as soon as its blank line has arrived.

        Raises:
            SSEError: the media type is not text/event-stream, or a block exceeds 64 MiB.
            httpx.TransportError: what httpx raises for a broken connection.
        """
        self._check_media_type()
        try:
            with iter_events(self._response.iter_bytes()) as events:
                yield from events
        except BufferSizeExceeded as error:
            raise SSEError(str(error)) from error

    async def aiter_sse(self) -> AsyncGenerator[ServerSentEvent, None]:
        """iter_sse() for a response of httpx.AsyncClient."""
        self._check_media_type()
        try:
            async with aiter_events(self._response.aiter_bytes()) as events:
                async for event in events:
                    yield event
        except BufferSizeExceeded as error:
            raise SSEError(str(error)) from error

    def _check_media_type(self) -> None:
        media_type = self._response.headers.get("content-type", "").partition(";")[0]
        if "text/event-stream" not in media_type.lower():
            raise SSEError(f"the response is no event stream: its media type is {media_type!r}")


@contextmanager
def connect_sse(
    client: httpx.Client, method: str, url: httpx.URL | str, **kwargs: Any
) -> Iterator[EventSource]:
    """client.stream(method, url, **kwargs) with the headers of an event stream's request.

    Yields an EventSource over the response, which is closed on leaving. Nothing is checked before
    the first event is asked for, so that the response's status can be looked at first.
    """
    with client.stream(method, url, **_with_headers(kwargs)) as response:
        yield EventSource(response)


@asynccontextmanager
async def aconnect_sse(
    client: httpx.AsyncClient, method: str, url: httpx.URL | str, **kwargs: Any
) -> AsyncIterator[EventSource]:
    """connect_sse() for httpx.AsyncClient."""
    async with client.stream(method, url, **_with_headers(kwargs)) as response:
        yield EventSource(response)


def _with_headers(kwargs: dict[str, Any]) -> dict[str, Any]:
    headers = httpx.Headers(kwargs.get("headers"))
    headers["Accept"] = "text/event-stream"
    headers["Cache-Control"] = "no-store"
    return {**kwargs, "headers": headers}
