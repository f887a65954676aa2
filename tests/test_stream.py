"""EventStream over chunks: completion against interruption, options, states; both backends."""

from __future__ import annotations

import asyncio
import gc
import io
import logging
import pickle
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import rapidsse
from rapidsse import BufferSizeExceeded, EventStream, ResponseError, StreamInterrupted, completion
from support import async_source, byte_by_byte, run

NAMES = ("Parser", "ServerSentEvent", "Comment", "Diagnostic", "iter_events", "aiter_events")
CHUNKS = [b"id: 1\ndata: a\n\nid: 2\nda", b"ta: b\n\nda", b"ta: [DONE]\n\ndata: late\n\n"]
CUT = [b"id: 1\ndata: a\n\nid: 2\ndata: b"]
DONE = "[DONE]"


@pytest.fixture(scope="module", autouse=True)
def _collecting_what_is_new() -> Iterator[None]:
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _active(backend: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test once with each backend."""
    for name in NAMES:
        monkeypatch.setattr(rapidsse, name, getattr(backend, name))
    yield
    gc.collect()


class Way:
    """A loop of either kind over chunks, to its end."""

    def __init__(self, asynchronous: bool) -> None:
        self.asynchronous = asynchronous

    def stream(self, chunks: Any, **options: Any) -> Any:
        return EventStream(async_source(chunks) if self.asynchronous else iter(chunks), **options)

    def items(self, stream: Any, items: list[Any] | None = None) -> list[Any]:
        items = [] if items is None else items
        if not self.asynchronous:
            for item in stream:
                items.append(item)
            return items

        async def main() -> None:
            async for item in stream:
                items.append(item)

        run(main())
        return items

    def data(self, stream: Any) -> list[str]:
        return [item.data for item in self.items(stream)]


@pytest.fixture(params=[False, True], ids=["for", "async for"])
def way(request: pytest.FixtureRequest) -> Way:
    return Way(request.param)


def failing(chunks: Any, error: BaseException) -> Iterator[bytes]:
    yield from chunks
    raise error


# Completion


def test_without_done_the_end_is_the_end(way: Way) -> None:
    stream = way.stream(CHUNKS)
    assert not stream.completed
    assert way.data(stream) == ["a", "b", DONE, "late"]
    assert (stream.completed, stream.last_event_id, stream.unfinished) == (True, "2", None)


def test_the_response_is_at_hand() -> None:
    response = iter(CHUNKS)
    assert EventStream(response).response is response


def test_a_block_that_the_end_cuts_off_is_not_completed(way: Way) -> None:
    stream = way.stream(CUT)
    assert way.data(stream) == ["a"]
    assert (stream.completed, stream.truncated, stream.unfinished.data) == (False, True, "b")
    assert stream.last_event_id == "1"


def test_the_marker_ends_the_stream_and_is_not_yielded(way: Way) -> None:
    for chunks in (CHUNKS, [b"".join(CHUNKS)], byte_by_byte(b"".join(CHUNKS))):
        stream = way.stream(chunks, done=DONE)
        assert way.data(stream) == ["a", "b"]
        assert (stream.completed, stream.last_event_id) == (True, "2")
        assert (stream.unfinished, stream.truncated) == (None, False)


def test_an_event_that_a_callable_names_is_the_last_yielded(way: Way) -> None:
    for chunks in (CHUNKS, [b"".join(CHUNKS)], byte_by_byte(b"".join(CHUNKS))):
        stream = way.stream(chunks, done=lambda event: event.data == "b")
        assert way.data(stream) == ["a", "b"]
        assert stream.completed


@pytest.mark.parametrize(
    "data", ["[DONE] ", "[DONE]!", " [DONE]", '"[DONE]"', "[done]", '{"x": "[DONE]"}', "[DONE]\n"]
)
def test_only_the_whole_data_is_the_marker(way: Way, data: str) -> None:
    wire = rapidsse.ServerSentEvent(data=data).encode()
    stream = way.stream([wire, b"data: [DONE]\n\n"], done=DONE)
    assert way.data(stream) == [data]


def test_a_marker_over_two_lines_is_compared_after_assembly(way: Way) -> None:
    assert way.data(way.stream([b"data: a\ndata: b\n\ndata: c\n\n"], done="a\nb")) == []


def test_completed_is_told_with_the_last_event() -> None:
    stream = EventStream(iter(CHUNKS), done=lambda event: event.data == "b")
    assert (next(stream).data, stream.completed) == ("a", False)
    assert (next(stream).data, stream.completed) == ("b", True)
    assert next(stream, None) is None
    assert stream.completed


@pytest.mark.parametrize(
    ("done", "last", "others"),
    [
        (completion.anthropic, ["message_stop"], ["message", "message_delta", "message_stop2"]),
        (
            completion.openai_responses,
            ["response.completed", "response.failed", "response.incomplete"],
            ["response.created", "response.output_text.delta", "response.completed2", "error"],
        ),
    ],
)
def test_the_completions_of_providers(
    way: Way, done: Any, last: list[str], others: list[str]
) -> None:
    for event in last:
        wire = [f"event: {each}\ndata: {{}}\n\n".encode() for each in [*others, event, "more"]]
        stream = way.stream(wire, done=done)
        assert [item.event for item in way.items(stream)] == [*others, event]
        assert stream.completed
    interrupted = way.stream([b"data: message_stop response.completed\n\n"], done=done)
    with pytest.raises(StreamInterrupted):
        way.items(interrupted)


def test_the_marker_of_openai() -> None:
    assert completion.OPENAI == DONE


def test_comments_and_diagnostics_are_no_completion(way: Way) -> None:
    wire = b": [DONE]\n[DONE]: 1\ndata: a\n\ndata: [DONE]\n\n"
    for done in (DONE, lambda event: event.data == DONE):
        stream = way.stream([wire], done=done, comments=True, diagnostics=True)
        names = [type(item).__name__ for item in way.items(stream)]
        assert names[:3] == ["Comment", "Diagnostic", "ServerSentEvent"]
        assert stream.completed


# Interruption


@pytest.mark.parametrize(
    ("rest", "cut"),
    [
        (b"", None),
        (b"data: [DO", "[DO"),
        (b"data: [DONE]", DONE),
        (b"data: [DONE]\n", DONE),
        (b"event: x", None),
    ],
)
def test_an_end_without_the_completion_is_an_interruption(
    way: Way, rest: bytes, cut: str | None
) -> None:
    stream = way.stream([b"id: 1\ndata: a\n\n" + rest], done=DONE)
    items: list[Any] = []
    with pytest.raises(StreamInterrupted) as raised:
        way.items(stream, items)
    assert [item.data for item in items] == ["a"]
    assert raised.value.last_event_id == "1"
    assert raised.value.__cause__ is None
    unfinished = raised.value.unfinished
    assert (unfinished and unfinished.data) == cut
    assert "DO" not in str(raised.value) + repr(raised.value)
    assert not stream.completed
    assert way.asynchronous or list(stream) == []
    assert not stream.completed


def test_a_failing_source_is_an_interruption_with_done_only(way: Way) -> None:
    error = OSError("connection reset, secret")
    items: list[Any] = []
    stream = way.stream(failing(CUT, error), done=DONE)
    with pytest.raises(StreamInterrupted) as raised:
        way.items(stream, items)
    assert [item.data for item in items] == ["a"]
    assert raised.value.__cause__ is error
    assert raised.value.unfinished.data == "b"
    assert "secret" not in str(raised.value)
    assert not stream.completed
    plain = way.stream(failing(CUT, error))
    with pytest.raises(OSError, match="secret"):
        way.items(plain)
    assert (plain.unfinished.data, plain.completed) == ("b", False)


def test_an_error_before_the_first_byte(way: Way) -> None:
    with pytest.raises(StreamInterrupted) as raised:
        way.items(way.stream(failing([], OSError()), done=DONE, last_event_id="9"))
    assert (raised.value.unfinished, raised.value.last_event_id) == (None, "9")


def test_what_is_no_transport_error_stays_what_it_is(way: Way) -> None:
    for done in (None, DONE):
        stream = way.stream([b"data: a\n\ndata: " + b"x" * 99], done=done, max_buffer_size=50)
        with pytest.raises(BufferSizeExceeded):
            way.items(stream)
        assert not stream.completed
        with pytest.raises(TypeError, match="a chunk must be bytes"):
            way.items(way.stream(["text"], done=done))

    def wrong(event: Any) -> bool:
        raise KeyError(event.event)

    with pytest.raises(KeyError):
        way.items(way.stream(CHUNKS, done=wrong))


def test_an_interruption_pickles() -> None:
    with pytest.raises(StreamInterrupted) as raised:
        list(EventStream(failing(CUT, OSError()), done=DONE))
    again = pickle.loads(pickle.dumps(raised.value))
    assert (again.unfinished, again.last_event_id) == (raised.value.unfinished, "1")


def test_an_interrupted_read_never_looks_like_the_end() -> None:
    def source() -> Iterator[bytes]:
        yield b"data: a\n\n"
        raise KeyboardInterrupt

    for done, error in ((None, RuntimeError), (DONE, StreamInterrupted)):
        stream = EventStream(source(), done=done)
        assert next(stream).data == "a"
        with pytest.raises(KeyboardInterrupt):
            next(stream)
        with pytest.raises(error):
            next(stream)
        assert not stream.completed


# Leaving


class Source:
    """A source that tells whether it was closed."""

    def __init__(self, chunks: Any) -> None:
        self.chunks = iter(chunks)
        self.closed = 0

    def __iter__(self) -> Source:
        return self

    def __next__(self) -> bytes:
        return next(self.chunks)

    def close(self) -> None:
        self.closed += 1


class AsyncSource(Source):
    __iter__ = None  # type: ignore[assignment]

    def __aiter__(self) -> AsyncSource:
        return self

    async def __anext__(self) -> bytes:
        await asyncio.sleep(0)
        for chunk in self.chunks:
            return chunk
        raise StopAsyncIteration

    async def aclose(self) -> None:
        await asyncio.sleep(0)
        self.closed += 1


@pytest.mark.parametrize("done", [None, DONE, lambda event: event.data == "a"])
@pytest.mark.parametrize("taken", [0, 1, 2, 9])
def test_the_source_is_closed_once_wherever_one_leaves(done: Any, taken: int) -> None:
    source = Source(CHUNKS)
    with EventStream(source, done=done) as stream:
        for _, _event in zip(range(taken), stream, strict=False):
            pass
    assert source.closed == 1
    assert list(stream) == []
    stream.close()
    assert source.closed == 1

    async def main() -> None:
        source = AsyncSource(CHUNKS)
        async with EventStream(source, done=done) as stream:
            count = 0
            async for _ in stream:
                count += 1
                if count >= taken:
                    break
        assert source.closed == 1
        assert [event async for event in stream] == []
        await stream.aclose()
        assert source.closed == 1

    run(main())


def test_an_exception_in_the_block_closes_the_source() -> None:
    source = Source(CHUNKS)
    stream = EventStream(source, done=DONE)

    def leave() -> None:
        with stream:
            for event in stream:
                raise KeyError(event.data)

    with pytest.raises(KeyError):
        leave()
    assert source.closed == 1
    assert not stream.completed


def test_a_stream_that_is_dropped_closes_its_source() -> None:
    for done in (None, DONE):
        source = Source(CHUNKS)
        for _ in EventStream(source, done=done):
            break
        gc.collect()
        assert source.closed == 1


def test_a_completed_async_body_is_read_out_for_a_second_at_most() -> None:
    class Endless(AsyncSource):
        async def __anext__(self) -> bytes:
            for chunk in self.chunks:
                return chunk
            await asyncio.sleep(60)
            raise AssertionError("held up")

    async def main() -> None:
        source = Endless(CHUNKS)
        stream = EventStream(source, done=DONE)
        assert [event.data async for event in stream] == ["a", "b"]
        assert source.closed == 1

    run(asyncio.wait_for(main(), 3))


def test_no_more_than_64_kib_are_read_after_the_completion() -> None:
    class Flood(AsyncSource):
        read = 0

        async def __anext__(self) -> bytes:
            for chunk in self.chunks:
                return chunk
            self.read += 1024
            await asyncio.sleep(0)
            return b"x" * 1024

    async def main() -> None:
        source = Flood([b"data: [DONE]\n\n"])
        assert [event async for event in EventStream(source, done=DONE)] == []
        assert source.read == 64 * 1024
        assert source.closed == 1

    run(main())


def test_a_cancelled_drain_closes_the_source() -> None:
    waiting: list[None] = []

    class Endless(AsyncSource):
        async def __anext__(self) -> bytes:
            for chunk in self.chunks:
                return chunk
            waiting.append(None)
            await asyncio.sleep(60)
            raise AssertionError("held up")

    async def main() -> None:
        source = Endless(CHUNKS)
        stream = EventStream(source, done=DONE)

        async def read() -> None:
            async for _ in stream:
                pass

        task = asyncio.create_task(read())
        while not waiting:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert source.closed == 1
        assert stream.completed

    run(main())


def test_a_cancelled_step_loses_nothing() -> None:
    class Slow(AsyncSource):
        async def __anext__(self) -> bytes:
            await ready.wait()
            return await super().__anext__()

    ready = asyncio.Event()

    async def main() -> None:
        for done in (None, DONE):
            ready.clear()
            stream = EventStream(Slow(CHUNKS), done=done)
            events = aiter(stream)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(events), 0.01)
            ready.set()
            data = [event.data async for event in events]
            assert data == (["a", "b"] if done else ["a", "b", DONE, "late"])
            assert stream.completed

    run(main())


@pytest.mark.parametrize("done", [None, DONE])
@pytest.mark.parametrize("error", [ValueError, asyncio.CancelledError])
@pytest.mark.parametrize("at", range(8))
def test_an_exception_at_any_await_leaves_nothing_open(done: Any, error: Any, at: int) -> None:
    awaits = iter(range(99))

    def wait() -> None:
        if next(awaits) == at:
            raise error

    class Raising(AsyncSource):
        async def __anext__(self) -> bytes:
            wait()
            chunk = await super().__anext__()
            wait()
            return chunk

        async def aclose(self) -> None:
            await super().aclose()
            wait()

    async def main() -> None:
        source = Raising(CHUNKS)
        try:
            async with EventStream(source, done=done) as stream:
                async for _ in stream:
                    pass
        except (ValueError, StreamInterrupted, asyncio.CancelledError):
            pass
        assert source.closed == 1

    run(main())


class Response:
    """What there is of a response, over chunks that need no event loop."""

    def __init__(self, status: int, content_type: str, chunks: list[bytes]) -> None:
        self.status = status
        self.headers = {"content-type": content_type}
        self.chunks = chunks
        self.closed = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            for chunk in self.chunks:
                yield chunk
        finally:
            self.closed += 1


def test_in_an_event_loop_that_is_not_asyncio() -> None:
    """Nothing is waited for after the completion, where there is no clock to stop it."""

    async def main(response: Response) -> list[str]:
        return [event.data async for event in EventStream(response, done=DONE)]

    def drive(response: Response) -> list[str]:
        with pytest.raises(StopIteration) as stopped:
            main(response).send(None)
        assert response.closed == 1
        data: list[str] = stopped.value.value
        return data

    assert drive(Response(200, "text/event-stream", CHUNKS)) == ["a", "b"]
    with pytest.raises(ResponseError) as raised:
        main(Response(500, "application/json", [b'{"a', b'": 1}'])).send(None)
    assert raised.value.body == b'{"a": 1}'


# Iterating


def test_iterating_twice_goes_on(way: Way) -> None:
    for done in (None, "late"):
        stream = EventStream(iter(CHUNKS), done=done)
        for event in stream:
            assert event.data == "a"
            break
        assert [event.data for event in stream][:2] == ["b", DONE]
        assert list(stream) == []
        assert stream.completed


def test_next_and_anext_take_a_step() -> None:
    assert next(EventStream(iter(CHUNKS))).data == "a"
    assert next(EventStream(iter(CHUNKS), done=DONE)).data == "a"

    async def main() -> None:
        assert (await anext(EventStream(async_source(CHUNKS)))).data == "a"
        assert (await anext(EventStream(async_source(CHUNKS), done=DONE))).data == "a"

    run(main())


def test_attributes_are_as_of_the_last_item(way: Way) -> None:
    stream = EventStream([b"id: 1\nretry: 5\ndata: a\n\nid: 2\ndata: b\n\n"], last_event_id="0")
    assert (stream.last_event_id, stream.retry, stream.skipped) == ("0", None, 0)
    for expected, event in zip(("1", "2"), stream, strict=True):
        assert stream.last_event_id == event.id == expected
        assert stream.retry == 5
    filtered = way.stream(CHUNKS, contains=[b"late"])
    assert way.data(filtered) == ["late"]
    assert filtered.skipped == 3


def test_files_and_what_is_no_source() -> None:
    with io.BytesIO(b"".join(CHUNKS)) as file:
        assert len(list(EventStream(file))) == 4
        assert not file.closed
    for wrong, message in (
        (b"data: a\n\n", "parse"),
        ("data: a\n\n", "parse"),
        (5, "not int"),
        (None, "not NoneType"),
        (io.StringIO("a"), "StringIO"),
    ):
        with pytest.raises(TypeError, match=message):
            list(EventStream(wrong))


def test_the_wrong_loop() -> None:
    with pytest.raises(TypeError, match="use `async for`"):
        list(EventStream(async_source(CHUNKS)))

    async def main() -> None:
        with pytest.raises(TypeError, match="use `for`"):
            await anext(EventStream(CHUNKS))

        stream = EventStream(CHUNKS)
        assert next(stream).data == "a"
        with pytest.raises(TypeError, match="other way"):
            aiter(stream)

    run(main())


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"done": 5}, TypeError),
        ({"done": b"[DONE]"}, TypeError),
        ({"done": DONE, "types": {"x"}}, ValueError),
        ({"done": DONE, "contains": [b"x"]}, ValueError),
        ({"done": DONE, "unfinished": "yield"}, ValueError),
        ({"unfinished": "keep"}, ValueError),
        ({"types": "x"}, TypeError),
        ({"unknown": 1}, TypeError),
        ({"last_event_id": "\n"}, ValueError),
    ],
)
def test_options_are_checked_at_once(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        EventStream([], **options)


def test_a_coroutine_function_cannot_tell_the_completion() -> None:
    async def done(event: Any) -> bool:
        return False

    with pytest.raises(TypeError, match="coroutine function"):
        EventStream([], done=done)


def test_the_options_of_the_iterators(way: Way) -> None:
    assert way.data(way.stream(CUT, unfinished="yield")) == ["a", "b"]
    with pytest.raises(StreamInterrupted):
        way.items(way.stream(CUT, unfinished="raise"))
    (event, *_) = way.items(way.stream(CHUNKS, raw=True))
    assert event.raw == b"id: 1\ndata: a\n"


# Logging

SECRET = "s3cret"


def test_nothing_secret_is_logged(way: Way, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    wire = (
        f": {SECRET}\n{SECRET}: {SECRET}\nid: {SECRET}\nretry: {SECRET}\nevent: delta\n"
        f"data: {SECRET}\n\ndata: {SECRET}{SECRET}\n\ndata: {SECRET}"
    ).encode()
    plain = way.stream([wire], comments=True, diagnostics=True)
    assert len(way.items(plain)) >= 4
    for chunks in ([wire], failing([wire], OSError(SECRET))):
        with pytest.raises(StreamInterrupted):
            way.items(way.stream(chunks, done=DONE))
    assert way.data(way.stream([wire, b"\n\ndata: " + SECRET.encode() + b"\n\n"], done=SECRET * 2))
    text = "\n".join(record.getMessage() for record in caplog.records)
    assert SECRET not in caplog.text
    assert SECRET not in repr([record.args for record in caplog.records])
    records = [record for record in caplog.records if record.name == "rapidsse"]
    assert "type 'delta', 6 characters of data, with an id" in text
    assert "type 'message', 12 characters of data" in text
    assert sum(record.levelno == logging.WARNING for record in records) == 2
    assert "OSError" in text


def test_a_type_cannot_forge_a_record(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "rapidsse")
    list(EventStream([b"event: \x1b[31m" + b"x" * 9999 + b"\ndata: a\n\n"]))
    (record,) = (record for record in caplog.records if "an event" in record.getMessage())
    assert "\x1b" not in record.getMessage()
    assert len(record.getMessage()) < 200


def test_without_logging_a_loop_gets_the_iterator_of_the_backend(backend: Any) -> None:
    assert isinstance(iter(EventStream([])), backend.EventIterator)
    stream = EventStream([], done=DONE)
    assert iter(stream) is stream
