"""The table of other parsers, in README and on its page, says what the scripts and parsers say."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pages import ROOT
from rapidsse.testing import cases

sys.path.insert(0, str(ROOT / "benches"))

import peers

COUNTED = re.compile(
    r"^\| ([^|]+) \| ([^|]*) \| (Python|JavaScript|Rust) \| (\d+) \| (\d+) \| [^|]+ \|$",
    re.MULTILINE,
)
PAGES = [ROOT / "README.md", ROOT / "docs" / "reference" / "others.md"]


def counted() -> dict[str, tuple[int, int]]:
    """What conformance.py wrote: right when whole, and byte by byte."""
    page = (ROOT / "benches" / "CONFORMANCE.md").read_text(encoding="utf-8")
    return {name: (int(whole), int(single)) for name, _, _, whole, single in COUNTED.findall(page)}


def versions() -> dict[str, str]:
    page = (ROOT / "benches" / "CONFORMANCE.md").read_text(encoding="utf-8")
    return {name: version for name, version, *_ in COUNTED.findall(page)}


def table(page: Path) -> dict[str, list[str]]:
    """Each parser's cells."""
    text = page.read_text(encoding="utf-8")
    found = text.partition("| parser | language | whole | byte by byte | limit |")[2]
    rows = re.findall(r"^\| (.+) \|$", found.partition("\n\n")[0], re.MULTILINE)
    cells = [row.split(" | ") for row in rows]
    return {name.strip("*"): rest for name, *rest in cells if not name.startswith("---")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_counts_are_the_script_s(page: Path) -> None:
    results = counted()
    ours = {name: result for name, result in results.items() if name.startswith("rapidsse")}
    assert len(ours) == 4
    assert set(ours.values()) == {(len(cases()), len(cases()))}
    shown = table(page)
    assert len(shown) == 10
    for name, (_, whole, single, *_) in shown.items():
        expected = (len(cases()), len(cases())) if name == "rapidsse" else results[name]
        assert (int(whole), int(single)) == expected


def test_both_pages_show_the_same_table() -> None:
    assert table(PAGES[0]) == table(PAGES[1])
    assert f"{len(cases())} cases" in PAGES[0].read_text(encoding="utf-8")


INSTALLED = {
    "httpx-sse": peers._httpx_sse,
    "httpx2": peers._httpx2,
    "openai SDK": peers._openai,
    "anthropic SDK": peers._anthropic,
    "sseclient-py": peers._sseclient,
}


def read(parser: peers.Parser, chunks: list[bytes]) -> list[tuple[Any, ...]]:
    got: list[tuple[Any, ...]] = []
    peers.collect(parser.open(chunks), lambda item: got.append(parser.view(item)[:3]))
    return got


@pytest.mark.parametrize("name", INSTALLED)
def test_the_counts_of_those_installed_are_right(name: str) -> None:
    """Whole only, which takes no time."""
    parser = INSTALLED[name]()
    assert parser.version == versions()[name]
    right = 0
    for case in cases():
        try:
            right += read(parser, [case.data]) == list(case.events)
        except Exception:
            continue
    assert right == counted()[name][0]


@pytest.mark.parametrize("name", INSTALLED)
def test_what_becomes_of_a_cut_event(name: str) -> None:
    events = read(INSTALLED[name](), [b"data: a\n\ndata: b"])
    assert table(PAGES[0])[name][-1] == ("discarded" if len(events) == 1 else "as whole")


@pytest.mark.parametrize("name", INSTALLED)
def test_which_have_a_limit(name: str) -> None:
    """As they come: the adapters lift httpx2's, so it is opened here."""
    opened: Callable[[Any], Any] = INSTALLED[name]().open
    if name == "httpx2":
        opened = lambda chunks: iter(httpx2.EventSource(peers._Response(chunks)))  # noqa: E731
    chunks = [b"data: "] + [b"x" * 64 * 1024] * 64
    stated = table(PAGES[0])[name][3]
    if stated == "none":
        list(opened(chunks))
    else:
        assert stated.startswith("1 MiB")
        with pytest.raises(httpx2.SSEError, match="1048576"):
            list(opened(chunks))
