"""Builds what is released from this machine into dist/, and checks it.

Three files: the wheel with the compiled module for this interpreter, the pure wheel, the sdist.
- auditwheel agrees that the first runs on the manylinux that its name says;
- twine finds nothing wrong in the metadata, which both wheels share, as they do their files;
- each of the three installs into an empty virtual environment, the sdist by building it, and runs
  README's first example and the command with the backend that it must have.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from email.parser import Parser
from pathlib import Path

import first_example
import pure_wheel
from pure_wheel import ROOT

DIST = ROOT / "dist"
EXAMPLE = ROOT / "examples" / "chat.sse"
TOOLS = Path(sys.executable).parent
MAY_DIFFER = (
    *(".so", "/sboms/rapidsse.cyclonedx.json", "/RECORD", "/WHEEL", "/METADATA"),
    "/entry_points.txt",  # in its spaces; that the command is there, its run shows
)
BY_BUILDER = {"Metadata-Version", "Description-Content-Type", "Keywords", "Requires-Dist"}
"""What each build backend says in its own way: it sorts, or spells the extras of extras out."""


def build() -> tuple[Path, Path, Path]:
    """The compiled wheel, the pure wheel, the sdist."""
    for old in (*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")):
        old.unlink()
    maturin = str(TOOLS / "maturin")
    build = [maturin, "build", "-q", "--release", "--locked", "-i", sys.executable]
    for command in (build, [maturin, "sdist"]):
        subprocess.run([*command, "-o", str(DIST)], cwd=ROOT, check=True)
    (compiled,) = DIST.glob("*.whl")
    pure_wheel.build(DIST)
    (pure,) = DIST.glob("*-none-any.whl")
    (sdist,) = DIST.glob("*.tar.gz")
    return compiled, pure, sdist


def check_platform(wheel: Path) -> None:
    """That the wheel is as compatible as its name says."""
    shown = subprocess.run(
        [TOOLS / "auditwheel", "show", wheel], capture_output=True, text=True, check=True
    ).stdout
    tag = wheel.stem.rpartition("-")[2]
    require(tag.startswith("manylinux"), f"{wheel.name} is for no manylinux")
    require(f'"{tag}"' in " ".join(shown.split()), shown)


def check_same(compiled: Path, pure: Path) -> None:
    """That two wheels differ by the compiled module alone."""
    files, metadata = zip(contents(compiled), contents(pure), strict=True)
    require(files[0] == files[1], f"the wheels' files differ: {set(files[0]) ^ set(files[1])}")
    require(metadata[0] == metadata[1], f"the wheels' metadata differ: {metadata}")


def contents(wheel: Path) -> tuple[dict[str, bytes], list[tuple[str, str]]]:
    """A wheel's files, those left out that may differ, and its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        files = {
            name: archive.read(name) for name in archive.namelist() if not name.endswith(MAY_DIFFER)
        }
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        message = Parser().parsestr(archive.read(name).decode("utf-8"))
    fields = [(key, value) for key, value in message.items() if key not in BY_BUILDER]
    return files, sorted([*fields, ("", str(message.get_payload()).strip())])


def check_install(file: Path, backend: str) -> None:
    """That a file installs into an empty environment, and works outside of the source tree."""
    with tempfile.TemporaryDirectory(prefix="rapidsse-") as place:
        python = first_example.install(file, Path(place))
        require("[DONE]" in first_example.run(python, backend), f"{file.name}: README's example")
        environment = {key: os.environ[key] for key in os.environ if key != "PYTHONPATH"}
        done = subprocess.run(
            [python.with_name("rapidsse"), "parse", "--json-data", EXAMPLE],
            cwd=place,
            env={**environment, "RAPIDSSE_BACKEND": backend},
            capture_output=True,
            text=True,
            check=False,
        )
        require(done.returncode == 0 and done.stdout != "", f"{file.name}: {done.stderr}")


def require(held: bool, complaint: str) -> None:
    if not held:
        raise SystemExit(complaint)


if __name__ == "__main__":
    compiled, pure, sdist = build()
    check_platform(compiled)
    subprocess.run([TOOLS / "twine", "check", "--strict", compiled, pure, sdist], check=True)
    check_same(compiled, pure)
    for file, backend in ((compiled, "rust"), (pure, "python"), (sdist, "rust")):
        check_install(file, backend)
        print(f"{file.name}: installs and parses, backend {backend}")
