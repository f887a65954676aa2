"""Programs that the tests of the tools drive, and that a machine may lack.

Where RAPIDSSE_REQUIRE_CLIENTS is set, as in CI, a missing one is a failure and no gap.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

NODE_PACKAGES = Path(__file__).parent / "node" / "tools"


def need(*names: str) -> str:
    """The path of the first of these programs that is there."""
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return path
    return _missing(names[0])


def node() -> list[str]:
    """Node, and the program that reads a stream with eventsource-parser."""
    path = need("node", "nodejs")
    if not (NODE_PACKAGES / "node_modules").is_dir():
        _missing(f"npm --prefix {NODE_PACKAGES} ci")
    return [path, str(NODE_PACKAGES / "read.mjs")]


def _missing(what: str) -> str:
    if os.environ.get("RAPIDSSE_REQUIRE_CLIENTS"):
        pytest.fail(f"missing: {what}")
    pytest.skip(f"missing: {what}")
