"""README: every example in it runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import BACKENDS
from servers import PLAIN, sse_starlette

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
URL = "http://127.0.0.1:8000"

BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
CONSOLE = [
    line.removeprefix("$ ").partition("  #")[0].strip()
    for block in re.findall(r"^```(?:console|sh|bash)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
    if line.startswith("$ ")
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with sse_starlette() as address:
        yield address


@pytest.fixture(params=list(BACKENDS))
def environment(request: pytest.FixtureRequest) -> dict[str, str]:
    return {**os.environ, "RAPIDSSE_BACKEND": request.param, "PYTHONIOENCODING": "utf-8"}


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_block_of_python_runs(block: str, server: str, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block.replace(URL, server)],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    if URL in block:
        for event, data in PLAIN:
            assert event in done.stdout
            assert data in done.stdout
    elif "print(" in block:
        assert done.stdout


def test_the_clients_that_must_be_there() -> None:
    for client in ("httpx", "httpx2", "aiohttp", "requests"):
        assert any(f"import {client}\n" in block for block in BLOCKS)


def test_every_command_is_known() -> None:
    """A command that is added here needs a test below."""
    for command in CONSOLE:
        assert command.startswith(("make ", "curl ")), command


@pytest.mark.parametrize("command", [each for each in CONSOLE if each.startswith("make ")])
def test_a_verb_is_one_of_the_makefile(command: str) -> None:
    """That these run is seen wherever the tests do; here, that they exist."""
    verb = command.removeprefix("make ")
    assert re.search(rf"^{verb}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_stream_that_comes_with_the_project(environment: dict[str, str]) -> None:
    """What `make demo` runs in the end."""
    (stream,) = re.findall(r"rapidsse parse --json-data (\S+)", (ROOT / "Makefile").read_text())
    done = subprocess.run(
        [sys.executable, "-m", "rapidsse", "parse", "--json-data", str(ROOT / stream)],
        env=environment,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.splitlines()) >= 3


@pytest.mark.parametrize("command", [each for each in CONSOLE if each.startswith("curl ")])
def test_a_pipe_from_curl(command: str, server: str, environment: dict[str, str]) -> None:
    """With urllib in curl's place: the machine need not have it."""
    fetch, _, rest = command.partition(" | ")
    (url,) = re.findall(r"http://\S+", fetch)
    assert rest.startswith("rapidsse parse")
    with urllib.request.urlopen(url.replace(URL, server), timeout=10) as response:
        body = response.read()
    done = subprocess.run(
        [sys.executable, "-m", *rest.split()],
        input=body,
        env=environment,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.splitlines()) == len(PLAIN)
