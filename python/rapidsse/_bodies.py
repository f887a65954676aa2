"""The bodies of streaming responses: their chunks as they arrive, and what closes them.

A client is known by what its response offers, never by its library, which is not imported. Each
gets the access that hands out bytes as soon as they are there, decoded where the client decodes:

    httpx, httpx2       iter_bytes(), aiter_bytes()
    aiohttp             content.readany()
    requests, niquests  iter_content(), which waits for whole bodies unless they are chunked: then
                        raw.read1()
    urllib3             read1(decode_content=True)
    urllib.request      read1()
"""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any

from rapidsse._sources import async_chunks, sync_chunks

logger = logging.getLogger("rapidsse")
logger.addHandler(logging.NullHandler())

LIMIT = 64 * 1024
"""The most that is read of what nobody asked for, in bytes."""
_REST = 1.0
"""The longest wait for the end of a body whose stream is complete, in seconds."""
_REFUSED = 5.0
"""The longest wait for the body of a refused response, in seconds."""
_BLOCK = 64 * 1024


Hurry = Callable[["float | None"], bool]


class _State:
    """How reading a body went."""

    def __init__(self) -> None:
        self.ended = False
        """The body was read to its end."""
        self.failed = False
        """A read has raised an exception."""
        self.closed = False
        self._quiet = False

    def _fail(self, error: BaseException) -> None:
        self.failed = True
        if not self._quiet and isinstance(error, Exception):
            logger.warning("a stream was interrupted: %s", type(error).__name__)

    def _end(self, chunks: object) -> None:
        if self.failed and isinstance(chunks, (Generator, AsyncGenerator)):
            # A generator that a cancellation or an interrupt has left is over, its body is not.
            raise RuntimeError("the response cannot be read on after an interrupted read")
        self.ended = True


class Body(_State):
    """An iterator over the chunks of a body, closed when it ends, fails or is dropped.

    Args:
        chunks: its chunks.
        close: what closes the response, beside its chunks.
        hurry: puts a limit, in seconds, on the reads to come, or takes it away; says whether
            it could.
    """

    def __init__(
        self,
        chunks: Iterator[Any],
        close: Callable[[], Any] | None,
        hurry: Hurry | None = None,
    ) -> None:
        super().__init__()
        self._chunks = chunks
        self._close = close
        self._hurry = hurry

    def __iter__(self) -> Body:
        return self

    def __next__(self) -> Any:
        try:
            return next(self._chunks)
        except StopIteration:
            self.close()
            self._end(self._chunks)
            raise
        except BaseException as error:
            self._fail(error)
            if isinstance(error, Exception):
                self.close()
            raise

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            try:
                if self._close is not None:
                    self._close()
            finally:
                close = getattr(self._chunks, "close", None)
                if close is not None:
                    close()

    def __del__(self) -> None:
        self.close()

    def drain(self) -> None:
        """Reads the rest if it is short and about to come, so that the connection can be used
        again; then closes."""
        if not self.closed:
            self._read_for(_REST, lambda left: self._hurry is not None and self._hurry(left))

    def beginning(self) -> bytes:
        """What the body of a refused response begins with; closes."""

        def may_read(left: float) -> bool:
            if self._hurry is not None:
                self._hurry(left)
            return True

        return self._read_for(_REFUSED, may_read)

    def _read_for(self, seconds: float, may_read: Callable[[float], bool]) -> bytes:
        self._quiet = True
        deadline = time.monotonic() + seconds
        read = bytearray()
        try:
            while (
                len(read) < LIMIT and (left := deadline - time.monotonic()) > 0 and may_read(left)
            ):
                chunk = next(self, None)
                if chunk is None:
                    break
                read += chunk
        except Exception:
            logger.debug("the rest of a body could not be read")
        finally:
            if self._hurry is not None:
                self._hurry(None)
            self.close()
        return bytes(read[:LIMIT])


class AsyncBody(_State):
    """An async iterator over the chunks of a body, closed when it ends or fails.

    Args:
        source: an async iterator of chunks, or an object with aiohttp's readany().
        close: what closes the response, beside its source; its result is awaited if it can be.
    """

    def __init__(self, source: Any, close: Callable[[], Any] | None) -> None:
        super().__init__()
        self._source = source
        self._blocks = hasattr(source, "readany")
        self._read: Callable[[], Awaitable[Any]] = (
            source.readany if self._blocks else source.__anext__
        )
        self._close = close

    def __aiter__(self) -> AsyncBody:
        return self

    async def __anext__(self) -> Any:
        try:
            chunk = await self._read()
            if chunk or not self._blocks:
                return chunk
        except StopAsyncIteration:
            pass
        except BaseException as error:
            self._fail(error)
            if isinstance(error, Exception):
                await self.aclose()
            raise
        await self.aclose()
        self._end(self._source)
        raise StopAsyncIteration

    async def aclose(self) -> None:
        if not self.closed:
            self.closed = True
            try:
                if self._close is not None:
                    closed = self._close()
                    if hasattr(closed, "__await__"):
                        await closed
            finally:
                aclose = getattr(self._source, "aclose", None)
                if aclose is not None:
                    await aclose()

    async def drain(self) -> None:
        """Reads the rest if it is short and about to come, so that the connection can be used
        again; then closes."""
        if not self.closed:
            if _in_asyncio():
                await self._read_for(_REST)
            await self.aclose()

    async def beginning(self) -> bytes:
        """What the body of a refused response begins with; closes."""
        return await self._read_for(_REFUSED if _in_asyncio() else None)

    async def _read_for(self, seconds: float | None) -> bytes:
        # It takes longer to import than all of this package, and not every user has a loop.
        import asyncio

        self._quiet = True
        read = bytearray()

        async def reading() -> None:
            async for chunk in self:
                read.extend(chunk)
                if len(read) >= LIMIT:
                    break

        try:
            await (reading() if seconds is None else asyncio.wait_for(reading(), seconds))
        except Exception:
            logger.debug("the rest of a body could not be read")
        finally:
            await self.aclose()
        return bytes(read[:LIMIT])


def _in_asyncio() -> bool:
    """Other event loops have clocks of their own."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def head(response: Any) -> tuple[int | None, str]:
    """A response's status and its media type without parameters, in lower case; None and nothing
    if it is no response."""
    status = getattr(response, "status_code", None)
    if status is None:
        status = getattr(response, "status", None)
    headers = getattr(response, "headers", None)
    if not isinstance(status, int) or headers is None:
        return None, ""
    return status, (headers.get("content-type") or "").partition(";")[0].strip().lower()


def sync_body(response: Any) -> Body:
    """The body of a response, or an iterable of chunks, for a plain loop."""
    kind = type(response).__name__
    if hasattr(response, "iter_bytes") and hasattr(response, "aiter_bytes"):
        if not hasattr(response.stream, "__iter__"):
            raise _wrong_loop(kind, "asynchronous", "async for")
        return Body(response.iter_bytes(), response.close, _hurry_httpx(response))
    if _is_async(response):
        raise _wrong_loop(kind, "asynchronous", "async for")
    if hasattr(response, "iter_content") and hasattr(response, "raw"):
        return _requests_body(response)
    if hasattr(response, "read1") and head(response)[0] is not None:
        if hasattr(response, "stream"):
            if response.closed:
                return Body(_read_before(response, response.data), response.close)
            return Body(_urllib3_chunks(response), response.close, _hurry_socket(response))
        return Body(_http_client_chunks(response), response.close)
    if isinstance(response, (str, bytes, bytearray, memoryview)):
        raise TypeError("EventStream takes a response or chunks; for a whole body use parse()")
    try:
        return Body(sync_chunks(response)[0], None)
    except TypeError:
        raise TypeError(
            f"EventStream takes a response or an iterable of chunks of bytes, not {kind}"
        ) from None


def async_body(response: Any) -> AsyncBody:
    """The body of a response, or an async iterable of chunks, for an asynchronous loop."""
    kind = type(response).__name__
    if hasattr(response, "iter_bytes") and hasattr(response, "aiter_bytes"):
        if not hasattr(response.stream, "__aiter__"):
            raise _wrong_loop(kind, "synchronous", "for")
        return AsyncBody(response.aiter_bytes(), response.aclose)
    if not _is_async(response):
        raise _wrong_loop(kind, "synchronous", "for")
    if hasattr(response, "iter_content"):
        return AsyncBody(_niquests_chunks(response), response.close)
    if hasattr(response, "content"):
        content = response.content
        if content.at_eof() and content.total_bytes:
            return AsyncBody(_used_up_async(), response.close)
        return AsyncBody(content, response.close)
    if hasattr(response, "readany"):
        return AsyncBody(response, None)
    return AsyncBody(async_chunks(response)[0], None)


def _is_async(response: Any) -> bool:
    if hasattr(response, "iter_content"):  # whose `content` would read the whole body
        return inspect.iscoroutinefunction(response.iter_content)
    return (
        hasattr(response, "__aiter__")
        or hasattr(response, "readany")
        or hasattr(getattr(response, "content", None), "readany")
    )


def _wrong_loop(kind: str, nature: str, loop: str) -> TypeError:
    return TypeError(f"{kind} is {nature}; use `{loop}`")


def _used_up() -> ValueError:
    return ValueError("the response was closed or read before; ask the client to stream it")


def _read_before(response: Any, content: bytes | None) -> Iterator[bytes]:
    """The body of a response whose connection is done with: kept by the client, or lost."""
    if content:
        yield content
    elif response.headers.get("content-length") != "0":
        raise _used_up()


async def _used_up_async() -> AsyncIterator[bytes]:
    raise _used_up()
    yield b""


def _requests_body(response: Any) -> Body:
    raw = response.raw
    if getattr(raw, "closed", False):
        return Body(_read_before(response, response.content), response.close)
    hurry = _hurry_socket(raw)
    if getattr(raw, "chunked", True):
        return Body(response.iter_content(-1), response.close, hurry)
    if hasattr(raw, "read1"):
        return Body(_urllib3_chunks(raw), response.close, hurry)
    return Body(response.iter_content(1), response.close, hurry)


def _urllib3_chunks(raw: Any) -> Iterator[bytes]:
    while True:
        chunk = raw.read1(_BLOCK, decode_content=True)
        if chunk:
            yield chunk
        elif raw.closed:  # otherwise the bytes that came decode to nothing yet
            return


def _http_client_chunks(response: Any) -> Iterator[bytes]:
    if response.isclosed():
        yield from _read_before(response, None)
    while chunk := response.read1(_BLOCK):
        yield chunk
    if response.length:
        # read() tells of this, read1() does not.
        from http.client import IncompleteRead

        raise IncompleteRead(b"", response.length)


async def _niquests_chunks(response: Any) -> AsyncIterator[bytes]:
    raw = response.raw
    if raw.closed:
        for chunk in _read_before(response, await response.content):
            yield chunk
    elif "content-encoding" in response.headers:
        while True:
            # iter_content() would wait for as many bytes as the encoded chunk had.
            chunk = await raw.read1(_BLOCK, decode_content=True)
            if chunk:
                yield chunk
            elif raw.closed:
                return
    else:
        async for chunk in await response.iter_content(-1):
            yield chunk


def _hurry_socket(raw: Any) -> Hurry:
    """For urllib3, which sets its socket's timeout anew with each request."""

    def hurry(seconds: float | None) -> bool:
        sock = getattr(getattr(raw, "connection", None), "sock", None)
        if sock is None:
            return False
        if seconds is not None:
            sock.settimeout(seconds)
        return True

    return hurry


def _hurry_httpx(response: Any) -> Hurry:
    """For httpx, which gives its network stream a timeout with each read."""

    def hurry(seconds: float | None) -> bool:
        stream = response.extensions.get("network_stream")
        if stream is None or response.http_version not in ("HTTP/1.0", "HTTP/1.1"):
            return False
        if seconds is None:
            vars(stream).pop("read", None)
            return True
        limit, read = seconds, type(stream).read

        def hurried(max_bytes: int, timeout: float | None = None) -> Any:
            # Closed, the response has given its connection back: whoever has it is in no hurry.
            if not response.is_closed:
                timeout = limit if timeout is None else min(timeout, limit)
            return read(stream, max_bytes, timeout)

        stream.read = hurried
        return True

    return hurry
