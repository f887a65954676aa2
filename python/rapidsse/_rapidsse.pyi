from collections.abc import AsyncIterable, Awaitable, Collection, Coroutine, Iterable
from types import GenericAlias, TracebackType
from typing import Any, ClassVar, Generic, Literal, Protocol, final, overload

from typing_extensions import Buffer, Self, TypeVar

__all__ = [
    "AsyncEventIterator",
    "Comment",
    "Diagnostic",
    "EventIterator",
    "Parser",
    "ServerSentEvent",
    "aiter_events",
    "iter_events",
    "parse",
]

@final
class ServerSentEvent:
    __match_args__: ClassVar[
        tuple[Literal["event"], Literal["data"], Literal["id"], Literal["retry"]]
    ]
    @property
    def event(self) -> str: ...
    @property
    def data(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def retry(self) -> int | None: ...
    @property
    def raw(self) -> bytes | None: ...
    def __new__(
        cls, event: str = "message", data: str = "", id: str = "", retry: int | None = None
    ) -> Self: ...
    @staticmethod
    def _restore(
        event: str, data: str, id: str, retry: int | None, raw: bytes | None, /
    ) -> ServerSentEvent: ...
    def json(self) -> Any: ...
    def encode(self) -> bytes: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...
    def __replace__(
        self, *, event: str = ..., data: str = ..., id: str = ..., retry: int | None = ...
    ) -> Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Comment:
    __match_args__: ClassVar[tuple[Literal["text"]]]
    @property
    def text(self) -> str: ...
    def __new__(cls, text: str) -> Self: ...
    def encode(self) -> bytes: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...
    def __replace__(self, *, text: str = ...) -> Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Diagnostic:
    __match_args__: ClassVar[
        tuple[Literal["kind"], Literal["line"], Literal["offset"], Literal["detail"]]
    ]
    @property
    def kind(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def detail(self) -> str: ...
    def __new__(cls, kind: str, line: int, offset: int, detail: str) -> Self: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...
    def __replace__(
        self, *, kind: str = ..., line: int = ..., offset: int = ..., detail: str = ...
    ) -> Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

_T_co = TypeVar(
    "_T_co", bound=ServerSentEvent | Comment | Diagnostic, covariant=True, default=ServerSentEvent
)

class _Reader(Protocol):
    def read1(self, size: int, /) -> bytes: ...

class _RawReader(Protocol):
    def read(self, size: int, /) -> bytes | None: ...
    def readinto(self, buffer: Any, /) -> int | None: ...

class _AsyncReader(Protocol):
    def readany(self) -> Awaitable[bytes]: ...

class _AsyncFile(Protocol):
    def read(self, size: int, /) -> Awaitable[bytes]: ...

_Chunks = Iterable[Buffer] | _Reader | _RawReader
_AsyncChunks = AsyncIterable[Buffer] | _AsyncReader | _AsyncFile
_Unfinished = Literal["discard", "raise", "yield"]

@final
class Parser(Generic[_T_co]):
    def __class_getitem__(cls, item: Any) -> GenericAlias: ...
    @overload
    def __new__(
        cls,
        *,
        last_event_id: str = "",
        max_buffer_size: int | None = 67108864,
        comments: Literal[False] = False,
        diagnostics: Literal[False] = False,
        raw: bool = False,
        types: Collection[str] | None = None,
        contains: Collection[bytes] | None = None,
    ) -> Parser[ServerSentEvent]: ...
    @overload
    def __new__(
        cls,
        *,
        last_event_id: str = "",
        max_buffer_size: int | None = 67108864,
        comments: Literal[True],
        diagnostics: Literal[False] = False,
        raw: bool = False,
        types: Collection[str] | None = None,
        contains: Collection[bytes] | None = None,
    ) -> Parser[ServerSentEvent | Comment]: ...
    @overload
    def __new__(
        cls,
        *,
        last_event_id: str = "",
        max_buffer_size: int | None = 67108864,
        comments: Literal[False] = False,
        diagnostics: Literal[True],
        raw: bool = False,
        types: Collection[str] | None = None,
        contains: Collection[bytes] | None = None,
    ) -> Parser[ServerSentEvent | Diagnostic]: ...
    @overload
    def __new__(
        cls,
        *,
        last_event_id: str = "",
        max_buffer_size: int | None = 67108864,
        comments: bool = False,
        diagnostics: bool = False,
        raw: bool = False,
        types: Collection[str] | None = None,
        contains: Collection[bytes] | None = None,
    ) -> Parser[ServerSentEvent | Comment | Diagnostic]: ...
    @property
    def last_event_id(self) -> str: ...
    @property
    def retry(self) -> int | None: ...
    @property
    def buffered(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    @property
    def truncated(self) -> bool: ...
    @property
    def skipped(self) -> int: ...
    def feed(self, chunk: Buffer, /) -> list[_T_co]: ...
    def close(self) -> ServerSentEvent | None: ...
    def reset(self, last_event_id: str = "") -> None: ...

@final
class EventIterator(Generic[_T_co]):
    def __class_getitem__(cls, item: Any) -> GenericAlias: ...
    @property
    def last_event_id(self) -> str: ...
    @property
    def retry(self) -> int | None: ...
    @property
    def skipped(self) -> int: ...
    @property
    def unfinished(self) -> ServerSentEvent | None: ...
    @property
    def truncated(self) -> bool: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> _T_co: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None = ...,
        error: BaseException | None = ...,
        traceback: TracebackType | None = ...,
        /,
    ) -> None: ...
    def close(self) -> None: ...

@final
class AsyncEventIterator(Generic[_T_co]):
    def __class_getitem__(cls, item: Any) -> GenericAlias: ...
    @property
    def last_event_id(self) -> str: ...
    @property
    def retry(self) -> int | None: ...
    @property
    def skipped(self) -> int: ...
    @property
    def unfinished(self) -> ServerSentEvent | None: ...
    @property
    def truncated(self) -> bool: ...
    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Coroutine[Any, Any, _T_co]: ...
    def __aenter__(self) -> Awaitable[Self]: ...
    def __aexit__(
        self,
        kind: type[BaseException] | None = ...,
        error: BaseException | None = ...,
        traceback: TracebackType | None = ...,
        /,
    ) -> Awaitable[None]: ...
    def aclose(self) -> Awaitable[None]: ...
    def _leave(self) -> Any: ...

@overload
def parse(
    data: Buffer,
    /,
    *,
    last_event_id: str = "",
    max_buffer_size: int | None = None,
    comments: Literal[False] = False,
    diagnostics: Literal[False] = False,
    raw: bool = False,
    types: Collection[str] | None = None,
    contains: Collection[bytes] | None = None,
) -> list[ServerSentEvent]: ...
@overload
def parse(
    data: Buffer,
    /,
    *,
    last_event_id: str = "",
    max_buffer_size: int | None = None,
    comments: Literal[True],
    diagnostics: Literal[False] = False,
    raw: bool = False,
    types: Collection[str] | None = None,
    contains: Collection[bytes] | None = None,
) -> list[ServerSentEvent | Comment]: ...
@overload
def parse(
    data: Buffer,
    /,
    *,
    last_event_id: str = "",
    max_buffer_size: int | None = None,
    comments: Literal[False] = False,
    diagnostics: Literal[True],
    raw: bool = False,
    types: Collection[str] | None = None,
    contains: Collection[bytes] | None = None,
) -> list[ServerSentEvent | Diagnostic]: ...
@overload
def parse(
    data: Buffer,
    /,
    *,
    last_event_id: str = "",
    max_buffer_size: int | None = None,
    comments: bool = False,
    diagnostics: bool = False,
    raw: bool = False,
    types: Collection[str] | None = None,
    contains: Collection[bytes] | None = None,
) -> list[ServerSentEvent | Comment | Diagnostic]: ...
@overload
def iter_events(
    chunks: _Chunks,
    /,
    *,
    unfinished: _Unfinished = "discard",
    last_event_id: str = "",
    max_buffer_size: int | None = 67108864,
    comments: Literal[False] = False,
    diagnostics: Literal[False] = False,
    raw: bool = False,
    types: Collection[str] | None = None,
    contains: Collection[bytes] | None = None,
) -> EventIterator[ServerSentEvent]: ...
@overload
def iter_events(
    chunks: _Chunks,
    /,
    *,
    unfinished: _Unfinished = "discard",
    last_event_id: str = "",
    max_buffer_size: int | None = 67108864,
    comments: Literal[True],
    diagnostics: Literal[False] = False,
    raw: bool = False,
    types: Collection[str] | None = None,
    contains: Collection[bytes] | None = None,
) -> EventIterator[ServerSentEvent | Comment]: ...
@overload
def iter_events(
    chunks: _Chunks,
    /,
    *,
    unfinished: _Unfinished = "discard",
    last_event_id: str = "",
    max_buffer_size: int | None = 67108864,
    comments: Literal[False] = False,
    diagnostics: Literal[True],
    raw: bool = False,
    types: Collection[str] | None = None,
    contains: Collection[bytes] | None = None,
) -> EventIterator[ServerSentEvent | Diagnostic]: ...
@overload
def iter_events(
    chunks: _Chunks,
    /,
    *,
    unfinished: _Unfinished = "discard",
    last_event_id: str = "",
    max_buffer_size: int | None = 67108864,
    comments: bool = False,
    diagnostics: bool = False,
    raw: bool = False,
    types: Collection[str] | None = None,
    contains: Collection[bytes] | None = None,
) -> EventIterator[ServerSentEvent | Comment | Diagnostic]: ...
@overload
def aiter_events(
    chunks: _AsyncChunks | _Chunks,
    /,
    *,
    unfinished: _Unfinished = "discard",
    last_event_id: str = "",
    max_buffer_size: int | None = 67108864,
    comments: Literal[False] = False,
    diagnostics: Literal[False] = False,
    raw: bool = False,
    types: Collection[str] | None = None,
    contains: Collection[bytes] | None = None,
) -> AsyncEventIterator[ServerSentEvent]: ...
@overload
def aiter_events(
    chunks: _AsyncChunks | _Chunks,
    /,
    *,
    unfinished: _Unfinished = "discard",
    last_event_id: str = "",
    max_buffer_size: int | None = 67108864,
    comments: Literal[True],
    diagnostics: Literal[False] = False,
    raw: bool = False,
    types: Collection[str] | None = None,
    contains: Collection[bytes] | None = None,
) -> AsyncEventIterator[ServerSentEvent | Comment]: ...
@overload
def aiter_events(
    chunks: _AsyncChunks | _Chunks,
    /,
    *,
    unfinished: _Unfinished = "discard",
    last_event_id: str = "",
    max_buffer_size: int | None = 67108864,
    comments: Literal[False] = False,
    diagnostics: Literal[True],
    raw: bool = False,
    types: Collection[str] | None = None,
    contains: Collection[bytes] | None = None,
) -> AsyncEventIterator[ServerSentEvent | Diagnostic]: ...
@overload
def aiter_events(
    chunks: _AsyncChunks | _Chunks,
    /,
    *,
    unfinished: _Unfinished = "discard",
    last_event_id: str = "",
    max_buffer_size: int | None = 67108864,
    comments: bool = False,
    diagnostics: bool = False,
    raw: bool = False,
    types: Collection[str] | None = None,
    contains: Collection[bytes] | None = None,
) -> AsyncEventIterator[ServerSentEvent | Comment | Diagnostic]: ...
