"""What items of both backends say and how their pickles come back."""

from __future__ import annotations

from typing import Any

_SHOWN = 64


def _short(text: str) -> str:
    if len(text) <= _SHOWN:
        return repr(text)
    return f"{text[: _SHOWN - 4]!r}...({len(text)} characters)"


def event_repr(event: str, data: str, id: str, retry: int | None) -> str:
    return (
        f"ServerSentEvent(event={_short(event)}, data={_short(data)}, "
        f"id={_short(id)}, retry={retry!r})"
    )


def comment_repr(text: str) -> str:
    return f"Comment({_short(text)})"


def diagnostic_repr(kind: str, line: int, offset: int, detail: str) -> str:
    return f"Diagnostic(kind={kind!r}, line={line}, offset={offset}, detail={_short(detail)})"


# The targets of pickles, whichever backend made them: they make items of the one that is active.


def restore_event(event: str, data: str, id: str, retry: int | None, raw: bytes | None) -> Any:
    import rapidsse

    return rapidsse.ServerSentEvent._restore(event, data, id, retry, raw)


def restore_comment(text: str) -> Any:
    import rapidsse

    return rapidsse.Comment(text)


def restore_diagnostic(kind: str, line: int, offset: int, detail: str) -> Any:
    import rapidsse

    return rapidsse.Diagnostic(kind, line, offset, detail)
