"""The pytest plugin of rapidsse, by entry point.

It is a package of its own so that a run which uses none of it imports nothing: importing
`rapidsse.testing.anything` would import the parser at the start of every pytest, before coverage
is measured.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rapidsse.testing import Case, FaultServer


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with the argument `sse_case` runs once for each case."""
    if "sse_case" in metafunc.fixturenames and _is_ours(metafunc):
        from rapidsse.testing import cases

        metafunc.parametrize("sse_case", cases(), ids=lambda case: case.name, indirect=True)


def _is_ours(metafunc: pytest.Metafunc) -> bool:
    """Whether neither a mark nor a fixture of the user's has the name."""
    for mark in metafunc.definition.iter_markers("parametrize"):
        names = mark.args[0] if mark.args else mark.kwargs["argnames"]
        if isinstance(names, str):
            names = [name.strip() for name in names.split(",")]
        if "sse_case" in names:
            return False
    # pytest tells nobody which fixture a name stands for; where this is gone, it is taken for ours.
    fixtures = getattr(metafunc, "_arg2fixturedefs", {}).get("sse_case")
    return not fixtures or fixtures[-1].func.__module__ == __name__


@pytest.fixture
def sse_case(request: pytest.FixtureRequest) -> Case:
    """A conformance case, `rapidsse.testing.Case`: the test runs once for each."""
    case: Case = request.param
    return case


@pytest.fixture
def fault_server() -> Iterator[Any]:
    """Starts `rapidsse.testing.FaultServer`s, which end with the test.

    `server = fault_server(data, cut_at="50%")`: the arguments are those of the class.
    """
    from contextlib import ExitStack

    from rapidsse.testing import FaultServer

    with ExitStack() as stack:

        def start(*arguments: Any, **options: Any) -> FaultServer:
            return stack.enter_context(FaultServer(*arguments, **options))

        yield start


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Says which events of a case differ."""
    testing = sys.modules.get("rapidsse.testing")
    if op != "==" or testing is None:
        return None
    if isinstance(left, testing.Events):
        left, right = right, left
    if not isinstance(right, testing.Events) or not isinstance(left, Sequence):
        return None
    return ["the events are not those of the standard", *right.differences(left)]
