"""What a type checker must make of the public names; read by test_typing.py, never run."""

from collections.abc import AsyncIterator, Iterator

from rapidsse import (
    AsyncEventIterator,
    Comment,
    Diagnostic,
    EventIterator,
    EventStream,
    Parser,
    ServerSentEvent,
    aiter_events,
    completion,
    iter_events,
    parse,
)
from typing_extensions import assert_type

Item = ServerSentEvent | Comment | Diagnostic


def feed(flag: bool) -> None:
    assert_type(Parser().feed(b""), list[ServerSentEvent])
    assert_type(Parser(raw=True, types={"x"}).feed(bytearray()), list[ServerSentEvent])
    assert_type(Parser(comments=False).feed(memoryview(b"")), list[ServerSentEvent])
    assert_type(Parser(comments=True).feed(b""), list[ServerSentEvent | Comment])
    assert_type(Parser(diagnostics=True).feed(b""), list[ServerSentEvent | Diagnostic])
    assert_type(Parser(comments=True, diagnostics=True).feed(b""), list[Item])
    assert_type(Parser(comments=flag).feed(b""), list[Item])
    assert_type(Parser().close(), ServerSentEvent | None)
    Parser().feed("text")  # type: ignore[arg-type]
    Parser(unknown=1)  # type: ignore[call-overload]
    Parser("id")  # type: ignore[call-overload]


def whole() -> None:
    assert_type(parse(b""), list[ServerSentEvent])
    assert_type(parse(b"", comments=True), list[ServerSentEvent | Comment])
    assert_type(parse(b"", diagnostics=True), list[ServerSentEvent | Diagnostic])
    assert_type(parse(b"", comments=True, diagnostics=True), list[Item])


def iterate(chunks: Iterator[bytes]) -> None:
    assert_type(iter_events(chunks), EventIterator[ServerSentEvent])
    for event in iter_events(chunks, unfinished="raise"):
        assert_type(event, ServerSentEvent)
    for item in iter_events([b""], comments=True):
        assert_type(item, ServerSentEvent | Comment)
    for found in iter_events([b""], comments=True, diagnostics=True):
        assert_type(found, Item)
    with iter_events(open("stream", "rb")) as events:
        assert_type(events, EventIterator[ServerSentEvent])
        assert_type(events.unfinished, ServerSentEvent | None)
        assert_type(next(events), ServerSentEvent)
    iter_events(chunks, unfinished="keep")  # type: ignore[call-overload]


async def aiterate(chunks: AsyncIterator[bytes]) -> None:
    assert_type(aiter_events(chunks), AsyncEventIterator[ServerSentEvent])
    async for event in aiter_events(chunks):
        assert_type(event, ServerSentEvent)
    async for item in aiter_events(chunks, diagnostics=True):
        assert_type(item, ServerSentEvent | Diagnostic)
    async with aiter_events(chunks) as events:
        assert_type(events, AsyncEventIterator[ServerSentEvent])
        assert_type(await events.__anext__(), ServerSentEvent)


def stream(response: object, flag: bool) -> None:
    assert_type(EventStream(response), EventStream[ServerSentEvent])
    for event in EventStream(response, done=completion.OPENAI, max_buffer_size=None):
        assert_type(event, ServerSentEvent)
    for item in EventStream(response, done=completion.anthropic, comments=True):
        assert_type(item, ServerSentEvent | Comment)
    assert_type(EventStream(response, diagnostics=True), EventStream[ServerSentEvent | Diagnostic])
    assert_type(EventStream(response, comments=flag), EventStream[Item])
    with EventStream(response, done=lambda event: event.data == "x", check=False) as events:
        assert_type(events, EventStream[ServerSentEvent])
        assert_type(events.completed, bool)
        assert_type(events.unfinished, ServerSentEvent | None)
        assert_type(next(events), ServerSentEvent)
    EventStream(response, done=5)  # type: ignore[call-overload]
    EventStream(response, unknown=5)  # type: ignore[call-overload]


async def astream(response: object) -> None:
    async with EventStream(response, done=completion.openai_responses) as events:
        assert_type(events, EventStream[ServerSentEvent])
        async for event in events:
            assert_type(event, ServerSentEvent)


def attributes(parser: Parser[ServerSentEvent | Comment], event: ServerSentEvent) -> None:
    assert_type(parser.feed(b""), list[ServerSentEvent | Comment])
    assert_type(parser.last_event_id, str)
    assert_type(parser.retry, int | None)
    assert_type(parser.buffered, int)
    assert_type(parser.closed, bool)
    assert_type(event.event, str)
    assert_type(event.retry, int | None)
    assert_type(event.raw, bytes | None)
    assert_type(event.encode(), bytes)
    parser.retry = 5  # type: ignore[misc]
    event.data = ""  # type: ignore[misc]
    match event:
        case ServerSentEvent(name, data, id, retry):
            assert_type(name, str)
            assert_type(data, str)
            assert_type(id, str)
            assert_type(retry, int | None)
