"""The pure-Python backend: the reference, and what serves where nothing is compiled.

A byte's way: `_parser` takes chunks in windows and cuts these into blocks; where lines have to be
looked at, `_field` says what a line is; of a long unfinished block `_line` holds the line that the
network cut, and `_block` what the lines before it add up to; `_filter` says which events are worth
making, `_diagnostics` what the standard ignores; the results are the `_items`. `_iterators` pull
chunks and hand the items out one by one.
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
