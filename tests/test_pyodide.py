"""The pure wheel, installed in Pyodide, parses every conformance case there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from node_projects import installed
from rapidsse.testing import cases

BUILD = Path(__file__).parent.parent / "tools" / "pure_wheel.py"


def test_the_pure_wheel_parses_every_case_in_pyodide(tmp_path: Path) -> None:
    node, project = installed("pyodide")
    subprocess.run([sys.executable, BUILD, tmp_path], check=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    done = subprocess.run(
        [node, "parse.mjs", wheel, "parse.py"],
        cwd=project,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"^{len(cases())} cases parsed on cpython ", done.stdout, re.MULTILINE)
