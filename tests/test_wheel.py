"""What is released installs into an empty environment, and README's first example runs there.

Here with the pure wheel, which is built in seconds; `make dist` does it with all that is released.
"""

from __future__ import annotations

import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from pages import ROOT, blocks

sys.path.insert(0, str(ROOT / "tools"))

import first_example
import pure_wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheel")
    pure_wheel.build(directory)
    (built,) = directory.glob("*.whl")
    return built


def test_the_first_example_runs_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    python = first_example.install(wheel, tmp_path / "empty")
    assert first_example.run(python, "python") == 'message {"n": 1}\nmessage [DONE]\n'


def test_the_example_is_the_start_page_s(wheel: Path) -> None:
    code = [blocks(page)[0].code for page in (ROOT / "README.md", ROOT / "docs" / "index.md")]
    plain = ["\n".join(line.partition("  #")[0] for line in each.splitlines()) for each in code]
    assert plain[0] == plain[1]


def test_the_metadata(wheel: Path) -> None:
    """Of one version, which Cargo.toml states and the changelog describes."""
    version = pure_wheel.version()
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith("/METADATA"))
        message = Parser().parsestr(archive.read(name).decode("utf-8"))
    assert message["Version"] == version
    assert f"## [{version}] - " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert message["License-Expression"] == "MIT"
    urls = [url.partition(", ")[2] for url in message.get_all("Project-URL", [])]
    assert len(urls) == 5
    assert all("rapidsse" in url for url in urls)
    assert "Typing :: Typed" in message.get_all("Classifier", [])
    assert not [each for each in message.get_all("Requires-Dist", []) if "extra ==" not in each]
