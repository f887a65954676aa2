"""Any bytes, any cuts, any options, from Python: both backends must say what the judge says.

Guided by what runs of the judge and of the pure backend. Needs `atheris` and the tests' packages;
`make fuzz` runs it. Arguments are libFuzzer's: `python fuzz/atheris_parser.py -runs=100000`.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

with atheris.instrument_imports(include=["judge", "rapidsse"]):
    import judge
    import rapidsse._pure
    import test_law_against_judge as law

BACKENDS = [importlib.import_module("rapidsse._rapidsse"), rapidsse._pure]
TYPES = ["message", "error", "x", "\ufffd"]
NEEDLES = [b"x", b"\n", b"aa", b"\xff"]
POLICIES = ["discard", "raise", "yield"]


def chosen(data: atheris.FuzzedDataProvider) -> judge.Options:
    """Options; which is asked first, so that the rest of the bytes are the stream."""
    flags = data.ConsumeIntInRange(0, 127)
    listed = data.ConsumeIntInRange(0, 15)
    on = [bool(flags >> bit & 1) for bit in range(7)]
    return judge.Options(
        last_event_id="before" if on[0] else "",
        max_buffer_size=data.ConsumeIntInRange(1, 200) if on[1] else None,
        comments=on[2],
        diagnostics=on[3],
        raw=on[4],
        types={name for at, name in enumerate(TYPES) if listed >> at & 1} if on[5] else None,
        contains=[piece for at, piece in enumerate(NEEDLES) if listed >> at & 1] if on[6] else None,
    )


def check(raw: bytes) -> None:
    data = atheris.FuzzedDataProvider(raw)
    options = chosen(data)
    policy = data.PickValueInList(POLICIES)
    sizes = [data.ConsumeIntInRange(0, 80) for _ in range(data.ConsumeIntInRange(0, 8))]
    stream = data.ConsumeBytes(400)
    chunks = []
    for size in sizes:
        chunks.append(stream[:size])
        stream = stream[size:]
    chunks.append(stream)
    for backend in BACKENDS:
        law.compare_feed(backend, chunks, options)
        law.compare_parse(backend, chunks, options)
        law.compare_iter(backend, chunks, options, policy)
        law.compare_aiter(backend, chunks, options, policy)


if __name__ == "__main__":
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()
