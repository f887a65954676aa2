"""README and docs/: every example runs and prints what the page says, every link leads somewhere.

A block of Python runs by itself, in a directory of its own, with the backend that is active. It may
use a server by the address it is written with; which one answers there is the page's setting.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_server import mcp_server
from pages import PAGES, ROOT, Block, Command, blocks, commands, languages, name
from provider_streams import CHAT, MESSAGES, RESPONSES, TEXT, wire
from scripted import Scripted, scripted_server
from servers import PLAIN, sse_starlette
from stream_server import stream_server

# Pages whose blocks and commands are taken through their steps by a test of their own.
STEPS = {
    "debugging.md": "test_docs_debugging.py",
    "gateway.md": "test_gateway_page.py",
    "testing.md": "test_docs_testing.py",
}
# Pages on which each block continues those before.
CONTINUED = ("tutorial.md",)
# Blocks of other kinds: that of CONTRIBUTING is looked at by test_contributing.py.
OTHERS = {"CONTRIBUTING.md": {"json"}}
# Where the pages on SDKs and switching find their services, other than by the environment.
SERVICES = ("https://api.deepseek.com", "http://127.0.0.1:4000/v1", "http://127.0.0.1:8000/events")
# Commands that are known to be run elsewhere: by test_readme.py, by .ci/run, or by who installs.
KNOWN = ("make ", "curl ", "git clone ", "pip install ", "cd ", ".venv/bin/", "python3 -m venv ")

ALL = [block for page in PAGES if name(page) not in STEPS for block in blocks(page)]
TYPED = [command for page in PAGES if name(page) not in STEPS for command in commands(page)]


@pytest.fixture(scope="module")
def readme_server() -> Iterator[dict[str, str]]:
    with sse_starlette() as address:
        yield {"http://127.0.0.1:8000": address}


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, str]]:
    with stream_server() as stream, mcp_server() as mcp:
        yield {
            "http://127.0.0.1:8000": stream.address,
            "http://127.0.0.1:8001": mcp if isinstance(mcp, str) else mcp.address,
        }


@pytest.fixture(scope="module")
def services() -> Iterator[Scripted]:
    with scripted_server() as script:
        yield script


def run(code: str, folder: Path, **environment: str) -> str:
    """Runs a block; what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def replaced(code: str, addresses: dict[str, str]) -> str:
    for written, address in addresses.items():
        code = code.replace(written, address)
    return code


def of(*folders: str) -> list[object]:
    """The blocks of some of the pages."""
    return [
        pytest.param(block, id=str(block)) for block in ALL if block.page.split("/")[0] in folders
    ]


APART = ("README.md", "sdk", "migrating", *CONTINUED)


@pytest.mark.parametrize("block", of("README.md"))
def test_a_block_of_the_readme(block: Block, readme_server: dict[str, str], tmp_path: Path) -> None:
    printed = run(replaced(block.code, readme_server), tmp_path)
    assert printed or "print(" not in block.code
    if "/events" in block.code:
        for event, data in PLAIN:
            assert event in printed
            assert data in printed


@pytest.mark.parametrize("block", of("sdk", "migrating"))
def test_a_block_that_uses_a_service(block: Block, services: Scripted, tmp_path: Path) -> None:
    if "messages." in block.code and "chat.completions" not in block.code:
        stream = wire(MESSAGES)
    elif "responses" in block.code:
        stream = wire(RESPONSES)
    elif "/events" in block.code:
        stream = wire(PLAIN)
    else:
        stream = wire(CHAT)
    services.answer([stream])
    printed = run(
        replaced(block.code, dict.fromkeys(SERVICES, services.url)),
        tmp_path,
        OPENAI_BASE_URL=services.url,
        OPENAI_API_KEY="none",
        ANTHROPIC_BASE_URL=services.url,
        ANTHROPIC_API_KEY="none",
        DEEPSEEK_API_KEY="none",
    )
    if block.prints is not None:
        assert printed == block.prints
    elif stream == wire(PLAIN):
        assert len(printed.splitlines()) == len(PLAIN)
    elif any(each in block.code for each in ("delta.content", "event.delta, end", "text_stream")):
        assert printed.startswith("".join(TEXT))
    else:
        assert printed


@pytest.mark.parametrize("page", CONTINUED)
def test_a_page_whose_blocks_continue(page: str, tmp_path: Path) -> None:
    done = [block for block in ALL if block.page == page]
    between = "\nprint('--- next ---')\n"
    printed = run(between.join(block.code for block in done), tmp_path)
    assert printed.split("--- next ---\n") == [block.prints for block in done]


@pytest.mark.parametrize(
    "block",
    [pytest.param(block, id=str(block)) for block in ALL if block.page.split("/")[0] not in APART],
)
def test_a_block_of_another_page(block: Block, servers: dict[str, str], tmp_path: Path) -> None:
    printed = run(replaced(block.code, servers), tmp_path)
    if block.prints is None:
        assert printed or "print(" not in block.code
    else:
        assert printed == block.prints


@pytest.mark.parametrize(
    "command",
    [pytest.param(each, id=str(each)) for each in TYPED if each.line.startswith("rapidsse ")],
)
def test_a_command_prints_what_the_page_says(command: Command) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command.line)],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == (command.prints, "")


def test_every_command_is_known() -> None:
    """One that is added needs a test."""
    for command in TYPED:
        line = re.sub(r"^(\w+=\S+ )+", "", command.line)
        assert line.startswith(("rapidsse ", *KNOWN)), command


def test_a_verb_is_one_of_the_makefile() -> None:
    verbs = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for command in TYPED:
        if command.line.startswith("make "):
            assert command.line.split()[1] in verbs


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_is_of_a_kind_that_is_run(page: Path) -> None:
    test = STEPS.get(name(page))
    assert test is None or (ROOT / "tests" / test).is_file()
    assert test is not None or languages(page) <= {"python", "console", "text"} | OTHERS.get(
        name(page), set()
    )
    shown = re.findall(r"^```text$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert test is not None or len(shown) == sum(block.prints is not None for block in blocks(page))


def test_the_clients_that_must_be_there() -> None:
    text = "".join(block.code for block in ALL if block.page.startswith(("README", "clients/")))
    for client in ("httpx", "httpx2", "aiohttp", "requests", "niquests", "urllib3"):
        assert f"import {client}\n" in text


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_link_to_a_file_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
