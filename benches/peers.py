"""The parsers that are measured, each behind the same two calls.

`Parser.run(chunks)` is what is timed: a loop that visits every event and reads its text, and
returns their number. `Parser.check(stream)` compares every event with what the generator of the
shape says it holds; a parser that gets them wrong is marked and is no measure for us.

Peers are met at the door their own clients use, with the network taken away: a response that
hands out ready-made chunks. What a client does before that (sockets, TLS, decompression) is not
counted for anyone. Where a peer wants text, it is decoded the way its client does, which counts,
as decoding counts for everyone else.
"""

from __future__ import annotations

import codecs
import importlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from shapes import Expected, Stream

Chunks = list[bytes]
View = Callable[[Any], tuple[Any, ...]]

# A quadratic parser touches about (event size)^2 / (chunk size) bytes; above this many it is not
# run, so that a run ends.
QUADRATIC_LIMIT = 2_000_000_000


@dataclass(frozen=True)
class Parser:
    """One way to parse, ready to be timed.

    Args:
        name: as it is shown.
        package: the distribution it comes from, for its version.
        open: chunks to an iterator of events.
        view: an event to (event, data, id); ours add retry.
        loop: visits the events; the plain one unless the parser's own door needs another.
        quadratic: copies or searches again what it already had, with every chunk.
        note: what to know about the door that was taken.
    """

    name: str
    package: str
    open: Callable[[Any], Any]
    view: View
    loop: Callable[[Any], int] | None = None
    quadratic: bool = False
    note: str = ""

    @property
    def version(self) -> str:
        if not self.package:
            return ""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return ""

    def run(self, chunks: Iterable[bytes]) -> int:
        return (self.loop or visit)(self.open(chunks))

    def too_slow(self, stream: Stream) -> bool:
        """Whether a quadratic parser would not be done with this stream in a few seconds."""
        longest = max(len(event.data) for event in stream.events)
        chunk = stream.size / len(stream.chunks)
        return self.quadratic and longest / chunk * longest > QUADRATIC_LIMIT

    def check(self, stream: Stream) -> str:
        """An empty string if all events are right, else what is wrong with the first bad one."""
        got: list[tuple[Any, ...]] = []
        try:
            collect(self.open(stream.chunks), lambda item: got.append(self.view(item)))
        except Exception as error:  # a peer may fail in any way; that is the finding
            return f"{type(error).__name__} after {len(got)} of {len(stream.events)} events"
        return compare(got, stream.events)


def compare(got: list[tuple[Any, ...]], expected: list[Expected]) -> str:
    """What is wrong with `got`, or an empty string."""
    for number, (ours, right) in enumerate(zip(got, expected, strict=False)):
        for name, value, want in zip(Expected._fields, ours, right, strict=False):
            if value != want:
                return f"wrong {name} in event {number}"
    if len(got) != len(expected):
        return f"{len(got)} events instead of {len(expected)}"
    return ""


# The loops. All do the same: every event is visited, its text is read, and they are counted.


def visit(events: Iterable[Any]) -> int:
    count = 0
    for event in events:
        event.data  # noqa: B018
        count += 1
    return count


def visit_pairs(events: Iterable[tuple[str, str]]) -> int:
    count = 0
    for _event, _data in events:
        count += 1
    return count


def visit_lists(opened: tuple[Callable[[bytes], list[Any]], Chunks]) -> int:
    feed, chunks = opened
    count = 0
    for chunk in chunks:
        for event in feed(chunk):
            event.data  # noqa: B018
            count += 1
    return count


async def _visit_async(events: AsyncIterator[Any]) -> int:
    count = 0
    async for event in events:
        event.data  # noqa: B018
        count += 1
    return count


def drive(coroutine: Any) -> Any:
    """Runs a coroutine that never has to wait, without an event loop's turns in the figure."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("the coroutine waited for something")


def visit_async(events: AsyncIterator[Any]) -> int:
    return drive(_visit_async(events))


def collect(opened: Any, take: Callable[[Any], object]) -> None:
    """Hands every event to `take`, whatever kind of door it comes through."""
    if isinstance(opened, tuple):
        feed, chunks = opened
        for chunk in chunks:
            for event in feed(chunk):
                take(event)
    elif hasattr(opened, "__aiter__"):

        async def each() -> None:
            async for event in opened:
                take(event)

        drive(each())
    else:
        for event in opened:
            take(event)


# Ours.


def _all_fields(event: Any) -> tuple[Any, ...]:
    return event.event, event.data, event.id, event.retry


def ours(name: str) -> list[Parser]:
    """Both ways in of a backend, `_rapidsse` (compiled) or `_pure`."""
    backend = importlib.import_module(f"rapidsse.{name}")
    label = "" if name == "_rapidsse" else "pure "
    return [
        Parser(f"{label}iter_events", "rapidsse", backend.iter_events, _all_fields),
        Parser(
            f"{label}feed",
            "rapidsse",
            lambda chunks: (backend.Parser().feed, chunks),
            _all_fields,
            loop=visit_lists,
        ),
    ]


# Peers in Python. Event type, ID: None and "" are each peer's own way to say "none".


def _plain(event: Any) -> tuple[Any, ...]:
    return event.event or "message", event.data, event.id or ""


class _Response:
    """A response with its head read: hands out the body's chunks, or their text."""

    def __init__(self, chunks: Chunks) -> None:
        self.headers = {"content-type": "text/event-stream"}
        self.request = None
        self.chunks = chunks

    def iter_text(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        for chunk in self.chunks:
            text = decoder.decode(chunk)
            if text:
                yield text
        text = decoder.decode(b"", True)
        if text:
            yield text


def _httpx_sse() -> Parser:
    from httpx_sse import EventSource

    return Parser(
        "httpx-sse",
        "httpx-sse",
        lambda chunks: EventSource(_Response(chunks)).iter_sse(),
        _plain,
        note="EventSource.iter_sse over a response's iter_text",
    )


def _httpx2() -> Parser:
    from httpx2 import EventSource

    return Parser(
        "httpx2",
        "httpx2",
        lambda chunks: iter(EventSource(_Response(chunks), max_event_size=None)),
        _plain,
        note="EventSource over a response's iter_text; its limit of 1 MiB an event lifted",
    )


def _openai() -> Parser:
    from openai._streaming import SSEDecoder

    return Parser(
        "openai SDK",
        "openai",
        lambda chunks: SSEDecoder().iter_bytes(iter(chunks)),
        _plain,
        note="SSEDecoder.iter_bytes, as Stream calls it; no models are built",
    )


def _anthropic() -> Parser:
    from anthropic._streaming import SSEDecoder

    return Parser(
        "anthropic SDK",
        "anthropic",
        lambda chunks: SSEDecoder().iter_bytes(iter(chunks)),
        _plain,
        quadratic=True,
        note="SSEDecoder.iter_bytes, as Stream calls it; no models are built",
    )


def _sseclient() -> Parser:
    from sseclient import SSEClient

    return Parser(
        "sseclient-py",
        "sseclient-py",
        lambda chunks: SSEClient(chunks).events(),
        _plain,
        quadratic=True,
        note="SSEClient.events over an iterable of chunks",
    )


def _launchdarkly() -> Parser:
    from ld_eventsource.actions import Event
    from ld_eventsource.reader import _BufferedLineReader, _SSEReader

    def events(chunks: Chunks) -> Iterator[Any]:
        reader = _SSEReader(_BufferedLineReader.lines_from(chunks))
        for item in reader.events_and_comments():
            if isinstance(item, Event):
                yield item

    return Parser(
        "launchdarkly-eventsource",
        "launchdarkly-eventsource",
        events,
        lambda event: (event.event, event.data, event.last_event_id or ""),
        note="the readers inside SSEClient.events, with its filter; reconnecting left out",
    )


class _StreamEnded(Exception):
    """Raised by the error callback of clients that would otherwise sleep and reconnect."""


def _stream_ended() -> None:
    raise _StreamEnded


def _requests_sse() -> Parser:
    import requests
    from requests_sse import EventSource

    class Raw:
        def __init__(self, chunks: Chunks) -> None:
            self.chunks = chunks

        def stream(self, amount: int, decode_content: bool) -> Iterator[bytes]:
            return iter(self.chunks)

        def close(self) -> None:
            pass

    class Session:
        def __init__(self, chunks: Chunks) -> None:
            self.chunks = chunks

        def request(self, **_: Any) -> requests.Response:
            response = requests.Response()
            response.status_code = 200
            response.headers["Content-Type"] = "text/event-stream"
            response.url = "http://localhost/"
            response.raw = Raw(self.chunks)
            return response

    def events(chunks: Chunks) -> Iterator[Any]:
        source = EventSource("http://localhost/", session=Session(chunks), on_error=_stream_ended)
        source.connect()
        try:
            yield from source
        except _StreamEnded:
            return

    return Parser(
        "requests-sse",
        "requests-sse",
        events,
        lambda event: (event.type, event.data, event.last_event_id),
        quadratic=True,
        note="EventSource over a requests.Response; chunks come as cut, not 512 bytes at a time",
    )


def _aiohttp_sse_client() -> Parser:
    import asyncio

    from aiohttp import StreamReader
    from aiohttp_sse_client.client import EventSource

    class Protocol:
        connected = True

        def pause_reading(self) -> None:
            pass

        def resume_reading(self, **_: Any) -> None:
            pass

    class Session:
        async def close(self) -> None:
            pass

    class Response:
        status = 200

        def __init__(self, content: StreamReader) -> None:
            self.content = content

    event_loop = asyncio.new_event_loop()
    event_loop.close()

    def opened(chunks: Chunks) -> Any:
        content = StreamReader(Protocol(), 2**30, loop=event_loop)
        for chunk in chunks:
            content.feed_data(chunk)
        content.feed_eof()
        source = EventSource("http://localhost/", session=Session(), on_error=_stream_ended)
        source._response = Response(content)

        async def events() -> AsyncIterator[Any]:
            try:
                async for event in source:
                    yield event
            except _StreamEnded:
                return

        return events()

    return Parser(
        "aiohttp-sse-client",
        "aiohttp-sse-client",
        opened,
        lambda event: (event.type or "message", event.data, event.last_event_id),
        loop=visit_async,
        quadratic=True,
        note="EventSource over a StreamReader that holds all chunks; its line limit lifted",
    )


def _hand_rolled() -> Parser:
    def events(chunks: Chunks) -> Iterator[tuple[str, str]]:
        buffer = b""
        for chunk in chunks:
            buffer += chunk
            while b"\n\n" in buffer:
                block, buffer = buffer.split(b"\n\n", 1)
                name, data = "message", []
                for line in block.split(b"\n"):
                    if line.startswith(b"data: "):
                        data.append(line[6:])
                    elif line.startswith(b"event: "):
                        name = line[7:].decode()
                if data:
                    yield name, b"\n".join(data).decode()

    return Parser(
        'split(b"\\n\\n")',
        "",
        events,
        lambda pair: (*pair, ""),
        loop=visit_pairs,
        quadratic=True,
        note="what gateways write by hand: a bytes buffer, split at two LF; no IDs",
    )


_PEERS: list[Callable[[], Parser]] = [
    _httpx_sse,
    _httpx2,
    _openai,
    _anthropic,
    _sseclient,
    _launchdarkly,
    _requests_sse,
    _aiohttp_sse_client,
    _hand_rolled,
]


def peers() -> tuple[list[Parser], list[str]]:
    """The peers that are installed, and why each of the others could not be had."""
    found, missing = [], []
    for make in _PEERS:
        try:
            found.append(make())
        except ImportError as error:
            missing.append(f"{make.__name__.strip('_').replace('_', '-')}: {error}")
    return found, missing


# The reference under everything: an external lower-bound module with Inc/Parser types, not part of
# the project. It is no conforming parser; it says how little time the work could take.

FLOOR_MODES = [(lines, text) for lines in (2, 4) for text in (3, 4)]


def floor_parsers(module: Any, feed: bool) -> list[Parser]:
    """The lower bound in each of its modes; the best of them counts."""
    made = []
    for lines, text in FLOOR_MODES:
        name = f"floor {lines},{text}" + (" feed" if feed else "")
        if feed:
            made.append(
                Parser(
                    name,
                    "",
                    lambda chunks, a=lines, b=text: (module.Parser(a, b, 0).feed, chunks),
                    _plain,
                    loop=visit_lists,
                )
            )
        else:
            made.append(
                Parser(
                    name,
                    "",
                    lambda chunks, a=lines, b=text: module.Inc(chunks, module.Parser(a, b, 0)),
                    _plain,
                )
            )
    return made


if __name__ == "__main__":
    import sys
    import time

    from shapes import CUTTINGS, SHAPES, stream

    # Every parser against every shape and cutting; the marks, and the time of one checked run.
    found, missing = peers()
    everyone = [*found]
    for backend in ("_rapidsse", "_pure"):
        try:
            everyone += ours(backend)
        except ImportError as error:
            missing.append(f"{backend}: {error}")
    for reason in missing:
        print("missing", reason)
    wrong = 0
    for shape in SHAPES:
        for cutting in CUTTINGS:
            made = stream(shape, cutting)
            for parser in everyone:
                began = time.perf_counter()
                if parser.too_slow(made):
                    print(f"{shape:10} {cutting:6} {parser.name:26} not run: quadratic")
                    continue
                verdict = parser.check(made)
                took = time.perf_counter() - began
                if verdict:
                    ours_too = parser.package == "rapidsse"
                    wrong += ours_too
                    print(f"{shape:10} {cutting:6} {parser.name:26} {verdict}")
                elif took > 2:
                    print(f"{shape:10} {cutting:6} {parser.name:26} slow: {took:.1f} s")
    sys.exit(wrong)
