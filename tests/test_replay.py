"""`rapidsse replay` and the server behind it: real clients, and what goes over the wire."""

from __future__ import annotations

import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import clients
import httpx
import pytest
import rapidsse
from rapidsse.testing import FaultServer, Reply, cases

REPLAY = [sys.executable, "-m", "rapidsse", "replay"]
EVENTS = [("message", f'{{"n": {number}}}', str(number)) for number in range(8)]
STREAM = "".join(f"id: {id}\ndata: {data}\n\n" for _, data, id in EVENTS).encode()
PATIENCE = 20.0  # seconds


class Replaying:
    """A running `rapidsse replay`."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.url = url
        self._process = process
        self.status: int | None = None
        self.told: list[str] = []

    def stop(self, number: int = signal.SIGINT) -> None:
        if self.status is None:
            assert self._process.stderr
            self._process.send_signal(number)
            self.told = self._process.stderr.read().splitlines()
            self.status = self._process.wait(PATIENCE)


@contextmanager
def replaying(*arguments: str, stream: bytes = STREAM, folder: Path) -> Iterator[Replaying]:
    path = folder / "stream.sse"
    if not path.exists():
        path.write_bytes(stream)
    with subprocess.Popen(
        [*REPLAY, str(path), "--port", "0", *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stderr
        line = process.stderr.readline()
        assert " on http://127.0.0.1:" in line, line + process.stderr.read()
        server = Replaying(process, line.split()[-1])
        try:
            yield server
        finally:
            server.stop()


def events_of(body: bytes) -> list[tuple[str, str, str]]:
    return [(event.event, event.data, event.id) for event in rapidsse.parse(body)]


# Real clients


def curl(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [clients.need("curl"), "-sN", "--max-time", "20", *arguments],
        capture_output=True,
        timeout=PATIENCE + 10,
        check=False,
    )


def test_curl_gets_and_posts(tmp_path: Path) -> None:
    with replaying(folder=tmp_path) as server:
        assert curl(server.url).stdout == STREAM
        done = curl("-i", "-d", '{"stream": true}', f"{server.url}v1/chat?key=secret")
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"content-type: text/event-stream" in head.lower()
        assert body == STREAM
        # A body so large that curl asks first.
        path = tmp_path / "large"
        path.write_bytes(b"x" * 2_000_000)
        assert curl("--data-binary", f"@{path}", server.url).stdout == STREAM
        server.stop()
        assert server.status == 0
        assert server.told[1] == f"POST /v1/chat -> 200, {len(STREAM)} of {len(STREAM)} bytes"


def test_curl_sees_each_fault(tmp_path: Path) -> None:
    half = len(STREAM) // 2
    for arguments, exits in (
        (["--cut-at", "50%"], {56}),  # failure in receiving
        (["--cut-at", "50%", "--cut", "close"], {18}),  # transfer closed
        (["--cut-at", "50%", "--cut", "end"], {0}),
        (["--cut-at", "50%", "--cut", "garbage"], {56}),
    ):
        with replaying(*arguments, folder=tmp_path) as server:
            done = curl(server.url)
            assert done.returncode in exits, arguments
            assert done.stdout == STREAM[:half]
            server.stop()
            assert f"{half} of {len(STREAM)} bytes, then " in server.told[0]


def test_node_reads_it(tmp_path: Path) -> None:
    program = clients.node()
    for arguments, method in (
        ([], "GET"),
        (["--chunk", "1", "--eol", "crlf", "--bom"], "POST"),
        (["--gzip", "--chunk", "random:7"], "GET"),
    ):
        with replaying(*arguments, folder=tmp_path) as server:
            done = subprocess.run(
                [*program, server.url, method],
                capture_output=True,
                timeout=PATIENCE + 10,
                check=True,
            )
        assert [tuple(json.loads(line)) for line in done.stdout.splitlines()] == EVENTS
    with replaying("--cut-at", "50%", folder=tmp_path) as server:
        done = subprocess.run(
            [*program, server.url], capture_output=True, timeout=PATIENCE + 10, check=True
        )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    # A stream of the web that fails drops what waits in it.
    assert [tuple(line) for line in lines[:-1]] == EVENTS[: len(lines) - 1]
    assert len(lines) <= 5
    assert lines[-1] == "failed"


PAGE = """<!doctype html>
<script>
const seen = [];
const source = new EventSource("%s");
const done = () => {
  source.close();
  fetch("/seen", { method: "POST", body: JSON.stringify(seen) });
};
source.onmessage = (event) => {
  seen.push([event.type, event.data, event.lastEventId]);
  if (seen.length >= %d) done();
};
</script>
"""


def test_chromium_reconnects_where_it_was_cut(tmp_path: Path) -> None:
    """Its EventSource: the first response is cut, the second goes on from the last event ID."""
    chromium = clients.need("chromium", "chromium-browser", "google-chrome")
    arrived = threading.Event()
    seen: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            if self.path == "/":
                self.wfile.write((PAGE % (server.url, len(EVENTS))).encode())

        def do_POST(self) -> None:
            seen.extend(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204)
            self.end_headers()
            arrived.set()

        def log_message(self, *arguments: object) -> None:
            """Tests are quiet."""

    stream = b"retry: 10\n\n" + STREAM
    options = ["--cors", "--resume", "--cut-at", "40%", "--times", "1", "--chunk", "1"]
    with (
        replaying(*options, stream=stream, folder=tmp_path) as server,
        HTTPServer(("127.0.0.1", 0), Handler) as pages,
    ):
        thread = threading.Thread(target=pages.serve_forever)
        thread.start()
        browser = subprocess.Popen(
            [
                *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
                *("--disable-dev-shm-usage", "--disable-background-networking"),
                f"--user-data-dir={tmp_path / 'profile'}",
                f"http://127.0.0.1:{pages.server_address[1]}/",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            assert arrived.wait(60), "the page saw too little"
        finally:
            os.killpg(browser.pid, signal.SIGKILL)
            browser.wait(PATIENCE)
            pages.shutdown()
            thread.join()
        server.stop()
    assert [tuple(event) for event in seen] == EVENTS
    assert "then the connection was reset" in server.told[0]
    # What it resumed with is less than the whole.
    (total,) = [int(line.split(" of ")[1].split()[0]) for line in server.told[1:2]]
    assert total < len(stream)


# In this process


def body(server: FaultServer, **options: Any) -> tuple[bytes, Exception | None]:
    """What httpx gets of the body, and what it makes of the end."""
    got = b""
    try:
        with httpx.stream("GET", server.url, timeout=PATIENCE, verify=False, **options) as response:
            for chunk in response.iter_bytes():
                got += chunk
    except httpx.HTTPError as error:
        return got, error
    return got, None


def wire(server: FaultServer) -> bytes:
    """The response as it goes over the wire, up to the end of the connection."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        got = b""
        while block := connection.recv(65536):
            got += block
    return got.partition(b"\r\n\r\n")[2]


def chunks_of(wire: bytes) -> list[bytes]:
    chunks = []
    while True:
        size, _, rest = wire.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            assert rest == b"\r\n"
            return chunks
        chunks.append(rest[:length])
        assert rest[length : length + 2] == b"\r\n"
        wire = rest[length + 2 :]


def sizes(**options: Any) -> list[int]:
    with FaultServer(STREAM, **options) as server:
        chunks = chunks_of(wire(server))
    assert b"".join(chunks) == STREAM
    return [len(chunk) for chunk in chunks]


def test_chunks_are_as_ordered() -> None:
    size = len(STREAM)
    assert sizes() == [size]
    assert sizes(chunk=1) == [1] * size
    assert sizes(chunk=100) == [100] * (size // 100) + [size % 100]
    assert sizes(chunk="event") == [len(STREAM) // len(EVENTS)] * len(EVENTS)
    assert sizes(chunk="random:1") == sizes(chunk="random:1")
    assert sizes(chunk="random:1") != sizes(chunk="random:2")
    assert max(sizes(chunk="random:1")) <= 64


@pytest.mark.parametrize("case", [each for each in cases() if len(each.data) < 200][::9])
def test_a_case_comes_as_it_is(case: Any) -> None:
    replies = [Reply(chunk=1), Reply(chunk="event"), Reply(chunk=3, gzip=True, framing="length")]
    with FaultServer(case.data, *replies) as server:
        for _ in replies:
            assert body(server) == (case.data, None)


def test_events_are_cut_after_their_blank_lines() -> None:
    for ending in (b"\n", b"\r\n", b"\r"):
        events = [b"data: 1", b"id: 2", b": 3"]
        blocks = [event + 2 * ending for event in events]
        pieces = list(Reply(chunk="event").pieces(b"".join(blocks) + b"data: cut"))
        assert [piece.data for piece in pieces] == [*blocks, b"data: cut"]
        assert [piece.between for piece in pieces] == [True, True, True, False]


def test_the_stream_is_changed_as_ordered() -> None:
    with FaultServer(b"data: a\rdata: b\r\n\n", eol="crlf", bom=True) as server:
        assert body(server)[0] == b"\xef\xbb\xbfdata: a\r\ndata: b\r\n\r\n"
    with FaultServer(b"data: a\r\n\r\n", eol="cr") as server:
        assert body(server)[0] == b"data: a\r\r"


@pytest.mark.parametrize("place", [0, 1, 100, len(STREAM) - 1, "25%", "100%"])
@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_a_cut_is_exact(place: int | str, framing: Any) -> None:
    expected = place if isinstance(place, int) else len(STREAM) * int(place[:-1]) // 100
    for cut in ("reset", "close", "end", "garbage"):
        if cut == "garbage" and framing != "chunked":
            continue
        options: Any = {"cut": cut, "framing": framing, "chunk": 7}
        with FaultServer(STREAM, cut_at=place, **options) as server:
            got, error = body(server)
        assert len(got) == expected
        (outcome,) = server.outcomes
        assert (outcome.sent, outcome.length, outcome.end) == (expected, len(STREAM), cut)
        silent = (
            (cut == "end" and framing == "chunked")
            or (cut in ("close", "end") and framing == "close")
            # With every byte there, its reader has no reason to look further.
            or (framing == "length" and expected == len(STREAM))
        )
        assert (error is None) is silent, (cut, framing, error)
        if cut == "reset" and not silent:
            assert isinstance(error, httpx.ReadError)


def test_beyond_the_end_there_is_no_cut() -> None:
    with FaultServer(STREAM, cut_at=len(STREAM) + 1, stall_at=10**9) as server:
        assert body(server) == (STREAM, None)
    assert server.outcomes[0].end == "whole"


def test_a_large_body_is_whole_before_its_reset() -> None:
    """A reset drops what waits on the server's machine; it must not wait there."""
    data = b"data: " + b"x" * 3_000_000 + b"\n\n"
    with FaultServer(data, cut_at=3_000_000) as server:
        got, error = body(server)
    assert len(got) == 3_000_000
    assert isinstance(error, httpx.ReadError)


def test_gzip_is_flushed_and_may_be_truncated() -> None:
    with FaultServer(STREAM, gzip=True, chunk="event") as server:
        raw = chunks_of(wire(server))
        assert gzip.decompress(b"".join(raw)) == STREAM
        decoder = zlib.decompressobj(wbits=31)
        # An event can be read as soon as its chunk is there.
        assert decoder.decompress(raw[0]).endswith(b'{"n": 0}\n\n')
        assert body(server) == (STREAM, None)
    with FaultServer(STREAM, gzip=True, chunk="event", cut_at="50%", cut="end") as server:
        cut = b"".join(chunks_of(wire(server)))
        assert cut == b"".join(raw)[: len(b"".join(raw)) // 2]
        with pytest.raises(EOFError):
            gzip.decompress(cut)


def test_a_wrong_content_length() -> None:
    with FaultServer(STREAM, framing="length", length_error=10) as server:
        got, error = body(server)
        assert got == STREAM
        assert isinstance(error, httpx.RemoteProtocolError)
    with FaultServer(STREAM, framing="length", length_error=-10) as server:
        assert body(server) == (STREAM[:-10], None)


def test_a_stall_lasts_until_the_client_leaves() -> None:
    with FaultServer(STREAM, stall_at=21) as server:
        got = b""
        with httpx.stream("GET", server.url, timeout=PATIENCE) as response:
            for chunk in response.iter_bytes():
                got += chunk
                if len(got) == 21:
                    break
        end = time.monotonic() + PATIENCE
        while not server.outcomes:
            assert time.monotonic() < end
            time.sleep(0.005)
        assert (server.outcomes[0].end, server.outcomes[0].sent) == ("stall", 21)
    # And no longer than the server.
    with FaultServer(STREAM, stall_at=0) as server, httpx.stream("GET", server.url) as response:
        assert response.status_code == 200


@pytest.mark.parametrize("compressed", [False, True])
def test_heartbeats_come_between_events_alone(compressed: bool) -> None:
    reply: Any = {"heartbeat": 0.01, "delay": 0.035, "gzip": compressed}
    with FaultServer(STREAM, chunk="event", **reply) as server:
        got, error = body(server)
        assert error is None
        assert got.count(b": heartbeat\n\n") >= len(EVENTS) - 1
        assert got.replace(b": heartbeat\n\n", b"") == STREAM
    with FaultServer(b"data: a\n\ndata: b\n\n", chunk=5, **reply) as server:
        assert b"heartbeat" not in body(server)[0]
    if compressed:
        return
    with (
        FaultServer(STREAM, chunk="event", stall_at="100%", **reply | {"delay": 0}) as server,
        httpx.stream("GET", server.url, timeout=PATIENCE) as response,
    ):
        got = b""
        for chunk in response.iter_bytes():
            got += chunk
            if got.endswith(2 * b": heartbeat\n\n"):
                break


def test_a_delay_is_between_chunks() -> None:
    with FaultServer(STREAM, chunk="event", delay=0.02) as server:
        start = time.monotonic()
        assert body(server) == (STREAM, None)
        assert time.monotonic() - start >= 0.02 * (len(EVENTS) - 1)


def test_a_script_of_replies() -> None:
    replies = [
        Reply(
            status=503, content_type="application/json", data=b"{}", headers=[("retry-after", "1")]
        ),
        Reply(cut_at="50%", resume=True),
        Reply(resume=True),
    ]
    with FaultServer(STREAM, *replies) as server:
        refused = httpx.post(server.url + "/v1/chat?a=b", json={"stream": True})
        assert (refused.status_code, refused.json()) == (503, {})
        assert refused.headers["content-type"] == "application/json"
        assert refused.headers["retry-after"] == "1"
        got, error = body(server)
        assert isinstance(error, httpx.ReadError)
        seen = events_of(got)
        rest, error = body(server, headers={"last-event-id": seen[-1][2]})
        assert error is None
        assert seen + events_of(rest) == EVENTS
        assert body(server, headers={"last-event-id": "unknown"}) == (STREAM, None)
    first = server.requests[0]
    assert (first.method, first.target) == ("POST", "/v1/chat?a=b")
    assert json.loads(first.body) == {"stream": True}
    assert first.headers["content-type"] == "application/json"
    assert len(server.requests) == 4


def test_other_requests() -> None:
    with FaultServer(STREAM, cors=True) as server:
        head = httpx.head(server.url)
        assert (head.status_code, head.content) == (200, b"")
        preflight = httpx.options(server.url)
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == "*"
        assert len(server.requests) == 1
        host, _, port = server.url.removeprefix("http://").partition(":")
        for line, status in ((b"GET / HTTP/1.0\r\n\r\n", b"200"), (b"nonsense\r\n\r\n", b"400")):
            with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
                connection.sendall(line)
                got = b""
                while block := connection.recv(65536):
                    got += block
            assert got.split(b" ")[1] == status
            # HTTP/1.0 has no chunks.
            assert (got.partition(b"\r\n\r\n")[2] == STREAM) is (status == b"200")
        # One that leaves without a word is none.
        socket.create_connection((host, int(port))).close()
    with FaultServer(STREAM) as server:
        assert "access-control-allow-origin" not in httpx.get(server.url).headers
    with FaultServer(status=204) as server:
        assert httpx.get(server.url).status_code == 204


def test_a_connection_serves_many_requests() -> None:
    replies = [
        Reply(),
        Reply(chunk=1, gzip=True),
        Reply(framing="length"),
        Reply(cut_at=5, cut="end"),
    ]
    with FaultServer(STREAM, *replies, Reply(cut_at=5)) as server, httpx.Client() as client:
        for expected in (STREAM, STREAM, STREAM, STREAM[:5]):
            assert client.post(server.url, content=b"x" * 100_000).content == expected
        # All by one connection, which is reset now.
        assert len(client._transport._pool.connections) == 1
        with pytest.raises(httpx.ReadError):
            client.get(server.url)


def test_many_at_once() -> None:
    """One client's pace and faults are not another's."""
    with FaultServer(STREAM, Reply(stall_at=5), Reply(chunk="event", delay=0.01)) as server:
        with httpx.stream("GET", server.url):
            found: list[Any] = []
            threads = [
                threading.Thread(target=lambda: found.append(body(server))) for _ in range(8)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(PATIENCE)
        assert found == [(STREAM, None)] * 8


@pytest.mark.parametrize(
    "options",
    [
        {"chunk": 0},
        {"chunk": "words"},
        {"chunk": "random:"},
        {"chunk": True},
        {"cut_at": -1},
        {"cut_at": "101%"},
        {"cut_at": "half"},
        {"stall_at": "x%"},
        {"cut": "off"},
        {"framing": "none"},
        {"eol": "\n"},
        {"status": 100},
        {"delay": -1},
        {"delay": float("nan")},
        {"heartbeat": 0},
        {"heartbeat": 1, "framing": "length"},
        {"length_error": 1},
        {"cut_at": 1, "cut": "garbage", "framing": "close"},
        {"timing": [(0.0, 1)], "chunk": 1},
        {"headers": [("a", "b\r\nc: d")]},
    ],
)
def test_what_cannot_be_ordered(options: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        Reply(**options)
    with pytest.raises(ValueError, match=r"."):
        FaultServer(STREAM, **options)


def test_misuse_of_the_server() -> None:
    with pytest.raises(TypeError):
        FaultServer(STREAM, Reply(), status=500)
    server = FaultServer(STREAM)
    with pytest.raises(RuntimeError):
        _ = server.url
    server.close()


# The command


def test_the_command_passes_its_options(tmp_path: Path) -> None:
    arguments = [
        *("--status", "429", "--content-type", "", "--header", "retry-after: 7"),
        *("--framing", "length", "--length-error", "5", "--chunk", "3", "--times", "1"),
    ]
    with replaying(*arguments, folder=tmp_path) as server:
        with httpx.stream("GET", server.url) as response:
            assert response.status_code == 429
            assert "content-type" not in response.headers
            assert response.headers["retry-after"] == "7"
            assert response.headers["content-length"] == str(len(STREAM) + 5)
        assert httpx.get(server.url).content == STREAM
        server.stop(signal.SIGTERM)
        assert server.status == 0


def test_standard_input() -> None:
    with subprocess.Popen(
        [*REPLAY, "-", "--port", "0"], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stderr
        process.stdin.write(STREAM)
        process.stdin.close()
        url = process.stderr.readline().split()[-1].decode()
        assert httpx.get(url).content == STREAM
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["missing.sse"],
        ["."],
        ["stream.sse", "--chunk", "0"],
        ["stream.sse", "--cut-at", "half"],
        ["stream.sse", "--timing"],
        ["stream.sse", "--timing", "--chunk", "1"],
        ["-", "--timing"],
        ["stream.sse", "--header", "none"],
        ["stream.sse", "--port", "70000"],
        ["other.sse", "--timing"],
        ["broken.sse", "--timing"],
        ["negative.sse", "--timing"],
    ],
)
def test_bad_usage_exits_2(arguments: list[str], tmp_path: Path) -> None:
    for name in ("stream", "other", "broken", "negative"):
        (tmp_path / f"{name}.sse").write_bytes(STREAM)
    (tmp_path / "other.sse.timing.jsonl").write_text('{"at": 0.1, "bytes": 5}\n')
    (tmp_path / "broken.sse.timing.jsonl").write_text('{"at": "soon"}\n')
    (tmp_path / "negative.sse.timing.jsonl").write_text('{"at": 0.1, "bytes": -1}\n')
    packages = str(Path(rapidsse.__file__).parent.parent)
    done = subprocess.run(
        [*REPLAY, *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": packages},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("rapidsse")


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with replaying(folder=tmp_path) as server:
        port = server.url.rstrip("/").rpartition(":")[2]
        done = subprocess.run(
            [*REPLAY, str(tmp_path / "stream.sse"), "--port", port],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 2
    assert port in done.stderr
