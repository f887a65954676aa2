"""What a line or a text that is not right may have been meant to be."""

from __future__ import annotations

import itertools
import json
import re
from functools import lru_cache
from typing import Literal

FIELDS = ("data", "event", "id", "retry")
BOM = b"\xef\xbb\xbf"
# What completes the streams of the best-known servers.
MARKERS = ("[DONE]", "message_stop", "response.completed")

_LOOKS_LIKE_JSON = re.compile(r"\s*(?:\{\s*[\"}]|\[\s*[\[{\"])")
_FUSED = re.compile(r"(?:data|event|id|retry):")

Severity = Literal["error", "warning"]

_UNPREFIXED = (
    "the line has no field's name: text of several lines needs data: in each of them, or it is lost"
)


def unknown_line(text: bytes, name: str) -> tuple[Severity, str]:
    """Why a line, of which this is the beginning, has no known field."""
    start = text.lstrip(b" \t").lower()
    named = next((each for each in FIELDS if start.startswith(each.encode())), None)
    if text.startswith(BOM):
        return "error", "the line begins with a BOM, which is dropped at the stream's start only"
    if named is not None:
        after = start[len(named) :].lstrip(b" \t")
        if text[:1] in b" \t" and after.startswith(b":"):
            return "error", f'a space stands before "{named}:": the line is ignored'
        if after.startswith(b":"):
            if not text.startswith(named.encode()):
                return "error", f'"{named}:" in capitals: names are case-sensitive'
            return "error", f'a space stands between "{named}" and its colon'
        if not re.match(rb"[\w-]", start[len(named) :]):
            return "error", f'"{named}" has no colon after it: the line is ignored'
    if re.fullmatch(rb"[0-9A-Fa-f]{1,8}", text):
        return "error", "a hexadecimal number alone: HTTP/1.1's chunk sizes were left in"
    if re.search(rb"[}\]\"](?:data|event|id|retry):", text):
        return "error", "a field begins in the middle of a line that has none"
    if not name:
        return "error", _UNPREFIXED
    meant = _meant(name.lower())
    if meant:
        return "error", f'there is no field "{name}"; "{meant}" may be meant'
    return "warning", f'there is no field "{name}": the line is ignored'


@lru_cache(256)
def _meant(name: str) -> str:
    """The field that a name of no field resembles, or nothing."""
    import difflib  # few streams need it

    close = difflib.get_close_matches(name, FIELDS, 1, 0.7) if len(name) < 8 else []
    return close[0] if close else ""


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is none of its values")


_decode = json.JSONDecoder(parse_constant=_refuse).decode


def not_json(text: str | bytes) -> str | None:
    """Why a text is not JSON, without a word of it; None if it is."""
    try:
        _decode(text if isinstance(text, str) else text.decode())
    except json.JSONDecodeError as error:
        if not error.doc.strip():
            return "it is empty"
        if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated"):
            return "it is cut short"
        return error.msg.removesuffix(" at").lower()
    except UnicodeDecodeError:
        return "it is not UTF-8"
    except ValueError:
        return "it has NaN, an infinity or a number beyond all measure"
    except RecursionError:
        return "it is nested too deeply to tell"
    return None


def is_fused(data: str) -> bool:
    """Whether a field's name follows a whole JSON text or a marker, on one line."""
    # The first few places alone: a text may be long and have many.
    for found in itertools.islice(_FUSED.finditer(data, 1), 8):
        head = data[: found.start()].rstrip()
        if head in MARKERS or (head[-1:] in ("}", "]", '"') and not_json(head) is None):
            return True
    return False


def is_several(data: str) -> bool:
    """Whether every line is a JSON object or array, and there are two or more."""
    lines = data.split("\n")
    return len(lines) > 1 and all(
        line.startswith(("{", "[")) and not_json(line) is None for line in lines
    )


def looks_like_json(data: str) -> bool:
    """Whether a text begins as a JSON object or array does."""
    return _LOOKS_LIKE_JSON.match(data) is not None
