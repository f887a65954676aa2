"""The pages of the project, and the blocks of code in them."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(DOCS.rglob("*.md")),
]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def name(page: Path) -> str:
    """A page's path in the repository; within docs/, for those there."""
    return page.relative_to(DOCS if page.is_relative_to(DOCS) else ROOT).as_posix()


@dataclass(frozen=True)
class Block:
    """A block of Python.

    Attributes:
        page: the name of its page.
        number: which of the page's it is.
        code: what to run.
        prints: what it must print, if a block of text follows at once.
    """

    page: str
    number: int
    code: str
    prints: str | None

    def __str__(self) -> str:
        return f"{self.page} {self.number}"


@dataclass(frozen=True)
class Command:
    """A command at a prompt, and the output that the page shows."""

    page: str
    line: str
    prints: str

    def __str__(self) -> str:
        return f"{self.page} {self.line}"


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    fences = list(FENCE.finditer(text))
    found: list[Block] = []
    for fence, after in itertools.zip_longest(fences, fences[1:]):
        if fence[1] != "python":
            continue
        follows = after and after[1] == "text" and not text[fence.end() : after.start()].strip()
        found.append(Block(name(page), len(found), fence[2], after[2] if follows else None))
    return found


def commands(page: Path) -> list[Command]:
    text = page.read_text(encoding="utf-8")
    return [
        Command(name(page), line.partition("  #")[0].strip(), prints)
        for language, block in FENCE.findall(text)
        if language == "console"
        for line, prints in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    ]


def languages(page: Path) -> set[str]:
    return {language for language, _ in FENCE.findall(page.read_text(encoding="utf-8"))}
