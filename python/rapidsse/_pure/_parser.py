"""The parser: an event stream interpreted line by line, across chunks.

The plan: a chunk is taken in windows, a window is cut into lines by `bytes.splitlines`, which
knows CRLF, LF and CR and nothing else. A line that lies whole in its window is taken apart at once.
A line that the network cut is held until its first bytes decide what it is; then its value is
collected, or nothing of it. Text is decoded when an item is made, since line ends and colons are
ASCII and no broken sequence can swallow one. Everything is linear in the bytes, and what is
retained is in a few byte arrays.

The guard's exact count is only taken where the limit is near: a chunk adds at most two to it for
each byte.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from types import GenericAlias
from typing import Any, ClassVar, NoReturn

from rapidsse._errors import BufferSizeExceeded, ParserClosed
from rapidsse._options import Checked, bad_chunk, check_last_event_id, check_options
from rapidsse._pure._items import (
    MAX_RETRY,
    Comment,
    CommentSlots,
    Diagnostic,
    EventSlots,
    ServerSentEvent,
)

Item = ServerSentEvent | Comment | Diagnostic

BOM = codecs.BOM_UTF8
WINDOW = 64 * 1024
FIELDS = frozenset((b"data", b"event", b"id", b"retry"))
# A line's first bytes decide what it is and where its value starts: the longest name, a colon and
# what may be the one space.
HEAD = len(b"retry: ")
# The longest name of an unknown field that is told, and what it may be made of.
NAME = 64
HARMLESS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_ ")

# The name of a comment is empty; this stands for any other that is none of the four.
COMMENT = b""
UNKNOWN = b"?"
UNDECIDED = b"\n"  # which no name has

# The fields whose values are kept as they come, and counted.
COUNTED = frozenset((b"data", b"event", b"id"))


def split(line: bytes) -> tuple[bytes, bytes]:
    """A line's name and value: the first colon splits, one space after it goes."""
    name, _, value = line.partition(b":")
    if value[:1] == b" ":
        value = value[1:]
    return name, value


def milliseconds(value: bytes | bytearray) -> int | None:
    """A `retry` value: one or more ASCII digits, else None; clamped."""
    return min(int(digits(value)), MAX_RETRY) if value.isdigit() else None


def digits(value: bytes | bytearray) -> bytes | bytearray:
    """So much of a `retry` value, or of the beginning of one, as decides what it is."""
    if len(value) < 20 and value.isdigit():
        return value
    return value.lstrip(b"0")[:20] or b"0" if value.isdigit() else value[:1] and b"?"


def unknown_name(line: bytes) -> str:
    """The name of an unknown field, if it looks like one: what lost its `data:` is payload."""
    name, colon, _ = line[: NAME + 1].partition(b":")
    return name.decode() if colon and HARMLESS.issuperset(name) else ""


class Watch:
    """What diagnostics have to know of a line that comes in pieces."""

    __slots__ = ("_decoder", "start", "valid")

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.start = b""
        self.valid = True

    def push(self, piece: bytes, *, final: bool = False) -> None:
        if len(self.start) <= NAME:
            self.start += piece[: NAME + 1 - len(self.start)]
        if self.valid:
            try:
                self._decoder.decode(piece, final)
            except UnicodeDecodeError:
                self.valid = False


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
        "_block_retry",
        "_bom",
        "_bound",
        "_closed",
        "_comments",
        "_contains",
        "_data",
        "_diagnostics",
        "_event",
        "_filtered",
        "_has_field",
        "_has_line",
        "_head",
        "_id",
        "_keep_raw",
        "_last_event_id",
        "_limit",
        "_line",
        "_line_offset",
        "_offset",
        "_overflow",
        "_partial",
        "_raised",
        "_raw",
        "_retry",
        "_skipped",
        "_truncated",
        "_type",
        "_type_text",
        "_types",
        "_value",
        "_watch",
    )

    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("type 'rapidsse.Parser' is not an acceptable base type")

    def __init__(self, **options: Any) -> None:
        self._configure(check_options(**options))

    def _configure(self, options: Checked) -> None:
        (
            last_event_id,
            self._limit,
            self._comments,
            self._diagnostics,
            self._keep_raw,
            self._types,
            self._contains,
        ) = options
        self._filtered = self._filters()
        self._begin(last_event_id)

    def _filters(self) -> bool:
        return self._types is not None or self._contains is not None

    def _begin(self, last_event_id: str) -> None:
        self._last_event_id = last_event_id
        self._retry: int | None = None
        self._skipped = 0
        self._closed = self._overflow = self._raised = self._truncated = False
        self._bom: bytes | None = b""  # what came of a BOM; None once that is settled
        self._after_cr = False
        self._bound = 0  # the guard's count is at most this
        self._line = 1  # of the line at hand: its number,
        self._line_offset = 0  # where it began,
        self._offset = 0  # and what comes next; with diagnostics only
        self._type: bytes | bytearray = b""  # the last event type, and its text
        self._type_text = "message"
        self._forget()

    def _forget(self) -> None:
        """Drops everything retained."""
        self._new_block()
        self._raw = bytearray()
        self._partial: bytes | None = None  # what the unfinished line is, UNDECIDED at first
        self._head = b""
        self._value = bytearray()
        self._watch: Watch | None = None

    def _new_block(self) -> None:
        self._data: bytes | bytearray | None = None
        self._event: bytes | bytearray = b""
        self._id: bytes | bytearray | None = None
        self._block_retry: int | None = None
        self._has_field = self._has_line = False

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
        return self._retry

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
        if self._closed:
            self._refuse()
        items: list[Any] = []
        try:
            items += self._items(chunk)
        except Overflow:
            if not items:
                self._refuse()
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
        cut = self._partial is not None
        self._truncated = cut or self._has_line or self._data is not None
        retry = self._retry
        if cut:
            self._take(*self._end_partial())
        self._retry = retry
        event: ServerSentEvent | None = None
        if self._data is not None:
            # As a blank line would, but outside the flow of events.
            last_event_id, self._filtered = self._last_event_id, False
            event = self._blank_line()
            self._last_event_id, self._filtered = last_event_id, self._filters()
        self._forget()
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
        assert self._limit is not None
        raise BufferSizeExceeded(self._limit)

    # A chunk's items

    def _items(self, chunk: bytes) -> Iterator[Any]:
        """The items of a chunk, parsed one by one. Raises Overflow where the limit is exceeded."""
        length = len(chunk)
        careful = self._comments or self._diagnostics or self._keep_raw
        limit = self._limit
        if limit is not None:
            # Each byte adds at most two to the count: one to a value or between two `data` lines,
            # one to the raw bytes.
            self._bound += 2 * length
            if self._bound > limit:
                self._bound = self._count() + 2 * length
                careful = careful or self._bound > limit
        at = 0 if self._bom is None else self._skip_bom(chunk)
        if at == length:
            return iter(())
        if careful or at or length > WINDOW:
            return self._windows(chunk, at, self._carefully if careful else self._lines)
        return self._lines(chunk)

    def _windows(
        self, chunk: bytes, at: int, parse: Callable[[bytes], Iterator[Any]]
    ) -> Iterator[Any]:
        try:
            for start in range(at, len(chunk), WINDOW):
                yield from parse(chunk[start : start + WINDOW])
        except Overflow:
            self._closed = self._overflow = True
            self._forget()
            raise

    def _skip_bom(self, chunk: bytes) -> int:
        """One leading BOM is dropped, which may come in pieces. What only began like one is text.
        Returns where the chunk goes on."""
        came = self._bom or b""
        start = came + chunk[: len(BOM) - len(came)]
        if BOM.startswith(start) and start != BOM:
            self._bom = start
            return len(chunk)
        self._bom = None
        if start == BOM:
            self._offset = len(BOM)
            return len(BOM) - len(came)
        if came:
            self._begin_line(came)
        return 0

    def _begin_line(self, start: bytes) -> None:
        """The first line starts with what could have been a BOM."""
        self._offset += len(start)
        if self._keep_raw:
            self._raw += start
        self._push(start)

    def _lines(self, window: bytes) -> Iterator[Any]:
        """The items of a window of which nothing but events is told and nothing counted."""
        if self._after_cr and window[0] == 10:
            window = window[1:]
            if not window:
                self._after_cr = False
                return
        last = window[-1]
        self._after_cr = last == 13
        lines = window.splitlines()
        rest = None if last in b"\r\n" else lines.pop()
        if self._partial is not None and lines:
            self._push(lines[0])
            self._take(*self._end_partial())
            del lines[0]
        for line in lines:
            if line.startswith(b"data: "):  # what `split` would find, sooner
                if self._data is None:
                    self._data = line[6:]
                else:
                    self._add_data(line[6:])
            elif not line:
                event = self._blank_line()
                if event is not None:
                    yield event
            elif line[0] != 58:  # no comment
                name, value = split(line)
                self._take(name, value)
        if rest is not None:
            self._push(rest)

    def _carefully(self, window: bytes) -> Iterator[Any]:
        """The items of a window, with everything told and counted: after each byte in effect, since
        the count only grows until a line ends."""
        for line in window.splitlines(keepends=True):
            content = line.rstrip(b"\r\n")
            end = line[len(content) :]
            if self._after_cr and line == b"\n":
                self._swallow()
                continue
            self._after_cr = False
            if self._partial is None:
                self._line_offset = self._offset
            if content:
                self._offset += len(content)
                if self._keep_raw:
                    self._raw += content
                self._push(content)
                self._check()
            if not end:
                return
            self._offset += 1
            if self._partial is not None:
                if self._keep_raw:
                    self._raw += end[:1]
                yield from self._end_line()
            else:
                item = self._blank_line()
                if item is not None:
                    yield item
            self._line += 1
            self._after_cr = end[0] == 13
            self._check()
            if len(end) == 2:
                self._swallow()

    def _swallow(self) -> None:
        """The LF of a CRLF whose CR has ended the line."""
        self._after_cr = False
        self._offset += 1
        # After a blank line it belongs to that one, and so to no block.
        if self._raw:
            self._raw += b"\n"
            self._check()

    # Lines

    def _push(self, piece: bytes) -> None:
        """Takes in a piece of a line that has not ended."""
        if self._diagnostics:
            if self._watch is None:
                self._watch = Watch()
            self._watch.push(piece)
        value: bytes | bytearray = piece
        if self._partial is None or self._partial == UNDECIDED:
            head = self._head + piece
            if len(head) < HEAD:
                self._partial, self._head = UNDECIDED, head
                return
            self._head = b""
            name, value = split(head)
            self._partial = name if name in FIELDS else UNKNOWN if name else COMMENT
        if self._partial == b"retry":
            self._value = bytearray(digits(self._value + value))
        elif self._counts(self._partial):
            self._value += value

    def _end_partial(self) -> tuple[bytes, bytes | bytearray]:
        """The unfinished line ends: its name and value."""
        name: bytes | None
        value: bytes | bytearray
        name, value = self._partial, self._value
        if name == UNDECIDED:
            name, value = split(self._head)
            self._head = b""
        else:
            self._value = bytearray()
        self._partial = None
        return name or COMMENT, value

    def _take(self, name: bytes, value: bytes | bytearray) -> bool:
        """A line takes effect. Returns whether the standard ignores its value."""
        if name == b"data":
            if self._data is None:
                self._data = value
            else:
                self._add_data(value)
            return False
        if name == COMMENT:
            return False
        self._has_line = True
        if name == b"event":
            self._event = value
            self._has_field = True
        elif name == b"id":
            self._has_field = True
            if 0 in value:
                return True
            self._id = value
        elif name == b"retry":
            self._has_field = True
            retry = milliseconds(value)
            if retry is None:
                return True
            self._retry = self._block_retry = retry
        return False

    def _add_data(self, value: bytes | bytearray) -> None:
        if not isinstance(self._data, bytearray):
            self._data = bytearray(self._data or b"")
        self._data += b"\n"
        self._data += value

    def _end_line(self) -> Iterator[Any]:
        """A line that is no blank one ends, with all there is to tell of it."""
        watch, self._watch = self._watch, None
        name, value = self._end_partial()
        ignored = self._take(name, value)
        if watch is not None:
            watch.push(b"", final=True)
            if not watch.valid:
                yield self._diagnostic("invalid-utf-8", name.decode() if name in FIELDS else "")
            if name not in FIELDS and name != COMMENT:
                yield self._diagnostic("unknown-field", unknown_name(watch.start))
            elif ignored:
                yield self._diagnostic(f"invalid-{name.decode()}")
        if name == COMMENT and self._comments:
            comment = CommentSlots()
            comment.text = value.decode("utf-8", "replace")
            comment.__class__ = Comment
            yield comment

    # Blocks

    def _blank_line(self) -> Any:
        """The end of a block: its ID becomes the last event ID, its data an event."""
        item: Any = None
        data = self._data
        if self._id is not None:
            self._last_event_id = self._id.decode("utf-8", "replace")
        if data is None:
            if self._diagnostics and self._has_field:
                item = self._diagnostic("no-data")
        else:
            if self._event != self._type:
                self._type = bytes(self._event)
                self._type_text = self._type.decode("utf-8", "replace") or "message"
            if self._filtered and not self._keeps(data):
                self._skipped += 1
            else:
                item = EventSlots()
                item.event = self._type_text
                item.data = data.decode("utf-8", "replace")
                item.id = self._last_event_id
                item.retry = self._block_retry
                item.raw = bytes(self._raw) if self._keep_raw else None
                item.__class__ = ServerSentEvent
            self._data = None
        if self._has_line:
            self._new_block()
        if self._keep_raw:
            self._raw = bytearray()
        return item

    def _keeps(self, data: bytes | bytearray) -> bool:
        if self._types is not None and self._type_text in self._types:
            return True
        return self._contains is not None and any(needle in data for needle in self._contains)

    def _diagnostic(self, kind: str, detail: str = "") -> Diagnostic:
        return Diagnostic(kind, self._line, self._line_offset, detail)

    # The guard

    def _counts(self, name: bytes) -> bool:
        """Whether the value of an unfinished line is kept, and so counted."""
        return name in COUNTED or (name == COMMENT and self._comments)

    def _count(self) -> int:
        count = len(self._data or b"") + len(self._event) + len(self._id or b"") + len(self._raw)
        name: bytes | None
        value: bytes | bytearray
        name, value = self._partial, self._value
        if name is None:
            return count
        if name == UNDECIDED:
            name, value = split(self._head)
        return count + len(value) if self._counts(name) else count

    def _check(self) -> None:
        if self._limit is not None and self._count() > self._limit:
            raise Overflow


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
