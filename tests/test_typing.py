"""Typing: mypy's strict mode sees that feed()'s result follows comments and diagnostics."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import rapidsse


def test_mypy_strict_on_the_public_names(tmp_path: Path) -> None:
    package = Path(rapidsse.__file__).parent
    environment = dict(os.environ)
    if package.parent.name not in ("site-packages", "dist-packages"):
        environment["MYPYPATH"] = str(package.parent)
    cases = Path(__file__).with_name("typing_cases.py")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull),
            *("--cache-dir", str(tmp_path / "cache"), str(cases)),
        ],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
