"""What a type checker must make of the public names; read by test_typing.py, never run."""

from collections.abc import AsyncIterator, Iterator

from rapidsse import (
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
