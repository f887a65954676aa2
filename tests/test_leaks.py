"""Bounded, for as long as a process lives: what is made and dropped leaves no memory behind.

Each work is done in a process of its own, again and again; what it has resident must not grow once
it has done a part of it. RAPIDSSE_LEAK_TIMES says how often: `make leaks` does it a million times.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

TIMES = int(os.environ.get("RAPIDSSE_LEAK_TIMES", "100000"))
GROWTH = 1024 * 1024  # bytes; of an object that leaks there would be many times as much

# What is done once, where `at` is the number of the time.
WORK = {
    "parsers": "backend.Parser(raw=True).feed(b'id: 1\\ndata: x\\n\\nevent: y\\ndata: z')",
    "parsers with options": (
        "backend.Parser(comments=True, diagnostics=True, types={'a'}, contains=[b'b'], "
        "max_buffer_size=99).feed(b':c\\nwhat\\ndata: b\\n\\ndata: b')"
    ),
    "iterators left half way": "next(backend.iter_events([b'data: x\\n\\ndata: y\\n\\n']))",
    "async iterators left half way": (
        "asyncio_step(backend.aiter_events([b'data: x\\n\\ndata: y\\n\\n']).__anext__())"
    ),
    "overflows": "overflow(backend.Parser(max_buffer_size=20, raw=True))",
    "items": "pickle.loads(pickle.dumps(backend.parse(b'id: 1\\ndata: x\\n\\n')))[0].encode()",
    "JSON": 'backend.parse(b\'data: {"a": [1, "b%d"]}\\n\\n\' % at)[0].json()',
    # Streams that never say the same twice: what is interned or remembered must not add up.
    "event types": "one.feed(b'event: type-%d\\ndata: x\\n\\n' % at)",
    "ids": "one.feed(b'id: %d\\ndata: x\\n\\n' % at)",
    "field names": "told.feed(b'field-%d: x\\n\\n' % at)",
    "field names nobody is told of": "one.feed(b'field-%d: x\\n' % at)",
    "comments": "told.feed(b': comment %d\\n' % at)",
    "retry": "one.feed(b'retry: %d\\n\\n' % at)",
    "data": "one.feed(b'data: %d\\n\\n' % at)",
    "types that are skipped": "few.feed(b'event: type-%d\\ndata: x\\n\\n' % at)",
}

PROCESS = """
import importlib, pickle
from rapidsse import BufferSizeExceeded

backend = importlib.import_module({module!r})
one = backend.Parser()
told = backend.Parser(comments=True, diagnostics=True)
few = backend.Parser(types=["other"])

def asyncio_step(step):
    try:
        step.__await__().send(None)
    except StopIteration:
        pass

def overflow(parser):
    try:
        parser.feed(b"data: " + b"x" * 30)
    except BufferSizeExceeded:
        pass

def resident():
    line = next(line for line in open("/proc/self/status") if "VmRSS" in line)
    return int(line.split()[1]) * 1024

def work(start, stop):
    for at in range(start, stop):
        {code}

times = {times}
work(0, times // 5)
before = resident()
work(times // 5, times)
print(resident() - before)
"""


@pytest.mark.parametrize("what", WORK)
def test_what_is_dropped_is_gone(backend: Any, what: str) -> None:
    code = PROCESS.format(module=backend.__name__, code=WORK[what], times=TIMES)
    done = subprocess.run(
        [sys.executable, "-"], input=code, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < GROWTH
