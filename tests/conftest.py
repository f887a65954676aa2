"""Both backends side by side: most tests run once for each.

With RAPIDSSE_BACKEND=python the pure package is tested alone; otherwise a missing compiled module
is an error, not a gap.
"""

from __future__ import annotations

import importlib
import os
import platform
import signal
from typing import Any

import pytest

BACKENDS = {"rust": "rapidsse._rapidsse", "python": "rapidsse._pure"}
if os.environ.get("RAPIDSSE_BACKEND") == "python":
    del BACKENDS["rust"]

collect_ignore = []
if platform.python_implementation() != "CPython":
    # tracemalloc, which the one measures with, and mypy, which the other runs, are CPython's alone.
    # What is dropped leaves at once where references are counted.
    collect_ignore += ["test_bounded.py", "test_leaks.py", "test_typing.py"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As for what a shell runs in the background; the commands that tests interrupt inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def load(name: str) -> Any:
    return importlib.import_module(BACKENDS[name])


@pytest.fixture(params=list(BACKENDS))
def backend(request: pytest.FixtureRequest) -> Any:
    """A backend's module."""
    return load(request.param)


@pytest.fixture(params=list(BACKENDS))
def other(request: pytest.FixtureRequest) -> Any:
    """A backend's module, for tests that put two side by side."""
    return load(request.param)
