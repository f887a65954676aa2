"""Iterating: one item per step, attributes as of it, and every way a source can end."""

from __future__ import annotations

import asyncio
import gc
import io
import os
import threading
import time
import types
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from rapidsse import BufferSizeExceeded, StreamInterrupted
from rapidsse._sources import async_chunks
from support import async_source, run

CHUNKS = [b"id: 1\nda", b"ta: a\n\nid: 2\nretry: 5\ndata: b\n\nid: 3\n\ndata: c\n", b"\ndata: cut"]


class Closing:
    """An iterator of chunks that tells whether it was closed."""

    def __init__(self, chunks: list[bytes]) -> None:
        self.chunks = iter(chunks)
        self.closed = 0

    def __iter__(self) -> Closing:
        return self

    def __next__(self) -> bytes:
        return next(self.chunks)

    def close(self) -> None:
        self.closed += 1

    def __aiter__(self) -> Closing:
        return self

    async def __anext__(self) -> bytes:
        await asyncio.sleep(0)
        for chunk in self.chunks:
            return chunk
        raise StopAsyncIteration

    async def aclose(self) -> None:
        await asyncio.sleep(0)
        self.closed += 1


class Failing(Closing):
    """Fails after its chunks."""

    def __init__(self, chunks: list[bytes], error: BaseException) -> None:
        super().__init__(chunks)
        self.error = error

    def __next__(self) -> bytes:
        for chunk in self.chunks:
            return chunk
        raise self.error

    async def __anext__(self) -> bytes:
        return self.__next__()


async def collected(events: Any) -> list[str]:
    return [event.data async for event in events]


# What can be iterated


def test_any_iterable(backend: Any) -> None:
    def generator() -> Iterator[bytes]:
        yield from CHUNKS

    for source in (CHUNKS, tuple(CHUNKS), iter(CHUNKS), generator(), Closing(CHUNKS), deque()):
        assert [event.data for event in backend.iter_events(source)] == ["a", "b", "c"]


def deque() -> Any:
    import collections

    return collections.deque(CHUNKS)


def test_any_async_iterable(backend: Any) -> None:
    class Iterable:
        def __aiter__(self) -> AsyncIterator[bytes]:
            return async_source(CHUNKS)

    for source in (async_source(CHUNKS), Iterable(), Closing(CHUNKS), CHUNKS):
        assert run(collected(backend.aiter_events(source))) == ["a", "b", "c"]


def test_binary_files(backend: Any, tmp_path: Any) -> None:
    path = tmp_path / "stream"
    body = b"data: a\r\rdata: b\n\n" * 5000
    path.write_bytes(body)
    expected = ["a", "b"] * 5000
    for buffering in (0, -1):
        with open(path, "rb", buffering=buffering) as file:
            assert [event.data for event in backend.iter_events(file)] == expected
            assert not file.closed
            file.seek(0)
            with backend.iter_events(file) as events:
                next(events)
            assert not file.closed
            file.seek(0)
            assert run(collected(backend.aiter_events(file))) == expected
    file = io.BytesIO(body)
    assert [event.data for event in backend.iter_events(file)] == expected


def test_a_file_is_never_read_by_lines(backend: Any) -> None:
    class File(io.BytesIO):
        def __iter__(self) -> Any:
            raise AssertionError("by lines")

        __next__ = readline = readlines = __iter__  # type: ignore[assignment]

    assert [event.data for event in backend.iter_events(File(b"data: a\n\n"))] == ["a"]


@pytest.mark.parametrize("buffering", [0, -1])
def test_a_pipe_gives_its_bytes_as_soon_as_they_are_there(backend: Any, buffering: int) -> None:
    read, write = os.pipe()
    with open(read, "rb", buffering=buffering) as file:
        events = backend.iter_events(file)
        for number in range(3):
            os.write(write, b"data: %d\r\r" % number)
            assert next(events).data == str(number)
        os.close(write)
        assert list(events) == []


def test_what_has_read1_only(backend: Any) -> None:
    class Reader:
        blocks = iter([*CHUNKS, b""])

        def read1(self, size: int) -> bytes:
            assert size > 0
            return next(self.blocks)

    assert [event.data for event in backend.iter_events(Reader())] == ["a", "b", "c"]


def test_an_object_with_readany(backend: Any) -> None:
    class Reader:
        blocks = iter([*CHUNKS, b""])

        async def readany(self) -> bytes:
            await asyncio.sleep(0)
            return next(self.blocks)

        def __aiter__(self) -> Any:
            raise AssertionError("by lines")

    assert run(collected(backend.aiter_events(Reader()))) == ["a", "b", "c"]


def test_the_stream_reader_of_asyncio(backend: Any) -> None:
    async def main() -> list[str]:
        reader = asyncio.StreamReader()
        events = backend.aiter_events(reader)
        found = []
        for data in (b"data: a\r\r", b"data: b\n\n"):
            reader.feed_data(data)
            event = await asyncio.wait_for(events.__anext__(), 5)
            found.append(event.data)
        reader.feed_eof()
        assert [event async for event in events] == []
        return found

    assert run(main()) == ["a", "b"]


@pytest.mark.parametrize(
    "source", [b"data", bytearray(b"data"), memoryview(b"data")], ids=lambda value: str(type(value))
)
def test_bytes_given_directly_are_refused_and_parse_is_named(backend: Any, source: Any) -> None:
    for function in (backend.iter_events, backend.aiter_events):
        with pytest.raises(TypeError, match="parse"):
            function(source)


def test_what_cannot_be_iterated(backend: Any) -> None:
    with pytest.raises(TypeError, match="aiter_events"):
        backend.iter_events(async_source([]))
    for source in (None, 5, object(), "text", io.StringIO("data: x\n\n")):
        with pytest.raises(TypeError):
            backend.iter_events(source)
        with pytest.raises(TypeError):
            backend.aiter_events(source)
    for function in (backend.iter_events, backend.aiter_events):
        with pytest.raises(TypeError):
            function()
        with pytest.raises(TypeError):
            function([], "raise")


def test_a_text_file_is_told_to_be_binary(backend: Any, tmp_path: Any) -> None:
    path = tmp_path / "stream"
    path.write_text("data: a\n\n")
    with open(path) as file, pytest.raises(TypeError, match="binary"):
        backend.iter_events(file)


# Attributes and the end


def test_attributes_are_as_of_the_item_handed_out(backend: Any) -> None:
    events = backend.iter_events(CHUNKS, last_event_id="0")
    found = [(events.last_event_id, events.retry, events.truncated)]
    for _ in range(3):
        next(events)
        found.append((events.last_event_id, events.retry, events.truncated))
    assert found == [("0", None, False), ("1", None, False), ("2", 5, False), ("3", 5, False)]
    assert list(events) == []
    assert events.unfinished == backend.ServerSentEvent(data="cut", id="3")
    assert events.truncated is True


def test_attributes_in_one_chunk(backend: Any) -> None:
    events = backend.iter_events([b"".join(CHUNKS)], contains=[b"a", b"c"])
    found = []
    for event in events:
        found.append((event.data, events.last_event_id, events.retry, events.skipped))
    assert found == [("a", "1", None, 0), ("c", "3", 5, 1)]


def test_the_end_of_a_complete_stream(backend: Any) -> None:
    for policy in ("discard", "raise", "yield"):
        events = backend.iter_events([b"data: a\n\n"], unfinished=policy)
        assert [event.data for event in events] == ["a"]
        assert (events.unfinished, events.truncated) == (None, False)
        assert list(events) == []


def test_unfinished_raise(backend: Any) -> None:
    events = backend.iter_events(CHUNKS, unfinished="raise")
    found = []
    with pytest.raises(StreamInterrupted) as error:
        found.extend(event.data for event in events)
    assert found == ["a", "b", "c"]
    assert error.value.unfinished == backend.ServerSentEvent(data="cut", id="3")
    assert error.value.last_event_id == "3"
    assert list(events) == []
    events = backend.iter_events([b"event: message_stop\n"], unfinished="raise")
    with pytest.raises(StreamInterrupted) as error:
        next(events)
    assert error.value.unfinished is None
    assert (events.unfinished, events.truncated) == (None, True)


def test_unfinished_yield(backend: Any) -> None:
    events = backend.iter_events(CHUNKS, unfinished="yield", types={"none"})
    (event,) = list(events)
    assert event.data == "cut"
    assert events.unfinished == event
    assert list(backend.iter_events([b"event: x\n"], unfinished="yield")) == []


def test_unfinished_in_an_async_iterator(backend: Any) -> None:
    async def main() -> None:
        events = backend.aiter_events(async_source(CHUNKS), unfinished="yield")
        assert await collected(events) == ["a", "b", "c", "cut"]
        events = backend.aiter_events(async_source(CHUNKS), unfinished="raise")
        with pytest.raises(StreamInterrupted) as error:
            await collected(events)
        assert error.value.unfinished.data == "cut"
        assert await collected(events) == []

    run(main())


def test_overflow_ends_it_after_the_items_before(backend: Any) -> None:
    chunk = b"id: 1\ndata: a\n\nid: 2\ndata: 12345"
    events = backend.iter_events([chunk, b"data: b\n\n"], max_buffer_size=4)
    assert next(events).data == "a"
    with pytest.raises(BufferSizeExceeded):
        next(events)
    assert list(events) == []
    assert (events.last_event_id, events.unfinished, events.truncated) == ("1", None, False)


def test_the_source_is_not_asked_again_after_its_end(backend: Any) -> None:
    class Source:
        asked = 0

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> bytes:
            self.asked += 1
            assert self.asked == 1
            raise StopIteration

    events = backend.iter_events(Source())
    assert list(events) == []
    assert list(events) == []


# Failures of the source


def test_an_exception_of_the_source_passes_and_ends_it(backend: Any) -> None:
    error = ConnectionError("reset")
    for policy in ("discard", "raise", "yield"):
        events = backend.iter_events(Failing(CHUNKS, error), unfinished=policy)
        assert [next(events).data for _ in range(3)] == ["a", "b", "c"]
        with pytest.raises(ConnectionError) as found:
            next(events)
        assert found.value is error
        assert events.unfinished == backend.ServerSentEvent(data="cut", id="3")
        assert events.truncated is True
        assert (events.last_event_id, events.retry) == ("3", 5)
        assert list(events) == []


def test_an_exception_of_an_async_source_passes_and_ends_it(backend: Any) -> None:
    async def main() -> None:
        error = ConnectionError("reset")
        events = backend.aiter_events(Failing(CHUNKS, error), unfinished="raise")
        assert [(await events.__anext__()).data for _ in range(3)] == ["a", "b", "c"]
        with pytest.raises(ConnectionError) as raised:
            await events.__anext__()
        assert raised.value is error
        assert events.unfinished.data == "cut"
        assert events.truncated is True
        assert await collected(events) == []

    run(main())


def test_a_wrong_chunk_ends_it_like_an_exception(backend: Any) -> None:
    events = backend.iter_events([b"data: a\n\ndata: cut", "text", b"\n\n"])
    assert next(events).data == "a"
    with pytest.raises(TypeError, match="bytes"):
        next(events)
    assert events.unfinished.data == "cut"
    assert events.truncated is True
    assert list(events) == []

    async def main() -> None:
        events = backend.aiter_events(async_source([b"data: cut", None]))
        with pytest.raises(TypeError, match="bytes"):
            await events.__anext__()
        assert events.unfinished.data == "cut"
        assert await collected(events) == []

    run(main())


def test_an_interrupt_passes_and_ends_nothing(backend: Any) -> None:
    class Source:
        steps = iter([b"data: a\n", KeyboardInterrupt(), b"\ndata: b\n\n"])

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> bytes:
            step = next(self.steps)
            if isinstance(step, BaseException):
                raise step
            return step

    events = backend.iter_events(Source())
    with pytest.raises(KeyboardInterrupt):
        next(events)
    assert (events.unfinished, events.truncated) == (None, False)
    assert [event.data for event in events] == ["a", "b"]


# Closing


def test_closing_early_closes_an_iterator(backend: Any) -> None:
    source = Closing(CHUNKS)
    with backend.iter_events(source) as events:
        next(events)
    assert source.closed == 1
    assert list(events) == []
    assert (events.unfinished, events.truncated, events.last_event_id) == (None, False, "1")
    events.close()
    assert source.closed == 1


def test_closing_early_closes_a_generator(backend: Any) -> None:
    done = []

    def generator() -> Iterator[bytes]:
        try:
            yield from CHUNKS
        finally:
            done.append(True)

    events = backend.iter_events(generator())
    next(events)
    assert done == []
    events.close()
    assert done == [True]


def test_closing_before_the_first_step(backend: Any) -> None:
    source = Closing(CHUNKS)
    backend.iter_events(source).close()
    assert source.closed == 1


def test_a_source_without_close_is_let_be(backend: Any) -> None:
    events = backend.iter_events(CHUNKS)
    next(events)
    events.close()
    assert list(events) == []


def test_a_used_up_source_is_not_closed(backend: Any) -> None:
    source = Closing(CHUNKS)
    with backend.iter_events(source) as events:
        assert len(list(events)) == 3
    assert source.closed == 0
    assert events.truncated is True


def test_leaving_with_an_exception_closes_and_passes(backend: Any) -> None:
    source = Closing(CHUNKS)
    with pytest.raises(ZeroDivisionError), backend.iter_events(source):
        raise ZeroDivisionError
    assert source.closed == 1


def test_an_exception_of_close_passes(backend: Any) -> None:
    class Source(Closing):
        def close(self) -> None:
            raise ConnectionError("late")

    events = backend.iter_events(Source(CHUNKS))
    next(events)
    with pytest.raises(ConnectionError):
        events.close()
    assert list(events) == []
    events.close()


def test_closing_an_async_iterator_early(backend: Any) -> None:
    async def main() -> None:
        source = Closing(CHUNKS)
        async with backend.aiter_events(source) as events:
            assert (await events.__anext__()).data == "a"
        assert source.closed == 1
        assert await collected(events) == []
        assert (events.unfinished, events.truncated) == (None, False)
        await events.aclose()
        assert source.closed == 1

        done = []

        async def generator() -> AsyncIterator[bytes]:
            try:
                for chunk in CHUNKS:
                    yield chunk
            finally:
                done.append(True)

        async def leave() -> None:
            async with backend.aiter_events(generator()) as events:
                await events.__anext__()
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await leave()
        assert done == [True]

    run(main())


def test_aclose_does_nothing_until_it_is_awaited(backend: Any) -> None:
    async def main() -> None:
        source = Closing(CHUNKS)
        events = backend.aiter_events(source)
        closing = events.aclose()
        assert source.closed == 0
        await closing
        assert source.closed == 1

    run(main())


def test_a_dropped_async_iterator_closes_nothing_itself(backend: Any) -> None:
    async def main() -> None:
        source = Closing(CHUNKS)
        events = backend.aiter_events(source)
        await events.__anext__()
        del events
        gc.collect()
        assert source.closed == 0

    run(main())


def test_closing_in_the_middle_of_a_for_loop(backend: Any) -> None:
    source = Closing(CHUNKS)
    events = backend.iter_events(source)
    found = []
    for event in events:
        found.append(event.data)
        events.close()
    assert found == ["a"]
    assert source.closed == 1


# Cancellation and concurrency


def gated() -> tuple[AsyncIterator[bytes], Callable[[bytes], None]]:
    """A source that waits for each chunk, cancelled or not, and what gives it one."""
    queue: asyncio.Queue[bytes] = asyncio.Queue()

    class Source:
        def __aiter__(self) -> Any:
            return self

        async def __anext__(self) -> bytes:
            return await queue.get()

    return Source(), queue.put_nowait  # type: ignore[return-value]


def test_a_cancelled_step_loses_nothing(backend: Any) -> None:
    async def main() -> None:
        source, give = gated()
        events = backend.aiter_events(source)
        give(b"data: a\n\ndata: b")
        assert (await events.__anext__()).data == "a"
        for _ in range(3):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(events.__anext__(), 0.01)
            assert (events.unfinished, events.truncated) == (None, False)
        give(b"c\n\n")
        assert (await asyncio.wait_for(events.__anext__(), 5)).data == "bc"

        async def step() -> Any:
            return await events.__anext__()

        task = asyncio.create_task(step())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        give(b"data: d\n\n")
        assert (await asyncio.wait_for(events.__anext__(), 5)).data == "d"

    run(main())


async def of(step: Awaitable[Any]) -> Any:
    return await step


def test_two_steps_at_once_are_refused(backend: Any) -> None:
    async def main() -> None:
        source, give = gated()
        events = backend.aiter_events(source)
        first = asyncio.create_task(of(events.__anext__()))
        await asyncio.sleep(0.01)
        with pytest.raises(RuntimeError):
            await events.__anext__()
        give(b"data: a\n\n")
        assert (await asyncio.wait_for(first, 5)).data == "a"
        give(b"data: b\n\n")
        assert (await asyncio.wait_for(events.__anext__(), 5)).data == "b"

    run(main())


def test_many_tasks_get_each_event_once(backend: Any) -> None:
    async def main() -> None:
        source, give = gated()
        events = backend.aiter_events(source)
        found = []

        async def consume() -> None:
            while True:
                try:
                    found.append((await events.__anext__()).data)
                except RuntimeError:
                    await asyncio.sleep(0)

        tasks = [asyncio.create_task(consume()) for _ in range(5)]
        for number in range(20):
            give(b"data: %d\n\n" % number)
            await asyncio.sleep(0.001)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert found == [str(number) for number in range(20)]

    run(main())


def test_re_entry_is_refused(backend: Any) -> None:
    class Source:
        def __iter__(self) -> Any:
            return self

        def __next__(self) -> bytes:
            with pytest.raises(RuntimeError):
                next(events)
            return b"data: a\n\n"

    events = backend.iter_events(Source())
    assert next(events).data == "a"
    assert next(events).data == "a"


def test_closing_from_inside_the_source_ends_it(backend: Any) -> None:
    """The step that was under way may still hand out its item; there is no other."""

    class Source:
        def __iter__(self) -> Any:
            return self

        def __next__(self) -> bytes:
            events.close()
            return b"data: a\n\ndata: b\n\n"

    events = backend.iter_events(Source())
    assert len(list(events)) <= 1
    assert list(events) == []


@pytest.mark.parametrize("error", [StopIteration(), ConnectionError("gone")], ids=repr)
def test_closing_from_inside_a_source_that_ends(backend: Any, error: Exception) -> None:
    """It was closed first: nothing is unfinished."""

    chunks = [b"data: a"]

    class Source:
        def __iter__(self) -> Any:
            return self

        def __next__(self) -> bytes:
            if chunks:
                return chunks.pop()
            events.close()
            raise error

    events = backend.iter_events(Source(), unfinished="yield")
    with pytest.raises(type(error)):
        next(events)
    assert (events.unfinished, events.truncated) == (None, False)
    assert list(events) == []


def test_an_interrupt_after_closing_from_inside(backend: Any) -> None:
    class Source:
        def __iter__(self) -> Any:
            return self

        def __next__(self) -> bytes:
            events.close()
            raise KeyboardInterrupt

    events = backend.iter_events(Source())
    with pytest.raises(KeyboardInterrupt):
        next(events)
    assert list(events) == []


def test_closing_from_inside_an_async_source(backend: Any) -> None:
    """What it makes then is not looked at."""

    class Source:
        def __aiter__(self) -> Any:
            return self

        async def __anext__(self) -> bytes:
            await events.aclose()
            return b"data: late\n\n"

    events = backend.aiter_events(Source())
    assert run(collected(events)) == []
    assert (events.unfinished, events.truncated) == (None, False)


def test_a_raw_file_without_bytes_yet(backend: Any) -> None:
    """Waiting is for those who made it non-blocking."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    with open(read, "rb", buffering=0) as file, open(write, "wb", buffering=0) as end:
        events = backend.iter_events(file)
        end.write(b"data: a\n\n")
        assert next(events).data == "a"
        with pytest.raises(BlockingIOError, match="non-blocking"):
            next(events)


def test_a_close_that_is_not_awaited(backend: Any) -> None:
    """What iter_events takes is closed in its own way."""
    source = Closing(CHUNKS)

    class Plain:
        def __aiter__(self) -> Any:
            return self

        async def __anext__(self) -> bytes:
            return next(source)

        def aclose(self) -> None:
            source.close()

    async def main() -> None:
        async with backend.aiter_events(Plain()) as events:
            assert (await anext(events)).data == "a"

    run(main())
    assert source.closed == 1


def test_what_a_source_is_made_into_is_an_async_iterator() -> None:
    async def readany() -> bytes:
        return b""

    for source in (SimpleNamespace(readany=readany), [b"data: a\n\n"]):
        chunks, _ = async_chunks(source)
        assert aiter(chunks) is chunks


def test_two_threads_on_one_iterator(backend: Any) -> None:
    inside = threading.Event()
    go_on = threading.Event()

    class Source:
        def __iter__(self) -> Any:
            return self

        def __next__(self) -> bytes:
            inside.set()
            assert go_on.wait(10)
            return b"data: a\n\n"

    events = backend.iter_events(Source())
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(next(events).data))
    thread.start()
    assert inside.wait(10)
    with pytest.raises(RuntimeError):
        next(events)
    go_on.set()
    thread.join(10)
    assert found == ["a"]


def test_awaiting_waits_in_the_event_loop(backend: Any) -> None:
    async def main() -> None:
        async def slow() -> AsyncIterator[bytes]:
            for chunk in (b"data: a", b"\n", b"\n"):
                await asyncio.sleep(0.02)
                yield chunk

        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.005)

        ticking = asyncio.create_task(tick())
        assert await collected(backend.aiter_events(slow())) == ["a"]
        ticking.cancel()
        assert ticks > 4

    run(main())


def test_a_step_is_a_coroutine_or_an_awaitable_for_every_caller(backend: Any) -> None:
    async def main() -> None:
        events = backend.aiter_events(async_source(CHUNKS))
        assert (await anext(events)).data == "a"
        assert (await asyncio.wait_for(events.__anext__(), 5)).data == "b"
        (event,) = await asyncio.gather(events.__anext__())
        assert event.data == "c"
        assert await anext(events, "over") == "over"

    run(main())


class Waiting:
    """A source whose chunk is what the event loop sends it, and which tells what is thrown."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.asked()
        except ValueError as error:
            self.told.append(error)
            return b"data: caught\n\n"
        except BaseException as error:
            self.told.append(type(error))
            raise

    @types.coroutine
    def asked(self) -> Iterator[str]:
        chunk = yield "asked"
        while chunk == "again":
            chunk = yield "asked again"
        if chunk is None:
            raise StopAsyncIteration
        return chunk


def result(step: Any, value: Any = None) -> Any:
    with pytest.raises(StopIteration) as stopped:
        step.send(value)
    return stopped.value.value


def test_a_step_hands_everything_through(backend: Any) -> None:
    source = Waiting()
    events = backend.aiter_events(source, comments=True)
    step = events.__anext__()
    assert step.send(None) == "asked"
    assert step.send("again") == "asked again"
    assert result(step, b"data: a\n\n").data == "a"

    step = events.__anext__()
    assert step.send(None) == "asked"
    error = ValueError("thrown")
    with pytest.raises(StopIteration) as stopped:
        step.throw(error)
    assert stopped.value.value.data == "caught"
    assert source.told == [error]

    step = events.__anext__()
    step.send(None)
    with pytest.raises(KeyboardInterrupt):
        step.throw(KeyboardInterrupt())
    for ended in (lambda: step.send(None), lambda: step.throw(KeyError())):
        with pytest.raises((RuntimeError, KeyError)):
            ended()

    step = events.__anext__()
    step.send(None)
    step.close()
    step.close()
    assert source.told[1:] == [KeyboardInterrupt, GeneratorExit]

    step = events.__anext__()
    step.send(None)
    assert result(step, bytearray(b"data: b\n\n: c\n\n")).data == "b"
    assert result(events.__anext__()).text == "c"

    step = events.__anext__()
    step.send(None)
    with pytest.raises(StopAsyncIteration):
        step.send(None)
    with pytest.raises(StopAsyncIteration):
        events.__anext__().send(None)


def test_a_step_that_something_is_thrown_into_before_it_began(backend: Any) -> None:
    source = Waiting()
    events = backend.aiter_events(source)
    step = events.__anext__()
    with pytest.raises(KeyError):
        step.throw(KeyError("early"))
    with pytest.raises(RuntimeError, match="already awaited"):
        step.send(None)
    assert source.told == []
    step = events.__anext__()
    step.send(None)
    assert result(step, b"data: a\n\n").data == "a"


def test_steps_that_are_kept_do_not_get_in_each_others_way(backend: Any) -> None:
    async def main() -> None:
        events = [backend.aiter_events(async_source(CHUNKS)) for _ in range(3)]
        steps = [iterator.__anext__() for iterator in events for _ in range(4)]
        found = [(await step).data for step in steps[:3] + steps[4:7]]
        assert found == ["a", "b", "c"] * 2
        with pytest.raises(RuntimeError):
            await steps[0]
        assert [(await step).data for step in steps[8:11]] == ["a", "b", "c"]
        for step in steps:
            step.close()

    run(main())


def test_a_comprehension_and_a_plain_loop_see_the_same(backend: Any) -> None:
    async def main() -> None:
        first = [item async for item in backend.aiter_events(async_source(CHUNKS), comments=True)]
        second = []
        async for item in backend.aiter_events(async_source(CHUNKS), comments=True):
            second.append(item)
        assert first == second == backend.parse(b"".join(CHUNKS), comments=True)

    run(main())


def test_cycles_through_the_source_are_collected(backend: Any) -> None:
    import weakref

    class Source(Closing):
        events: Any

    source = Source(CHUNKS)
    source.events = backend.iter_events(source)
    seen = weakref.ref(source)
    del source
    gc.collect()
    assert seen() is None


def test_cycles_through_an_async_step_are_collected(backend: Any) -> None:
    import weakref

    class Source(Waiting):
        steps: list[Any]

    for begun in (False, True):
        source = Source()
        events = backend.aiter_events(source)
        step = events.__anext__()
        if begun:
            assert step.send(None) == "asked"
        source.steps = [step]
        seen = weakref.ref(source)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a coroutine that never began
            del source, events, step
            gc.collect()
        assert seen() is None


def test_a_step_that_is_done_holds_nothing(backend: Any) -> None:
    import weakref

    source = Closing(CHUNKS)
    events = backend.aiter_events(source)
    seen = weakref.ref(source)
    step = events.__anext__()
    assert run(of(step)).data == "a"
    del source, events
    gc.collect()
    assert seen() is None
    step.close()


def test_events_are_not_tracked_by_the_collector_where_compiled(backend: Any) -> None:
    (event,) = backend.parse(b"data: a\n\n")
    if backend.__name__ == "rapidsse._rapidsse":
        assert not gc.is_tracked(event)


def test_a_step_does_not_wait_for_more_than_it_needs(backend: Any) -> None:
    async def main() -> None:
        source, give = gated()
        events = backend.aiter_events(source)
        give(b"data: a\n\ndata: b\n\n")
        started = time.monotonic()
        assert [(await events.__anext__()).data for _ in range(2)] == ["a", "b"]
        assert time.monotonic() - started < 5

    run(main())


def test_a_source_that_asks_for_an_item_itself_is_told_that_the_iterator_is_busy(
    backend: Any,
) -> None:
    class Source:
        events: Any = None

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> bytes:
            with pytest.raises(RuntimeError, match="waiting"):
                next(self.events)
            raise ValueError("of the source")

    source = Source()
    source.events = backend.iter_events(source)
    with pytest.raises(ValueError, match="of the source"):
        next(source.events)
    assert list(source.events) == []
