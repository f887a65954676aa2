"""Each fault that somebody found has a test named after it."""

import asyncio
import inspect
import io
import json
import pickle
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest


async def slow_chunks() -> AsyncIterator[bytes]:
    for i in range(5):
        await asyncio.sleep(0.002)
        yield b"data: %d\n\n" % i


def test_overlapping_steps_do_not_share_an_event(backend: Any) -> None:
    async def main() -> list[Any]:
        events = backend.aiter_events(slow_chunks())
        steps = [events.__anext__() for _ in range(3)]
        return await asyncio.gather(*steps, return_exceptions=True)

    first, *others = asyncio.run(main())
    assert first.data == "0"
    assert [type(other) for other in others] == [RuntimeError, RuntimeError]


def test_cancelling_one_step_leaves_the_other(backend: Any) -> None:
    async def main() -> str:
        queue: asyncio.Queue[bytes] = asyncio.Queue()

        async def chunks() -> AsyncIterator[bytes]:
            while True:
                yield await queue.get()

        events = backend.aiter_events(chunks())
        first = asyncio.ensure_future(events.__anext__())
        second = asyncio.ensure_future(events.__anext__())
        await asyncio.sleep(0.01)
        second.cancel()
        with pytest.raises((RuntimeError, asyncio.CancelledError)):
            await second
        queue.put_nowait(b"data: kept\n\n")
        return (await first).data

    assert asyncio.run(main()) == "kept"


def test_a_step_is_awaited_once(backend: Any) -> None:
    async def main() -> None:
        events = backend.aiter_events(slow_chunks())
        step = events.__anext__()
        assert (await step).data == "0"
        with pytest.raises(RuntimeError, match="cannot reuse already awaited"):
            await step
        assert (await anext(events)).data == "1"

    asyncio.run(main())


class Waits:
    """Waits at the first call, and has a chunk at the second."""

    calls = 0

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> bytes:
        self.calls += 1
        if self.calls == 1:
            await asyncio.sleep(60)
        return b"data: kept\n\n"


def test_a_step_that_is_given_up_while_it_waits_loses_nothing(backend: Any) -> None:
    async def main() -> str:
        events = backend.aiter_events(Waits())
        step = events.__anext__().__await__()
        step.send(None)
        step.close()
        return (await anext(events)).data

    assert asyncio.run(main()) == "kept"


def test_an_async_iterator_is_not_awaitable(backend: Any) -> None:
    events = backend.aiter_events([b"data: 1\n\n"])
    assert not inspect.isawaitable(events)
    assert not asyncio.iscoroutine(events)
    assert not hasattr(events, "send")


def test_json_goes_as_deep_as_the_interpreter_lets_its_own_parser(backend: Any) -> None:
    def outcome(call: Callable[[], Any]) -> str:
        try:
            call()
        except RecursionError:
            return "too deep"
        return "made"

    before, depth = sys.getrecursionlimit(), 0
    frame = sys._getframe()
    while frame := frame.f_back:
        depth += 1
    sys.setrecursionlimit(depth + 120)
    try:
        for nested in (20, 180, 500):
            text = "[" * nested + "]" * nested
            event = backend.ServerSentEvent(data=text)
            assert outcome(event.json) == outcome(lambda text=text: json.loads(text))
    finally:
        sys.setrecursionlimit(before)


@pytest.mark.skipif(not hasattr(sys, "set_int_max_str_digits"), reason="an older interpreter")
def test_json_respects_the_interpreters_bound_on_digits(backend: Any) -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        for text in ("1" * 641, "[" + "1" * 2000 + "]", "[0.5, " + "1" * 641 + "]"):
            with pytest.raises(ValueError, match="Exceeds the limit"):
                json.loads(text)
            with pytest.raises(ValueError, match="Exceeds the limit"):
                backend.ServerSentEvent(data=text).json()
        assert backend.ServerSentEvent(data="1" * 640).json() == int("1" * 640)
    finally:
        sys.set_int_max_str_digits(before)


def test_a_file_of_somebodys_own_is_not_read_by_lines(backend: Any) -> None:
    class File:
        def __init__(self, content: bytes) -> None:
            self.inner = io.BytesIO(content)
            self.sizes: list[int] = []

        def read(self, size: int = -1) -> bytes:
            self.sizes.append(size)
            return self.inner.read(size)

        def readline(self) -> bytes:
            raise AssertionError("read by lines")

        def __iter__(self) -> Any:
            raise AssertionError("iterated by lines")

    file = File(b"data: x\r\rdata: y\r\r")
    assert [event.data for event in backend.iter_events(file)] == ["x", "y"]
    assert file.sizes
    assert all(size > 1 for size in file.sizes)


def test_iterators_cannot_be_pickled(backend: Any) -> None:
    for iterator in (backend.iter_events([]), backend.aiter_events([])):
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(iterator)


def run(arguments: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "rapidsse", *arguments], check=False, **options)


def test_infinity_is_no_json() -> None:
    stream = b"data: 1e999\n\ndata: [-1e999]\n\ndata: NaN\n\ndata: 1\n\n"
    done = run(["parse", "--json-data"], input=stream, capture_output=True)
    printed = [json.loads(line)["data"] for line in done.stdout.splitlines()]
    assert printed == ["1e999", "[-1e999]", "NaN", 1]


def test_an_output_that_cannot_be_written_is_one_clear_line() -> None:
    with open("/dev/full", "wb") as full:
        done = run(["parse"], input=b"data: x\n\n", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


def test_a_closed_standard_input_is_one_clear_line() -> None:
    command = f"exec {sys.executable} -m rapidsse parse <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("ending", [b"\r\n\r\n", b"\n\n"])
def test_a_value_that_begins_after_the_swallowed_lf_is_not_complete(
    backend: Any, ending: bytes
) -> None:
    parser = backend.Parser()
    assert [event.data for event in parser.feed(b"data: a\r\n\r")] == ["a"]
    assert parser.feed(b"\ndata: b") == []
    assert [event.data for event in parser.feed(b"c" + ending)] == ["bc"]
