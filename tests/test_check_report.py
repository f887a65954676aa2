"""`rapidsse check`: what its report says of every kind of stream, and what can prevent it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rapidsse._cli._hints import not_json
from rapidsse._cli._inspect import Inspector
from rapidsse._cli._terminal import Progress, mode_of

CHECK = [sys.executable, "-m", "rapidsse", "check"]


def report(stream: bytes, *arguments: str) -> str:
    """The text, with its columns of spaces made one."""
    done = subprocess.run(
        [*CHECK, *arguments],
        input=stream,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return " ".join(done.stdout.decode().split())


def test_a_stream_of_all_there_is() -> None:
    types = b"".join(b"event: t%d\ndata: 1\n\n" % at for at in range(10))
    said = report(
        b"\xef\xbb\xbfid: 7\nretry: 1500\n\n" + types + b": c\n\ndata: [DONE]\n\n",
        "--done",
        "[DONE]",
    )
    assert "BOM at the start" in said
    assert "without data 1 block" in said
    assert "comments 1 " in said
    assert "3 more types 3" in said
    assert "reconnection has a last event ID, retry after 1,500 ms" in said
    assert "completion [DONE] at line" in said


def test_a_stream_of_little() -> None:
    said = report(b"")
    for absent in ("event types", "largest event", "longest line", "reconnection", "completion"):
        assert absent not in said
    assert "line endings none" in said
    assert "reconnection no last event ID, retry after 1 ms" in report(b"retry: 1\n\n")
    assert "reconnection has a last event ID" in report(b"id: 1\n\n")
    assert "completion no marker seen" in report(b"data: 1\n\n")


def test_more_places_than_are_shown() -> None:
    stream = b"data: 1\n\n" + b'Data: {"n": 1}\n' * 9 + b"\n"
    assert "..." in report(stream)
    shown = report(stream, "--show-data")
    assert "and 5 more" in shown
    assert '{"n": 1}' in shown


@pytest.mark.parametrize("output", ["/dev/full", None], ids=["full", "left"])
def test_an_output_that_takes_nothing(output: str | None) -> None:
    stream = b"data: 1\n\n"
    if output is None:
        read, write = os.pipe()
        os.close(read)
    else:
        write = os.open(output, os.O_WRONLY)
    with open(write, "wb") as end:
        done = subprocess.run(
            CHECK, input=stream, stdout=end, stderr=subprocess.PIPE, timeout=60, check=False
        )
    if output is None:  # whoever read it has left, and is told nothing
        assert (done.returncode, done.stderr) == (0, b"")
    else:
        assert done.returncode == 2
        assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("command", ["check", "replay"])
@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file that fails when read")
def test_a_file_that_fails_when_it_is_read(command: str) -> None:
    done = subprocess.run(
        [*CHECK[:-1], command, "/proc/self/mem"], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert b"/proc/self/mem" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_why_a_text_is_no_json() -> None:
    assert not_json("NaN") == "it has NaN, an infinity or a number beyond all measure"
    assert not_json("[" * 100_000) == "it is nested too deeply to tell"
    assert not_json(b"\xff") == "it is not UTF-8"


def test_bytes_that_are_no_utf_8_in_a_line_too_long_to_keep() -> None:
    """Where they are is told by the line's beginning."""
    inspector = Inspector(done=(), max_buffer_size=10_000_000)
    for piece in (b"data: 1\n\n: ", b"x" * 3_000_000, b"\xff\n\n"):
        inspector.feed(piece)
    (finding,) = inspector.close().findings
    assert (finding.kind, finding.places[0].line) == ("invalid-utf-8", 3)


def test_what_is_no_file_has_no_mode() -> None:
    assert mode_of(io.BytesIO()) == 0


def test_progress_through_what_has_no_size() -> None:
    progress = Progress(0)
    progress.advance(2_500_000)
    assert progress._text() == "2.5 MB"
