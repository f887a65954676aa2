"""What happens to the bytes of an event stream on their way through the gateway.

`Watching` forwards the bytes untouched while a parser looks for the few events that matter;
`Rewriting` makes every event anew. Both follow one rule about the end: a stream is complete when an
event whose whole data is `[DONE]` has passed. One that ends without it, and without an error of the
upstream's own, ends with an `error` event, and nobody makes up a `[DONE]`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Any, Protocol

from rapidsse import Parser, ServerSentEvent

DONE = "[DONE]"
MAX_EVENT_SIZE = 16 * 1024 * 1024  # bytes; a stream with a larger event is interrupted
INTERRUPTED = ServerSentEvent(
    "error",
    json.dumps(
        {
            "error": {
                "message": "the upstream ended the stream before it was complete",
                "type": "upstream_error",
                "code": "stream_interrupted",
            }
        }
    ),
)

Change = Callable[[str], str]


class Tally:
    """What is known of one stream.

    Attributes:
        completed (bool): the stream's `[DONE]` has passed.
        failed (bool): the upstream has told an error.
        usage (dict[str, Any]): the last usage object, empty if none came.
    """

    def __init__(self) -> None:
        self.completed = False
        self.failed = False
        self.usage: dict[str, Any] = {}

    def look(self, event: ServerSentEvent) -> None:
        """Notes what the event says about the stream. The data may be anything."""
        if event.data == DONE:
            self.completed = True
            return
        payload = _object(event.data)
        if event.event == "error" or payload.get("error"):
            self.failed = True
        usage = payload.get("usage")
        if isinstance(usage, dict):
            self.usage = usage


def _object(data: str) -> dict[str, Any]:
    """The JSON object that the data is; empty if it is none."""
    try:
        payload = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return payload if isinstance(payload, dict) else {}


class Relay(Protocol):
    """What one stream goes through.

    Attributes:
        tally (Tally): what is known of the stream so far.
        events (int): how many events have come.
    """

    tally: Tally

    @property
    def events(self) -> int: ...

    def stream(self, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        """What goes to the client, as it comes.

        Raises:
            BufferSizeExceeded: an event is larger than the relay allows.
        """
        ...

    def end(self) -> bytes:
        """What to send after that, however it ended; empty if nothing is left to say."""
        ...


class Watching:
    """Forwards the bytes untouched, and follows what they say. A Relay.

    Args:
        max_event_size: bytes that the parser may retain of one event.
    """

    def __init__(self, max_event_size: int = MAX_EVENT_SIZE) -> None:
        self.tally = Tally()
        self._kept = 0
        # A token's event has none of these, so it is only counted. "usage" would not do as a
        # needle: with include_usage it is in every event, as null.
        self._parser = Parser(
            types={"error"},
            contains=[b"[DONE]", b'"error"', b'"total_tokens"'],
            max_buffer_size=max_event_size,
        )

    @property
    def events(self) -> int:
        return self._kept + self._parser.skipped

    async def stream(self, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        feed = self._parser.feed
        async for chunk in chunks:
            for event in feed(chunk):
                self._kept += 1
                self.tally.look(event)
            yield chunk

    def end(self) -> bytes:
        parser, tally = self._parser, self.tally
        overflowed = parser.closed
        unfinished = parser.close()
        inside_block = overflowed or parser.truncated
        if tally.completed or (tally.failed and not inside_block):
            return b""
        if not inside_block:
            return INTERRUPTED.encode()
        inside_event = overflowed or unfinished is not None
        return cut_off(parser.last_event_id, inside_event) + INTERRUPTED.encode()


def cut_off(last_event_id: str, inside_event: bool) -> bytes:
    """Ends a block that was forwarded in part, so that it is not taken for a whole one.

    An event cannot be called back, but it can be kept from passing for what it is not: its type
    becomes `interrupted`, for which nobody listens, and its data gets a last line that makes it
    neither `[DONE]` nor JSON. The last event ID goes back to that of the last whole block. The
    space spoils a number or a name whose line was cut.

    Args:
        last_event_id: the last event ID as of the last whole block.
        inside_event: whether a `data` line had begun.
    """
    named = b"event: interrupted\ndata: [interrupted]\n" if inside_event else b""
    return b" \n" + named + b"id: " + last_event_id.encode() + b"\n\n"


class Rewriting:
    """Parses, changes and encodes every event; comments, such as heartbeats, are kept. A Relay.

    Args:
        change: an event's data to the data that goes to the client. It does not get the `[DONE]`.
        max_event_size: bytes that the parser may retain of one event.
    """

    def __init__(self, change: Change, max_event_size: int = MAX_EVENT_SIZE) -> None:
        self.tally = Tally()
        self.events = 0
        self._change = change
        self._parser = Parser(comments=True, max_buffer_size=max_event_size)
        # The last event ID and the reconnection time that the client has been told.
        self._id = ""
        self._retry: int | None = None

    async def stream(self, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        parser = self._parser
        async for chunk in chunks:
            wire = [
                self._event(item) if isinstance(item, ServerSentEvent) else item.encode()
                for item in parser.feed(chunk)
            ]
            if parser.last_event_id != self._id or parser.retry != self._retry:
                wire.append(self._state())
            if wire:
                yield b"".join(wire)

    def _event(self, event: ServerSentEvent) -> bytes:
        self.events += 1
        data = event.data
        if data == DONE or event.event == "error" or '"error"' in data or '"total_tokens"' in data:
            self.tally.look(event)
        if data != DONE:
            data = self._change(data)
        wire = ServerSentEvent(event.event, data, event.id, event.retry).encode()
        if event.retry is not None:
            self._retry = event.retry
        if event.id != self._id:
            self._id = event.id
            if not event.id:
                return b"id\n" + wire
        return wire

    def _state(self) -> bytes:
        """A block without data, for what blocks without data have set."""
        self._id, self._retry = self._parser.last_event_id, self._parser.retry
        retry = b"" if self._retry is None else b"retry: %d\n" % self._retry
        return b"id: " + self._id.encode() + b"\n" + retry + b"\n"

    def end(self) -> bytes:
        inside_block = self._parser.closed
        self._parser.close()
        inside_block |= self._parser.truncated
        if self.tally.completed or (self.tally.failed and not inside_block):
            return b""
        return INTERRUPTED.encode()


def named(model: str) -> Change:
    """A change that puts another model's name into the answers."""

    def change(data: str) -> str:
        payload = _object(data)
        if "model" not in payload:
            return data
        payload["model"] = model
        # Escapes stay escapes: one may be half of a character, which has no other form.
        return json.dumps(payload, ensure_ascii="\\u" in data, separators=(",", ":"))

    return change
