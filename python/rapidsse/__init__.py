"""rapidsse: a fast and exact parser for Server-Sent Events (text/event-stream).

PYTEST_DONT_REWRITE: a package that brings a pytest plugin is rewritten by pytest, which warns if
the package was imported before; nothing here needs it.
"""

from importlib import metadata as _metadata
from typing import TYPE_CHECKING

from rapidsse import completion
from rapidsse._backend import choose as _choose
from rapidsse._errors import (
    BufferSizeExceeded,
    ParserClosed,
    ResponseError,
    SSEError,
    StreamInterrupted,
)
from rapidsse._stream import EventStream

BACKEND, _backend_module = _choose()

if TYPE_CHECKING:
    from rapidsse._rapidsse import (
        AsyncEventIterator,
        Comment,
        Diagnostic,
        EventIterator,
        Parser,
        ServerSentEvent,
        aiter_events,
        iter_events,
        parse,
    )
else:
    Parser = _backend_module.Parser
    ServerSentEvent = _backend_module.ServerSentEvent
    Comment = _backend_module.Comment
    Diagnostic = _backend_module.Diagnostic
    EventIterator = _backend_module.EventIterator
    AsyncEventIterator = _backend_module.AsyncEventIterator
    parse = _backend_module.parse
    iter_events = _backend_module.iter_events
    aiter_events = _backend_module.aiter_events

try:
    __version__ = _metadata.version("rapidsse")
except _metadata.PackageNotFoundError:
    __version__ = "0+unknown"

__all__ = [
    "BACKEND",
    "AsyncEventIterator",
    "BufferSizeExceeded",
    "Comment",
    "Diagnostic",
    "EventIterator",
    "EventStream",
    "Parser",
    "ParserClosed",
    "ResponseError",
    "SSEError",
    "ServerSentEvent",
    "StreamInterrupted",
    "__version__",
    "aiter_events",
    "completion",
    "iter_events",
    "parse",
]
