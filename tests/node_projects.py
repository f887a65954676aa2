"""The projects of Node that tests run; `make systems` installs their packages."""

from __future__ import annotations

import shutil
from pathlib import Path

NODE = Path(__file__).parent / "node"


def installed(name: str) -> tuple[str, Path]:
    """Node, and the folder of one of the projects in tests/node."""
    node = shutil.which("node")
    assert node is not None, "Node must be installed"
    project = NODE / name
    assert (project / "node_modules").is_dir(), "`make systems` installs it"
    return node, project
