"""Whatever is thrown in, and wherever: a source is closed once and nothing complete is lost.

The consumer of a stream is driven by hand, from one point where it waits to the next; at each of
them in turn something is thrown into it. Then the same within asyncio in its debug mode.
"""

from __future__ import annotations

import asyncio
import gc
import types
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from typing import Any

import pytest
import rapidsse

Opened = Callable[..., Any]
CHUNKS = [b"data: a\n\ndata: b\n", b"\nda", b"", b"ta: c\n\n: d\n", b"event: e\ndata: f\n\ndata: g"]
EVENTS = ["a", "b", "c", "f"]
BEFORE = ["", "ab", "abc", "abcf", "abcf"]  # what the chunks so far come to, the next being asked


@pytest.fixture(params=["aiter_events", "EventStream"])
def opened(request: pytest.FixtureRequest, backend: Any, monkeypatch: pytest.MonkeyPatch) -> Opened:
    """What makes a stream's events of its chunks: an iterator, or an EventStream over one."""
    if request.param == "aiter_events":
        return backend.aiter_events
    monkeypatch.setattr(rapidsse, "aiter_events", backend.aiter_events)
    return rapidsse.EventStream


@types.coroutine
def pause() -> Generator[None, None, None]:
    """Where a consumer waits."""
    yield


class Source:
    """An async iterator over chunks that waits for each, and for its closing. As a file would, it
    warns if it is dropped open."""

    def __init__(self, wait: Any) -> None:
        self.wait = wait
        self.chunks = iter(CHUNKS)
        self.closed = 0

    def __aiter__(self) -> Source:
        return self

    async def __anext__(self) -> bytes:
        await self.wait()
        try:
            return next(self.chunks)
        except StopIteration:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        self.closed += 1
        await self.wait()

    def __del__(self) -> None:
        if not self.closed:
            warnings.warn("a source was left open", ResourceWarning, stacklevel=1)


def generator(wait: Any, log: list[str]) -> AsyncIterator[bytes]:
    """The same as an async generator, which is how HTTP clients make their streams."""

    async def chunks() -> AsyncIterator[bytes]:
        log.append("open")
        try:
            for chunk in CHUNKS:
                await wait()
                yield chunk
            await wait()
        finally:
            log.append("closed")

    return chunks()


async def consume(events: Any, found: list[str], wait: Any) -> None:
    async with events:
        async for event in events:
            found.append(event.data)
            await wait()


def drive(work: Coroutine[Any, Any, None], stop: int, thrown: BaseException) -> bool:
    """Runs up to the point of waiting with the number `stop` and throws there. Whether there was
    such a point."""
    try:
        for _ in range(stop + 1):
            work.send(None)
    except StopIteration:
        return False
    with pytest.raises(type(thrown)) as caught:
        throw(work, thrown)
    assert caught.value is thrown
    return True


def throw(work: Coroutine[Any, Any, None], thrown: BaseException) -> None:
    work.throw(thrown)
    while True:  # it waits once more, to close the source
        work.send(None)


THROWN = [asyncio.CancelledError("stop"), ConnectionError("gone"), KeyboardInterrupt("now")]


@pytest.mark.parametrize("thrown", THROWN, ids=repr)
def test_thrown_at_every_point_a_generator_is_closed_once(opened: Opened, thrown: Any) -> None:
    for stop in range(100):
        log: list[str] = []
        found: list[str] = []
        events = opened(generator(pause, log))
        if not drive(consume(events, found, pause), stop, thrown):
            assert found == EVENTS
            break
        assert log == ["open", "closed"]
        assert found == EVENTS[: len(found)]
    assert stop == len(CHUNKS) + 1 + len(EVENTS)


@pytest.mark.parametrize("thrown", THROWN, ids=repr)
def test_thrown_at_every_point_a_source_is_closed(opened: Opened, thrown: Any) -> None:
    """By who leaves: a source that failed or is used up has nothing more to be closed for."""
    for stop in range(100):
        source = Source(pause)
        found: list[str] = []
        if not drive(consume(opened(source), found, pause), stop, thrown):
            break
        failed = isinstance(thrown, Exception) and not source.closed
        assert source.closed == 1 or failed
        source.closed = 1
    assert found == EVENTS
    source.closed = 1


@pytest.mark.parametrize("thrown", [asyncio.CancelledError(), GeneratorExit()], ids=repr)
def test_a_step_that_is_given_up_at_every_point_loses_nothing(opened: Opened, thrown: Any) -> None:
    waits = len(CHUNKS) + 1
    for stop in range(waits):
        source = Source(pause)
        events = opened(source)
        found: list[str] = []
        asked = 0
        while True:
            step = events.__anext__().__await__()
            try:
                while True:
                    step.send(None)
                    asked += 1
                    if asked == stop + 1:
                        with pytest.raises(type(thrown)):
                            step.throw(thrown)
                        break
            except StopIteration as ended:
                found.append(ended.value.data)
            except StopAsyncIteration:
                break
        assert found == EVENTS
        assert asked == waits + 1 + source.closed  # an EventStream closes what has ended
        assert events.unfinished.data == "g"
        source.closed = 1


def test_cancelled_in_asyncio_at_every_turn(opened: Opened) -> None:
    async def wait() -> None:
        await asyncio.sleep(0)

    async def cancelled(turns: int) -> bool:
        log: list[str] = []
        found: list[str] = []
        events = opened(generator(wait, log))
        task = asyncio.create_task(consume(events, found, wait))
        for _ in range(turns):
            await asyncio.sleep(0)
        if task.done():
            assert found == EVENTS
            return False
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert log in ([], ["open", "closed"])
        assert found == EVENTS[: len(found)]
        return True

    turns = 0
    while asyncio.run(cancelled(turns), debug=True):
        turns += 1
        assert turns < 100
    assert turns > len(CHUNKS) + len(EVENTS)
    gc.collect()  # what was left open would warn, which is an error


def test_streams_that_are_cancelled_close_their_sockets(opened: Opened) -> None:
    """A real connection, in asyncio's debug mode: an open transport warns when it is dropped."""

    async def serve(reader: Any, writer: Any) -> None:
        try:
            while True:
                writer.write(b"data: x\n\n")
                await writer.drain()
                await asyncio.sleep(0.001)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def chunks(port: int) -> AsyncIterator[bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            while chunk := await reader.read(4096):
                yield chunk
        finally:
            writer.close()
            await writer.wait_closed()

    async def consume(port: int, wanted: int) -> None:
        async with opened(chunks(port)) as events:
            async for _ in events:
                wanted -= 1
                if not wanted:
                    return

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        await asyncio.gather(*(consume(port, wanted) for wanted in range(1, 6)))
        tasks = [asyncio.create_task(consume(port, 10**9)) for _ in range(20)]
        for task in tasks:
            await asyncio.sleep(0.002)
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(end) for end in ended} == {asyncio.CancelledError}
        server.close()
        await server.wait_closed()

    asyncio.run(asyncio.wait_for(main(), 30), debug=True)
    gc.collect()
