"""Both backends say the same of their public names: the reference shows one for both."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from conftest import load

NAMES = [
    "AsyncEventIterator",
    "Comment",
    "Diagnostic",
    "EventIterator",
    "Parser",
    "ServerSentEvent",
    "aiter_events",
    "iter_events",
    "parse",
]


def told(backend: Any, name: str) -> dict[str, str]:
    """The docstrings of a name and of its public members."""
    found = getattr(backend, name)
    said = {name: inspect.cleandoc(found.__doc__)}
    if inspect.isclass(found):
        for member in dir(found):
            words = getattr(found, member).__doc__
            if not member.startswith("_") and words:
                said[member] = inspect.cleandoc(words)
    return said


@pytest.mark.parametrize("name", NAMES)
def test_the_words_are_the_same(name: str, backend: Any) -> None:
    reference = told(load("python"), name)
    mine = told(backend, name)
    # Fields of items are described with their class.
    fields = set(getattr(getattr(backend, name), "__match_args__", ())) | {"raw"}
    for each in (reference, mine):
        for field in fields:
            each.pop(field, None)
    assert mine == reference
