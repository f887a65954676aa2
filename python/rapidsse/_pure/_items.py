"""Events, comments and diagnostics.

They are immutable, but setting the attributes of an immutable object one by one is slow. So each
class has a base that holds the slots and may be written to: the parser fills an object of the base
and then turns it into the item, by its `__class__`.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar, NoReturn

from rapidsse import _shared
from rapidsse._options import bad_field
from rapidsse._pure._field import MAX_RETRY


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise bad_field(name, "a str", value)
    return value if type(value) is str else str.__str__(value)


def _int(name: str, value: object) -> int:
    if not isinstance(value, int):
        raise bad_field(name, "an int", value)
    return int(value)


def _wire(name: str, value: str) -> bytes:
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} must not contain lone surrogates") from None


def _wire_line(name: str, value: bytes) -> bytes:
    if b"\r" in value or b"\n" in value:
        raise ValueError(f"{name} must not contain CR or LF")
    return value


class _Item:
    """What the three kinds have in common: their fields are what `__match_args__` names."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        # The three kinds come from this module; beyond them there are none.
        if cls.__module__ != __name__:
            name = cls.__mro__[1].__name__
            raise TypeError(f"type 'rapidsse.{name}' is not an acceptable base type")
        super().__init_subclass__()

    def _fields(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)

    def __eq__(self, other: object) -> bool:
        kind, others = type(self), type(other)
        if others is kind or (kind.__module__, kind.__qualname__) == (
            others.__module__,
            others.__qualname__,
        ):
            return self._fields() == tuple(getattr(other, name) for name in self.__match_args__)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._fields())

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} objects are immutable")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} objects are immutable")

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: object) -> Any:
        return self

    def __replace__(self, **changes: Any) -> Any:
        fields = dict(zip(self.__match_args__, self._fields(), strict=True))
        return type(self)(**{**fields, **changes})


class EventSlots:
    """An event to be."""

    __slots__ = ("data", "event", "id", "raw", "retry")
    event: str
    data: str
    id: str
    retry: int | None
    raw: bytes | None


class ServerSentEvent(EventSlots, _Item):
    """One event of a stream, as it is dispatched. Immutable and hashable.

    Attributes:
        event (str): the event type; 'message' when the stream gave none.
        data (str): the values of the block's data fields, joined with LF.
        id (str): the last event ID as of this event.
        retry (int | None): the block's own last valid reconnection time, in milliseconds.
        raw (bytes | None): the bytes of the block's lines, with raw=True.

    Raises:
        TypeError: a value of another type.

    Source: WHATWG HTML, Server-sent events, interpreting an event stream.
    """

    __slots__ = ()
    __match_args__ = ("event", "data", "id", "retry")

    def __new__(
        cls, event: str = "message", data: str = "", id: str = "", retry: int | None = None
    ) -> ServerSentEvent:
        made = EventSlots()
        made.event = _text("event", event) or "message"
        made.data = _text("data", data)
        made.id = _text("id", id)
        if retry is not None and not isinstance(retry, int):
            raise bad_field("retry", "an int or None", retry)
        made.retry = None if retry is None else int(retry)
        made.raw = None
        made.__class__ = cls
        return made  # type: ignore[return-value]

    @staticmethod
    def _restore(
        event: str, data: str, id: str, retry: int | None, raw: bytes | None, /
    ) -> ServerSentEvent:
        """A pickle's way back."""
        made = ServerSentEvent(event, data, id, retry)
        object.__setattr__(made, "raw", raw)
        return made

    def __repr__(self) -> str:
        return _shared.event_repr(self.event, self.data, self.id, self.retry)

    def __reduce__(self) -> tuple[Any, ...]:
        return _shared.restore_event, (self.event, self.data, self.id, self.retry, self.raw)

    def json(self) -> Any:
        """The data parsed as JSON: json.loads(self.data), in result and in error.

        Raises:
            json.JSONDecodeError: the data is not JSON.
        """
        return json.loads(self.data)

    def encode(self) -> bytes:
        """The event's wire form, ending with a blank line: parse(event.encode()) == [event].

        CRLF and CR in data become line breaks, since the format cannot carry them.

        Raises:
            ValueError: CR or LF in event or id, U+0000 in id, a lone surrogate, or a retry outside
                0 to 2**63 - 1 milliseconds.

        Source: WHATWG HTML, Server-sent events, parsing an event stream.
        """
        event, data, id = _wire("event", self.event), _wire("data", self.data), _wire("id", self.id)
        retry = self.retry
        if retry is not None and retry > MAX_RETRY:
            raise ValueError("retry must be between 0 and 2**63 - 1 milliseconds")
        lines = []
        _wire_line("event", event)
        _wire_line("id", id)
        if b"\0" in id:
            raise ValueError("id must not contain U+0000")
        if event != b"message":
            lines.append(b"event: " + event)
        if id:
            lines.append(b"id: " + id)
        if retry is not None:
            if retry < 0:
                raise ValueError("retry must be between 0 and 2**63 - 1 milliseconds")
            lines.append(b"retry: %d" % retry)
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines += [b"data: " + line for line in data.split(b"\n")]
        return b"\n".join(lines) + b"\n\n"


def make_event(event: str, data: str, id: str, retry: int | None, raw: bytes | None) -> Any:
    """An event of values that need no check."""
    made = EventSlots()
    made.event = event
    made.data = data
    made.id = id
    made.retry = retry
    made.raw = raw
    made.__class__ = ServerSentEvent
    return made


class CommentSlots:
    """A comment to be."""

    __slots__ = ("text",)
    text: str


class Comment(CommentSlots, _Item):
    """One comment line of a stream, told with comments=True. Immutable and hashable.

    Attributes:
        text (str): what follows the colon, less one leading space.

    Raises:
        TypeError: text is not a str.

    Source: WHATWG HTML, Server-sent events, interpreting an event stream.
    """

    __slots__ = ()
    __match_args__ = ("text",)

    def __new__(cls, text: str) -> Comment:
        made = CommentSlots()
        made.text = _text("text", text)
        made.__class__ = cls
        return made  # type: ignore[return-value]

    def __repr__(self) -> str:
        return _shared.comment_repr(self.text)

    def __reduce__(self) -> tuple[Any, ...]:
        return _shared.restore_comment, (self.text,)

    def encode(self) -> bytes:
        """The comment's wire form, one line.

        Raises:
            ValueError: CR, LF or a lone surrogate in the text.

        Source: WHATWG HTML, Server-sent events, parsing an event stream.
        """
        return b": " + _wire_line("a comment", _wire("a comment", self.text)) + b"\n"


def make_comment(text: str) -> Any:
    """A comment of a text that needs no check."""
    made = CommentSlots()
    made.text = text
    made.__class__ = Comment
    return made


class DiagnosticSlots:
    """A diagnostic to be."""

    __slots__ = ("detail", "kind", "line", "offset")
    kind: str
    line: int
    offset: int
    detail: str


class Diagnostic(DiagnosticSlots, _Item):
    """Something the standard ignores silently, told with diagnostics=True. Immutable and hashable.

    Attributes:
        kind (str): 'invalid-utf-8', 'unknown-field', 'invalid-retry', 'invalid-id' or 'no-data'.
        line (int): the line's number, from 1; a CRLF ends one line.
        offset (int): the line's first byte, counted from the stream's first, the BOM included.
        detail (str): the field's name where it is harmless to tell, else empty.

    Raises:
        TypeError: a value of another type.

    Source: WHATWG HTML, Server-sent events, interpreting an event stream.
    """

    __slots__ = ()
    __match_args__ = ("kind", "line", "offset", "detail")

    def __new__(cls, kind: str, line: int, offset: int, detail: str) -> Diagnostic:
        made = DiagnosticSlots()
        made.kind = _text("kind", kind)
        made.line = _int("line", line)
        made.offset = _int("offset", offset)
        made.detail = _text("detail", detail)
        made.__class__ = cls
        return made  # type: ignore[return-value]

    def __repr__(self) -> str:
        return _shared.diagnostic_repr(self.kind, self.line, self.offset, self.detail)

    def __reduce__(self) -> tuple[Any, ...]:
        return _shared.restore_diagnostic, self._fields()


for _kind in (ServerSentEvent, Comment, Diagnostic):
    _kind.__module__ = "rapidsse"
