"""Both backends side by side: most tests run once for each.

With RAPIDSSE_BACKEND=python the pure package is tested alone; otherwise a missing compiled module
is an error, not a gap.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest

BACKENDS = {"rust": "rapidsse._rapidsse", "python": "rapidsse._pure"}
if os.environ.get("RAPIDSSE_BACKEND") == "python":
    del BACKENDS["rust"]


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
