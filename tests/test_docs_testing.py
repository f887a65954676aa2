"""docs/testing.md: its tests run in a directory of a user's, and find what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import httpx_sse
import pytest
from rapidsse.testing import cases
from test_testing import run_pytest

PAGE = (Path(__file__).parent.parent / "docs" / "testing.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
MINE = "import rapidsse\n\n\ndef my_parser(data):\n    return rapidsse.parse(data)\n\n\n"
MINE_OF_CHUNKS = (
    "import rapidsse\n\n\ndef my_parser_of_chunks(chunks):\n"
    "    return list(rapidsse.iter_events(chunks))\n\n\n"
)


def block(word: str) -> str:
    (found,) = [each for each in BLOCKS if word in each]
    return found


def rows() -> dict[str, list[tuple[str, str]]]:
    """Of each client, what the page says of it: the result, and the case that shows a fault."""
    table: dict[str, list[tuple[str, str]]] = {}
    client = ""
    for line in PAGE.splitlines():
        found = re.fullmatch(r"\| (\S*) ?\| ([^|]*?) ?\| [^|]+ \| `([^`]+)` \|", line)
        if found:
            client = found[1] or client
            table.setdefault(client, []).append((found[2], found[3]))
    return table


@pytest.mark.parametrize(
    ("client", "word"), [("httpx-sse", "EventSource(response)"), ("sseclient-py", "SSEClient(")]
)
def test_what_is_found_in_a_client(client: str, word: str, tmp_path: Path) -> None:
    (tmp_path / "test_client.py").write_text(block(word))
    done = run_pytest(tmp_path, "-q", "--tb=no", "-rf")
    failed = re.findall(r"^FAILED test_client.py::(?:test_cases\[)?([\w-]+)", done.stdout, re.M)
    wrong = [name for name in failed if name != "test_chunks_do_not_matter"]
    stated = rows()[client]
    assert stated[0][0] == f"{len(cases()) - len(wrong)} of {len(cases())}"
    assert {name for _, name in stated} <= set(failed)
    assert ("test_chunks_do_not_matter" in failed) is (client == "sseclient-py")
    assert not re.search(r"\d+ error", done.stdout)


def test_the_other_tests_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(MINE + block("my_parser(sse_case.data)"))
    (tmp_path / "test_chunks.py").write_text(MINE_OF_CHUNKS + block("my_parser_of_chunks"))
    (tmp_path / "test_faults.py").write_text(block("fault_server"))
    done = run_pytest(tmp_path, "-q", "-W", "error")
    assert done.returncode == 0, done.stdout
    assert f"{len(cases()) + 4} passed" in done.stdout


def test_what_the_page_counts() -> None:
    assert f": {len(cases())} streams with their right values" in PAGE
    assert f"httpx-sse {httpx_sse.__version__}," in PAGE
