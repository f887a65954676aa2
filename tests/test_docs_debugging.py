"""docs/debugging.md: its commands run and print what the page says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from rapidsse.testing import FaultServer

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "debugging.md").read_text(encoding="utf-8")
CONSOLE = "".join(re.findall(r"^```console\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
# Each command, and what it prints up to the next.
COMMANDS = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", CONSOLE, re.MULTILINE)
REPLAYS = [command for command, _ in COMMANDS if command.startswith("rapidsse replay")]


def words(command: str) -> list[str]:
    return [sys.executable, "-m", *shlex.split(command, comments=True)]


def test_every_command_is_known() -> None:
    """One that is added here needs a test below."""
    for command, _ in COMMANDS:
        assert command.startswith(
            ("pip install", "rapidsse check", "rapidsse record", "rapidsse replay")
        )


def test_check_prints_what_the_page_says() -> None:
    ((command, output),) = [each for each in COMMANDS if each[0].startswith("rapidsse check")]
    done = subprocess.run(
        words(command),
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "80"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.stdout == output
    assert done.returncode == 1


def test_every_kind_is_in_the_table() -> None:
    source = (ROOT / "python" / "rapidsse" / "_cli" / "_inspect.py").read_text()
    kinds = set(re.findall(r'_find\(\s*"([\w-]+)"', source)) | {"not-json"}
    table = re.findall(r"^\| (`[^|]+`) \|", PAGE, re.MULTILINE)
    stated = {kind for row in table for kind in re.findall(r"`([\w-]+)`", row)}
    assert stated - {"--cut", "reset", "close", "end", "garbage"} == kinds


def test_record_runs(tmp_path: Path) -> None:
    (command,) = [command for command, _ in COMMANDS if command.startswith("rapidsse record")]
    (tmp_path / "key.txt").write_text("authorization: Bearer secret\n")
    with FaultServer(b"data: 1\n\n") as server:
        done = subprocess.run(
            words(command.replace("http://127.0.0.1:8000", server.url)),
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")} if _from_source() else None,
            capture_output=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "chat.sse").read_bytes() == b"data: 1\n\n"
    assert server.requests[0].headers["authorization"] == "Bearer secret"
    assert server.requests[0].target == "/v1/chat"


def _from_source() -> bool:
    import rapidsse

    return Path(rapidsse.__file__).is_relative_to(ROOT / "python")


@pytest.mark.parametrize("command", REPLAYS)
def test_replay_takes_the_options(command: str, tmp_path: Path) -> None:
    """That these do what they say is tested with the server; here, that they are accepted."""
    from rapidsse import _cli
    from rapidsse._cli._replay import _script

    arguments = shlex.split(command, comments=True)[1:]
    options = _cli._arguments(arguments)
    if options.timing:
        options.file = str(tmp_path / "chat.sse")
        (tmp_path / "chat.sse.timing.jsonl").write_text('{"at": 0.0, "bytes": 9}\n')
        data = b"data: 1\n\n"
    else:
        data = (ROOT / options.file).read_bytes()
    assert _script(options, data)
