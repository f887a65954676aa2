"""rapidsse.sdk in the real SDKs: what their own decoder gives, and where it fails.

Every comparison is object for object, over the same bytes in the same pieces.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from provider_streams import CHAT, MESSAGES, RESPONSES, TEXT, Events, inside_characters, wire
from rapidsse import BufferSizeExceeded, StreamInterrupted
from rapidsse.sdk import SSEDecoder
from scripted import Scripted, scripted_server
from support import byte_by_byte, run

USER: Any = [{"role": "user", "content": "?"}]
TLS = ssl.create_default_context()  # made once: each takes a tenth of a second
BOM = b"\xef\xbb\xbf"


@pytest.fixture(scope="module")
def server() -> Iterator[Scripted]:
    with scripted_server() as script:
        yield script


def with_decoder(client_class: Any, decoder: Callable[[], SSEDecoder]) -> Any:
    """The client class as docs/sdk/ says to write it; here for a client that is given."""
    return type(client_class.__name__, (client_class,), {"_make_sse_decoder": lambda _: decoder()})


class Sdk:
    """One interface of one SDK, by its own decoder or by ours, sync or async."""

    def __init__(self, name: str, clients: tuple[Any, Any], call: Any, helper: Any) -> None:
        self.name = name
        self._clients = clients
        self._call = call
        self._helper = helper

    def _client(self, server: Scripted, index: int, decoder: Any) -> Any:
        client_class = self._clients[index]
        if decoder is not None:
            client_class = with_decoder(client_class, decoder)
        return client_class(
            api_key="none",
            base_url=f"{server.url}/v1",
            max_retries=0,
            http_client=(httpx2.Client, httpx2.AsyncClient)[index](verify=TLS),
        )

    def items(self, server: Scripted, decoder: Any, way: str) -> list[Any]:
        """What a streamed call yields."""
        return WAYS[way](self, server, decoder, self._call)

    def helped(self, server: Scripted, decoder: Any, way: str) -> list[Any]:
        """What the SDK's helper, which puts a whole message together, yields and ends with."""
        return WAYS[way](self, server, decoder, self._helper)

    def sync_items(self, server: Scripted, decoder: Any, call: Any) -> list[Any]:
        with self._client(server, 0, decoder) as client, call(client) as stream:
            items = list(stream)
            return [*items, *(final(stream) for final in FINALS.get(call, ()))]

    def async_items(self, server: Scripted, decoder: Any, call: Any) -> list[Any]:
        async def read() -> list[Any]:
            async with self._client(server, 1, decoder) as client:
                opened = call(client)
                # A streamed call must be awaited for its stream, a helper is one.
                async with opened if hasattr(opened, "__aenter__") else await opened as stream:
                    items = [item async for item in stream]
                    return [*items, *[await final(stream) for final in FINALS.get(call, ())]]

        return run(read())


def _chat_call(client: Any) -> Any:
    return client.chat.completions.create(model="m", messages=USER, stream=True)


def _chat_helper(client: Any) -> Any:
    return client.chat.completions.stream(model="m", messages=USER)


def _responses_call(client: Any) -> Any:
    return client.responses.create(model="m", input="?", stream=True)


def _responses_helper(client: Any) -> Any:
    return client.responses.stream(model="m", input="?")


def _messages_call(client: Any) -> Any:
    return client.messages.create(model="m", max_tokens=9, messages=USER, stream=True)


def _messages_helper(client: Any) -> Any:
    return client.messages.stream(model="m", max_tokens=9, messages=USER)


WAYS = {"sync": Sdk.sync_items, "async": Sdk.async_items}
FINALS: dict[Any, list[Any]] = {
    _chat_helper: [lambda stream: stream.get_final_completion()],
    _responses_helper: [lambda stream: stream.get_final_response()],
    _messages_helper: [lambda stream: stream.get_final_message()],
}
OPENAI = (openai.OpenAI, openai.AsyncOpenAI)
ANTHROPIC = (anthropic.Anthropic, anthropic.AsyncAnthropic)
SDKS = {
    "chat": (Sdk("chat", OPENAI, _chat_call, _chat_helper), CHAT),
    "responses": (Sdk("responses", OPENAI, _responses_call, _responses_helper), RESPONSES),
    "messages": (Sdk("messages", ANTHROPIC, _messages_call, _messages_helper), MESSAGES),
}
PIECES: dict[str, Callable[[Events], list[bytes]]] = {
    "whole": lambda events: [wire(events)],
    "lf, inside characters": lambda events: inside_characters(wire(events)),
    "crlf, byte by byte": lambda events: byte_by_byte(wire(events, b"\r\n")),
    "cr, inside characters": lambda events: inside_characters(wire(events, b"\r")),
}


def text_of(item: Any) -> str:
    """The text that an item of a streamed call adds."""
    if item.__class__.__name__ == "ChatCompletionChunk":
        return "".join(choice.delta.content or "" for choice in item.choices)
    delta = getattr(item, "delta", "")
    return delta if isinstance(delta, str) else getattr(delta, "text", "")


def same(ours: list[Any], own: list[Any]) -> None:
    assert list(map(type, ours)) == list(map(type, own))
    assert ours == own
    assert list(map(repr, ours)) == list(map(repr, own))


@pytest.mark.parametrize("pieces", PIECES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SDKS)
def test_object_for_object(server: Scripted, name: str, way: str, pieces: str) -> None:
    sdk, events = SDKS[name]
    server.answer(PIECES[pieces](events))
    ours = sdk.items(server, SSEDecoder, way)
    same(ours, sdk.items(server, None, way))
    unseen = sum(event == "ping" or payload == "[DONE]" for event, payload in events)
    assert len(ours) == len(events) - unseen
    assert "".join(TEXT) in "".join(map(text_of, ours))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SDKS)
def test_the_helpers_put_the_same_message_together(server: Scripted, name: str, way: str) -> None:
    sdk, events = SDKS[name]
    server.answer(inside_characters(wire(events)))
    ours = sdk.helped(server, SSEDecoder, way)
    same(ours, sdk.helped(server, None, way))
    final = repr(ours[-1])
    assert "Zü" in final
    assert "日本語" in final


def test_the_pieces_arrive_as_they_were_cut(server: Scripted) -> None:
    """Else the cuttings above would test nothing."""
    arrived: list[bytes] = []

    class Watching:
        def iter_bytes(self, iterator: Iterator[bytes]) -> Iterator[Any]:
            arrived.extend(iterator)
            yield from SSEDecoder().iter_bytes(iter(arrived))

    pieces = inside_characters(wire(CHAT))
    server.answer(pieces)
    SDKS["chat"][0].items(server, Watching, "sync")
    assert arrived == pieces


# Where the SDK's own decoder fails


def cut(events: Events, at: int, between: bytes, first: bytes = b"") -> bytes:
    """A stream with bytes before its first event and before its event number `at`."""
    return first + wire(events[:at]) + between + wire(events[at:])


CHAT_BROKEN = wire(CHAT).replace("日".encode(), b"\xe6\x97")
MESSAGES_BROKEN = wire(MESSAGES).replace("日".encode(), b"\xe6\x97")
FAILS = {
    "chat: a heartbeat after an id": ("chat", cut(CHAT, 1, b": ping\n\n", b"id: 1\n"), ValueError),
    "chat: a retry time of its own": ("chat", cut(CHAT, 0, b"retry: 3000\n\n"), ValueError),
    "chat: a type without data": ("chat", cut(CHAT, 1, b"event: ping\n\n"), ValueError),
    "chat: an id of its own": ("chat", cut(CHAT, 1, b"id: 7\n\n"), ValueError),
    "chat: broken UTF-8": ("chat", CHAT_BROKEN, UnicodeDecodeError),
    "chat: broken UTF-8 in a comment": ("chat", cut(CHAT, 1, b": \xff\n"), UnicodeDecodeError),
    "responses: a heartbeat after an id": (
        "responses",
        cut(RESPONSES, 1, b": ping\n\n", b"id: 1\n"),
        ValueError,
    ),
    "messages: broken UTF-8": ("messages", MESSAGES_BROKEN, UnicodeDecodeError),
    "messages: broken UTF-8 in a comment": (
        "messages",
        cut(MESSAGES, 1, b": \xff\n"),
        UnicodeDecodeError,
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", FAILS)
def test_a_stream_on_which_the_own_decoder_raises(server: Scripted, fault: str, way: str) -> None:
    name, stream, error = FAILS[fault]
    sdk, events = SDKS[name]
    server.answer([stream])
    with pytest.raises(error):
        sdk.items(server, None, way)
    ours = sdk.items(server, SSEDecoder, way)

    if stream in (CHAT_BROKEN, MESSAGES_BROKEN):
        events = [
            (event, wire([(None, payload)]).decode()[6:-2].replace("日", "\ufffd"))
            for event, payload in events
        ]
    server.answer([wire(events)])
    same(ours, sdk.items(server, None, way))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["chat", "messages"])
def test_a_bom_costs_the_own_decoder_the_first_event(server: Scripted, name: str, way: str) -> None:
    """It loses the line after the BOM: the data, or the type without which Messages skip it."""
    sdk, events = SDKS[name]
    server.answer([wire(events)])
    right = sdk.items(server, None, way)
    server.answer([BOM + wire(events)])
    assert sdk.items(server, None, way) == right[1:]
    same(sdk.items(server, SSEDecoder, way), right)


def test_a_bom_costs_the_messages_helper_everything(server: Scripted) -> None:
    sdk, events = SDKS["messages"]
    server.answer([BOM + wire(events)])
    with pytest.raises(AssertionError):
        sdk.helped(server, None, "sync")
    assert sdk.helped(server, SSEDecoder, "sync")[-1].content[0].text == "".join(TEXT)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SDKS)
def test_a_stream_cut_inside_an_event(server: Scripted, name: str, way: str) -> None:
    """The own decoder ends as if all were well, and so does ours unless it is told not to."""
    sdk, events = SDKS[name]
    server.answer([wire(events[:2]), wire(events[2:3])[:-1]])
    own = sdk.items(server, None, way)
    same(sdk.items(server, SSEDecoder, way), own)
    with pytest.raises(StreamInterrupted) as raised:
        sdk.items(server, partial(SSEDecoder, unfinished="raise"), way)
    assert raised.value.unfinished is not None
    assert raised.value.unfinished.json() == events[2][1]


# Errors


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SDKS)
def test_the_guard_ends_the_call(server: Scripted, name: str, way: str) -> None:
    sdk, events = SDKS[name]
    server.answer([wire(events[:1]), b"data: secret" * 10_000])
    with pytest.raises(BufferSizeExceeded) as raised:
        sdk.items(server, partial(SSEDecoder, max_buffer_size=20_000), way)
    assert raised.value.limit == 20_000
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("name", "event", "payload"),
    [
        ("chat", None, {"error": {"message": "overloaded", "code": "x"}}),
        ("responses", "error", {"error": {"message": "overloaded", "code": "x"}}),
        ("messages", "error", {"type": "error", "error": {"type": "overloaded_error"}}),
    ],
)
def test_an_error_in_the_stream(
    server: Scripted, name: str, event: str | None, payload: Any, way: str
) -> None:
    sdk, events = SDKS[name]
    server.answer([wire(events[:1]) + wire([(event, payload)]) + wire(events[1:])])
    errors: list[Any] = []
    for decoder in (SSEDecoder, None):
        with pytest.raises((openai.APIError, anthropic.APIError)) as raised:
            sdk.items(server, decoder, way)
        errors.append(raised.value)
    ours, own = errors
    assert (type(ours), str(ours), ours.body) == (type(own), str(own), own.body)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SDKS)
def test_a_connection_that_breaks(server: Scripted, name: str, way: str) -> None:
    sdk, events = SDKS[name]
    server.answer([wire(events[:2])], breaks=True)
    errors: list[Any] = []
    for decoder in (SSEDecoder, None):
        with pytest.raises(Exception) as raised:  # noqa: PT011 - each SDK has its own class
            sdk.items(server, decoder, way)
        errors.append(raised.value)
    ours, own = errors
    assert type(ours) is type(own)
    assert type(ours).__name__ in ("APIConnectionError", "RemoteProtocolError")


@pytest.mark.parametrize("name", SDKS)
def test_leaving_early_closes_the_response(server: Scripted, name: str) -> None:
    sdk, events = SDKS[name]
    server.answer(byte_by_byte(wire(events)))
    with sdk._client(server, 0, SSEDecoder) as client:
        with sdk._call(client) as stream:
            first = next(stream)
        assert stream.response.is_closed

        async def leave() -> Any:
            async with sdk._client(server, 1, SSEDecoder) as client:
                async with await sdk._call(client) as stream:
                    item = await stream.__anext__()
                assert stream.response.is_closed
                return item

        same([first], [run(leave())])


def test_a_client_made_from_a_client_keeps_the_decoder(server: Scripted) -> None:
    server.answer([BOM + wire(CHAT)])
    client_class = with_decoder(openai.OpenAI, SSEDecoder)
    http_client = httpx2.Client(verify=TLS)
    with client_class(api_key="none", base_url=server.url, http_client=http_client) as client:
        with client.with_options(timeout=5).chat.completions.create(
            model="m", messages=USER, stream=True
        ) as stream:
            assert len(list(stream)) == len(CHAT) - 1
        raw = client.chat.completions.with_raw_response.create(
            model="m", messages=USER, stream=True
        )
        with raw.parse() as stream:
            assert "".join(map(text_of, stream)) == "".join(TEXT)
