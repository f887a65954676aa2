"""README's first example, run where a wheel was installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def install(file: Path, place: Path) -> Path:
    """Installs a wheel or sdist into an empty virtual environment; its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    python = place / Path(sys.executable).parent.name / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    subprocess.run([*pip, "install", "-q", "--no-deps", str(file)], check=True)
    return python


def run(python: Path, backend: str) -> str:
    """What the example prints, with a backend, outside of the source tree."""
    found = re.search(r"^```python\n(.*?)^```", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    if found is None:
        raise SystemExit("README has no example")
    environment = {key: os.environ[key] for key in os.environ if key != "PYTHONPATH"}
    return subprocess.run(
        [python, "-W", "error", "-c", found[1]],
        cwd=python.parent,
        env={**environment, "RAPIDSSE_BACKEND": backend},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
