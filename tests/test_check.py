"""`rapidsse check`: every finding, where it is, and never a payload unasked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from terminal import in_terminal

CHECK = [sys.executable, "-m", "rapidsse", "check"]
COLOUR = re.compile(rb"\x1b\[[0-9;]*m")


@pytest.fixture
def environment() -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
        "PYTHONIOENCODING": "utf-8",
    }


def check(
    environment: dict[str, str], *arguments: str | Path, stream: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*CHECK, *map(str, arguments)],
        input=stream,
        env=environment,
        capture_output=True,
        timeout=60,
        check=False,
    )


def inspect(stream: bytes, *, blocks: int = 0, done: tuple[str, ...] = ()) -> Any:
    """In this process, in blocks of the size given."""
    from rapidsse._cli._inspect import Inspector

    inspector = Inspector(done=done, max_buffer_size=1000)
    size = blocks or max(len(stream), 1)
    for at in range(0, len(stream), size):
        inspector.feed(stream[at : at + size])
    return inspector.close()


def found(stream: bytes, **options: Any) -> list[tuple[str, int, int]]:
    """The kind, line and offset of each place."""
    return [
        (finding.kind, place.line, place.offset)
        for finding in inspect(stream, **options).findings
        for place in finding.places
    ]


JSON = b'data: {"secret": 1}\n\n'
AFTER = (3, len(JSON))  # the line and the offset that follow it

# What is found after one good event: the kind, a word of the message, and how far behind the
# good event (lines, bytes).
FINDINGS: dict[str, tuple[bytes, str, str, int, int]] = {
    "capitals": (b'Data: {"a": 1}\n\n', "unknown-field", "capitals", 0, 0),
    "a leading space": (b' data: {"a": 1}\n\n', "unknown-field", "space", 0, 0),
    "a leading tab": (b'\tdata: {"a": 1}\n\n', "unknown-field", "space", 0, 0),
    "a space before the colon": (b"data : {}\n\n", "unknown-field", "colon", 0, 0),
    "no colon": (b"data {}\n\n", "unknown-field", "no colon", 0, 0),
    "a second BOM": (b"\xef\xbb\xbfdata: {}\n\n", "unknown-field", "BOM", 0, 0),
    "a name misspelt": (b"dat: {}\n\n", "unknown-field", '"data" may be meant', 0, 0),
    "another name": (b"foo: {}\n\n", "unknown-field", 'no field "foo"', 0, 0),
    "a name that begins as one": (b"data-id: 1\n\n", "unknown-field", "data-id", 0, 0),
    "a line with no name": (b"secret\n\n", "unknown-field", "no field's name", 0, 0),
    "chunk sizes": (b"1a3\n\n", "unknown-field", "chunk sizes", 0, 0),
    "a field in the middle": (b'"}data: {}\n\n', "unknown-field", "middle", 0, 0),
    "fused": (b'data: {"a": 1}data: {"b": 2}\n\n', "fused-frames", "fused", 0, 0),
    "fused marker": (b"data: [DONE]data: {}\n\n", "fused-frames", "fused", 0, 0),
    "fused with a type": (b"id: 1\ndata: {}event: x\n\n", "fused-frames", "fused", 1, 6),
    "doubled": (b"data: data: 1\n\n", "doubled-field", "wrapped", 0, 0),
    "doubled, no spaces": (b"data:data:1\n\n", "doubled-field", "wrapped", 0, 0),
    "a frame in a frame": (b"data: event: x\ndata: 1\n\n", "doubled-field", "wrapped", 0, 0),
    "escaped": (b'data: {"a": 1}\\n\\n\n\n', "escaped-newline", "backslash", 0, 0),
    "no blank line": (b'data: {"a": 1}\ndata: [2]\n\n', "missing-blank-line", "blank", 0, 0),
    "cut short": (b'data: {"a": "b\n\n', "not-json", "cut short", 0, 0),
    "not JSON": (b'data: {"a" 1}\n\n', "not-json", "delimiter", 0, 0),
    "NaN": (b'data: {"a": NaN}\n\n', "not-json", "NaN", 0, 0),
    "text among JSON": (b"data: secret\n\n", "not-json", "neighbours", 0, 0),
    "nothing among JSON": (b"data\n\n", "not-json", "empty", 0, 0),
    "lines without data:": (b'data: {\n"a": 1\n}\n\n', "not-json", "several lines", 0, 0),
    "a blank line in the middle": (b'data: {"a":\n\ndata: 1}\n\n', "not-json", "came in", 2, 13),
    "no data": (b"event: x\n\n", "no-data", "no event", 0, 0),
    "invalid UTF-8": (b'data: {"a": "\xff"}\n\n', "invalid-utf-8", "U+FFFD", 0, 13),
    "invalid UTF-8 in a comment": (b": \xc3\n\n", "invalid-utf-8", "U+FFFD", 0, 2),
    "retry": (b"retry: soon\n\n", "invalid-retry", "digits", 0, 0),
    "id": (b"id: a\x00\n\n", "invalid-id", "U+0000", 0, 0),
    "U+2028": ('data: "\u2028"\n\n'.encode(), "line-separator", "U+2028", 0, 0),
    "U+0085": ('data: "\x85"\n\n'.encode(), "line-separator", "U+0085", 0, 0),
    "mixed endings": (b"data: 1\r\n\r\n", "mixed-endings", "LF and CRLF", 0, 0),
    "unfinished": (b"data: 1\n", "unfinished-block", "discards", 0, 0),
    "unfinished line": (b"id: 1\ndata: 1", "unfinished-block", "discards", 0, 0),
    "too large": (b"data: " + b"a" * 1001 + b"\n\n", "too-large", "1,000 bytes", 0, 0),
}


@pytest.mark.parametrize("name", FINDINGS)
def test_a_finding_and_its_place(name: str) -> None:
    wrong, kind, word, lines, offset = FINDINGS[name]
    stream = JSON + wrong
    matching = [each for each in inspect(stream).findings if each.kind == kind]
    matching = [each for each in matching if word in each.message]
    assert len(matching) == 1, inspect(stream).findings
    (place,) = matching[0].places
    assert (place.line, place.offset) == (AFTER[0] + lines, AFTER[1] + offset)
    for finding in inspect(stream).findings:
        assert "secret" not in finding.message


@pytest.mark.parametrize("name", FINDINGS)
def test_blocks_do_not_matter(name: str) -> None:
    stream = JSON + FINDINGS[name][0] + (b"" if name == "too large" else JSON)
    whole = inspect(stream)
    for size in (1, 2, 7):
        assert inspect(stream, blocks=size) == whole


CLEAN = {
    "one event": b"data: 1\n\n",
    "text": b"data: Hello\n\ndata: metadata: x\n\n",
    "CRLF": b"data: 1\r\n\r\ndata: 2\r\n\r\n",
    "CR": b"data: 1\r\rdata: 2\r\r",
    "BOM": b"\xef\xbb\xbfdata: 1\n\n",
    "comments": b": a\n\ndata: 1\n\n:\n\n",
    "id alone": b"id: 1\n\nretry: 5\n\ndata: 1\n\n",
    "markers": b'data: {"a": 1}\n\ndata: [DONE]\n\n',
    "a type of text beside one of JSON": b'data: {"a": 1}\n\nevent: ping\ndata: now\n\n',
    "a field's name inside JSON": b'data: {"a": "}data: 1"}\n\n',
    "two lines of text": b"data: 1\ndata: 2\n\n",
    "JSON in two lines": b'data: {"a":\ndata: 1}\n\n',
    "more text than JSON": b"data: a\n\ndata: {}\n\ndata: b\n\n",
    "a comment at the end": b"data: 1\n\n: bye\n",
}


@pytest.mark.parametrize("name", CLEAN)
def test_clean(name: str) -> None:
    assert found(CLEAN[name]) == []
    assert found(CLEAN[name], blocks=1) == []


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"", "empty"),
        (b"\n\n", "blank"),
        (b": hello\n\n: hello\n\n", "comments"),
        (b'{"error": {"message": "secret"}}', "error"),
        (b'{\n  "error": "secret"\n}\n', "error"),
        (b'{"a": 1}\n{"a": 2}\n', "NDJSON"),
        (b'{"a": 1}\n{"a": 2}', "NDJSON"),
        (b"<!doctype html>\n<html>\n</html>\n", "HTML"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n", "head"),
        (b"\x1f\x8b\x08\x00secret", "gzip"),
        (b"d\x00a\x00t\x00a\x00:\x00\n\x00", "NUL"),
        (b"Service unavailable\n", "no line"),
    ],
)
def test_what_is_no_stream(body: bytes, word: str) -> None:
    """Said once, not for each of its lines."""
    for blocks in (0, 1):
        (finding,) = inspect(body, blocks=blocks).findings
        assert finding.kind == "no-stream"
        assert word in finding.message
        assert "secret" not in finding.message


def test_completion_markers() -> None:
    stream = b"data: {}\n\nevent: end\ndata: {}\n\n"
    assert inspect(stream).marker is None
    assert found(stream) == []
    assert found(stream, done=("end",)) == []
    assert inspect(stream, done=("end",)).marker[1].line == 3
    assert found(stream, done=("[DONE]",)) == [("not-complete", 6, 31)]
    assert found(stream, done=("[DONE]", "end")) == []
    assert found(stream + JSON, done=("end",)) == [("after-completion", 6, 31)]
    for marker in (b"data: [DONE]\n\n", b"event: message_stop\ndata: {}\n\n"):
        assert inspect(JSON + marker).marker[1].line == 3


def test_the_facts() -> None:
    seen = inspect(
        b"\xef\xbb\xbf: hi\nid: 1\nretry: 5\nevent: a\r\ndata: {}\n\n"
        b"event: a\ndata: 22\r\rid: 2\n\ndata: 1\n\n"
    )
    assert (seen.size, seen.lines, seen.blank) == (78, 13, 4)
    assert seen.endings == {"LF": 10, "CRLF": 1, "CR": 2}
    assert seen.bom
    assert (seen.events, seen.types) == (3, {"a": 2, "message": 1})
    assert (seen.comments, seen.no_data) == (1, 1)
    assert seen.largest is not None
    assert (seen.largest[0], seen.largest[1].line) == (34, 2)
    assert seen.longest is not None
    assert (seen.longest[0], seen.longest[1].line, seen.longest[1].offset) == (8, 3, 14)
    assert (seen.last_event_id, seen.retry) == (True, 5)


def test_a_long_line_is_read_in_pieces() -> None:
    """Characters are not cut between them, and what is kept of them is bounded."""
    from rapidsse._cli._inspect import Inspector

    separator = "\u2028".encode()
    for padding in range(4):
        line = b"data: " + b"a" * padding + separator * 100_000
        inspector = Inspector(max_buffer_size=1_000_000)
        for at in range(0, len(line), 70_001):
            inspector.feed(line[at : at + 70_001])
            assert len(inspector._rest) < 70_000
        inspector.feed(b"\n\n")
        seen = inspector.close()
        assert [(each.kind, each.count) for each in seen.findings] == [("line-separator", 1)]
        assert seen.longest is not None
        assert seen.longest[0] == len(line)


def test_many_findings_are_counted_and_few_are_kept() -> None:
    stream = b"".join(b"name%d: 1\nx: 2\n" % number for number in range(2000))
    seen = inspect(b"data: 1\n\n" + stream + b"\n")
    assert sum(each.count for each in seen.findings) == 4000
    assert len(seen.findings) < 300
    assert all(len(each.places) <= 20 for each in seen.findings)


# The command

BAD = JSON + b'Data: {"secret": 2}\n\n' + "data: \u2028secret\n\n".encode()


def test_exit_statuses(environment: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "stream"
    path.write_bytes(BAD)
    for done in (
        check(environment, path),
        check(environment, stream=BAD),
        check(environment, "-", stream=BAD),
    ):
        assert (done.returncode, done.stderr) == (1, b"")
    done = check(environment, stream=JSON)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "✓ clean" in done.stdout.decode()
    for arguments in (["--format", "xml"], ["a", "b"], ["--max-buffer-size", "0"], ["--done"]):
        done = check(environment, *arguments)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"usage" in done.stderr
    for missing in (tmp_path / "missing", tmp_path):
        done = check(environment, missing)
        assert (done.returncode, done.stdout) == (2, b"")
        assert str(missing).encode() in done.stderr


def test_no_payload_unless_it_is_asked_for(environment: dict[str, str]) -> None:
    for arguments in ([], ["--format", "json"]):
        done = check(environment, *arguments, stream=BAD)
        assert b"secret" not in done.stdout
        assert b"line" in done.stdout
        done = check(environment, *arguments, "--show-data", stream=BAD)
        assert done.stdout.count(b"secret") == 3
        # What could steer a terminal is written out.
        assert "\u2028" not in done.stdout.decode()


def test_json_for_machines(environment: dict[str, str]) -> None:
    done = check(environment, "--format", "json", "--done", "[DONE]", stream=BAD)
    seen = json.loads(done.stdout)
    assert (seen["bytes"], seen["events"], seen["event_types"]) == (len(BAD), 2, {"message": 2})
    assert {each["kind"]: each["places"] for each in seen["findings"]} == {
        "unknown-field": [{"line": 3, "offset": 21}],
        "not-json": [{"line": 5, "offset": 42}],
        "line-separator": [{"line": 5, "offset": 42}],
        "not-complete": [{"line": 7, "offset": len(BAD)}],
    }
    assert [each["severity"] for each in seen["findings"]].count("warning") == 1


def test_a_pipe_gets_plain_text(environment: dict[str, str]) -> None:
    done = check(environment, stream=BAD)
    assert b"\x1b" not in done.stdout
    assert b"line 3, byte 21" in done.stdout
    assert b"1 error" not in done.stdout
    assert b"2 errors, 1 warning" in done.stdout


def test_a_terminal_gets_colours_that_fit(environment: dict[str, str]) -> None:
    for columns in (80, 40, 200):
        status, shown = in_terminal(CHECK, environment=environment, stream=BAD, columns=columns)
        assert status == 1
        assert COLOUR.search(shown)
        for line in COLOUR.sub(b"", shown).decode().splitlines():
            assert len(line) <= min(columns, 100)
    status, shown = in_terminal(
        CHECK, environment={**environment, "NO_COLOR": "1"}, stream=BAD, columns=80
    )
    assert status == 1
    assert b"\x1b" not in shown


def test_a_name_cannot_steer_the_terminal(environment: dict[str, str]) -> None:
    stream = b"event: \x1b[2Jx\x07\ndata: 1\n\n"
    status, shown = in_terminal(CHECK, environment=environment, stream=stream)
    assert status == 0
    assert b"\x1b[2J" not in shown
    assert b"\x07" not in shown
    assert rb"\x1b[2Jx\x07" in shown


def test_ascii_where_the_output_is(environment: dict[str, str]) -> None:
    done = check({**environment, "PYTHONIOENCODING": "ascii"}, stream=BAD)
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"x unknown-field" in done.stdout


BIG = (b"data: " + b"1" * 1000 + b"\n\n") * 600


@pytest.fixture
def big(tmp_path: Path, environment: dict[str, str]) -> Path:
    """A file that takes longer than a person waits without a word."""
    # A module that runs at the start of each Python: time goes fast.
    (tmp_path / "sitecustomize.py").write_text(
        "import itertools, time\nclock = itertools.count()\ntime.monotonic = lambda: next(clock)\n"
    )
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(tmp_path), environment.get("PYTHONPATH")])
    )
    path = tmp_path / "big"
    path.write_bytes(BIG)
    return path


@pytest.mark.parametrize("command", ["check", "parse"])
def test_progress_on_a_terminal_alone(
    command: str, big: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    arguments = [sys.executable, "-m", "rapidsse", command, str(big)]
    with (tmp_path / "output").open("wb") as output:
        status, shown = in_terminal(arguments, environment=environment, output=output.fileno())
    assert status == 0
    assert b"100%" in shown
    assert b"MB" in shown
    # It is taken off the screen in the end.
    assert shown.endswith(b"\r\x1b[K")
    done = subprocess.run(arguments, env=environment, capture_output=True, timeout=60, check=True)
    assert done.stderr == b""
    assert done.stdout == (tmp_path / "output").read_bytes()


def test_parse_shows_no_progress_among_its_events(big: Path, environment: dict[str, str]) -> None:
    arguments = [sys.executable, "-m", "rapidsse", "parse", str(big)]
    _, shown = in_terminal(arguments, environment=environment)
    assert b"\x1b" not in shown
