"""A server on 127.0.0.1 that answers every request with the pieces a test gave it.

Each piece is a chunk of the transfer coding, so that an HTTP client hands it on as it was cut.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Scripted:
    """What the server answers; a test sets it before its request.

    Attributes:
        url: the server's address.
        pieces: the body's pieces.
        status, content_type: of the response.
        breaks: whether the connection is closed in place of the body's end.
        requests: the headers of each request so far, names in lower case.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[list[tuple[str, str]]] = []
        self.answer([])

    def answer(
        self,
        pieces: Sequence[bytes],
        *,
        status: int = 200,
        content_type: str = "text/event-stream",
        breaks: bool = False,
    ) -> None:
        self.pieces = pieces
        self.status = status
        self.content_type = content_type
        self.breaks = breaks


@contextmanager
def scripted_server() -> Iterator[Scripted]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            script.requests.append([(k.lower(), v) for k, v in self.headers.items()])
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(script.status)
            self.send_header("content-type", script.content_type)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            chunks = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in script.pieces]
            self.close_connection = script.breaks
            with suppress(ConnectionError):  # a client may leave early
                self.wfile.write(b"".join(chunks) + (b"" if script.breaks else b"0\r\n\r\n"))

        do_POST = do_GET

        def handle(self) -> None:
            with suppress(ConnectionError):
                super().handle()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    script = Scripted(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
