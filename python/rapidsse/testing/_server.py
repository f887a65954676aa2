"""An HTTP/1.1 server that serves a stream as it is told to, faults included.

Requests are read by h11. Responses are written here: much of what is ordered is what a correct
writer refuses to send.
"""

from __future__ import annotations

import asyncio
import contextlib
import http
import math
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from rapidsse.testing._reply import Encoder, Reply

_HEARTBEAT = b": heartbeat\n\n"
_BLOCK = 64 * 1024
_CLOSE = ("connection", "close")
_PREFLIGHT = (
    ("access-control-allow-origin", "*"),
    ("access-control-allow-headers", "*, authorization"),
    ("access-control-allow-methods", "*"),
)
_STEPS = 8
_PATIENCE = 1.0  # seconds for the client's machine to take what was sent before a reset


@dataclass(frozen=True)
class Request:
    """A request as it came.

    Attributes:
        method (str): as "GET".
        target (str): the path and the query.
        headers (Mapping[str, str]): by lower-case names; the last of several.
        body (bytes): the body.
        version (str): the HTTP version, as "1.1".
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    version: str


@dataclass
class Outcome:
    """What became of a response.

    Attributes:
        request (Request): the request.
        status (int): the status sent.
        sent (int): the bytes of the body that were sent, heartbeats excluded.
        length (int): the bytes of the whole body.
        end (str): "whole", a `Reply.cut`, "stall", or "left" if the client went before that.
    """

    request: Request
    status: int
    sent: int = 0
    length: int = 0
    end: str = "left"


class Server:
    """The server, in a running event loop.

    `script` holds a reply for each response in turn; the last is used for all that follow.
    """

    def __init__(
        self,
        data: bytes,
        script: Sequence[Reply],
        *,
        cors: bool = False,
        told: Callable[[Outcome], object] | None = None,
    ) -> None:
        self.data = data
        self.requests: list[Request] = []
        self._script = script
        self._cors = cors
        self._told = told
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def start(self, port: int = 0) -> int:
        """Listens on 127.0.0.1; returns the port."""
        _h11()
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", port)
        found: int = self._server.sockets[0].getsockname()[1]
        return found

    async def close(self) -> None:
        """Ends every connection."""
        assert self._server is not None
        # A connection that was just accepted is made a few steps of the loop later, which fails
        # on a server that is closed and leaves its socket open: so no more are accepted first.
        for listening in self._server.sockets:
            with contextlib.suppress(NotImplementedError):
                asyncio.get_running_loop().remove_reader(listening.fileno())
        for _ in range(_STEPS):
            await asyncio.sleep(0)
        self._server.close()
        for task, writer in self._connections.items():
            task.cancel()
            writer.transport.abort()
        await asyncio.gather(*self._connections, return_exceptions=True)
        # A transport that was aborted is closed a step later.
        await asyncio.sleep(0)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections[task] = writer
        task.add_done_callback(self._connections.pop)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # drain() is to wait for every byte, so that what was sent is known.
        writer.transport.set_write_buffer_limits(0)
        try:
            rest: bytes | None = b""
            while rest is not None:
                rest = await self._answer(reader, writer, rest)
        except ConnectionError:
            pass  # The client has left.
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rest: bytes
    ) -> bytes | None:
        """One request and its response.

        `rest` is what has been read of the request; the result is what has been read of the
        next, or None if the connection is to be closed.
        """
        try:
            request, rest = await _read_request(reader, writer, rest)
        except _h11().RemoteProtocolError:
            writer.write(_head(400, [("content-length", "0"), _CLOSE]))
            await writer.drain()
            return None
        if request is None:
            return None
        if self._cors and request.method == "OPTIONS":
            writer.write(_head(204, _PREFLIGHT))
            await writer.drain()
            return rest
        reply = self._script[min(len(self.requests), len(self._script) - 1)]
        self.requests.append(request)
        response = _Response(reply, request, self.data, reader, writer, cors=self._cors)
        try:
            await response.send()
        finally:
            if self._told is not None:
                self._told(response.outcome)
        return rest if response.keep else None


class _Response:
    """One response: the head, the pieces of the body, and the end that is ordered."""

    def __init__(
        self,
        reply: Reply,
        request: Request,
        data: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        cors: bool,
    ) -> None:
        self._reply = reply
        self._request = request
        self._reader = reader
        self._writer = writer
        self._cors = cors
        self._between = True
        self._body = reply.body(data, request.headers.get("last-event-id", ""))
        self._encoder = Encoder(gzip=reply.gzip)
        self.keep = False
        self.outcome = Outcome(request, reply.status, length=reply.length(self._body))

    async def send(self) -> None:
        """Sends it as ordered.

        Raises:
            ConnectionError: the client has left.
        """
        reply = self._reply
        bodiless = self._request.method == "HEAD" or reply.status in (204, 304)
        self._writer.write(_head(reply.status, self._headers(bodiless=bodiless)))
        await self._writer.drain()
        if bodiless:
            self.outcome.end = "whole"
            self.keep = not self._closes
            return
        cut_at = reply.place("cut_at", self._body)
        stall_at = reply.place("stall_at", self._body)
        places = [place for place in (cut_at, stall_at) if place is not None]
        stop = min(places, default=None)
        if not await self._send_until(stop):
            self.outcome.end = "whole"
            self.keep = not self._closes and not reply.length_error
            await self._send_end()
        elif stop == stall_at:
            self.outcome.end = "stall"
            await self._stall()
        else:
            self.outcome.end = reply.cut
            await self._cut()

    def _headers(self, *, bodiless: bool) -> list[tuple[str, str]]:
        reply = self._reply
        headers = list(reply.headers)
        if reply.content_type is not None:
            headers.append(("content-type", reply.content_type))
        headers.append(("cache-control", "no-store"))
        if reply.gzip:
            headers.append(("content-encoding", "gzip"))
        if self._cors:
            headers.append(("access-control-allow-origin", "*"))
        if self._chunked and not bodiless:
            headers.append(("transfer-encoding", "chunked"))
        elif reply.framing == "length" and reply.status != 204:
            declared = max(self.outcome.length + reply.length_error, 0)
            headers.append(("content-length", str(declared)))
        if self._closes:
            headers.append(_CLOSE)
        return headers

    @property
    def _closes(self) -> bool:
        """Whether the connection is closed after the response, as it is told in the head.

        It is not told more often than need be: of a response that has told so, some clients take
        whatever comes for the whole.
        """
        request = self._request
        asked = "close" in request.headers.get("connection", "").lower()
        return asked or self._reply.framing == "close" or request.version == "1.0"

    @property
    def _chunked(self) -> bool:
        return self._reply.framing == "chunked" and self._request.version != "1.0"

    # The body

    async def _send_until(self, stop: int | None) -> bool:
        """Sends the body up to the byte given; whether there is such a byte."""
        if stop == 0:
            return True
        start = asyncio.get_running_loop().time()
        for piece in self._reply.pieces(self._body):
            pause = piece.pause
            if piece.at is not None:
                pause = start + piece.at - asyncio.get_running_loop().time()
            await self._wait(pause)
            self._between = piece.between
            if await self._send(self._encoder.encode(piece.data), stop):
                return True
        # What follows the end of the compressed body would be no part of it.
        self._between = self._between and not self._reply.gzip
        return await self._send(self._encoder.finish(), stop)

    async def _send(self, data: bytes, stop: int | None) -> bool:
        """Sends a piece of the body, or what comes before the byte given."""
        stopped = stop is not None and self.outcome.sent + len(data) >= stop
        if stopped:
            assert stop is not None
            part = data[: stop - self.outcome.sent]
            self._between = self._between and len(part) == len(data)
            data = part
        await self._write(data)
        self.outcome.sent += len(data)
        return stopped

    async def _write(self, data: bytes) -> None:
        if not data:
            return
        self._writer.write(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)
        await self._writer.drain()

    async def _wait(self, pause: float) -> None:
        """Waits so many seconds, with heartbeats where they do no harm."""
        heartbeat = self._reply.heartbeat
        if heartbeat is not None and self._between:
            while pause > heartbeat:
                await asyncio.sleep(heartbeat)
                await self._write(self._encoder.encode(_HEARTBEAT))
                pause -= heartbeat
        # Always a step of the event loop: other connections are served between two pieces.
        await asyncio.sleep(max(pause, 0))

    # The end

    async def _send_end(self) -> None:
        if self._chunked:
            self._writer.write(b"0\r\n\r\n")
            await self._writer.drain()

    async def _stall(self) -> None:
        """Nothing more, until the client leaves."""
        waiting = asyncio.ensure_future(self._wait(math.inf))
        leaving = asyncio.ensure_future(self._left())
        try:
            await asyncio.wait((waiting, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            leaving.cancel()
            await asyncio.gather(waiting, leaving, return_exceptions=True)

    async def _left(self) -> None:
        while await self._reader.read(_BLOCK):
            pass

    async def _cut(self) -> None:
        if self._reply.cut == "end":
            self.keep = self._chunked and not self._closes
            await self._send_end()
        elif self._reply.cut == "garbage":
            self._writer.write(b"no chunk size\r\n")
            await self._writer.drain()
        elif self._reply.cut == "reset":
            connection = self._writer.get_extra_info("socket")
            await _taken(connection)
            # Closing with a linger time of 0 resets the connection.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._writer.transport.abort()


async def _taken(connection: Any) -> None:
    """Waits until the client's machine has what was sent: a reset drops what waits here."""
    try:
        import fcntl
        import termios
    except ImportError:
        return
    loop = asyncio.get_running_loop()
    end = loop.time() + _PATIENCE
    with contextlib.suppress(OSError):
        while loop.time() < end:
            waiting = fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4))
            if waiting == bytes(4):
                return
            await asyncio.sleep(0.001)


async def _read_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rest: bytes
) -> tuple[Request | None, bytes]:
    """A whole request, None if the client leaves before; and what was read behind it.

    Raises:
        h11.RemoteProtocolError: it is no HTTP.
    """
    h11 = _h11()
    connection = h11.Connection(h11.SERVER)
    if rest:
        connection.receive_data(rest)
    head = None
    body = b""
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            if connection.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue")
                writer.write(connection.send(go_on))
                await writer.drain()
            connection.receive_data(await reader.read(_BLOCK))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif head is not None and isinstance(event, h11.EndOfMessage):
            request = Request(
                head.method.decode("ascii"),
                head.target.decode("latin-1"),
                {name.decode("ascii"): value.decode("latin-1") for name, value in head.headers},
                body,
                head.http_version.decode("ascii"),
            )
            return request, connection.trailing_data[0]
        else:
            return None, b""


def _head(status: int, headers: Sequence[tuple[str, str]]) -> bytes:
    try:
        reason = http.HTTPStatus(status).phrase
    except ValueError:
        reason = ""
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


def _h11() -> Any:
    try:
        import h11
    except ImportError:
        raise ModuleNotFoundError(
            "serving a stream needs h11: pip install 'rapidsse[replay]'", name="h11"
        ) from None
    return h11


class FaultServer:
    """The server on a free port of 127.0.0.1, in a thread, until the `with` block ends.

        with FaultServer(b"data: 1\\n\\n", cut_at="50%") as server:
            my_client.get(server.url)

    The keywords are those of `Reply`, for every response. Given replies instead, each response
    in turn is sent by one of them, and all that follow by the last: so a client's retry gets
    another answer than its first request.

    Attributes:
        url (str): the address; any path and query may follow, and any method is answered.
        requests (list[Request]): the requests, in order.
        outcomes (list[Outcome]): what became of each response, once it is over.

    Raises:
        ModuleNotFoundError: h11 is not installed.
        ValueError: see `Reply`.
    """

    def __init__(
        self, data: bytes = b"", /, *script: Reply, cors: bool = False, **faults: Any
    ) -> None:
        if script and faults:
            raise TypeError("give replies or a reply's keywords, not both")
        _h11()
        self.outcomes: list[Outcome] = []
        self._server = Server(
            bytes(data), script or (Reply(**faults),), cors=cors, told=self.outcomes.append
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._port = 0

    @property
    def requests(self) -> list[Request]:
        return self._server.requests

    @property
    def url(self) -> str:
        if not self._port:
            raise RuntimeError("the server is not running")
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Returns when the server answers."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="rapidsse FaultServer", daemon=True
        )
        self._thread.start()
        starting = asyncio.run_coroutine_threadsafe(self._server.start(), self._loop)
        self._port = starting.result()

    def close(self) -> None:
        """Ends every connection and the thread."""
        if self._loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._server.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None
        self._port = 0

    def __enter__(self) -> FaultServer:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
