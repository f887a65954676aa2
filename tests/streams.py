"""Random streams, biased to what parsers get wrong, and random cuttings."""

from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

PIECES = [
    b"data", b"data:", b"data: ", b"event", b"event:", b"event: ", b"id", b"id:", b"id: ",
    b"retry", b"retry:", b"retry: ", b":", b": ", b" ", b"\n", b"\n", b"\n\n", b"\r", b"\r\n",
    b"\r\n\r\n", b"\r\r", b"\n\r", b"\xef\xbb\xbf", b"\xef", b"\xef\xbb", b"\0", b"x", b"ab", b"0",
    b"7", b"99999999999999999999", b"\xe2\x80\xa8", b"\xc2\x85", b"\x0b", b"\x0c", b"\x1c", b"\xc3",
    b"\xa9", b"\xc3\xa9", b"\xe4\xb8\xad", b"\xf0\x9f\x98\x80", b"\xf0\x9f", b"\xed\xa0\x80",
    b"\xff", b"\xc0\x80", b"Data: y", b"message", b"error", b"k-e_y 1", b"data: data: x\n\n",
    b"event: error\ndata: z\n\n", b"q" * 70, b"v" * 20,
]  # fmt: skip

lines = st.tuples(
    st.sampled_from([b"data", b"event", b"id", b"retry", b"", b"other", b" data"]),
    st.sampled_from([b":", b": ", b":  ", b""]),
    st.sampled_from([b"", b"a", b"12", b"x:y", b"\0", b"\xff", "é中😀".encode(), b"w" * 9]),
    st.sampled_from([b"\n", b"\r", b"\r\n", b"\n\n", b"\r\n\r\n"]),
).map(b"".join)

streams = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=24).map(b"".join),
    st.lists(lines, max_size=12).map(b"".join),
    st.builds(lambda start, rest: start + b"".join(rest),
              st.sampled_from([b"", b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"]),
              st.lists(st.one_of(lines, st.sampled_from(PIECES)), max_size=16)),
    st.binary(max_size=60),
)  # fmt: skip


@st.composite
def cut_streams(draw: Any) -> list[bytes]:
    stream = draw(streams)
    if draw(st.booleans()):
        size = draw(st.integers(1, 4))
        return [stream[i : i + size] for i in range(0, len(stream), size)]
    places = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    bounds = [0, *places, len(stream)]
    return [stream[a:b] for a, b in pairwise(bounds)]


options = st.fixed_dictionaries(
    {},
    optional={
        "last_event_id": st.sampled_from(["", "start"]),
        "max_buffer_size": st.one_of(st.integers(1, 40), st.none()),
        "comments": st.booleans(),
        "diagnostics": st.booleans(),
        "raw": st.booleans(),
        "types": st.lists(st.sampled_from(["message", "error", "x", "\ufffd"]), max_size=2),
        "contains": st.lists(st.sampled_from([b"x", b"a\n", b"\n", "中".encode()]), max_size=2),
    },
)
