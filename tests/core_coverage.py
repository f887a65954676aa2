"""The core's line coverage by its own tests: `make coverage`. Fails below 98 %.

Needs `cov` of the crate llvm_profparser, which reads what `-Cinstrument-coverage` writes for any
version of LLVM that Rust comes with. Lines of test modules count as well; they all run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "target" / "coverage"
ENOUGH = 0.98
# `  12|     34|code`: a line's number, how often it ran (blank: it is no code), and the line.
LINE = re.compile(r"\s*(\d+)\|\s*(\d*)\|(.*)")


def tests(profiles: Path) -> list[str]:
    """Builds and runs the core's tests; returns their programs."""
    environment = {
        **os.environ,
        "RUSTFLAGS": "-Cinstrument-coverage",
        "CARGO_TARGET_DIR": str(TARGET),
        "LLVM_PROFILE_FILE": str(profiles / "%p-%m.profraw"),
    }
    command = ["cargo", "test", "-q", "--no-default-features", "--lib", "--tests"]
    built = subprocess.run(
        [*command, "--no-run", "--message-format=json"],
        cwd=ROOT,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
    )
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    # What ran while it was built has left profiles too.
    for profile in profiles.iterdir():
        profile.unlink()
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return [message["executable"] for message in messages if message.get("executable")]


def report(programs: list[str], profiles: Path) -> str:
    command = ["cov", "show"]
    for program in programs:
        command += ["--object", program]
    for profile in profiles.iterdir():
        command += ["--instr-profile", str(profile)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def core_lines(shown: str) -> Iterator[tuple[str, str, int, str]]:
    """File, number, count and text of each line of code of the core."""
    file = ""
    for line in shown.splitlines():
        if found := LINE.fullmatch(line):
            number, count, text = found.groups()
            if count and file.startswith("src/") and not file.startswith("src/python"):
                yield file, number, int(count), text
        elif line.startswith("/"):
            path = Path(line.strip())
            file = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else ""


def main() -> int:
    with TemporaryDirectory() as folder:
        profiles = Path(folder)
        lines = list(core_lines(report(tests(profiles), profiles)))
    missed = [line for line in lines if not line[2]]
    for file, number, _, text in missed:
        print(f"{file}:{number}: {text}")
    covered = 1 - len(missed) / len(lines)
    print(f"the core: {len(lines) - len(missed)} of {len(lines)} lines, {covered:.2%}")
    return covered < ENOUGH


if __name__ == "__main__":
    sys.exit(main())
