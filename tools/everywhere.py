"""Runs the tests on every interpreter found, against installed wheels, outside of the source tree.

    python tools/everywhere.py [NAME ...]

For each interpreter that `interpreters.py` lists (or those that are named, such as CPython-3.13):
the wheel is built and put into an empty virtual environment with what the tests need; the tests
run from a copy, with nothing of the source tree on the path. Then the same with the pure wheel in
its place. Where no compiled wheel is meant to be (PyPy), the pure one alone.

The wheels are left in dist/everywhere/. The environments are made anew each time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import interpreters
import pure_wheel
from interpreters import ROOT, Interpreter

DIST = ROOT / "dist" / "everywhere"
COPIED = ["tests", "examples", "README.md", "Makefile", "pyproject.toml"]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]


def compiled_wheel(interpreter: Interpreter) -> Path:
    """Builds the wheel for one interpreter."""
    directory = DIST / interpreter.name
    maturin = Path(sys.executable).with_name("maturin")
    subprocess.run(
        [maturin, "build", "-q", "--release", "-i", interpreter.path, "-o", directory],
        cwd=ROOT,
        check=True,
    )
    return only(directory)


def only(directory: Path) -> Path:
    """The one wheel in a directory."""
    (wheel,) = directory.glob("*.whl")
    return wheel


class Environment:
    """An interpreter's virtual environment with what the tests need, and a copy of the tests."""

    def __init__(self, interpreter: Interpreter, place: Path) -> None:
        self.interpreter = interpreter
        self.copy = place / "copy"
        self.copy.mkdir()
        for name in COPIED:
            if (ROOT / name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "node_modules")
                shutil.copytree(ROOT / name, self.copy / name, ignore=ignored)
            else:
                shutil.copy(ROOT / name, self.copy)
        subprocess.run(
            [interpreter.path, "-m", "venv", "--without-pip", place / "venv"], check=True
        )
        self.python = place / "venv" / "bin" / "python"
        self.install("--group", f"{ROOT / 'pyproject.toml'}:test")

    def install(self, *what: str | Path) -> None:
        subprocess.run([*PIP, "--python", self.python, "install", "-q", *what], check=True)

    def passes(self, wheel: Path, backend: str | None) -> bool:
        """Whether the tests pass with a wheel installed."""
        self.install("--force-reinstall", "--no-deps", wheel)
        environment = {key: os.environ[key] for key in os.environ if key != "PYTHONPATH"}
        if backend is not None:
            environment["RAPIDSSE_BACKEND"] = backend
        started = time.monotonic()
        print(f"== {self.interpreter.name}: {wheel.name}", flush=True)
        pytest = [self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        done = subprocess.run(pytest, cwd=self.copy, env=environment, check=False)
        print(f"== {time.monotonic() - started:.0f} s", flush=True)
        return done.returncode == 0


def tested(interpreter: Interpreter, pure: Path) -> list[str]:
    """The names of the wheels that the tests fail with."""
    failed = []
    with tempfile.TemporaryDirectory(prefix="rapidsse-") as place:
        environment = Environment(interpreter, Path(place))
        if interpreter.implementation == "CPython":
            compiled = compiled_wheel(interpreter)
            if not environment.passes(compiled, None):
                failed.append(compiled.name)
        if not environment.passes(pure, "python"):
            failed.append(f"{pure.name} on {interpreter.name}")
    return failed


def main(names: list[str]) -> int:
    chosen = [each for each in interpreters.found() if not names or each.name in names]
    if unknown := set(names) - {each.name for each in chosen}:
        raise SystemExit(f"not found: {', '.join(sorted(unknown))}")
    shutil.rmtree(DIST, ignore_errors=True)
    pure_wheel.build(DIST)
    pure = only(DIST)
    failed = [name for each in chosen for name in tested(each, pure)]
    print(f"interpreters: {', '.join(each.name for each in chosen)}")
    for name in failed:
        print(f"FAILED: {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
