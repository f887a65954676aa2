"""`rapidsse.testing`: what users test their own parsers with, and its pytest plugin."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import rapidsse
from rapidsse.testing import Events, Expected, assert_chunks_do_not_matter, cases

PACKAGES = Path(rapidsse.__file__).parent.parent


def parsed(chunks: list[bytes]) -> list[Any]:
    parser = rapidsse.Parser()
    return [event for chunk in chunks for event in parser.feed(chunk)]


def test_events_are_compared_as_they_are_written() -> None:
    events = Events([Expected("message", "a", "1"), Expected("x", "b", "")])

    class Event(NamedTuple):
        event: str
        data: str
        id: str

    for same in (
        [("message", "a", "1"), ("x", "b", "")],
        (("message", "a", "1"), ("x", "b", "")),
        [Event("message", "a", "1"), Event("x", "b", "")],
        [
            rapidsse.ServerSentEvent("message", "a", "1", 5),
            rapidsse.ServerSentEvent("x", "b"),
        ],
    ):
        assert same == events
        assert events == same
        assert events.__ne__(same) is False
        assert events.differences(same) == []
    for other in (
        [],
        [("message", "a", "1")],
        [("message", "a", "1"), ("x", "c", "")],
        [1, 2],
        "ab",
    ):
        assert other != events
        assert events != other
    assert hash(events) == hash(tuple(events))


def test_differences_are_told_by_event() -> None:
    events = Events([Expected("message", "a", ""), Expected("message", "b", "")])
    assert events.differences([("message", "a", "")]) == [
        "event 2: ('message', 'b', '') is missing"
    ]
    (line,) = events.differences([*events, ("x", "y" * 1000, "")])
    assert line.startswith("event 3: ('x', 'yyy")
    assert line.endswith("should not be there")
    assert len(line) < 120
    (line,) = events.differences([events[0], "b"])
    assert line == "event 2: 'b' should be ('message', 'b', '')"


def test_the_right_parser_passes() -> None:
    assert_chunks_do_not_matter(parsed)
    assert_chunks_do_not_matter(parsed, b"data: a\r\n\r\n")
    assert_chunks_do_not_matter(parsed, [b"data: a\r\n\r\n", b"data: b"])


def lines_of_each_chunk(chunks: list[bytes]) -> list[str]:
    """A parser that takes chunks for whole lines, as many do."""
    return [
        line.removeprefix("data: ")
        for chunk in chunks
        for line in chunk.decode(errors="replace").splitlines()
        if line.startswith("data: ")
    ]


def test_a_wrong_parser_fails_and_is_told_where() -> None:
    with pytest.raises(AssertionError, match=r"cut as +\[b'd', b'a'"):
        assert_chunks_do_not_matter(lines_of_each_chunk, b"data: a\n\n")
    with pytest.raises(AssertionError):
        assert_chunks_do_not_matter(lines_of_each_chunk)
    with pytest.raises(UnicodeDecodeError):
        assert_chunks_do_not_matter(lambda chunks: b"".join(chunks).decode("ascii"), [b"\xff"])


# The plugin, in a user's directory


def installed() -> bool:
    try:
        points = metadata.distribution("rapidsse").entry_points
    except metadata.PackageNotFoundError:
        return False
    return any(point.group == "pytest11" for point in points)


def run_pytest(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """pytest as a user runs it, with the plugin by its entry point where it is installed."""
    plugin = [] if installed() else ["-p", "_rapidsse_pytest"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugin, *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PACKAGES)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_users_test_runs_for_every_case(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "import rapidsse\n"
        "def my_parser(data):\n"
        "    return rapidsse.parse(data)\n"
        "def test_mine(sse_case):\n"
        "    assert my_parser(sse_case.data) == sse_case.events\n"
    )
    done = run_pytest(tmp_path, "-q", "-W", "error")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(cases())} passed" in done.stdout


def test_a_wrong_parser_is_told_which_events(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "def my_parser(data):\n"
        "    return [('message', data.decode()[5:].strip(), '')]\n"
        "def test_mine(sse_case):\n"
        "    assert my_parser(sse_case.data) == sse_case.events\n"
    )
    done = run_pytest(tmp_path, "-q", "-k", "field-data-same-with-and-without-space")
    assert done.returncode == 1
    assert "field-data-same-with-and-without-space" in done.stdout
    assert "event 2: ('message', 'pine', '') is missing" in done.stdout


def test_the_users_own_sse_case_and_the_end_of_fault_servers(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "import pytest\n"
        "@pytest.fixture(params=[1, 2])\n"
        "def sse_case(request):\n"
        "    return request.param\n"
        "def test_own_fixture(sse_case):\n"
        "    assert sse_case in (1, 2)\n"
    )
    (tmp_path / "test_mark.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize(('sse_case', 'other'), [(3, 4)])\n"
        "def test_own_mark(sse_case, other):\n"
        "    assert (sse_case, other) == (3, 4)\n"
        "@pytest.mark.parametrize('other, sse_case', [(3, 4)])\n"
        "def test_another(sse_case, other):\n"
        "    assert (sse_case, other) == (4, 3)\n"
    )
    (tmp_path / "test_faults.py").write_text(
        "import threading, urllib.request\n"
        "def test_mine(fault_server):\n"
        "    one = fault_server(b'data: 1\\n\\n')\n"
        "    two = fault_server(b'data: 2\\n\\n', status=201)\n"
        "    with urllib.request.urlopen(one.url) as response:\n"
        "        assert response.read() == b'data: 1\\n\\n'\n"
        "    with urllib.request.urlopen(two.url) as response:\n"
        "        assert response.status == 201\n"
        "def test_after():\n"
        "    assert threading.active_count() == 1\n"
    )
    done = run_pytest(tmp_path, "-q", "-W", "error")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 passed" in done.stdout


def test_the_package_may_be_imported_before_pytest(tmp_path: Path) -> None:
    """pytest would warn of a plugin's package that is; here that is an error."""
    (tmp_path / "test_mine.py").write_text("def test_mine():\n    pass\n")
    code = "import rapidsse, pytest; raise SystemExit(pytest.main(['-q', '-W', 'error']))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGES)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_run_that_uses_none_of_it_imports_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "import sys\n"
        "def test_mine():\n"
        "    assert '_rapidsse_pytest' in sys.modules\n"
        "    assert not [name for name in sys.modules if name.split('.')[0] == 'rapidsse']\n"
        "    assert not {'h11', 'httpx'} & set(sys.modules)\n"
    )
    done = run_pytest(tmp_path, "-q", "-W", "error")
    assert done.returncode == 0, done.stdout + done.stderr
    # What the plugin imports, pytest has imported before.
    code = (
        "import pytest, sys; before = set(sys.modules); import _rapidsse_pytest; "
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(PACKAGES)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == "['_rapidsse_pytest']"
