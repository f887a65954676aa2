"""The `mcp` package's own server, its responses read through EventStream."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from mcp_server import STEPS, mcp_server
from rapidsse import EventStream, ResponseError

PROTOCOL = "2025-11-25"
ACCEPT = "application/json, text/event-stream"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with mcp_server() as address:
        yield address


@pytest.fixture
def client(endpoint: str) -> Iterator[httpx.Client]:
    """A client whose session with the server is open."""
    headers = {"accept": ACCEPT, "mcp-protocol-version": PROTOCOL}
    with httpx.Client(base_url=endpoint, headers=headers, timeout=10, verify=False) as client:
        opening = {
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        with client.stream("POST", "/mcp", json=request(1, "initialize", opening)) as response:
            events = EventStream(response, done=answers(1))
            messages = [json.loads(event.data) for event in events if event.data]
        assert messages[-1]["result"]["serverInfo"]["name"] == "counting"
        client.headers["mcp-session-id"] = response.headers["mcp-session-id"]
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert client.post("/mcp", json=ready).status_code == 202
        yield client


def request(number: int, method: str, parameters: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}


def answers(number: int) -> Callable[[Any], bool]:
    """A stream of a POST is complete with the answer to its request."""
    return lambda event: bool(event.data) and json.loads(event.data).get("id") == number


CALL = request(2, "tools/call", {"name": "count", "arguments": {}, "_meta": {"progressToken": "p"}})


def check(messages: list[Any], first: int = 0) -> None:
    *progress, answer = messages
    assert [each["params"]["progress"] for each in progress] == list(range(first, STEPS))
    assert progress[-1]["params"]["message"] == f"é😀 {STEPS - 1}"
    assert answer["result"]["content"][0]["text"] == "counted"


def test_a_call_with_progress(client: httpx.Client) -> None:
    with client.stream("POST", "/mcp", json=CALL) as response:
        stream = EventStream(response, done=answers(2))
        events = list(stream)
    assert stream.completed
    assert stream.retry == 1500
    check([json.loads(event.data) for event in events if event.data])
    ids = [event.id for event in events]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    assert stream.last_event_id == ids[-1]


def test_a_call_that_is_resumed(client: httpx.Client) -> None:
    with client.stream("POST", "/mcp", json=CALL) as response:
        left = EventStream(response, done=answers(2))
        first = next(event for event in left if event.data)
    assert json.loads(first.data)["params"]["progress"] == 0
    assert not left.completed
    assert left.last_event_id == first.id

    resume = {"last-event-id": left.last_event_id}
    with client.stream("GET", "/mcp", headers=resume) as response:
        resumed = EventStream(response, done=answers(2), last_event_id=left.last_event_id)
        events = list(resumed)
    assert resumed.completed
    check([json.loads(event.data) for event in events if event.data], first=1)
    assert first.id not in [event.id for event in events]


def test_an_error_is_an_answer_of_json(client: httpx.Client) -> None:
    client.headers["mcp-session-id"] = "nobody's"
    with (
        client.stream("POST", "/mcp", json=CALL) as response,
        pytest.raises(ResponseError) as raised,
    ):
        list(EventStream(response, done=answers(2)))
    assert raised.value.status == 404
    assert raised.value.content_type == "application/json"
    assert "error" in json.loads(raised.value.body)
