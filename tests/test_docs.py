"""docs/: every example in it runs, but for the pages of ELSEWHERE, which have tests of their own.

A block may use the servers of SERVERS, by the addresses it is written with.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from conftest import BACKENDS
from mcp_server import mcp_server
from stream_server import stream_server

DOCS = Path(__file__).parent.parent / "docs"
ELSEWHERE = ("sdk", "migrating")
PAGES = [
    page for page in sorted(DOCS.rglob("*.md")) if page.relative_to(DOCS).parts[0] not in ELSEWHERE
]
SERVERS = {"http://127.0.0.1:8000": stream_server, "http://127.0.0.1:8001": mcp_server}
BLOCKS = {
    f"{page.relative_to(DOCS)}-{number}": block
    for page in PAGES
    for number, block in enumerate(
        re.findall(
            r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        )
    )
}


@pytest.fixture(scope="module")
def addresses() -> Iterator[dict[str, str]]:
    """The addresses of the servers, by those that the pages have for them."""
    with ExitStack() as stack:
        found = {}
        for written, server in SERVERS.items():
            started = stack.enter_context(server())
            found[written] = started if isinstance(started, str) else started.address
        yield found


@pytest.mark.parametrize("backend_name", list(BACKENDS))
@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_of_python_runs(name: str, backend_name: str, addresses: dict[str, str]) -> None:
    block = BLOCKS[name]
    for written, address in addresses.items():
        block = block.replace(written, address)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block],
        env={**os.environ, "RAPIDSSE_BACKEND": backend_name, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout or "print(" not in block


def test_the_clients_that_must_be_there() -> None:
    text = "".join(BLOCKS.values())
    for client in ("httpx", "httpx2", "aiohttp", "requests", "niquests", "urllib3"):
        assert f"import {client}\n" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_link_to_a_page_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
