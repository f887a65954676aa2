"""Builds the py3-none-any wheel: the package without its compiled module, for every platform.

    python tools/pure_wheel.py [DIRECTORY]

The sources, the version and the metadata are the compiled wheel's. Only the build backend differs:
maturin always compiles, so a copy of the package is built with hatchling. The wheel is written to
DIRECTORY, by default dist/.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD_SYSTEM = """\
[build-system]
requires = ["hatchling>=1.27,<2"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
sources = ["python"]
only-include = ["python"]
core-metadata-version = "2.4"
"""


def version() -> str:
    """The version, which only Cargo.toml states."""
    text = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    found = re.search(r'^version = "([^"]+)"$', text, re.MULTILINE)
    if found is None:
        raise SystemExit("Cargo.toml states no version")
    return found[1]


def pyproject() -> str:
    """The project's tables as they are, less what is maturin's and the tools'."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    tables = re.split(r"^(?=\[)", text, flags=re.MULTILINE)
    project = "".join(table for table in tables if re.match(r"\[project[.\]]", table))
    dynamic = 'dynamic = ["version"]'
    if project.count(dynamic) != 1:
        raise SystemExit(f"pyproject.toml: {dynamic} is expected once")
    return BUILD_SYSTEM + "\n" + project.replace(dynamic, f'version = "{version()}"')


def build(directory: Path) -> None:
    """Writes the wheel to a directory."""
    with tempfile.TemporaryDirectory() as made:
        copy = Path(made)
        ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "*.dylib")
        shutil.copytree(ROOT / "python", copy / "python", ignore=ignored)
        for name in ("README.md", "LICENSE"):
            shutil.copy(ROOT / name, copy)
        (copy / "pyproject.toml").write_text(pyproject(), encoding="utf-8")
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check"]
        subprocess.run([*command, "--no-deps", "-w", str(directory), str(copy)], check=True)


if __name__ == "__main__":
    build(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist"))
