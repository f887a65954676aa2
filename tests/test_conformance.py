"""Standard: every case of the shared table, for every cutting, and promptly."""

from __future__ import annotations

from typing import Any

import judge
import pytest
from rapidsse.testing import Case, cases, cuts
from support import byte_by_byte

CASES = cases()
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def check(backend: Any, case: Case, chunks: list[bytes]) -> None:
    parser = backend.Parser(comments=True)
    items = [item for chunk in chunks for item in parser.feed(chunk)]
    events = [item for item in items if isinstance(item, backend.ServerSentEvent)]
    comments = [item.text for item in items if isinstance(item, backend.Comment)]
    assert [(event.event, event.data, event.id) for event in events] == list(case.events)
    assert comments == list(case.comments)
    assert len(events) + len(comments) == len(items)
    assert parser.retry == case.retry
    assert parser.last_event_id == case.last_event_id
    unfinished = parser.close()
    if case.unfinished is None:
        assert unfinished is None
    else:
        assert (unfinished.event, unfinished.data, unfinished.id) == case.unfinished
    assert parser.truncated is case.truncated
    assert parser.retry == case.retry
    assert parser.last_event_id == case.last_event_id


@every_case
def test_values_for_every_cutting(backend: Any, case: Case) -> None:
    for chunks in cuts(case.data):
        check(backend, case, chunks)
    for cutting in case.cuts:
        check(backend, case, case.chunks(cutting))


@every_case
def test_whole_body(backend: Any, case: Case) -> None:
    events = backend.parse(case.data)
    assert [(event.event, event.data, event.id) for event in events] == list(case.events)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.events_after_chunk], ids=lambda case: case.name
)
def test_events_after_each_chunk_of_the_report(backend: Any, case: Case) -> None:
    parser = backend.Parser()
    total = 0
    for chunk, expected in zip(case.chunks(case.cuts[0]), case.events_after_chunk, strict=True):
        total += len(parser.feed(chunk))
        assert total == expected


@every_case
def test_prompt_after_every_prefix(backend: Any, case: Case) -> None:
    verdict = judge.meaning(case.data)
    expected = dict.fromkeys(range(1, len(case.data) + 1), 0)
    for end, _ in verdict.items:
        expected[end] += 1
    parser = backend.Parser()
    for end, byte in enumerate(byte_by_byte(case.data), 1):
        assert len(parser.feed(byte)) == expected[end]


@every_case
def test_the_judge_agrees_with_the_table(case: Case) -> None:
    verdict = judge.meaning(case.data, judge.Options(comments=True))
    items = [item for _, item in verdict.items]
    assert [item[:3] for item in items if isinstance(item, judge.Event)] == list(case.events)
    assert [item.text for item in items if isinstance(item, judge.Comment)] == list(case.comments)
    assert (verdict.unfinished and verdict.unfinished[:3]) == case.unfinished
    assert verdict.truncated is case.truncated
    assert (verdict.retry, verdict.last_event_id) == (case.retry, case.last_event_id)


def test_the_table_is_sound() -> None:
    assert len(CASES) >= 391
    assert len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        for cutting in case.cuts:
            assert b"".join(case.chunks(cutting)) == case.data
        for chunks in cuts(case.data[:500]):
            assert b"".join(chunks) == case.data[:500]
