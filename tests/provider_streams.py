"""Streams as the providers' interfaces send them: text outside ASCII, tool calls, completion."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

# Line separators of Unicode are no line ends of an event stream.
TEXT = ["Été ", "日本語", " — 👩‍🚀", "\u2028\u2029\x85", "नमस्ते", ""]
ARGUMENTS = ['{"city": "Zü', "rich", '", "Grad": "°C"}']

Events = Sequence[tuple[str | None, Any]]


def wire(events: Events, ending: bytes = b"\n") -> bytes:
    """The bytes of events given as type and payload; a str is sent as it is, the rest as JSON."""
    lines = []
    for event, payload in events:
        text = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
        if event is not None:
            lines.append(f"event: {event}".encode())
        lines += [b"data: " + text.encode(), b""]
    return ending.join([*lines, b""])


def inside_characters(data: bytes) -> list[bytes]:
    """Cuts at every byte that continues a character, and nowhere else."""
    cuts = [at for at, byte in enumerate(data) if byte & 0xC0 == 0x80]
    return [data[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def _chat() -> Events:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }

    def call(**function: str) -> dict[str, Any]:
        return {"index": 0, "function": function}

    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": text} for text in TEXT]
    deltas += [
        {"tool_calls": [{"id": "call_1", "type": "function", **call(name="météo", arguments="")}]}
    ]
    deltas += [{"tool_calls": [call(arguments=piece)]} for piece in ARGUMENTS]
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    last = {**chunk({}), "choices": [], "usage": usage}
    chunks = [*map(chunk, deltas), chunk({}, "tool_calls"), last]
    return [*((None, each) for each in chunks), (None, "[DONE]")]


def _responses() -> Events:
    text = "".join(TEXT)
    arguments = "".join(ARGUMENTS)
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
    call = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "météo"}
    done = [{**message, "content": [part]}, {**call, "arguments": arguments, "status": "completed"}]
    response = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    in_text = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    in_call = {"item_id": "fc_1", "output_index": 1}
    payloads: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**response, "output": []}},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**message, "status": "in_progress", "content": []},
        },
        {"type": "response.content_part.added", **in_text, "part": {**part, "text": ""}},
        *(
            {"type": "response.output_text.delta", **in_text, "delta": delta, "logprobs": []}
            for delta in TEXT
        ),
        {"type": "response.output_text.done", **in_text, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **in_text, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": done[0]},
        {
            "type": "response.output_item.added",
            "output_index": 1,
            "item": {**call, "arguments": "", "status": "in_progress"},
        },
        *(
            {"type": "response.function_call_arguments.delta", **in_call, "delta": delta}
            for delta in ARGUMENTS
        ),
        {"type": "response.function_call_arguments.done", **in_call, "arguments": arguments},
        {"type": "response.output_item.done", "output_index": 1, "item": done[1]},
        {
            "type": "response.completed",
            "response": {**response, "status": "completed", "output": done},
        },
    ]
    return [
        (payload["type"], {**payload, "sequence_number": number})
        for number, payload in enumerate(payloads)
    ]


def _messages() -> Events:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    tool = {"type": "tool_use", "id": "toolu_1", "name": "météo", "input": {}}

    def delta(index: int, **what: str) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": what}

    payloads: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *(delta(0, type="text_delta", text=text) for text in TEXT),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": tool},
        *(delta(1, type="input_json_delta", partial_json=piece) for piece in ARGUMENTS),
        {"type": "content_block_stop", "index": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ]
    return [(payload["type"], payload) for payload in payloads]


CHAT = _chat()
RESPONSES = _responses()
MESSAGES = _messages()
