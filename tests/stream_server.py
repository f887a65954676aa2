"""A server on 127.0.0.1 whose responses are well-behaved and ill-behaved event streams.

It counts the connections it accepts, and tells what happens at its end of them.
"""

from __future__ import annotations

import gzip
import os
import socket
import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE = 3.0  # seconds

EVENTS = "id: 1\ndata: é😀\n\nid: 2\nevent: delta\ndata: b\n\n".encode()
DONE = b"data: [DONE]\n\n"
STREAM = EVENTS + DONE
PARTIAL = EVENTS + b"data: cut o"
DATA = ["é😀", "b"]
ERROR = b'{"error": {"message": "no such model"}}'


class Server:
    """What the tests see of it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.connections = 0
        self.arrived = threading.Event()
        """Set by a reader when it has an event of /prompt/..."""
        self.left = threading.Event()
        """Set when the reader of /endless or /flood has closed its connection."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def log_message(self, *args: Any) -> None:
        pass

    def setup(self) -> None:
        super().setup()
        self.server.seen.connections += 1

    def do_GET(self) -> None:
        name = self.path.strip("/").partition("?")[0].replace("/", "_").replace("-", "_")
        try:
            getattr(self, name)()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.do_GET()

    def head(self, status: int, content_type: str | None, **headers: str) -> None:
        self.send_response(status)
        if content_type is not None:
            self.send_header("Content-Type", content_type)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    # Streams that end as they should

    def chunked(self) -> None:
        self.head(200, "Text/Event-Stream; charset=UTF-8", transfer_encoding="chunked")
        middle = STREAM.index(b"\xc3") + 1
        for piece in (STREAM[:middle], STREAM[middle:], b""):
            self.chunk(piece)

    events = chunked

    def chat_completions(self) -> None:
        self.head(200, "text/event-stream", transfer_encoding="chunked")
        for content in ("Hello", " world"):
            self.chunk(b'data: {"choices": [{"delta": {"content": "%b"}}]}\n\n' % content.encode())
        self.chunk(DONE)
        self.chunk(b"")

    def length(self) -> None:
        self.head(200, "text/event-stream", content_length=str(len(STREAM)))
        self.wfile.write(STREAM)

    def gzip(self) -> None:
        body = gzip.compress(STREAM)
        self.head(200, "text/event-stream", content_length=str(len(body)), content_encoding="gzip")
        self.wfile.write(body)

    def empty(self) -> None:
        self.head(200, "text/event-stream", content_length="0")

    # Streams whose second event is sent only when the first has arrived

    def _prompt(self, send: Any) -> None:
        send(EVENTS)
        arrived = self.server.seen.arrived.wait(PATIENCE)
        send(DONE if arrived else b"data: held back\n\n")

    def prompt_chunked(self) -> None:
        self.head(200, "text/event-stream", transfer_encoding="chunked")
        self._prompt(self.chunk)
        self.chunk(b"")

    def prompt_length(self) -> None:
        self.head(200, "text/event-stream", content_length=str(len(STREAM)))
        self._prompt(lambda data: (self.wfile.write(data), self.wfile.flush()))

    def prompt_until_closed(self) -> None:
        self.close_connection = True
        self.head(200, "text/event-stream", connection="close")
        self._prompt(lambda data: (self.wfile.write(data), self.wfile.flush()))

    def prompt_gzip(self) -> None:
        self.head(200, "text/event-stream", transfer_encoding="chunked", content_encoding="gzip")
        packer = zlib.compressobj(wbits=31)
        self._prompt(
            lambda data: self.chunk(packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH))
        )
        self.chunk(packer.flush())
        self.chunk(b"")

    # Streams that break off

    def reset(self) -> None:
        """Inside an event, by a reset."""
        self.close_connection = True
        self.head(200, "text/event-stream", transfer_encoding="chunked")
        self.chunk(PARTIAL)
        self.server.seen.arrived.wait(PATIENCE)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())

    def cut_chunked(self) -> None:
        """Inside an event, by an orderly end of the connection before that of the body."""
        self.close_connection = True
        self.head(200, "text/event-stream", transfer_encoding="chunked")
        self.chunk(PARTIAL)

    def cut_length(self) -> None:
        self.close_connection = True
        self.head(200, "text/event-stream", content_length=str(len(STREAM)))
        self.wfile.write(PARTIAL)

    def at_once(self) -> None:
        """Before the first byte."""
        self.close_connection = True
        self.head(200, "text/event-stream", transfer_encoding="chunked")

    def undone(self) -> None:
        """The body is whole, its stream is not."""
        self.head(200, "text/event-stream", content_length=str(len(PARTIAL)))
        self.wfile.write(PARTIAL)

    # Streams that do not end

    def endless(self) -> None:
        self.close_connection = True
        self.head(200, "text/event-stream", transfer_encoding="chunked")
        self.chunk(STREAM)
        self._wait_for_the_end()

    def flood(self) -> None:
        """A stream followed by as much as anybody takes."""
        self.close_connection = True
        self.head(200, "text/event-stream", transfer_encoding="chunked")
        self.chunk(STREAM)
        try:
            while True:
                self.chunk(b"x" * 8192)
        except OSError:
            self.server.seen.left.set()

    def drip(self) -> None:
        """A stream followed by a byte now and then."""
        self.close_connection = True
        self.head(200, "text/event-stream", transfer_encoding="chunked")
        self.chunk(STREAM)
        self.connection.settimeout(0.05)
        while True:
            try:
                self.chunk(b":")
                if not self.connection.recv(1):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        self.server.seen.left.set()

    def _wait_for_the_end(self) -> None:
        self.connection.settimeout(PATIENCE)
        try:
            if not self.connection.recv(1):
                self.server.seen.left.set()
        except ConnectionResetError:
            self.server.seen.left.set()
        except TimeoutError:
            pass

    # Responses that are no streams

    def error(self) -> None:
        self.head(401, "application/json; charset=utf-8", content_length=str(len(ERROR)))
        self.wfile.write(ERROR)

    def error_stream(self) -> None:
        self.head(500, "text/event-stream", content_length=str(len(STREAM)))
        self.wfile.write(STREAM)

    def page(self) -> None:
        self.head(200, "text/html", transfer_encoding="chunked")
        for _ in range(100):
            self.chunk(b"<p>data: x\n\n" * 200)
        self.chunk(b"")

    def untyped(self) -> None:
        self.head(200, None, content_length=str(len(STREAM)))
        self.wfile.write(STREAM)

    def none(self) -> None:
        self.head(204, None)


class _Threading(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


@contextmanager
def stream_server() -> Iterator[Server]:
    with _Threading(("127.0.0.1", 0), _Handler) as server:
        seen = Server(f"http://127.0.0.1:{server.server_port}")
        server.seen = seen  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield seen
        finally:
            server.shutdown()
            thread.join(10)
