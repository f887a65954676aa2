"""What the site takes from files that are not its own (a MkDocs hook).

A line `<!-- include: FILE -->` in a page stands for a file of the repository: a drawing (SVG) as it
is, so that it has the site's colours; a chart (PICTURES) as an image; a page (Markdown) without its
title, and with its relative links leading to the repository. `<!-- include if there: FILE -->` is
for a file that a command makes, such as a benchmark's results.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
INCLUDE = re.compile(r"^<!-- include( if there)?: (\S+) -->$", re.MULTILINE)
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)")
PICTURES = ("benches/chart.svg", "benches/gateway/chart.svg")
"""Charts, some of included pages, which the site has under the same names."""


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    for picture in PICTURES:
        if (ROOT / picture).is_file():
            files.append(File.generated(config, picture, abs_src_path=str(ROOT / picture)))
    return files


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, **_: Any) -> str:
    to_root = posixpath.relpath(".", posixpath.dirname(page.file.src_uri) or ".")

    def included(line: re.Match[str]) -> str:
        optional, name = line.groups()
        file = ROOT / name
        if optional and not file.is_file():
            return f"`{name}` has not been made yet."
        if not file.is_file():
            raise PluginError(f"{page.file.src_uri} includes {name}, which is not there")
        text = file.read_text(encoding="utf-8").strip()
        if name in PICTURES:
            title = re.search(r"<title>(.*?)</title>", text)
            return f"![{title[1] if title else name}]({to_root}/{name})"
        if file.suffix == ".svg":
            return _drawing(file)
        return _of_another_page(text, posixpath.dirname(name), to_root, str(config.repo_url))

    return INCLUDE.sub(included, markdown)


def _drawing(file: Path) -> str:
    """A picture as part of the page, so that it has the colours chosen there."""
    return f'<figure class="drawing">{file.read_text(encoding="utf-8").strip()}</figure>'


def _of_another_page(text: str, folder: str, to_root: str, repository: str) -> str:
    def link(found: re.Match[str]) -> str:
        picture, words, target, anchor = found.groups()
        path = posixpath.normpath(posixpath.join(folder, target))
        if picture and path.startswith("docs/assets/"):
            return _drawing(ROOT / path)
        if picture and path in PICTURES:
            return f"![{words}]({to_root}/{path})"
        return f"{picture}[{words}]({repository}/blob/main/{path}{anchor or ''})"

    body = re.sub(r"\A# .*\n+", "", text)
    return LINK.sub(link, body)
