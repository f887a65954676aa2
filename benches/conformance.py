"""How many of the cases of `rapidsse.testing` each parser gets right: `CONFORMANCE.md`.

    python benches/conformance.py            # writes the page
    python benches/conformance.py --failed sseclient-py   # which cases one gets wrong

A case is right if every event is, in type, data and ID, and none is missing. Each is fed whole and
byte by byte. Nothing else of a case is asked (retry, comments, what the end cut off), since most
parsers do not tell. Beside that, whether an event comes when its blank line has arrived, or waits
for more, for each kind of line ending. Peers are met as in the benchmarks (`peers.py`,
`node/runner.mjs`, `rust/examples/events.rs`); those of other languages take part where node and
cargo are.
"""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import peers
from node import Node
from rapidsse.testing import Case, cases
from shapes import Expected, Stream

HERE = Path(__file__).parent
PAGE = HERE / "CONFORMANCE.md"
WAY = "TextDecoder"  # of those that the Node runner has: bytes in, as a response gives them
PATIENCE = 10  # seconds of processor time for a case; a quadratic parser never ends with some

INTRODUCTION = """\
# Conformance

How many of the {number} cases of `rapidsse.testing` each parser gets right: type, data and ID of
every event, and no event missing. A case that takes more than {patience} seconds of processor time
is not right. The last column has the line endings with which an event comes when its blank line has
arrived; with the others it waits for more, or never comes. A question mark: not to be seen by the
door that was taken.

Made by `python benches/conformance.py`, which says how each parser is met. With `--failed NAME` it
names the cases that one gets wrong.
"""
BY_SUBJECT = """
## By subject

Cases right byte by byte, by the first word of their names.
"""
ENDINGS = {"LF": b"\n", "CRLF": b"\r\n", "CR": b"\r"}

Judge = Callable[[Case, list[bytes]], bool]


class Row(NamedTuple):
    """A parser's result."""

    name: str
    version: str
    language: str
    whole: frozenset[str]
    """The names of the cases it gets right, fed whole."""
    bytewise: frozenset[str]
    at_once: str
    """The line endings with which an event comes with its blank line; "?": not to be seen."""


def whole(case: Case) -> list[bytes]:
    return [case.data]


def bytewise(case: Case) -> list[bytes]:
    return [case.data[at : at + 1] for at in range(len(case.data))]


def block(ending: bytes) -> bytes:
    """A whole block, up to its blank line's end."""
    return b"data: a" + ending + ending


def endings(at_once: Callable[[bytes], bool]) -> str:
    return ", ".join(name for name, ending in ENDINGS.items() if at_once(block(ending))) or "none"


def row(name: str, version: str, language: str, judge: Judge, at_once: str) -> Row:
    right = [
        frozenset(case.name for case in cases() if judge(case, cut(case)))
        for cut in (whole, bytewise)
    ]
    return Row(name, version, language, *right, at_once)


def _out_of_patience(*_: object) -> None:
    raise TimeoutError


def in_python(parser: peers.Parser) -> Row:
    def judge(case: Case, chunks: list[bytes]) -> bool:
        got: list[tuple[object, ...]] = []
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        try:
            peers.collect(parser.open(chunks), lambda item: got.append(parser.view(item)[:3]))
        except Exception:  # a peer may fail in any way; that is the finding
            return False
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return got == list(case.events)

    signal.signal(signal.SIGPROF, _out_of_patience)
    version = metadata.version(parser.package) if parser.package else ""
    return row(parser.name, version, "Python", judge, _at_once(parser))


def _at_once(parser: peers.Parser) -> str:
    asked_for_more = False

    def one_by_one(data: bytes) -> Iterator[bytes]:
        nonlocal asked_for_more
        asked_for_more = False
        for at in range(len(data)):
            yield data[at : at + 1]
        asked_for_more = True

    def probe(data: bytes) -> bool:
        came: list[bool] = []
        opened = parser.open(one_by_one(data))
        with suppress(Exception):
            peers.collect(opened, lambda _: came.append(not asked_for_more))
        return came == [True]

    with suppress(Exception):
        parser.open(one_by_one(b"data: a\n\n"))
    # One that is handed all chunks before it starts cannot show it.
    return "?" if asked_for_more else endings(probe)


def in_node() -> list[Row]:
    with tempfile.TemporaryDirectory() as work:
        try:
            node = Node(Path(work))
        except OSError:
            return []

        def judge(case: Case, chunks: list[bytes]) -> bool:
            events = [Expected(*event) for event in case.events]
            stream = Stream(case.name, "", chunks, events, len(case.data))
            return node.load(stream)[WAY] == ""

        def at_once(data: bytes) -> bool:
            chunks = [data[at : at + 1] for at in range(len(data))]
            stream = Stream("", "", chunks, [Expected("message", "a", "")], len(data))
            return node.load(stream)[WAY] == ""  # nothing tells it that the stream is over

        try:
            version = node.parser
            return [row("eventsource-parser", version, "JavaScript", judge, endings(at_once))]
        finally:
            node.close()


def in_rust() -> list[Row]:
    if not shutil.which("cargo"):
        return []
    manifest = HERE / "rust" / "Cargo.toml"
    probes = [block(ending) for ending in ENDINGS.values()]
    streams = [*(case.data for case in cases()), *probes]
    done = subprocess.run(
        ["cargo", "run", "-q", "--release", "--manifest-path", manifest, "--example", "events"],
        input="".join(f"{stream.hex()}\n" for stream in streams),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answers: dict[str, dict[str, list[list[tuple[str, ...]] | None]]] = {}
    for line in done.stdout.splitlines():
        parser, way, events = json.loads(line)
        answers.setdefault(parser, {"whole": [], "bytes": [], "open": []})[way].append(
            None if events is None else [tuple(event) for event in events]
        )
    locked = (manifest.with_name("Cargo.lock")).read_text(encoding="utf-8")
    rows = []
    for parser, ways in answers.items():
        version = locked.partition(f'name = "{parser}"\nversion = "')[2].partition('"')[0]
        right = [
            frozenset(
                case.name
                for case, events in zip(cases(), ways[way], strict=False)
                if events == list(case.events)
            )
            for way in ("whole", "bytes")
        ]
        open_ended = dict(zip(streams, ways["open"], strict=True))
        at_once = endings(lambda data, seen=open_ended: seen[data] == [("message", "a", "")])  # type: ignore[misc]
        rows.append(Row(parser, version, "Rust", *right, at_once))
    return rows


def measure() -> list[Row]:
    logging.disable()  # some tell of each odd line
    found, missing = peers.peers()
    for reason in missing:
        print("missing:", reason)
    rows = []
    for backend in ("_rapidsse", "_pure"):
        for parser in peers.ours(backend):
            rows.append(in_python(parser)._replace(name=f"rapidsse, {parser.name}"))
    rows += [in_python(parser) for parser in found]
    return [*rows, *in_node(), *in_rust()]


def page(rows: list[Row]) -> str:
    lines = [
        INTRODUCTION.format(number=len(cases()), patience=PATIENCE),
        "| parser | version | language | whole | byte by byte | at its blank line |",
        "|---|---|---|---|---|---|",
    ]
    for each in rows:
        lines.append(
            f"| {each.name} | {each.version} | {each.language} "
            f"| {len(each.whole)} | {len(each.bytewise)} | {each.at_once} |"
        )
    lines += [BY_SUBJECT]
    shown = [each for each in rows if not each.name.startswith("rapidsse")]
    lines.append("| subject | cases | " + " | ".join(each.name for each in shown) + " |")
    lines.append("|---|---|" + "---|" * len(shown))
    for each in sorted({subject(case.name) for case in cases()}):
        names = {case.name for case in cases() if subject(case.name) == each}
        counts = " | ".join(str(len(names & row.bytewise)) for row in shown)
        lines.append(f"| {each} | {len(names)} | {counts} |")
    return "\n".join(lines) + "\n"


def subject(name: str) -> str:
    return name.partition("-")[0]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--failed", metavar="NAME", help="name the cases that it gets wrong")
    failed = arguments.parse_args().failed
    rows = measure()
    if failed is None:
        PAGE.write_text(page(rows), encoding="utf-8")
        print(PAGE)
        return
    for each in rows:
        if each.name == failed:
            for case in cases():
                ways = [
                    way
                    for way, right in (("whole", each.whole), ("byte by byte", each.bytewise))
                    if case.name not in right
                ]
                if ways:
                    print(case.name, "·", ", ".join(ways))


if __name__ == "__main__":
    main()
