"""Two backends: which one serves, and the pure one alone."""

from __future__ import annotations

import importlib
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import rapidsse
from conftest import BACKENDS

PACKAGE = Path(rapidsse.__file__).parent
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
ERRORS = ["BufferSizeExceeded", "ParserClosed", "ResponseError", "SSEError", "StreamInterrupted"]


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a process of its own, where warnings are errors."""
    base = {name: value for name, value in os.environ.items() if name != "RAPIDSSE_BACKEND"}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**base, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def printed(code: str, **environment: str) -> str:
    done = python(code, **environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def test_the_compiled_one_serves_unless_another_is_forced() -> None:
    best = next(iter(BACKENDS))
    code = f"import rapidsse, {BACKENDS[best]} as own; print(rapidsse.BACKEND, rapidsse.Parser is own.Parser)"  # noqa: E501
    forced = {} if best == "rust" else {"RAPIDSSE_BACKEND": "python"}
    assert printed(code, **forced) == f"{best} True"


@pytest.mark.parametrize("name", list(BACKENDS))
def test_one_can_be_forced(name: str) -> None:
    code = f"import rapidsse, {BACKENDS[name]} as own; print(rapidsse.BACKEND, rapidsse.parse is own.parse)"  # noqa: E501
    assert printed(code, RAPIDSSE_BACKEND=name) == f"{name} True"


@pytest.mark.parametrize("name", ["cython", "Rust", "rust "])
def test_an_unknown_one_is_an_import_error_that_says_so(name: str) -> None:
    done = python("import rapidsse", RAPIDSSE_BACKEND=name)
    assert done.returncode == 1
    assert "ImportError: RAPIDSSE_BACKEND" in done.stderr
    assert name in done.stderr


def test_an_empty_variable_chooses_nothing() -> None:
    assert printed("import rapidsse; print(rapidsse.BACKEND)", RAPIDSSE_BACKEND="") != ""


@pytest.fixture
def alone(tmp_path: Path) -> dict[str, str]:
    """The package's Python files on a machine without the compiled module."""
    shutil.copytree(
        PACKAGE,
        tmp_path / "rapidsse",
        ignore=shutil.ignore_patterns("*.so", "*.pyd", "*.dylib", "__pycache__"),
    )
    return {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}


USE = """
import rapidsse, pickle, asyncio
assert rapidsse.BACKEND == "python", rapidsse.BACKEND
(event,) = rapidsse.parse(b"id: 1\\ndata: x\\n\\n")
assert pickle.loads(pickle.dumps(event)) == event
assert list(rapidsse.iter_events([b"data: x\\n", b"\\n"]))[0].data == "x"
assert rapidsse.Parser().feed(event.encode()) == [event]
from rapidsse.testing import cases
assert len(cases()) > 300
print(rapidsse.__file__)
"""


def test_the_python_files_work_alone(alone: dict[str, str]) -> None:
    assert printed(USE, **alone).startswith(alone["PYTHONPATH"])


def test_the_compiled_one_forced_where_there_is_none(alone: dict[str, str]) -> None:
    done = python("import rapidsse", RAPIDSSE_BACKEND="rust", **alone)
    assert done.returncode == 1
    assert "ImportError: RAPIDSSE_BACKEND=rust" in done.stderr
    assert "not available" in done.stderr


def test_the_command_works_alone(alone: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rapidsse", "parse"],
        input=b"data: x\n\n",
        env={**os.environ, **alone},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b'"x"' in done.stdout


def test_the_names_are_the_same(backend: Any) -> None:
    assert sorted(backend.__all__) == NAMES
    for name in NAMES:
        assert hasattr(backend, name)
        assert getattr(backend, name).__doc__


OTHERS = ["BACKEND", "EventStream", "__version__", "completion"]


def test_what_is_public() -> None:
    assert sorted(rapidsse.__all__) == sorted([*NAMES, *ERRORS, *OTHERS])
    for name in rapidsse.__all__:
        assert hasattr(rapidsse, name)
    assert rapidsse.BACKEND in ("rust", "python")
    active = importlib.import_module(BACKENDS[rapidsse.BACKEND])
    for name in NAMES:
        assert getattr(rapidsse, name) is getattr(active, name)


def test_the_members_are_the_same(backend: Any, other: Any) -> None:
    """Public names only: the awaitable protocol of a compiled step is its own affair."""
    own_affairs = {"send", "throw", "close"}
    for name in NAMES:
        one, two = getattr(backend, name), getattr(other, name)
        if inspect.isclass(one):
            members = [{each for each in dir(kind) if each[0] != "_"} for kind in (one, two)]
            if name == "AsyncEventIterator":
                members = [each - own_affairs for each in members]
            assert members[0] == members[1]


def test_one_set_of_errors(backend: Any) -> None:
    parser = backend.Parser(max_buffer_size=1)
    with pytest.raises(rapidsse.BufferSizeExceeded) as error:
        parser.feed(b"data: xx")
    assert type(error.value) is rapidsse.BufferSizeExceeded
    parser = backend.Parser()
    parser.close()
    with pytest.raises(rapidsse.ParserClosed) as closed:
        parser.feed(b"")
    assert type(closed.value) is rapidsse.ParserClosed


def test_typing_information_is_shipped() -> None:
    assert (PACKAGE / "py.typed").exists()
    assert (PACKAGE / "_rapidsse.pyi").exists()
    assert (PACKAGE / "testing" / "cases.jsonl").exists()
