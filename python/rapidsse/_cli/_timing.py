"""When the chunks of a recorded stream came: `FILE.timing.jsonl`, one chunk a line.

Each line is `{"at": SECONDS, "bytes": NUMBER}`: the seconds from the response's head to the chunk,
and the chunk's size. Nothing else of a response or its request is in it.
"""

from __future__ import annotations

import json
from typing import Any, TextIO

from rapidsse._cli._terminal import Fault


def timing_path(path: str) -> str:
    """Where the timing of a stream is."""
    if path == "-":
        raise Fault("the timing of standard input is nowhere")
    return f"{path}.timing.jsonl"


def write_chunk(file: TextIO, at: float, size: int) -> None:
    """Adds a chunk."""
    print(json.dumps({"at": round(at, 6), "bytes": size}), file=file, flush=True)


def read_timing(path: str) -> list[tuple[float, int]]:
    """The chunks, each with its seconds and its bytes.

    Raises:
        Fault: the file cannot be read, or is none of these.
    """
    try:
        with open(path, encoding="utf-8") as file:
            return [_chunk(json.loads(line)) for line in file]
    except OSError as error:
        raise Fault(f"{path}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError):
        raise Fault(f"{path}: this is no timing of a recorded stream") from None


def _chunk(line: Any) -> tuple[float, int]:
    at, size = line["at"], line["bytes"]
    if not isinstance(at, (int, float)) or not isinstance(size, int) or size < 0:
        raise ValueError
    return float(at), size
