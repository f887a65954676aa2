"""Cuttings of a stream, and the law that they do not matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rapidsse.testing._cases import cases

# A stream up to this length is cut once at each of its bytes.
_SHORT = 200
# Longer cases are about bounds and time: byte by byte they would take most of it.
_LONGEST_CASE = 4096
_SHOWN = 300


def cuts(data: bytes) -> Iterator[list[bytes]]:
    """Cuttings of a stream worth trying, each a list of chunks.

    The whole, byte by byte, 3-byte chunks, both of these with empty chunks between and, for short
    streams, every single cut.
    """
    yield [data]
    single = [data[at : at + 1] for at in range(len(data))]
    yield single
    triple = [data[at : at + 3] for at in range(0, len(data), 3)]
    yield triple
    for chunks in (single, triple):
        yield [chunk for full in chunks for chunk in (b"", full)] + [b""]
    if len(data) <= _SHORT:
        for at in range(1, len(data)):
            yield [data[:at], data[at:]]


def assert_chunks_do_not_matter(
    parse_function: Callable[[list[bytes]], Any], data: bytes | Iterable[bytes] | None = None
) -> None:
    """Asserts that a parser gives the same for every cutting of a stream as for the whole.

    `parse_function` gets the chunks of a stream and returns what it finds: anything that can be
    compared. Whether that is right is another question, which `cases()` answers. `data` is a
    stream or several; without it, the streams of all cases up to 4 KiB are cut.

    Raises:
        AssertionError: a cutting matters; the message says which.
        Exception: what `parse_function` raises passes through.
    """
    if data is None:
        streams: Iterable[bytes] = (
            case.data for case in cases() if len(case.data) <= _LONGEST_CASE
        )
    elif isinstance(data, bytes):
        streams = (data,)
    else:
        streams = data
    for stream in streams:
        cuttings = cuts(stream)
        whole = parse_function(next(cuttings))
        for chunks in cuttings:
            found = parse_function(chunks)
            if found != whole:
                raise AssertionError(
                    f"the stream {_shown(stream)}\n"
                    f"cut as    {_shown(chunks)}\n"
                    f"gives     {_shown(found)}\n"
                    f"and whole {_shown(whole)}"
                )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
