"""What the judges need of the machine: a browser, Node."""

from __future__ import annotations

import os
from typing import TypeVar

import pytest

T = TypeVar("T")


def needed(found: T | None, what: str) -> T:
    """What was found. A judge that is missing fails where RAPIDSSE_JUDGES is "required"."""
    if found is not None:
        return found
    if os.environ.get("RAPIDSSE_JUDGES") == "required":
        pytest.fail(f"{what} is not installed")
    pytest.skip(f"{what} is not installed; `make judge` needs it")
