"""What several tests do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from typing import Any, TypeVar

import judge

T = TypeVar("T")


def plain(item: Any) -> judge.Item | None:
    """A backend's item as the judge writes it; None stays None."""
    if item is None:
        return None
    name = type(item).__name__
    if name == "ServerSentEvent":
        return judge.Event(item.event, item.data, item.id, item.retry, item.raw)
    if name == "Comment":
        return judge.Comment(item.text)
    assert name == "Diagnostic", name
    return judge.Diagnostic(item.kind, item.line, item.offset, item.detail)


def plains(items: Iterable[Any]) -> list[judge.Item | None]:
    return [plain(item) for item in items]


def byte_by_byte(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def fed(parser: Any, chunks: Iterable[bytes]) -> list[Any]:
    return [item for chunk in chunks for item in parser.feed(chunk)]


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


async def async_source(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        await asyncio.sleep(0)
        yield chunk
