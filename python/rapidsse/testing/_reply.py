"""How a stream is served, with the network's faults: what a replay server sends, and when.

A plan, with no I/O: the stream is cut into pieces, and each piece has its time.
"""

from __future__ import annotations

import itertools
import random
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import rapidsse

Cut = Literal["reset", "close", "end", "garbage"]
Framing = Literal["chunked", "length", "close"]
LineEnding = Literal["lf", "crlf", "cr"]

_BOM = b"\xef\xbb\xbf"
_ENDINGS = {"lf": b"\n", "crlf": b"\r\n", "cr": b"\r"}
_ENDING = re.compile(rb"\r\n|\n|\r")
# A CR that an LF follows is no line ending of its own.
_BLANK = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)")
_LONGEST_RANDOM = 64  # bytes


class Piece(NamedTuple):
    """What is sent at once.

    Attributes:
        data (bytes): the bytes.
        pause (float): the seconds to wait before it, counted from the piece before.
        at (float | None): the seconds from the response's beginning at which it is due, in
            place of `pause`.
        between (bool): whether it ends between two blocks, where a comment does no harm.
    """

    data: bytes
    pause: float
    at: float | None
    between: bool


@dataclass(frozen=True)
class Reply:
    """How one response is sent: whole and at once, unless faults are ordered.

    Attributes:
        data (bytes | None): the body; None for the server's own.
        status (int): the HTTP status code.
        content_type (str | None): the media type; None to send none.
        headers (Sequence[tuple[str, str]]): further headers.
        chunk (int | str): what is sent at once: a number of bytes, "event", "whole", or
            "random:SEED" for 1 to 64 bytes, the same for the same seed.
        delay (float): the pause between two chunks, in seconds.
        heartbeat (float | None): send a comment after so many seconds of silence between two
            events, during delays and stalls.
        cut_at (int | str | None): end the response before this byte of the body as it is sent,
            or before this share of it, as "50%".
        cut (str): how: "reset" the connection, "close" it without the end of the body, "end" the
            response as if it were whole, or send "garbage" that breaks the chunked encoding.
        stall_at (int | str | None): send nothing more from this byte or share on, and keep the
            connection open until the client leaves.
        gzip (bool): compress the body, with each chunk flushed.
        eol (str | None): "lf", "crlf" or "cr" in place of the stream's own line endings.
        bom (bool): begin with a BOM.
        framing (str): how the body's end is told: "chunked", by its "length", or by "close".
        length_error (int): add this to the content-length that is declared; needs "length".
        resume (bool): to a request with Last-Event-ID, send what follows the event with that ID.
        timing (Sequence[tuple[float, int]] | None): the chunks as they once came: the seconds
            from the beginning and the number of bytes; in place of `chunk` and `delay`.

    Raises:
        ValueError: a value is out of its range, or two do not go together.
    """

    data: bytes | None = None
    status: int = 200
    content_type: str | None = "text/event-stream"
    headers: Sequence[tuple[str, str]] = ()
    chunk: int | str = "whole"
    delay: float = 0.0
    heartbeat: float | None = None
    cut_at: int | str | None = None
    cut: Cut = "reset"
    stall_at: int | str | None = None
    gzip: bool = False
    eol: LineEnding | None = None
    bom: bool = False
    framing: Framing = "chunked"
    length_error: int = 0
    resume: bool = False
    timing: Sequence[tuple[float, int]] | None = None

    def __post_init__(self) -> None:
        if not 200 <= self.status <= 599:
            raise ValueError("status must be between 200 and 599")
        for name, number in (("delay", self.delay), ("heartbeat", self.heartbeat)):
            if number is not None and not 0 <= number < float("inf"):
                raise ValueError(f"{name} must be a number of seconds")
        if self.heartbeat == 0:
            raise ValueError("heartbeat must be above 0")
        for name, choice, choices in (
            ("cut", self.cut, ("reset", "close", "end", "garbage")),
            ("framing", self.framing, ("chunked", "length", "close")),
            ("eol", self.eol, (None, *_ENDINGS)),
        ):
            if choice not in choices:
                raise ValueError(f"{name} must be one of {', '.join(map(str, choices))}")
        for name, place in (("cut_at", self.cut_at), ("stall_at", self.stall_at)):
            if place is not None:
                _offset(name, place, 0)
        self._sizes(b"")
        if self.cut_at is not None and self.cut == "garbage" and self.framing != "chunked":
            raise ValueError('cut="garbage" needs framing="chunked"')
        if self.length_error and self.framing != "length":
            raise ValueError('length_error needs framing="length"')
        if self.heartbeat is not None and self.framing == "length":
            raise ValueError('heartbeat does not go with framing="length"')
        if self.timing is not None and (
            self.chunk != "whole" or self.delay or self.eol or self.bom or self.resume
        ):
            raise ValueError("timing does not go with chunk, delay, eol, bom or resume")
        for name, value in self.headers:
            if re.search(r"[\r\n\x00]", name + value) or not name.isascii():
                raise ValueError("a header must be of one line")

    def body(self, data: bytes, last_event_id: str = "") -> bytes:
        """The stream to be sent, before compression."""
        data = data if self.data is None else self.data
        if self.resume and last_event_id:
            data = _after(data, last_event_id)
        if self.eol is not None:
            data = _ENDING.sub(_ENDINGS[self.eol], data)
        if self.bom and not data.startswith(_BOM):
            data = _BOM + data
        return data

    def pieces(self, body: bytes) -> Iterator[Piece]:
        """The body in pieces, each with its time.

        Raises:
            ValueError: the timing is that of another stream.
        """
        if self.timing is not None:
            if sum(size for _, size in self.timing) != len(body):
                raise ValueError("the timing is that of another stream")
            start = 0
            for at, size in self.timing:
                stop = start + size
                yield Piece(body[start:stop], 0.0, at, _is_between(body, stop))
                start = stop
            return
        start = 0
        for size in self._sizes(body):
            if start >= len(body):
                return
            stop = min(start + size, len(body))
            yield Piece(
                body[start:stop], self.delay if start else 0.0, None, _is_between(body, stop)
            )
            start = stop

    def length(self, body: bytes) -> int:
        """The bytes of the body as it is sent, less any heartbeats."""
        if not self.gzip:
            return len(body)
        encoder = Encoder(gzip=True)
        return sum(len(encoder.encode(piece.data)) for piece in self.pieces(body)) + len(
            encoder.finish()
        )

    def place(self, name: Literal["cut_at", "stall_at"], body: bytes) -> int | None:
        """The byte of the body as it is sent before which it is cut or stalls."""
        place = self.cut_at if name == "cut_at" else self.stall_at
        return None if place is None else _offset(name, place, self.length(body))

    def _sizes(self, body: bytes) -> Iterator[int]:
        """How many bytes each piece takes; more of them than the body needs do no harm."""
        chunk = self.chunk
        if chunk == "whole":
            return iter((len(body),))
        if chunk == "event":
            edges = itertools.chain((0,), (each.end() for each in _BLANK.finditer(body)))
            return (stop - start for start, stop in _pairs(edges, len(body)))
        if isinstance(chunk, int) and not isinstance(chunk, bool) and chunk > 0:
            return itertools.repeat(chunk)
        name, _, seed = str(chunk).partition(":")
        if name == "random" and seed:
            source = random.Random(seed)
            return (source.randint(1, _LONGEST_RANDOM) for _ in itertools.count())
        raise ValueError('chunk must be a number of bytes, "event", "whole" or "random:SEED"')


class Encoder:
    """The content coding of a body, flushed at each piece."""

    def __init__(self, *, gzip: bool) -> None:
        # 16 and more: with gzip's header, which holds no time here and so is always the same.
        self._gzip = zlib.compressobj(wbits=16 + zlib.MAX_WBITS) if gzip else None

    def encode(self, data: bytes) -> bytes:
        if self._gzip is None:
            return data
        return self._gzip.compress(data) + self._gzip.flush(zlib.Z_SYNC_FLUSH)

    def finish(self) -> bytes:
        return b"" if self._gzip is None else self._gzip.flush()


def _pairs(edges: Iterator[int], end: int) -> Iterator[tuple[int, int]]:
    """Neighbours, the last of them with the end."""
    return itertools.pairwise(itertools.chain(edges, (end,)))


def _is_between(body: bytes, stop: int) -> bool:
    """Whether a blank line ends at `stop`, or nothing has been sent."""
    last = body[max(stop - 4, 0) : stop]
    return not last or any(each.end() == len(last) for each in _BLANK.finditer(last))


def _offset(name: str, place: int | str, length: int) -> int:
    """A place given in bytes or as a share."""
    if isinstance(place, str) and place.endswith("%"):
        try:
            share = float(place[:-1])
        except ValueError:
            share = -1.0
        if 0 <= share <= 100:
            return int(length * share / 100)
    elif isinstance(place, int) and not isinstance(place, bool) and place >= 0:
        return place
    raise ValueError(f'{name} must be a number of bytes or a share as "50%"')


def _after(data: bytes, last_event_id: str) -> bytes:
    """What follows the block that set the ID; everything if none did."""
    parser = rapidsse.Parser(max_buffer_size=None)
    start = 0
    before = ""
    for found in _BLANK.finditer(data):
        parser.feed(data[start : found.end()])
        start = found.end()
        if parser.last_event_id == last_event_id != before:
            return data[start:]
        before = parser.last_event_id
    return data
