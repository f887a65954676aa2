"""What some tests need of the machine: a browser, Node and packages of npm."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")
NODE = Path(__file__).parent / "node"


def needed(found: T | None, what: str) -> T:
    """What was found. What is missing fails where RAPIDSSE_JUDGES is "required"."""
    if found is not None:
        return found
    if os.environ.get("RAPIDSSE_JUDGES") == "required":
        pytest.fail(f"{what} is not installed")
    pytest.skip(f"{what} is not installed; `make judge` needs it")


def node_project(name: str) -> tuple[str, Path]:
    """Node, and the folder of one of the projects in tests/node with its packages installed."""
    node = needed(shutil.which("node"), "node")
    npm = needed(shutil.which("npm"), "npm")
    project = NODE / name
    installed = project / "node_modules" / ".package-lock.json"
    locked = project / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < locked.stat().st_mtime:
        command = [npm, "ci", "--silent", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=project, check=True, timeout=300)
    return node, project
