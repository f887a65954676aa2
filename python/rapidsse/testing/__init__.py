"""For tests of this parser or of any other: streams with their right values, and bad networks.

`cases()` reads the table `cases.jsonl`, `cuts()` cuts a stream as networks do, and every case
holds for every cutting. `FaultServer` serves a stream over HTTP, with the faults that are ordered.
With pytest, `sse_case` and `fault_server` are there as arguments of any test.
"""

from rapidsse.testing._cases import Case, Events, Expected, cases
from rapidsse.testing._chunks import assert_chunks_do_not_matter, cuts
from rapidsse.testing._reply import Reply
from rapidsse.testing._server import FaultServer, Outcome, Request

__all__ = [
    "Case",
    "Events",
    "Expected",
    "FaultServer",
    "Outcome",
    "Reply",
    "Request",
    "assert_chunks_do_not_matter",
    "cases",
    "cuts",
]
