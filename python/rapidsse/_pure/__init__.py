"""The pure-Python backend: the reference, and what serves where nothing is compiled.

A byte's way: `_parser` (lines, fields, the block, the guard) makes the items of `_items`;
`_iterators` pull chunks and hand the items out one by one.
"""

from rapidsse._pure._items import Comment, Diagnostic, ServerSentEvent
from rapidsse._pure._iterators import (
    AsyncEventIterator,
    EventIterator,
    aiter_events,
    iter_events,
)
from rapidsse._pure._parser import Parser, parse

__all__ = [
    "AsyncEventIterator",
    "Comment",
    "Diagnostic",
    "EventIterator",
    "Parser",
    "ServerSentEvent",
    "aiter_events",
    "iter_events",
    "parse",
]
