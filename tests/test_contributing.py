"""What is about the sources says what is so: CONTRIBUTING, ARCHITECTURE, SECURITY, issue forms.

Of use in a clone only, unlike the other tests, which an installed package can be tested with.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml
from pages import DOCS, ROOT, commands

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def test_the_files_that_are_named_are_there() -> None:
    named = set(re.findall(r"`((?:src|_pure|tests|benches|python)/[\w./]*)`", CONTRIBUTING))
    named |= set(re.findall(r"`((?:src|_pure|tests|benches|python)/[\w./]*)`", ARCHITECTURE))
    assert len(named) > 20
    for path in named:
        folder = ROOT / "python" / "rapidsse" if path.startswith("_pure") else ROOT
        assert (folder / path).exists(), path


def test_the_functions_that_are_named_are_there() -> None:
    for function, path in re.findall(r"`(\w+)` in `(\S+?)`", CONTRIBUTING):
        file = ROOT / (path if path.startswith("src") else f"python/rapidsse/{path}")
        assert re.search(rf"(fn|def) {function}\b", file.read_text(encoding="utf-8")), function


def test_the_files_of_the_picture_are_there() -> None:
    picture = (ROOT / "docs" / "assets" / "way.svg").read_text(encoding="utf-8")
    shown = re.findall(r"[\w/]+\.(?:rs|py)", picture)
    assert len(shown) > 10
    for path in shown:
        where = [
            ROOT / path,
            ROOT / "src" / path,
            ROOT / "src" / "python" / path,
            ROOT / "python" / "rapidsse" / path,
            ROOT / "python" / "rapidsse" / "_pure" / path,
        ]
        assert any(file.is_file() for file in where), path


def test_the_states_of_the_picture_are_those_of_the_parser() -> None:
    picture = (ROOT / "docs" / "assets" / "states.svg").read_text(encoding="utf-8")
    source = (ROOT / "src" / "cut.rs").read_text(encoding="utf-8")
    (states,) = re.findall(r"^enum Known \{\n(.*?)^\}", source, re.DOTALL | re.MULTILINE)
    names = re.findall(r"^    ([A-Z]\w+)", states, re.MULTILINE)
    assert len(names) == 5
    for state in names:
        assert f">{state}</text>" in picture


def test_the_example_of_a_case_is_one_of_the_table() -> None:
    (example,) = re.findall(r"^```json\n(.*?)\n```$", CONTRIBUTING, re.DOTALL | re.MULTILINE)
    table = (ROOT / "python" / "rapidsse" / "testing" / "cases.jsonl").read_text(encoding="utf-8")
    assert example in table.split("\n")


def test_the_tests_that_are_to_be_run_are_there() -> None:
    for command in commands(ROOT / "CONTRIBUTING.md"):
        for word in shlex.split(command.line):
            if word.startswith(("tests/", "benches/")):
                assert (ROOT / word).is_file()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_an_issue_form_is_one(form: Path) -> None:
    read = yaml.safe_load(form.read_text(encoding="utf-8"))
    if form.stem == "config":
        assert all(set(link) == {"name", "url", "about"} for link in read["contact_links"])
        return
    assert set(read) == {"name", "description", "labels", "body"}
    for field in read["body"]:
        assert field["type"] in ("input", "textarea")
        assert field["attributes"]["label"]


def test_the_page_on_security_names_no_address() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "/security/advisories/new" in text
    assert "@" not in text


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(
        page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")
    )


def test_what_a_page_includes_is_there() -> None:
    for page in DOCS.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"^<!-- include: (\S+) -->$", text, re.MULTILINE):
            assert (ROOT / target).is_file(), target


def test_a_link_to_the_site_leads_to_a_page() -> None:
    """README's, which is read in other places than the repository too."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert not re.findall(r"\]\((?!https?:)", readme)
    paths = re.findall(r"\]\(https://rapidsse\.github\.io/rapidsse/([^)#]*)", readme)
    assert len(paths) > 5
    for path in paths:
        assert (ROOT / "docs" / (path.rstrip("/") or "index")).with_suffix(".md").is_file(), path
    for path in re.findall(r"\]\(https://github\.com/rapidsse/rapidsse/blob/main/([^)#]*)", readme):
        assert (ROOT / path).is_file(), path
