"""examples/deepseek_adapter.py: data until [DONE], and an error of a name when it never comes."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rapidsse import ResponseError, StreamInterrupted
from stream_clients import SYNC
from stream_server import DATA, stream_server
from support import byte_by_byte

PATH = Path(__file__).parent.parent / "examples" / "deepseek_adapter.py"
CHUNK = b'data: {"choices": [{"delta": {"content": "[DONE]"}}]}\n\n'
CONTENT = '{"choices": [{"delta": {"content": "[DONE]"}}]}'


@pytest.fixture(scope="module")
def adapter() -> Any:
    spec = importlib.util.spec_from_file_location("deepseek_adapter", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_data_until_done(adapter: Any, ending: bytes) -> None:
    body = (b": keep-alive\n\n" + CHUNK + CHUNK + b"data: [DONE]\n\ndata: late\n\n").replace(
        b"\n", ending
    )
    for chunks in ([body], byte_by_byte(body)):
        assert list(adapter.deltas(chunks)) == [CONTENT, CONTENT]


@pytest.mark.parametrize(
    "rest",
    [b"", b"data: [DONE]", b"data: [DONE]\n", b"data: [DONE] \n\n", b'data: "[DONE]"\n\n', b"dat"],
)
def test_a_stream_without_done_was_closed_early(adapter: Any, rest: bytes) -> None:
    deltas = adapter.deltas([b"id: 4\n" + CHUNK + rest])
    assert next(deltas) == CONTENT
    with pytest.raises(adapter.StreamClosedError) as raised:
        list(deltas)
    assert raised.value.last_event_id == "4"
    assert str(raised.value) == "the stream closed before [DONE]"
    assert isinstance(raised.value.__cause__, StreamInterrupted)


@pytest.mark.parametrize("client", SYNC)
def test_with_every_client(adapter: Any, client: str) -> None:
    with stream_server() as server, SYNC[client]() as get:
        with get(server.address + "/chunked") as response:
            assert list(adapter.deltas(response)) == DATA
        server.arrived.set()
        for path in ("/reset", "/cut/length", "/undone", "/at-once"):
            with get(server.address + path) as response, pytest.raises(adapter.StreamClosedError):
                list(adapter.deltas(response))
        if client != "urllib.request":
            with get(server.address + "/error") as response, pytest.raises(ResponseError):
                list(adapter.deltas(response))


@pytest.mark.parametrize(("path", "status"), [("/chunked", 0), ("/undone", 1)])
def test_as_a_command(path: str, status: int) -> None:
    with stream_server() as server:
        done = subprocess.run(
            [sys.executable, str(PATH), server.address + path],
            capture_output=True,
            encoding="utf-8",
            env={"PYTHONIOENCODING": "utf-8", "PYTHONPATH": ":".join(sys.path)},
            timeout=60,
            check=False,
        )
    assert done.returncode == status
    assert done.stdout.split() == DATA
    assert done.stderr == (
        "" if status == 0 else "deepseek_adapter: the stream closed before [DONE]\n"
    )
