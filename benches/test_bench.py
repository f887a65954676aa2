"""The main cells under pytest-benchmark: what runs in one Python process.

    python -m pytest benches/test_bench.py --benchmark-group-by=param:shape,param:cutting

`run.py` measures ratios in turns; this is for looking at one cell, comparing two commits
(`--benchmark-autosave`, `--benchmark-compare`) and profiling. Not part of the test suite.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import peers
import shapes

pytest.importorskip("pytest_benchmark")

CUTTINGS = ("16k", "event")
PARSERS = {
    parser.name: parser
    for parser in (*peers.ours("_rapidsse"), *peers.ours("_pure"), *peers.peers()[0])
}


@pytest.mark.parametrize("name", PARSERS)
@pytest.mark.parametrize("cutting", CUTTINGS)
@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_parse(benchmark: Any, shape: str, cutting: str, name: str) -> None:
    parser = PARSERS[name]
    stream = shapes.stream(shape, cutting, 256 * shapes.KIB)
    if parser.too_slow(stream):
        pytest.skip("quadratic: would take too long")
    wrong = parser.check(stream)
    if wrong and parser.package != "rapidsse":
        pytest.skip(wrong)
    assert not wrong
    benchmark.extra_info |= {"events": len(stream.events), "bytes": stream.size}
    benchmark.pedantic(parser.run, (stream.chunks,), rounds=15, warmup_rounds=2)
