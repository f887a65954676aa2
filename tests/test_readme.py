"""README's commands run. Its examples do in test_docs.py."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import pytest
from conftest import BACKENDS
from pages import ROOT, commands
from servers import PLAIN, sse_starlette

URL = "http://127.0.0.1:8000"
CONSOLE = [command.line for command in commands(ROOT / "README.md")]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with sse_starlette() as address:
        yield address


@pytest.fixture(params=list(BACKENDS))
def environment(request: pytest.FixtureRequest) -> dict[str, str]:
    return {**os.environ, "RAPIDSSE_BACKEND": request.param, "PYTHONIOENCODING": "utf-8"}


def test_the_two_commands() -> None:
    """That these run is seen wherever the tests do."""
    assert [command for command in CONSOLE if command.startswith("make ")] == [
        "make demo",
        "make test",
    ]


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
