"""The parser: an event stream interpreted, across chunks.

A byte's way: a chunk is taken in windows, a window is cut into blocks, a line is a `_field`; what
the network cut waits as it is while it is short; a long block waits in `_line` and `_block`.

The plan: what is at stake is the cost per event, so as much as possible is done for all blocks that
a window completes by a few calls of `bytes` and `str` methods. They are decoded at once, and a
split at "\\ndata: " gives the `data` values, each with the lines that follow it. Those lines are
mostly a blank one and the next block's event type, the same again and again, so what they say is
remembered. Lines that say more go to the block one by one. That the text is decoded before it is
cut changes nothing: line ends and colons are ASCII, and no broken sequence can swallow one.

A window and what waits before it are together no larger than the guard's limit, which therefore
only a long block can exceed. When that could be, or comments, diagnostics or raw bytes are to be
told, a window is taken `_closely` instead: each line with its ending, and counted.

Everything is linear in the bytes. What is retained is in a few byte arrays.
"""

from __future__ import annotations

import codecs
import math
from collections.abc import Generator, Iterable, Iterator
from types import GenericAlias
from typing import Any, ClassVar, NoReturn

from rapidsse._errors import BufferSizeExceeded, ParserClosed
from rapidsse._options import Checked, bad_chunk, check_last_event_id, check_options
from rapidsse._pure._block import Block
from rapidsse._pure._diagnostics import Watch
from rapidsse._pure._field import COMMENT, EVENT, RETRY, UNKNOWN, Field, split
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

# The most that waits for the end of its block as it is.
WAITING = 8 * 1024
# What waits grows in place if it is longer than this.
GROWS = 1024
# What is short enough to be remembered, and of how much: servers repeat themselves.
SHORT = 256
FEW = 32


class Overflow(Exception):
    """The guard's limit is exceeded."""


class Refused(Exception):
    """A chunk is none; the cause says why."""


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
        "_careful",
        "_close_look",
        "_closed",
        "_comments",
        "_diagnostics",
        "_filter",
        "_first",
        "_following",
        "_inside",
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
        "_room",
        "_said",
        "_skipped",
        "_swallows",
        "_truncated",
        "_turn",
        "_type",
        "_type_text",
        "_waiting",
        "_waiting_limit",
        "_waiting_room",
        "_watch",
        "_window",
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
        # The most that waits, and the most that is taken in at once.
        most = WAITING + WINDOW if limit is None else limit
        self._waiting_limit = min(WAITING, most // 2)
        self._window = min(WINDOW, most - self._waiting_limit)
        # Lines between two `data` lines that end a block and say at most the event type of the next
        # one: that type. And the same lines at the start of a chunk.
        self._following = {"": "message", "\n": "message"}
        self._first = {b"": "message"}
        self._said: dict[bytes, tuple[Field, bytes]] = {}  # lines that were split
        # Deleted by the thread that feeds: of two that do so at once, one fails.
        self._turn = True
        self._begin(last_event_id)

    def _begin(self, last_event_id: str) -> None:
        self._last_event_id = last_event_id
        self._retry: int | None = None  # as of the last blank line
        self._block.retry = None
        self._waiting: bytes | bytearray = b"\n"  # lines of the block, and the LF before them
        self._skipped = 0
        self._closed = self._overflow = self._raised = self._truncated = False
        self._bom: bytes | None = b""  # what came of a BOM; None once that is settled
        self._careful = True  # chunks are not simply taken in
        self._waiting_room = 0  # so much may wait just now
        self._swallows = False  # the last chunk ended with CR
        self._after_cr = False  # the same, for a close look
        self._room: float = 0  # so many bytes of a long block cannot exceed the limit
        self._line_number = 1  # of the line at hand: its number,
        self._line_offset = 0  # where it began,
        self._offset = 0  # and what comes next; with a close look only
        self._type = b""  # the last event type, and its text
        self._type_text = "message"
        self._forget()

    def _forget(self) -> None:
        """Drops everything retained."""
        self._retry = self.retry
        self._waiting = b"\n"
        self._inside = False  # the block is in `_line` and `_block` instead
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
        retry = self._held()[1].retry
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
            if not self._goes_on(chunk):
                items += self._run((chunk,))
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
        self._shut()
        line, block = self._held()
        self._truncated = line.begun or block.begun
        retry = self.retry
        if line.begun:
            block.take(*line.end())
        event = None
        if block.data is not None:
            id = self._last_event_id if block.id is None else text(block.id)
            raw = None if self._raw is None else bytes(self._raw)
            event = make_event(self._event_type(block), text(block.data), id, block.retry, raw)
        self._forget()
        self._retry = retry
        return event

    def _shut(self) -> None:
        """Takes nothing more in."""
        self._closed = self._careful = True
        self._room = self._waiting_room = 0

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

    # Items, parsed one by one as they are asked for

    def _run(self, chunks: Iterable[Any]) -> Iterator[Any]:
        """The items of chunks. Raises Overflow where the limit is exceeded."""
        first, following = self._first, self._following
        line, block = self._line, self._block
        keeps = None if self._filter is None else self._filter.keeps
        for chunk in chunks:
            if type(chunk) is bytes and 10 not in chunk and 13 not in chunk:
                # As in `_goes_on`; a call for each of many small chunks would show.
                if line.collects:
                    if len(chunk) < self._room:
                        line.value += chunk
                        self._room -= len(chunk)
                        continue
                elif len(self._waiting) + len(chunk) <= self._waiting_room and not self._swallows:
                    self._waiting += chunk
                    continue
            if self._careful or type(chunk) is not bytes or len(chunk) > self._window:
                if self._closed:
                    return
                for piece in self._windows(chunk):
                    yield from self._closely(piece) if self._close_look else self._run((piece,))
                continue
            waiting = self._waiting
            if (
                chunk[-1:] == b"\n"
                and len(waiting) == 1
                and keeps is None
                and not (self._inside or self._swallows)
            ):  # a chunk that is one event, as tokens come, or one comment, as heartbeats do?
                start, found, rest = chunk.partition(b"data: ")
                event = first.get(start)
                received, _, rest = rest.partition(b"\n")
                if rest == b"\r\n" and received.endswith(b"\r"):
                    received, rest = received[:-1], b"\n"
                if rest == b"\n" and 13 not in received:
                    value = received.decode("utf-8", "replace")
                    if event is not None:
                        yield make_event(event, value, self._last_event_id, None, None)
                        continue
                    before = start.split(b"\n")
                    if not before.pop() and b"" not in before and 13 not in start:
                        if self._take(before) and len(start) <= SHORT:
                            remember(first, start, self._event_type(block))
                        yield self._end_block(value)
                        continue
                elif event is not None and not found and chunk.endswith(b"\n\n"):
                    continue
            if self._swallows or 13 in chunk:
                chunk = self._line_feeds(chunk)
            if self._inside:
                chunk = yield from self._go_on(chunk)
                if not chunk:
                    continue
            end = chunk.rfind(b"\n\n") + 2 if 10 in chunk else 1
            if end == 1 and not (chunk[:1] == b"\n" and waiting[-1] == 10):
                # The block goes on.
                if len(waiting) + len(chunk) <= self._waiting_room:
                    if len(waiting) > GROWS and type(waiting) is bytes:
                        waiting = bytearray(waiting)
                    waiting += chunk
                    self._waiting = waiting
                elif chunk:
                    self._settle()
                    yield from self._go_on(chunk)
                continue
            left = b"\n"
            if end < len(chunk):
                chunk, left = chunk[:end], chunk[end - 1 :]
            window = waiting + chunk
            self._waiting = b"\n"
            try:
                lines = window.decode()
            except UnicodeDecodeError:
                if keeps is not None:
                    yield from self._closely(bytes(window[1:]))
                    self._waiting = left
                    continue
                lines = text(window)
            if len(lines) > GROWS and keeps is None and lines.startswith("\ndata: "):
                # Blocks of one `data` line each? Then there are no more line ends than these.
                values = lines[7:-2].split("\n\ndata: ")
                if lines.count("\n") == 2 * len(values) + 1:
                    for value in values:
                        made = EventSlots()
                        made.event = "message"
                        made.data = value
                        made.id = self._last_event_id
                        made.retry = made.raw = None
                        made.__class__ = ServerSentEvent
                        yield made
                    self._waiting = left
                    continue
            values = lines.split("\ndata: ")
            between = values.pop(0)
            event = following.get(between)
            if event is None:
                event = yield from self._between(between)
            several: list[str] = []  # values of the block, but for the last one
            for value in values:
                value, ended, between = value.partition("\n")
                if not ended:
                    several.append(value)
                    continue
                if several:
                    several.append(value)
                    value = "\n".join(several)
                    several = []
                next_event = following.get(between)
                if next_event is None and between[0] != "\n":  # the block goes on
                    if event is not None:
                        block.take(EVENT, event.encode())
                    block.add_data(value.encode())
                elif event is None:
                    item = self._end_block(value)
                    if item is not None:
                        yield item
                elif keeps is None or keeps(event, value.encode()):
                    yield make_event(event, value, self._last_event_id, None, None)
                else:
                    self._skipped += 1
                event = next_event
                if event is None:
                    event = yield from self._between(between)
            self._waiting = left

    def _goes_on(self, chunk: bytes) -> bool:
        """Takes in a chunk that is but more of a long value, or of what waits, if it is."""
        if 10 in chunk or 13 in chunk:
            return False
        if self._line.collects:
            if len(chunk) < self._room:
                self._line.value += chunk
                self._room -= len(chunk)
                return True
        elif len(self._waiting) + len(chunk) <= self._waiting_room and not self._swallows:
            self._waiting += chunk
            return True
        return False

    def _between(self, lines: str) -> Generator[Any, None, str | None]:
        """Takes in lines between two `data` lines. Returns the type of the event that the next one
        is of, or None if more has been said of it, which is in the block then."""
        block = self._block
        simple = lines[0] == "\n"
        whole: list[bytes] = []
        for line in lines.encode().split(b"\n"):
            if line:
                whole.append(line)
                continue
            if whole:
                simple = self._take(whole) and simple
                whole = []
            if block.begun:
                item = self._end_block()
                if item is not None:
                    yield item
        simple = self._take(whole) and simple
        if not simple:
            return None if block.begun else "message"
        event = self._event_type(block)
        block.clear()
        if len(lines) <= SHORT:
            remember(self._following, lines, event)
            start = lines[1:] if lines.endswith("\n\n") else f"{lines[1:]}\n"
            remember(self._first, start.encode(), event)
        return event

    def _take(self, lines: list[bytes]) -> bool:
        """Takes in lines of the block. Returns whether they say at most an event type."""
        block, said = self._block, self._said
        simple = True
        for line in lines:
            if line[0] != 58:
                known = said.get(line)
                if known is None:
                    known = field, _ = split(line)
                    if (field is EVENT or field is RETRY) and len(line) <= SHORT:
                        remember(said, line, known)
                field, value = known
                block.take(field, value)
                if field is not EVENT:
                    simple = False
        return simple

    def _windows(self, chunk: Any) -> Iterator[bytes]:
        """A chunk in pieces of the right size, less the BOM."""
        if type(chunk) is not bytes:
            try:
                chunk = chunk_bytes(chunk)
            except Exception as error:
                raise Refused from error
        for at in range(0, len(chunk), self._window):
            window = chunk[at : at + self._window]
            if self._bom is not None:
                window = self._skip_bom(window)
            if window:
                yield window

    def _skip_bom(self, chunk: bytes) -> bytes:
        """One leading BOM is dropped, which may come in pieces. What only began like one is text,
        and counts once the byte is there that tells."""
        assert self._bom is not None
        chunk = self._bom + chunk
        if len(chunk) < len(BOM) and BOM.startswith(chunk):
            self._bom = chunk
            return b""
        self._bom = None
        self._careful = self._close_look
        self._waiting_room = 0 if self._close_look else self._waiting_limit
        if chunk.startswith(BOM):
            self._offset = self._line_offset = len(BOM)
            return chunk[len(BOM) :]
        start = b""
        if self._close_look:
            start = chunk[: len(BOM) - 1]
            while not BOM.startswith(start):
                start = start[:-1]
            if start:
                self._begin_line(start)
        return chunk[len(start) :]

    def _begin_line(self, start: bytes) -> None:
        """The first line starts with what could have been a BOM."""
        self._offset += len(start)
        if self._raw is not None:
            self._raw += start
        self._push(start)

    def _line_feeds(self, chunk: bytes) -> bytes:
        """A chunk with LF for every line end."""
        if not chunk:
            return chunk
        if self._swallows and chunk[0] == 10:
            chunk = chunk[1:]
        self._swallows = chunk.endswith(b"\r")
        if 13 not in chunk:
            return chunk
        if len(chunk) <= SHORT:  # faster there, but slower for a long one
            return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = chunk.splitlines()
        if chunk[-1] == 10 or chunk[-1] == 13:
            lines.append(b"")
        return b"\n".join(lines)

    # A long block

    def _held(self) -> tuple[Line, Block]:
        """What has come of the block."""
        line, block = self._line, self._block
        if len(self._waiting) > 1:
            line, block = Line(comments=False), Block()
            replay(self._waiting, line, block)
        return line, block

    def _settle(self) -> None:
        """What waits has become long: from now on it is taken in line by line."""
        replay(self._waiting, self._line, self._block)
        self._waiting = b"\n"
        self._waiting_room = 0
        self._room = 0

    def _go_on(self, chunk: bytes) -> Generator[Any, None, bytes]:
        """Takes in so much of a chunk as belongs to the block. Returns the rest."""
        line, block = self._line, self._block
        self._room -= len(chunk)
        if self._room < 0:
            self._room = self._limit - self._count() - len(chunk)
            if self._room < 0:
                yield from self._closely(chunk)
                self._look_inside()
                return b""
        if line.begun or 10 not in chunk:
            piece, ended, chunk = chunk.partition(b"\n")
            if piece:
                line.push(piece)
            if not ended:
                self._inside = True
                return b""
            block.take(*line.end())
        lines, ended, rest = (b"\n" + chunk).partition(b"\n\n")
        replay(lines + ended[:1], line, block)
        if ended:
            item = self._end_block()
            if item is not None:
                yield item
        self._look_inside()
        return rest

    def _look_inside(self) -> None:
        """Whether the block, after something of it has been taken in, is a long one still."""
        self._inside = self._line.begun or self._block.begun
        self._waiting_room = 0 if self._inside else self._waiting_limit

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
        item = self._end_block() if self._block.begun else None
        if self._raw is not None:
            self._raw = bytearray()
        return self._diagnostic("no-data") if told else item

    def _end_block(self, value: str | None = None) -> Any:
        """The end of a block, the last `data` value of which may be still to come: its ID becomes
        the last event ID, its data an event."""
        block = self._block
        received = block.data
        if value is not None and (received is not None or self._filter is not None):
            block.add_data(value.encode())
            received, value = block.data, None
        if block.id is not None:
            self._last_event_id = block.id.decode("utf-8", "replace")
        if block.retry is not None:
            self._retry = block.retry
        made = None
        if value is not None or received is not None:
            event = self._type_text if block.event == self._type else self._event_type(block)
            if self._filter is None or self._filter.keeps(event, received or b""):
                data = text(received or b"") if value is None else value
                raw = None if self._raw is None else bytes(self._raw)
                made = make_event(event, data, self._last_event_id, block.retry, raw)
            else:
                self._skipped += 1
        block.clear()
        return made

    def _event_type(self, block: Block) -> str:
        """The block's event type; a short one is remembered, since the next is mostly the same."""
        event = block.event
        if event == self._type:
            return self._type_text
        name = text(event) or "message"
        if len(event) <= SHORT:
            self._type, self._type_text = bytes(event), name
        return name

    # The guard

    def _count(self) -> int:
        line, block = self._held()
        return line.count() + block.count() + len(self._raw or b"")

    def _check(self) -> None:
        if self._count() > self._limit:
            self._shut()
            self._overflow = True
            self._forget()
            raise Overflow


def _busy() -> RuntimeError:
    return RuntimeError("the parser is at work in another thread")


def remember(known: dict[Any, Any], key: Any, value: Any) -> None:
    """Remembers something. Of what has become too much, two are kept, which were there first."""
    if len(known) == FEW:
        for old in [*known][2:]:
            del known[old]
    known[key] = value


def text(value: bytes | bytearray) -> str:
    """What received bytes say."""
    return value.decode("utf-8", "replace")


def replay(lines: bytes | bytearray, line: Line, block: Block) -> None:
    """Takes in lines of a block, of which the last has not ended; they begin with LF."""
    *whole, cut = bytes(lines[1:]).split(b"\n")
    for one in whole:
        block.take(*split(one))
    if cut:
        line.push(cut)


def chunk_bytes(chunk: Any) -> bytes:
    """The bytes of a chunk that is not exactly `bytes`."""
    if isinstance(chunk, bytes):
        return bytes.__getitem__(chunk, slice(None))
    try:
        view = memoryview(chunk)
    except TypeError:
        raise bad_chunk(chunk) from None
    with view:  # let go now: not every interpreter counts references
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
