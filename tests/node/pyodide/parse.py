"""What the test has Pyodide run: the package is installed, and parses every conformance case."""

import asyncio
import sys
from importlib.metadata import distribution

import rapidsse
from rapidsse.testing import cases, cuts

LONG = 2_000
"""A longer case is fed whole and in two halves only."""


def meaning(items: list) -> tuple:
    events = [item for item in items if isinstance(item, rapidsse.ServerSentEvent)]
    comments = [item.text for item in items if isinstance(item, rapidsse.Comment)]
    return [(event.event, event.data, event.id) for event in events], comments


async def source(chunks: list):
    for chunk in chunks:
        await asyncio.sleep(0)
        yield chunk


async def main() -> None:
    assert sys.platform == "emscripten"
    assert rapidsse.BACKEND == "python"
    assert distribution("rapidsse").version == rapidsse.__version__
    table = cases()
    for case in table:
        half = len(case.data) // 2
        halves = [case.data[:half], case.data[half:]]
        for chunks in cuts(case.data) if len(case.data) < LONG else [[case.data], halves]:
            parser = rapidsse.Parser(comments=True, max_buffer_size=None)
            items = [item for chunk in chunks for item in parser.feed(chunk)]
            unfinished = parser.close()
            expected = [tuple(event) for event in case.events], list(case.comments)
            assert meaning(items) == expected, case.name
            assert (parser.retry, parser.last_event_id) == (case.retry, case.last_event_id)
            assert parser.truncated == case.truncated, case.name
            assert (unfinished is None) == (case.unfinished is None), case.name
        stepped = rapidsse.aiter_events(source(halves), comments=True, max_buffer_size=None)
        assert meaning([item async for item in stepped]) == expected, case.name
    print(f"{len(table)} cases parsed on {sys.implementation.name} {sys.version.split()[0]}")


await main()  # noqa: F704
