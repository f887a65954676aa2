"""Nothing lost, Bounded: a short soak of many streams at once. `make soak` is the long one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("soak.py")


def test_200_streams_at_once_lose_nothing(backend: Any) -> None:
    command = [sys.executable, str(SCRIPT), f"--backend={backend.__name__}"]
    command += ["--streams=200", "--seconds=5", "--pause=0.3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "200 streams complete, 0 wrong" in done.stdout
