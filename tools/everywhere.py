"""Runs the tests on every interpreter found, against installed wheels, outside of the source tree.

    python tools/everywhere.py [INTERPRETER ...]

For each interpreter that `interpreters.py` lists, or those that are given by its names or by their
paths: the wheel is built and put into an empty virtual environment with what the tests need; the
tests, which are of both backends, run from a copy, with nothing of the source tree on the path.
Then the pure wheel takes its place, for the tests that tell that it is whole. Where no compiled
wheel is meant to be (PyPy), the pure one is there for all tests. The tests that run other systems
beside the package are left to `make test`.

The wheels are left in dist/everywhere/. The environments are made anew each time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import interpreters
import pure_wheel
from interpreters import ROOT, Interpreter

DIST = ROOT / "dist" / "everywhere"
COPIED = ["tests", "examples", "docs", "README.md", "Makefile", "pyproject.toml"]
ELSEWHERE = ["judges", "test_pyodide", "test_vercel_ai", "test_litellm", "test_gateway_nginx"]
ELSEWHERE += ["test_contributing", "test_other_parsers", "test_wheel"]  # about the sources
WHOLE = ["tests/test_conformance.py", "tests/test_backend_choice.py", "tests/test_cli.py"]
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
        self.install("--no-binary=urllib3-future", "--group", f"{ROOT / 'pyproject.toml'}:test")

    def install(self, *what: str | Path) -> None:
        environment = {**os.environ, "URLLIB3_NO_OVERRIDE": "1"}  # as in the Makefile
        install = [*PIP, "--python", str(self.python), "install", "-q", *map(str, what)]
        subprocess.run(install, env=environment, check=True)

    def passes(self, wheel: Path, tests: Sequence[str] = ()) -> bool:
        """Whether the tests pass with a wheel installed, all or some."""
        self.install("--force-reinstall", "--no-deps", wheel)
        unset = ("PYTHONPATH", "RAPIDSSE_BACKEND")
        environment = {key: os.environ[key] for key in os.environ if key not in unset}
        if "-none-any" in wheel.name:
            environment["RAPIDSSE_BACKEND"] = "python"
        started = time.monotonic()
        print(f"== {self.interpreter.name}: {wheel.name}", flush=True)
        ignored = [f"--ignore-glob=*/{name}*" for name in ELSEWHERE]
        pytest = [
            str(self.python),
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            *ignored,
            *tests,
        ]
        done = subprocess.run(pytest, cwd=self.copy, env=environment, check=False)
        print(f"== {time.monotonic() - started:.0f} s", flush=True)
        return done.returncode == 0


def tested(interpreter: Interpreter, pure: Path) -> list[str]:
    """The names of the wheels that the tests fail with."""
    failed = []
    with tempfile.TemporaryDirectory(prefix="rapidsse-") as place:
        environment = Environment(interpreter, Path(place))
        if interpreter.implementation == "CPython":
            try:
                compiled = compiled_wheel(interpreter)
            except subprocess.CalledProcessError:
                failed.append(f"the compiled wheel does not build for {interpreter.name}")
            else:
                if not environment.passes(compiled):
                    failed.append(compiled.name)
            if not environment.passes(pure, WHOLE):
                failed.append(f"{pure.name} on {interpreter.name}")
        elif not environment.passes(pure):
            failed.append(f"{pure.name} on {interpreter.name}")
    return failed


def choose(names: Sequence[str]) -> list[Interpreter]:
    """The interpreters that are named, or all."""
    all_found = {each.name: each for each in interpreters.found()}
    chosen = [all_found.get(name) or interpreters.ask(Path(name)) for name in names or all_found]
    if None in chosen:
        raise SystemExit(f"no interpreter: {names[chosen.index(None)]}")
    return [each for each in chosen if each is not None]


def main(names: Sequence[str]) -> int:
    chosen = choose(names)
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
