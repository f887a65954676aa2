"""The parser: an event stream interpreted, across chunks.

A byte's way: a chunk is taken in windows, a window is cut into lines, a line is a `_field`; what
the network cut waits in `_line`, what the lines add up to in `_block`; a blank line makes an item.

The plan: what is at stake is the cost per event, so as much as possible is done for a whole window
by a few calls of `str` methods. A window is made text as Latin-1, which is one character per byte,
costs a copy and loses nothing; text is faster to work on than bytes. Line ends become LF, and a
split at "\\n\\ndata: " gives the values of all blocks of one `data` line, as most
streams have. Other blocks go line by line. UTF-8 is decoded when an item is made: line ends and
colons are ASCII, and no broken sequence can swallow one.

When comments, diagnostics or raw bytes are to be told, or the guard's limit is near, a window is
taken `_closely` instead: each line with its ending, and counted. The limit is near when it could be
exceeded if each byte added two to the count, which is the most that one can: one to a value or
between two `data` lines, one to the raw bytes.

Everything is linear in the bytes. What is retained is in a few byte arrays.
"""

from __future__ import annotations

import codecs
import math
from collections.abc import Iterator
from types import GenericAlias
from typing import Any, ClassVar, NoReturn

from rapidsse._errors import BufferSizeExceeded, ParserClosed
from rapidsse._options import Checked, bad_chunk, check_last_event_id, check_options
from rapidsse._pure._block import Block
from rapidsse._pure._diagnostics import Watch
from rapidsse._pure._field import COMMENT, DATA, EVENT, RETRY, UNKNOWN, Field, split
from rapidsse._pure._filter import Filter
from rapidsse._pure._items import (
    Diagnostic,
    EventSlots,
    ServerSentEvent,
    make_comment,
    make_event,
)
from rapidsse._pure._line import Line

BOM = codecs.BOM_UTF8
# A chunk is parsed in pieces of this size, so that no list of its lines becomes huge.
WINDOW = 64 * 1024

# A smaller chunk is likely to be but one block.
SMALL = 1024
# What is short enough to be remembered, and how many lines are: servers repeat themselves.
SHORT = 128
FEW = 32

_NOTHING: Iterator[Any] = iter(())


class Overflow(Exception):
    """The guard's limit is exceeded."""


class Parser:
    """An incremental event stream parser: bytes in, events out, however the network cuts them.

    Args:
        last_event_id (str): the last event ID to start from.
        max_buffer_size (int | None): the most that may be retained, in bytes; None for no limit.
        comments (bool): also tell comments.
        diagnostics (bool): also tell what the standard ignores.
        raw (bool): keep each block's bytes in event.raw.
        types (Collection[str] | None): keep events of these types ...
        contains (Collection[bytes] | None): ... or whose data has one of these; skip the others.

    Raises:
        TypeError, ValueError: an option of another type or out of range.

    Source: WHATWG HTML, Server-sent events, parsing and interpreting an event stream.
    """

    __slots__ = (
        "_after_cr",
        "_block",
        "_bom",
        "_bound",
        "_close_look",
        "_closed",
        "_comments",
        "_diagnostics",
        "_filter",
        "_last_event_id",
        "_limit",
        "_line",
        "_line_number",
        "_line_offset",
        "_offset",
        "_overflow",
        "_raised",
        "_raw",
        "_retry",
        "_said",
        "_skipped",
        "_truncated",
        "_turn",
        "_type",
        "_type_text",
        "_watch",
    )

    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("type 'rapidsse.Parser' is not an acceptable base type")

    def __init__(self, **options: Any) -> None:
        self._configure(check_options(**options))

    def _configure(self, options: Checked) -> None:
        last_event_id, limit, comments, diagnostics, raw, types, contains = options
        self._limit = math.inf if limit is None else limit
        self._comments = comments
        self._diagnostics = diagnostics
        self._close_look = comments or diagnostics or raw
        filtered = types is not None or contains is not None
        self._filter = Filter(types, contains) if filtered else None
        self._line = Line(comments=comments)
        self._block = Block()
        self._raw = bytearray() if raw else None
        self._said: dict[str, tuple[Field, bytes]] = {}  # lines that were split
        # Deleted by the thread that feeds: of two that do so at once, one fails.
        self._turn = True
        self._begin(last_event_id)

    def _begin(self, last_event_id: str) -> None:
        self._last_event_id = last_event_id
        self._retry: int | None = None  # as of the last blank line
        self._block.retry = None
        self._skipped = 0
        self._closed = self._overflow = self._raised = self._truncated = False
        self._bom: bytes | None = b""  # what came of a BOM; None once that is settled
        self._after_cr = False
        self._bound: float = 0  # the guard's count is at most this
        self._line_number = 1  # of the line at hand: its number,
        self._line_offset = 0  # where it began,
        self._offset = 0  # and what comes next; with a close look only
        self._type = b""  # the last event type, and its text
        self._type_text = "message"
        self._forget()

    def _forget(self) -> None:
        """Drops everything retained."""
        self._retry = self.retry
        self._line.clear()
        self._block.clear()
        if self._raw is not None:
            self._raw = bytearray()
        self._watch: Watch | None = None

    def __reduce__(self) -> NoReturn:
        raise TypeError("cannot pickle 'rapidsse.Parser' object")

    # Attributes

    @property
    def last_event_id(self) -> str:
        """The last event ID of the stream (str)."""
        return self._last_event_id

    @property
    def retry(self) -> int | None:
        """The stream's latest valid reconnection time in milliseconds (int | None)."""
        retry = self._block.retry
        return self._retry if retry is None else retry

    @property
    def buffered(self) -> int:
        """What max_buffer_size counts just now, in bytes (int)."""
        return self._count()

    @property
    def closed(self) -> bool:
        """Whether nothing more can be fed: after close() or an overflow (bool)."""
        return self._closed

    @property
    def truncated(self) -> bool:
        """Whether close() found the stream ended inside a block (bool)."""
        return self._truncated

    @property
    def skipped(self) -> int:
        """Events that types and contains left out (int)."""
        return self._skipped

    # Methods

    def feed(self, chunk: Any, /) -> list[Any]:
        """Parses a chunk and returns the items it completes, in stream order.

        Args:
            chunk (bytes | bytearray | memoryview): any C-contiguous buffer, cut anywhere.

        Raises:
            BufferSizeExceeded: the limit was exceeded and every item before it handed over.
            ParserClosed: after close().
            TypeError, ValueError: what was given is no such buffer.

        Source: WHATWG HTML, Server-sent events, parsing an event stream.
        """
        if type(chunk) is not bytes:
            chunk = chunk_bytes(chunk)
        try:
            del self._turn
        except AttributeError:
            raise _busy() from None
        items: list[Any] = []
        try:
            if self._closed:
                self._refuse()
            if 10 in chunk or 13 in chunk or not self._continues(chunk):
                items += self._items(chunk)
        except Overflow:
            if not items:
                self._refuse()
        finally:
            self._turn = True
        return items

    def close(self) -> ServerSentEvent | None:
        """Ends the stream. Returns the event that its end cut off, which the standard discards, or
        None if no data field had begun.

        Raises:
            BufferSizeExceeded: the limit was exceeded and that has not been told yet.

        Source: WHATWG HTML, Server-sent events, interpreting an event stream.
        """
        if self._overflow and not self._raised:
            self._refuse()
        if self._closed:
            return None
        if self._bom:
            self._begin_line(self._bom)
        self._closed = True
        line, block = self._line, self._block
        self._truncated = line.begun or block.begun
        retry = self.retry
        if line.begun:
            block.take(*line.end())
        event = None
        if block.data is not None:
            id = self._last_event_id if block.id is None else text(block.id)
            raw = None if self._raw is None else bytes(self._raw)
            event = make_event(self._event_type(), text(block.data), id, block.retry, raw)
        self._forget()
        self._retry = retry
        return event

    def reset(self, last_event_id: str = "") -> None:
        """Begins a new stream with the same options.

        Args:
            last_event_id (str): the last event ID to start from.

        Raises:
            TypeError: last_event_id is not a str.
            ValueError: last_event_id has U+0000, CR or LF.
        """
        self._begin(check_last_event_id(last_event_id))

    def _refuse(self) -> NoReturn:
        if not self._overflow:
            raise ParserClosed
        self._raised = True
        raise self._exceeded()

    def _exceeded(self) -> BufferSizeExceeded:
        assert isinstance(self._limit, int)
        return BufferSizeExceeded(self._limit)

    # A chunk's items, parsed one by one as they are asked for

    def _continues(self, chunk: bytes) -> bool:
        """Takes in a chunk without a line end, unless there is more to do than that."""
        if self._bom is not None or self._close_look:
            return False
        self._bound += 2 * len(chunk)
        if self._bound > self._limit:
            return False
        if self._line.collects:
            self._line.value += chunk
        elif chunk:
            self._after_cr = False
            self._line.push(chunk)
        return True

    def _items(self, chunk: bytes) -> Iterator[Any]:
        """The items of a chunk. Raises Overflow where the limit is exceeded."""
        size = len(chunk)
        if self._bom is not None or size > WINDOW or not size:
            return self._windows(chunk)
        self._bound += 2 * size
        if self._bound > self._limit:
            self._bound = self._count() + 2 * size
        if self._close_look or self._bound > self._limit:
            return self._closely(chunk)

        if self._after_cr:
            self._after_cr = False
            if chunk[0] == 10:
                chunk = chunk[1:]
        if (
            chunk
            and chunk[0] in (100, 58)
            and not (self._line.begun or self._block.begun or self._filter)
        ):
            # One line and a blank one, as tokens and heartbeats come?
            line = chunk[:-2] if chunk[-2:] == b"\n\n" else chunk.removesuffix(b"\r\n\r\n")
            if 0 < len(line) < len(chunk) and 10 not in line and 13 not in line:
                if line.startswith(b"data: "):
                    data = line[6:].decode("utf-8", "replace")
                    return iter((make_event("message", data, self._last_event_id, None, None),))
                if line[0] == 58:
                    return _NOTHING
        lines = chunk.decode("latin-1")
        if 13 in chunk:
            self._after_cr = chunk[-1] == 13
            ended = chunk[-1] == 13 or chunk[-1] == 10
            lines = b"\n".join(chunk.splitlines()).decode("latin-1") + ("\n" if ended else "")
        if size > SMALL:
            return self._blocks(lines)
        return self._lines(lines.split("\n"))

    def _windows(self, chunk: bytes) -> Iterator[Any]:
        start = 0 if self._bom is None else self._skip_bom(chunk)
        for at in range(start, len(chunk), WINDOW):
            window = chunk[at : at + WINDOW]
            if 10 in window or 13 in window or not self._continues(window):
                yield from self._items(window)

    def _skip_bom(self, chunk: bytes) -> int:
        """One leading BOM is dropped, which may come in pieces. What only began like one is text,
        and counts once the byte is there that tells. Returns where the chunk goes on."""
        came = self._bom or b""
        start = came + chunk[: len(BOM) - len(came)]
        if BOM.startswith(start) and start != BOM:
            self._bom = start
            return len(chunk)
        self._bom = None
        if start == BOM:
            self._offset = self._line_offset = len(BOM)
            return len(BOM) - len(came)
        while not BOM.startswith(start):
            start = start[:-1]
        if start:
            self._begin_line(start)
        return len(start) - len(came)

    def _begin_line(self, start: bytes) -> None:
        """The first line starts with what could have been a BOM."""
        self._offset += len(start)
        if self._raw is not None:
            self._raw += start
        self._push(start)

    def _blocks(self, lines: str) -> Iterator[Any]:
        """The events of lines, mostly of whole blocks, of which most are one `data` line: that is
        what a value without LF is between two "\\n\\ndata: "."""
        if self._filter is not None:
            yield from self._lines(lines.split("\n"))
            return
        if not (self._line.begun or self._block.begun):
            lines = f"\n\n{lines}"  # two blank lines do nothing, and the first block is found too
        start, *values = lines.split("\n\ndata: ")
        if not values:
            yield from self._lines(start.split("\n"))
            return
        yield from self._lines([*start.split("\n"), "", ""])
        rest = values.pop()
        whole = rest.endswith("\n\n")
        if whole:
            values.append(rest[:-2])
        for value in values:
            if "\n" in value:
                yield from self._lines([*f"data: {value}".split("\n"), "", ""])
                continue
            event = EventSlots()
            event.event = "message"
            event.data = value if value.isascii() else utf8(value)
            event.id = self._last_event_id
            event.retry = event.raw = None
            event.__class__ = ServerSentEvent
            yield event
        if not whole:
            yield from self._lines(f"data: {rest}".split("\n"))

    def _lines(self, lines: list[str]) -> Iterator[Any]:
        """The events of whole lines and a last one that has not ended."""
        cut = lines.pop()
        if self._line.begun and lines:
            # It has ended, and so it is not blank, even if nothing more came of it.
            if lines[0]:
                self._line.push(lines[0].encode("latin-1"))
            self._block.take(*self._line.end())
            del lines[0]
        block = self._block
        said = self._said
        values: list[str] = []  # of the block's `data` lines
        for line in lines:
            if not line:
                if values or block.begun:
                    event = self._end_block(values)
                    if event is not None:
                        yield event
                    values = []
            elif line[0] == ":":  # a comment
                pass
            elif line.startswith("data: "):  # what `split` would find, sooner
                values.append(line[6:])
            else:
                field, value = said.get(line) or self._split(line)
                if field is DATA:
                    values.append(value.decode("latin-1"))
                else:
                    block.take(field, value)
        if values:
            block.add_data("\n".join(values).encode("latin-1"))
        if cut:
            self._line.push(cut.encode("latin-1"))

    def _split(self, line: str) -> tuple[Field, bytes]:
        """`split`, which remembers what servers say again and again."""
        field, value = split(line.encode("latin-1"))
        if (field is EVENT or field is RETRY) and len(line) <= SHORT:
            if len(self._said) == FEW:
                self._said.clear()
            self._said[line] = field, value
        return field, value

    def _closely(self, window: bytes) -> Iterator[Any]:
        """The items of a window, with everything told and counted: after each byte in effect, since
        the count only grows until a line ends."""
        for line in window.splitlines(keepends=True):
            content = line.rstrip(b"\r\n")
            end = line[len(content) :]
            if self._after_cr and line == b"\n":
                self._swallow()
                continue
            self._after_cr = False
            if content:
                self._offset += len(content)
                if self._raw is not None:
                    self._raw += content
                self._push(content)
                self._check()
            if not end:
                return
            self._offset += 1
            if self._line.begun:
                if self._raw is not None:
                    self._raw += end[:1]
                yield from self._end_line()
            else:
                item = self._blank_line()
                if item is not None:
                    yield item
            self._line_number += 1
            self._line_offset = self._offset
            self._after_cr = end[0] == 13
            self._check()
            if len(end) == 2:
                self._swallow()

    def _swallow(self) -> None:
        """The LF of a CRLF whose CR has ended the line."""
        self._after_cr = False
        self._offset += 1
        self._line_offset = self._offset
        # After a blank line it belongs to that one, and so to no block.
        if self._raw:
            self._raw += b"\n"
            self._check()

    # Lines

    def _push(self, piece: bytes) -> None:
        """Takes in a piece of a line."""
        if self._diagnostics:
            if self._watch is None:
                self._watch = Watch()
            self._watch.push(piece)
        self._line.push(piece)

    def _end_line(self) -> Iterator[Any]:
        """A line that is no blank one ends, with all there is to tell of it."""
        watch, self._watch = self._watch, None
        field, value = self._line.end()
        ignored = self._block.take(field, value)
        if watch is not None:
            watch.end()
            name = (field.value or b"").decode()
            if not watch.valid:
                yield self._diagnostic("invalid-utf-8", name)
            if field is UNKNOWN:
                yield self._diagnostic("unknown-field", watch.name())
            elif ignored:
                yield self._diagnostic(f"invalid-{name}")
        if field is COMMENT and self._comments:
            yield make_comment(text(value))

    def _diagnostic(self, kind: str, detail: str = "") -> Diagnostic:
        return Diagnostic(kind, self._line_number, self._line_offset, detail)

    # Blocks

    def _blank_line(self) -> Any:
        """A blank line with a close look: also at blocks that come to nothing."""
        told = self._diagnostics and self._block.has_field and self._block.data is None
        item = self._end_block([]) if self._block.begun else None
        if self._raw is not None:
            self._raw = bytearray()
        return self._diagnostic("no-data") if told else item

    def _end_block(self, values: list[str]) -> Any:
        """The end of a block, of which these `data` values have not been added: its ID becomes the
        last event ID, its data an event."""
        block = self._block
        if values and block.data is None and self._filter is None:
            data = values[0] if len(values) == 1 else "\n".join(values)
            if not data.isascii():
                data = utf8(data)
            if not block.begun:
                return make_event("message", data, self._last_event_id, None, None)
            kept = True
        else:
            if values:
                block.add_data("\n".join(values).encode("latin-1"))
            kept = False
            if block.data is not None:
                kept = self._filter is None or self._filter.keeps(self._event_type(), block.data)
                self._skipped += not kept
            data = text(block.data) if block.data is not None and kept else ""
        if block.id is not None:
            self._last_event_id = text(block.id)
        if block.retry is not None:
            self._retry = block.retry
        event = None
        if kept:
            name = self._type_text if block.event == self._type else self._event_type()
            raw = None if self._raw is None else bytes(self._raw)
            event = make_event(name, data, self._last_event_id, block.retry, raw)
        block.clear()
        return event

    def _event_type(self) -> str:
        """The block's event type; a short one is remembered, since the next is mostly the same."""
        event = self._block.event
        if event == self._type:
            return self._type_text
        name = text(event) or "message"
        if len(event) <= SHORT:
            self._type, self._type_text = bytes(event), name
        return name

    # The guard

    def _count(self) -> int:
        return self._line.count() + self._block.count() + len(self._raw or b"")

    def _check(self) -> None:
        if self._count() > self._limit:
            self._closed = self._overflow = True
            self._forget()
            raise Overflow


def _busy() -> RuntimeError:
    return RuntimeError("the parser is at work in another thread")


def text(value: bytes | bytearray) -> str:
    """What received bytes say."""
    return value.decode("utf-8", "replace")


def utf8(value: str) -> str:
    """What received bytes say that are at hand as Latin-1."""
    return value if value.isascii() else value.encode("latin-1").decode("utf-8", "replace")


def chunk_bytes(chunk: Any) -> bytes:
    """The bytes of a chunk that is not exactly `bytes`."""
    if isinstance(chunk, bytes):
        return bytes.__getitem__(chunk, slice(None))
    try:
        view = memoryview(chunk)
    except TypeError:
        raise bad_chunk(chunk) from None
    if not view.c_contiguous:
        raise bad_chunk(chunk)
    return view.tobytes()


def parse(data: Any, /, **options: Any) -> list[Any]:
    """Parses a whole body and returns its items, in stream order.

    Args:
        data (bytes | bytearray | memoryview): the body.
        **options: those of Parser; max_buffer_size defaults to None here.

    Raises:
        BufferSizeExceeded: max_buffer_size was given and exceeded.
        TypeError, ValueError: wrong data or options.

    Source: WHATWG HTML, Server-sent events, parsing an event stream.
    """
    parser = Parser(**{"max_buffer_size": None, **options})
    items = parser.feed(data)
    if parser.closed:
        parser._refuse()
    return items
