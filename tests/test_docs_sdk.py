"""docs/sdk/ and docs/migrating/: every block of Python runs, every link leads somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from provider_streams import CHAT, MESSAGES, RESPONSES, TEXT, wire
from scripted import Scripted, scripted_server
from servers import PLAIN

DOCS = Path(__file__).parent.parent / "docs"
PAGES = {
    name: (DOCS / name).read_text(encoding="utf-8")
    for name in (
        "sdk/openai.md",
        "sdk/anthropic.md",
        "sdk/compatible.md",
        "migrating/httpx-sse.md",
        "migrating/sdk-decoder.md",
    )
}
BLOCKS = [
    pytest.param(block, id=f"{name} {number}")
    for name, page in PAGES.items()
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.M))
]
# Addresses that a page names, other than by the environment.
ADDRESSES = ("https://api.deepseek.com", "http://127.0.0.1:4000/v1", "http://127.0.0.1:8000/events")


@pytest.fixture(scope="module")
def server() -> Iterator[Scripted]:
    with scripted_server() as script:
        yield script


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_of_python_runs(block: str, server: Scripted) -> None:
    if "messages." in block and "chat.completions" not in block:
        stream = wire(MESSAGES)
    elif "responses" in block:
        stream = wire(RESPONSES)
    elif "/events" in block:
        stream = wire(PLAIN)
    else:
        stream = wire(CHAT)
    server.answer([stream])
    for address in ADDRESSES:
        block = block.replace(address, server.url)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block],
        env={
            **os.environ,
            "PYTHONIOENCODING": "utf-8",
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "none",
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "none",
            "DEEPSEEK_API_KEY": "none",
        },
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    if stream == wire(PLAIN):
        assert len(done.stdout.splitlines()) == len(PLAIN)
    elif "delta.content" in block or "event.delta, end" in block or "text_stream" in block:
        assert done.stdout.startswith("".join(TEXT))
    else:
        assert done.stdout


@pytest.mark.parametrize("name", PAGES)
def test_a_link_leads_to_a_page(name: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGES[name]):
        assert (DOCS / name).parent.joinpath(target).is_file(), target
