"""What is run under valgrind by `make memcheck`: the compiled module over the table of cases.

Everything that the module does with pointers is reached: feeding, iterating, items, their copies
and pickles, JSON, and every way out by an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import pickle
from collections.abc import AsyncIterator
from typing import Any

import rapidsse
from rapidsse import _rapidsse as backend
from rapidsse.testing import Case, cases

LARGE = 4096  # bytes; what is larger takes too long here
OPTIONS: list[dict[str, Any]] = [
    {},
    {"comments": True, "diagnostics": True, "raw": True},
    {"types": ["error"], "contains": [b"x"], "max_buffer_size": 40},
]


def use(item: Any) -> None:
    assert pickle.loads(pickle.dumps(item)) == item == copy.copy(item)
    assert hash(item) == hash(copy.deepcopy(item))
    repr(item)
    if isinstance(item, backend.ServerSentEvent):
        with contextlib.suppress(ValueError):
            item.encode()
        with contextlib.suppress(ValueError):
            item.json()


def work(case: Case, options: dict[str, Any]) -> None:
    for size in (1, 7, max(len(case.data), 1)):
        chunks = [case.data[at : at + size] for at in range(0, len(case.data), size)]
        parser = backend.Parser(**options)
        with contextlib.suppress(rapidsse.SSEError):
            for chunk in chunks:
                for item in parser.feed(bytearray(chunk)):
                    use(item)
            parser.close()
        parser.reset("again")
        with contextlib.suppress(rapidsse.SSEError):
            for item in backend.iter_events(chunks, unfinished="raise", **options):
                use(item)
        with contextlib.suppress(rapidsse.SSEError):
            asyncio.run(consume(chunks, options))


async def consume(chunks: list[bytes], options: dict[str, Any]) -> None:
    async def source() -> AsyncIterator[bytes]:
        for chunk in chunks:
            await asyncio.sleep(0)
            yield chunk

    async for item in backend.aiter_events(source(), **options):
        use(item)


def main() -> None:
    done = 0
    for case in cases():
        if len(case.data) <= LARGE:
            for options in OPTIONS:
                work(case, options)
            done += 1
    print(f"{done} cases")


if __name__ == "__main__":
    main()
