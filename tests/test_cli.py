"""The command: each event as soon as it is complete, and exit statuses that can be relied on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from conftest import BACKENDS

MODULE = [sys.executable, "-m", "rapidsse"]


@pytest.fixture(params=list(BACKENDS))
def environment(request: pytest.FixtureRequest) -> dict[str, str]:
    """The environment that forces each backend in turn."""
    return {**os.environ, "RAPIDSSE_BACKEND": request.param}


def command(
    environment: dict[str, str], *arguments: str | Path, stream: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*MODULE, "parse", *map(str, arguments)],
        input=stream,
        env=environment,
        capture_output=True,
        timeout=60,
        check=False,
    )


def objects(output: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.decode().splitlines()]


STREAM = (
    b': hi\nid: 1\nevent: x\nretry: 5\ndata: {"a": [1, 2]}\n\nData: lost\ndata: no JSON\xff\n\n'
)
EVENTS = [
    {"event": "x", "data": '{"a": [1, 2]}', "id": "1", "retry": 5},
    {"event": "message", "data": "no JSON\ufffd", "id": "1", "retry": None},
]


def test_one_object_a_line(environment: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "stream"
    path.write_bytes(STREAM)
    for done in (
        command(environment, path),
        command(environment, stream=STREAM),
        command(environment, "-", stream=STREAM),
    ):
        assert (done.returncode, done.stderr) == (0, b"")
        assert objects(done.stdout) == EVENTS


def test_the_installed_script_is_there(environment: dict[str, str]) -> None:
    """Where the package is installed, and not only on the path."""
    script = shutil.which("rapidsse", path=sysconfig.get_path("scripts"))
    if script is None:
        from importlib.metadata import PackageNotFoundError, version

        with pytest.raises(PackageNotFoundError):
            version("rapidsse")
        return
    done = subprocess.run(
        [script, "parse"], input=STREAM, env=environment, capture_output=True, check=True
    )
    assert objects(done.stdout) == EVENTS


def test_comments_and_diagnostics(environment: dict[str, str]) -> None:
    done = command(environment, "--comments", "--diagnostics", stream=STREAM)
    assert done.returncode == 0
    found = objects(done.stdout)
    assert [line for line in found if "event" in line] == EVENTS
    rest = [line for line in found if "event" not in line]
    assert len(rest) == 3
    assert "hi" in rest[0].values()
    assert "unknown-field" in rest[1].values()
    assert "invalid-utf-8" in rest[2].values()


def test_json_data(environment: dict[str, str]) -> None:
    stream = STREAM + b"data: NaN\n\ndata: \n\ndata: 5\n\ndata: " + b"[" * 100_000 + b"\n\n"
    done = command(environment, "--json-data", stream=stream)
    assert (done.returncode, done.stderr) == (0, b"")
    found = [line["data"] for line in objects(done.stdout)]
    assert found[0] == {"a": [1, 2]}
    assert found[1:] == ["no JSON\ufffd", "NaN", "", 5, "[" * 100_000]


def test_output_is_json_in_every_locale(environment: dict[str, str]) -> None:
    stream = "data: é😀\u2028\ndata: b\n\n".encode()
    for settings in ({"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "latin-1"}):
        done = command({**environment, **settings}, stream=stream)
        assert (done.returncode, done.stderr) == (0, b"")
        (line,) = done.stdout.strip().split(b"\n")
        assert json.loads(line)["data"] == "é😀\u2028\nb"


def test_each_event_is_printed_when_it_arrives(environment: dict[str, str]) -> None:
    """Through a pipe, as from curl: the next is sent only after the last was seen."""
    with subprocess.Popen(
        [*MODULE, "parse"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        for number in range(5):
            process.stdin.write(b"data: %d\r\r" % number)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["data"] == str(number)
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(30) == 0


@pytest.mark.parametrize("stream", [b"data: a\n\ndata: cut", b"event: message_stop\n", b"data"])
def test_a_truncated_stream_says_so_and_exits_3(environment: dict[str, str], stream: bytes) -> None:
    done = command(environment, stream=stream)
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert b"inside a block" in done.stderr
    assert b"cut" not in done.stdout
    assert len(objects(done.stdout)) == stream.count(b"\n\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--unknown"],
        ["one", "two"],
        ["--max-buffer-size", "0"],
        ["--max-buffer-size", "-5"],
        ["--max-buffer-size", "many"],
        ["--max-buffer-size"],
    ],
)
def test_bad_usage_exits_2(environment: dict[str, str], arguments: list[str]) -> None:
    done = command(environment, *arguments)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert done.stdout == b""
    assert b"usage" in done.stderr


def test_bad_commands_exit_2(environment: dict[str, str]) -> None:
    for arguments in ([], ["unknown"]):
        done = subprocess.run(
            [*MODULE, *arguments], env=environment, capture_output=True, timeout=60, check=False
        )
        assert done.returncode == 2
        assert b"usage" in done.stderr


def test_help(environment: dict[str, str]) -> None:
    done = command(environment, "--help")
    assert (done.returncode, done.stderr) == (0, b"")
    for option in (b"--comments", b"--diagnostics", b"--json-data", b"--max-buffer-size"):
        assert option in done.stdout


def test_a_missing_file_is_one_clear_line(environment: dict[str, str], tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path):
        done = command(environment, path)
        assert done.returncode not in (0, 3)
        (line,) = done.stderr.splitlines()
        assert str(path).encode() in line
        assert done.stdout == b""


def test_max_buffer_size(environment: dict[str, str]) -> None:
    stream = b"data: ab\n\ndata: secret\n\ndata: cd\n\n"
    done = command(environment, "--max-buffer-size", "4", stream=stream)
    assert done.returncode not in (0, 2, 3)
    assert [line["data"] for line in objects(done.stdout)] == ["ab"]
    (line,) = done.stderr.splitlines()
    assert b"max" in line
    assert b"secret" not in line
    done = command(environment, "--max-buffer-size", "6", stream=stream)
    assert done.returncode == 0
    assert len(objects(done.stdout)) == 3


def test_a_closed_pipe_is_quiet(environment: dict[str, str]) -> None:
    """Its reader leaves while the stream goes on."""
    read, write = os.pipe()
    with subprocess.Popen(
        [*MODULE, "parse"],
        env=environment,
        stdin=read,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(read)
        assert process.stdout
        assert process.stderr
        os.write(write, b"data: a\n\n")
        process.stdout.readline()
        process.stdout.close()
        os.write(write, b"data: b\n\n")
        assert process.stderr.read() == b""
        process.wait(30)
    os.close(write)


def heeding_interrupts() -> None:
    """What is started in the background of a shell would ignore them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_ends_it_quietly(environment: dict[str, str]) -> None:
    with subprocess.Popen(
        [*MODULE, "parse"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heeding_interrupts,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"data: a\n\n")
        process.stdin.flush()
        process.stdout.readline()  # it is at work
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.communicate()[1] == b""


def test_a_closed_standard_output_is_one_clear_line(environment: dict[str, str]) -> None:
    command = f'exec "{sys.executable}" -m rapidsse parse >&-'
    done = subprocess.run(
        ["sh", "-c", command],
        env=environment,
        input=b"data: a\n\n",
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"standard output" in done.stderr


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file that fails when read")
def test_a_file_that_fails_when_it_is_read(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [*MODULE, "parse", "/proc/self/mem"],
        env=environment,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"/proc/self/mem" in done.stderr


def test_a_pipeline_with_head(environment: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "stream"
    path.write_bytes(b"data: a\n\n" * 50_000)
    line = f'"{sys.executable}" -m rapidsse parse "{path}" | head -n 1'
    done = subprocess.run(
        ["sh", "-c", line], env=environment, capture_output=True, timeout=60, check=False
    )
    assert done.stderr == b""
    assert objects(done.stdout)[0]["data"] == "a"
