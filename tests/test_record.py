"""`rapidsse record`: the bytes as they came, when they came, and no key."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from rapidsse.testing import FaultServer
from terminal import in_terminal
from test_replay import PATIENCE, STREAM, replaying

RECORD = [sys.executable, "-m", "rapidsse", "record"]
# Each byte that UTF-8 knows and some that it does not: nothing is decoded on the way.
BYTES = b"data: \xff\xfe\r\r\n\xef\xbb\xbf\x00" + bytes(range(256)) + STREAM


def record(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RECORD, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
    )


def timing(path: Path) -> list[dict[str, Any]]:
    lines = (path.parent / f"{path.name}.timing.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_the_bytes_and_when_they_came(tmp_path: Path) -> None:
    path = tmp_path / "stream.sse"
    with FaultServer(BYTES, chunk=200, delay=0.2) as server:
        done = record(server.url, "-o", path)
    assert (done.returncode, done.stdout) == (0, "")
    assert path.read_bytes() == BYTES
    chunks = timing(path)
    assert sum(chunk["bytes"] for chunk in chunks) == len(BYTES)
    assert all(set(chunk) == {"at", "bytes"} for chunk in chunks)
    times = [chunk["at"] for chunk in chunks]
    assert times == sorted(times)
    # The pauses are longer: this machine may be late to look.
    assert times[-1] >= 0.1 * (len(BYTES) // 200)


def test_it_is_played_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "stream.sse"
    path.write_bytes(STREAM)
    third = len(STREAM) // 3
    (tmp_path / "stream.sse.timing.jsonl").write_text(
        f'{{"at": 0.0, "bytes": {third}}}\n{{"at": 0.4, "bytes": {len(STREAM) - third}}}\n'
    )
    with replaying("--timing", folder=tmp_path) as server:
        arrived = []
        with httpx.stream("GET", server.url, timeout=PATIENCE) as response:
            start = time.monotonic()
            for chunk in response.iter_bytes():
                arrived.append((time.monotonic() - start, chunk))
        again = tmp_path / "again.sse"
        assert record(server.url, "-o", again).returncode == 0
    assert [chunk for _, chunk in arrived] == [STREAM[:third], STREAM[third:]]
    assert arrived[1][0] >= 0.2
    assert [chunk["bytes"] for chunk in timing(again)] == [third, len(STREAM) - third]
    assert timing(again)[1]["at"] >= 0.2


def test_what_is_sent_and_that_it_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "stream.sse"
    keys = tmp_path / "keys"
    keys.write_text("x-api-key: secret-two\n\nx-other: 5\n")
    body = tmp_path / "body"
    body.write_bytes(b'{"stream": true, "\xff": 1}')
    with FaultServer(STREAM) as server:
        url = f"{server.url}/v1/chat?key=secret-three"
        done = record(
            *(url, "-o", path, "--header", "Authorization: Bearer secret-one"),
            *("--header", f"@{keys}", "--data", f"@{body}"),
        )
        assert done.returncode == 0
        record(
            url, "-o", path, "--data", "a", "--method", "PUT", "--header", "content-type: text/x"
        )
        record(url, "-o", path)
    first, second, third = server.requests
    assert (first.method, first.target) == ("POST", "/v1/chat?key=secret-three")
    assert first.headers["authorization"] == "Bearer secret-one"
    assert first.headers["x-api-key"] == "secret-two"
    assert first.headers["x-other"] == "5"
    assert first.headers["content-type"] == "application/json"
    assert first.headers["accept"] == "text/event-stream"
    assert first.headers["accept-encoding"] == "identity"
    assert first.body == body.read_bytes()
    assert (second.method, second.body, second.headers["content-type"]) == ("PUT", b"a", "text/x")
    assert (third.method, third.body) == ("GET", b"")
    written = {each.name for each in tmp_path.iterdir()}
    assert written == {"stream.sse", "stream.sse.timing.jsonl", "keys", "body"}
    for name in ("stream.sse", "stream.sse.timing.jsonl"):
        assert b"secret" not in (tmp_path / name).read_bytes()
    assert "secret" not in done.stderr


def test_a_compressed_body_is_what_a_parser_is_given(tmp_path: Path) -> None:
    path = tmp_path / "stream.sse"
    with FaultServer(STREAM, gzip=True, chunk="event") as server:
        assert record(server.url, "-o", path).returncode == 0
    assert path.read_bytes() == STREAM
    assert sum(chunk["bytes"] for chunk in timing(path)) == len(STREAM)


def test_what_came_before_a_fault_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "stream.sse"
    with FaultServer(STREAM, cut_at=50) as server:
        done = record(server.url, "-o", path)
    assert done.returncode == 1
    assert path.read_bytes() == STREAM[:50]
    assert "failed" in done.stderr
    with FaultServer(STREAM, stall_at=50) as server:
        done = record(server.url, "-o", path, "--timeout", "0.2")
    assert done.returncode == 1
    assert path.read_bytes() == STREAM[:50]
    with FaultServer(b"{}", status=401) as server:
        done = record(server.url, "-o", path)
    assert done.returncode == 1
    assert path.read_bytes() == b"{}"
    assert "401" in done.stderr


def test_an_interrupt_ends_it_well(tmp_path: Path) -> None:
    path = tmp_path / "stream.sse"
    with (
        FaultServer(STREAM, stall_at=50) as server,
        subprocess.Popen(
            [*RECORD, server.url, "-o", str(path)], stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        end = time.monotonic() + PATIENCE
        while not (path.exists() and path.stat().st_size == 50):
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.stderr
        told = process.stderr.read()
        assert process.wait(PATIENCE) == 0
    assert "interrupted" in told
    assert "50 bytes" in told
    assert timing(path)[-1]["bytes"] > 0


def test_nothing_is_overwritten_where_there_is_no_response(tmp_path: Path) -> None:
    path = tmp_path / "stream.sse"
    path.write_bytes(b"old")
    with FaultServer(STREAM) as server:
        url = server.url
    done = record(url, "-o", path)
    assert done.returncode == 1
    assert "no response" in done.stderr
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["http://127.0.0.1:9"],
        ["http://127.0.0.1:9", "-o", "x", "--header", "none"],
        ["http://127.0.0.1:9", "-o", "x", "--header", "@missing"],
        ["http://127.0.0.1:9", "-o", "x", "--data", "@missing"],
        ["URL", "-o", "x", "--header", "a: secret\nb: 1"],
        ["nonsense://x/?key=secret", "-o", "x"],
        ["http://127.0.0.1:secret", "-o", "x"],
    ],
)
def test_bad_usage_exits_2(arguments: list[str]) -> None:
    with FaultServer(STREAM) as server:
        done = record(*(argument.replace("URL", server.url) for argument in arguments))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with FaultServer(STREAM) as server:
        done = record(server.url, "-o", tmp_path / "missing" / "stream.sse")
    assert done.returncode == 2
    assert "No such file" in done.stderr


def test_on_a_terminal(tmp_path: Path) -> None:
    with FaultServer(STREAM) as server:
        arguments = [*RECORD, server.url, "-o", str(tmp_path / "stream.sse")]
        status, shown = in_terminal(arguments, environment=dict(os.environ))
    assert status == 0
    assert f"saved {len(STREAM)} bytes".encode() in shown


@pytest.mark.parametrize(
    ("command", "module", "extra"),
    [("replay", "h11", "rapidsse[replay]"), ("record", "httpx", "rapidsse[record]")],
)
def test_what_to_install_is_told(tmp_path: Path, command: str, module: str, extra: str) -> None:
    """Without the library that a command needs."""
    (tmp_path / f"{module}.py").write_text("raise ImportError\n")
    (tmp_path / "stream.sse").write_bytes(STREAM)
    arguments = {"replay": ["stream.sse"], "record": ["http://127.0.0.1:9", "-o", "x"]}[command]
    import rapidsse

    path = os.pathsep.join([str(tmp_path), str(Path(rapidsse.__file__).parent.parent)])
    done = subprocess.run(
        [sys.executable, "-m", "rapidsse", command, *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert extra in done.stderr
    assert len(done.stderr.splitlines()) == 1
