"""examples/gateway: bytes in equal bytes out, and an honest end, between real processes."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from gateway_servers import PATIENCE, counters, serving, state
from rapidsse import Comment, Parser, ServerSentEvent, parse
from support import run

CHAT = "/v1/chat/completions"
USAGE = (
    '{"model": "inner", "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}}'
)


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with serving("upstream") as (address, _):
        yield address


@pytest.fixture(scope="module")
def gateway(upstream: str) -> Iterator[tuple[str, int]]:
    """The one that watches: its address and process ID."""
    # By name, since cookies are for names only.
    named = upstream.replace("127.0.0.1", "localhost")
    with serving("gateway", UPSTREAM=f"{named}/v1") as started:
        yield started


@pytest.fixture(scope="module")
def watching(gateway: tuple[str, int]) -> str:
    return gateway[0]


@pytest.fixture(scope="module")
def rewriting(upstream: str) -> Iterator[str]:
    with serving("gateway", UPSTREAM=f"{upstream}/v1", MODEL_NAME="öffentlich") as (address, _):
        yield address


def cut(wire: bytes, chance: random.Random, most: int = 40) -> list[str]:
    """The bytes in pieces of random sizes, as the upstream's script has them."""
    pieces = []
    while wire:
        size = chance.randint(1, most)
        pieces.append(wire[:size].decode("latin-1"))
        wire = wire[size:]
    return pieces


def answer(chance: random.Random, tokens: int) -> bytes:
    """A whole stream: tokens with all the format allows, usage, `[DONE]`."""
    wire = [b"\xef\xbb\xbf: hello\n\nretry: 3000\n\n"]
    for number in range(tokens):
        ending = chance.choice([b"\n", b"\r\n", b"\r"])
        text = chance.choice(["é😀", " \\n", '\\"total_tokens\\"', "[DONE]", "x" * 300])
        lines = [
            f'data: {{"model": "inner", "n": {number}, "text": "{text}", "usage": null}}'.encode(),
            *chance.choice([[], [b": ping"], [b"id: %d" % number], [b"event: delta"], [b"odd"]]),
        ]
        wire.append(ending.join([*lines, b"", b""]))
    wire.append(b"data: " + USAGE.encode() + b"\n\ndata: [DONE]\n\n")
    return b"".join(wire)


async def fetch(session: aiohttp.ClientSession, url: str, script: dict[str, Any]) -> bytes:
    async with session.post(url + CHAT, json=script) as response:
        assert response.status == 200
        assert response.content_type == "text/event-stream"
        return await response.read()


def fetch_one(url: str, **script: Any) -> bytes:
    async def one() -> bytes:
        async with aiohttp.ClientSession() as session:
            return await fetch(session, url, script)

    return run(one())


def eventually(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.02)


def outcome(gateway: str, name: str) -> float:
    return counters(gateway).get(f'gateway_streams_total{{outcome="{name}"}}', 0)


def is_error(event: Any) -> bool:
    return bool(event.event == "error" and event.json()["error"]["code"] == "stream_interrupted")


def test_bytes_in_equal_bytes_out_in_200_streams_at_once(upstream: str, watching: str) -> None:
    streams = [answer(random.Random(number), tokens=30) for number in range(200)]
    before = counters(watching)

    async def all_of_them() -> list[bytes]:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            readers = [
                asyncio.ensure_future(fetch(session, watching, {"pieces": pieces, "held": "all"}))
                for pieces in (cut(wire, random.Random(0), 200) for wire in streams)
            ]
            # All are open before any goes on: each waits for its second piece's turn.
            while json.loads(await read(session, f"{upstream}/state"))["open"] < len(streams):
                await asyncio.sleep(0.02)
            assert b"gateway_active 200" in await read(session, f"{watching}/metrics")
            await read(session, f"{upstream}/open/all")
            return await asyncio.gather(*readers)

    got = run(all_of_them())
    assert got == streams
    after = counters(watching)
    grown = {name: after[name] - before.get(name, 0) for name in after}
    assert grown['gateway_streams_total{outcome="completed"}'] == 200
    assert grown["gateway_events_total"] == sum(len(parse(wire)) for wire in streams)
    assert grown["gateway_prompt_tokens_total"] == 200 * 5
    assert grown["gateway_completion_tokens_total"] == 200 * 7
    assert after["gateway_active"] == 0


async def read(session: aiohttp.ClientSession, url: str) -> bytes:
    async with session.get(url) as response:
        return await response.read()


@pytest.mark.parametrize("seed", range(5))
def test_rewritten_events_are_the_same_but_for_the_change(rewriting: str, seed: int) -> None:
    chance = random.Random(seed)
    wire = answer(chance, tokens=60)
    got = parse(fetch_one(rewriting, pieces=cut(wire, chance)), comments=True)
    expected = parse(wire, comments=True)
    for item in expected:
        if isinstance(item, ServerSentEvent) and item.data != "[DONE]":
            payload = {**item.json(), "model": "öffentlich"}
            data = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
            expected[expected.index(item)] = ServerSentEvent(item.event, data, item.id, item.retry)
    assert got == expected
    assert Comment("ping") in got


def test_ids_and_retry_times_outlive_rewriting(rewriting: str) -> None:
    """What blocks without data set, and an ID that is taken back."""
    pieces = ["retry: 50\n\nid: 7\n\n", "data: a\n\n", "id\ndata: b\n\nid: 8\n\n"]
    got = fetch_one(rewriting, pieces=pieces, ending="clean")
    assert [(event.data, event.id) for event in parse(got)[:-1]] == [("a", "7"), ("b", "")]
    assert is_error(parse(got)[-1])
    parser = Parser()
    parser.feed(got)
    assert (parser.last_event_id, parser.retry) == ("8", 50)


def test_an_event_comes_before_the_next_is_sent(
    upstream: str, watching: str, rewriting: str
) -> None:
    async def follow(gateway: str, name: str) -> None:
        pieces = ["data: 0\n\n", "data: 1\n\n", "data: 2\r\r", "data: [DONE]\n\n"]
        async with aiohttp.ClientSession() as session:
            script = {"pieces": pieces, "held": name}
            async with session.post(gateway + CHAT, json=script) as response:
                for expected in (b"data: 0\n\n", b"data: 1\n\n", b"data: 2"):
                    got = await asyncio.wait_for(response.content.readany(), PATIENCE)
                    assert got.startswith(expected)
                    await read(session, f"{upstream}/seen/{name}")
                assert await response.read() == b"data: [DONE]\n\n"

    run(follow(watching, "watched"))
    run(follow(rewriting, "rewritten"))


CUTS = {
    "inside a JSON object": 'data: {"choices": [{"delta": {"con',
    "before the blank line": 'data: {"choices": []}\n',
    "after a CR": 'data: {"choices": []}\r',
    "inside a marker": "data: [DONE",
    "after a marker": "data: [DONE]",
    "after a marker's line": "data: [DONE]\r\n",
    "inside a character": "data: \xf0\x9f",
    "inside an ID": "data: 1\nid: 34",
    "inside a type": "event: message_st",
    "inside a field's name": "da",
    "inside a retry time": "retry: 1",
    "inside a comment": ": pin",
}


@pytest.mark.parametrize("mode", ["watching", "rewriting"])
@pytest.mark.parametrize("ending", ["abort", "clean"])
@pytest.mark.parametrize("rest", CUTS.values(), ids=CUTS)
def test_an_upstream_that_dies_inside_a_block(
    rest: str, ending: str, mode: str, request: pytest.FixtureRequest
) -> None:
    """The whole events stay as they are, the half one passes for nothing, and an error is told."""
    gateway = request.getfixturevalue(mode)
    before = outcome(gateway, "interrupted")
    whole = 'retry: 50\n\nid: 1\ndata: {"choices": []}\n\n'
    wire = fetch_one(gateway, pieces=[whole, rest], ending=ending)
    if mode == "watching":
        assert wire.startswith((whole + rest).encode("latin-1"))
    first, *cut_off, last = parse(wire)
    assert (first.data, first.id) == ('{"choices": []}', "1")
    assert is_error(last)
    assert last.id == "1"
    assert len(cut_off) <= (mode == "watching")
    for event in cut_off:
        assert (event.event, event.id) == ("interrupted", "1")
        assert event.data != "[DONE]"
        with pytest.raises(ValueError, match=r"Expecting value|Invalid|Extra data|Unterminated"):
            event.json()
    parser = Parser()
    parser.feed(wire)
    assert parser.retry == 50
    parser.close()
    assert not parser.truncated
    assert outcome(gateway, "interrupted") == before + 1


@pytest.mark.parametrize("mode", ["watching", "rewriting"])
@pytest.mark.parametrize("ending", ["abort", "clean"])
def test_an_upstream_that_ends_between_two_events(
    ending: str, mode: str, request: pytest.FixtureRequest
) -> None:
    gateway = request.getfixturevalue(mode)
    pieces = ["data: 1\n\n", "data: [DONE] and more\n\n", ": ping\n"]
    *events, last = parse(fetch_one(gateway, pieces=pieces, ending=ending))
    assert [event.data for event in events] == ["1", "[DONE] and more"]
    assert is_error(last)


@pytest.mark.parametrize("mode", ["watching", "rewriting"])
@pytest.mark.parametrize("ending", ["abort", "clean"])
@pytest.mark.parametrize("end", ["data: [DONE]\n\n", "data: [DONE]\r\r", "data: [DO\xff\n\n"])
def test_only_the_whole_marker_completes(
    end: str, ending: str, mode: str, request: pytest.FixtureRequest
) -> None:
    gateway = request.getfixturevalue(mode)
    before = outcome(gateway, "completed")
    wire = fetch_one(gateway, pieces=["data: 1\n\n", *end], ending=ending)
    complete = "[DONE]" in end
    assert outcome(gateway, "completed") == before + complete
    assert len(parse(wire)) == (2 if complete else 3)
    assert is_error(parse(wire)[-1]) is not complete


@pytest.mark.parametrize("mode", ["watching", "rewriting"])
@pytest.mark.parametrize(
    "error", ["event: error\ndata: too busy\n\n", 'data: {"error": {"message": "too busy"}}\n\n']
)
def test_an_error_of_the_upstreams_own_stays_the_only_one(
    error: str, mode: str, request: pytest.FixtureRequest
) -> None:
    gateway = request.getfixturevalue(mode)
    before = outcome(gateway, "failed")
    wire = fetch_one(gateway, pieces=["data: 1\n\n", error])
    assert parse(wire) == parse(b"data: 1\n\n" + error.encode())
    assert outcome(gateway, "failed") == before + 1


def test_an_event_beyond_the_limit_is_an_interruption(watching: str, rewriting: str) -> None:
    script = {"pieces": ["data: 1\n\n", "data: ", "x" * 1024], "times": [1, 1, 20 * 1024]}
    for gateway in (watching, rewriting):
        first, *cut_off, last = parse(fetch_one(gateway, **script, ending="silence"))
        assert first.data == "1"
        assert is_error(last)
        assert [event.event for event in cut_off] == ["interrupted"] * (gateway == watching)


def test_a_silent_upstream_is_given_up(upstream: str) -> None:
    base = f"{upstream}/v1"
    with serving("gateway", UPSTREAM=base, UPSTREAM_TIMEOUT="0.3") as (gateway, _):
        first, last = parse(fetch_one(gateway, pieces=["data: 1\n\n"], ending="silence"))
        assert first.data == "1"
        assert is_error(last)
        eventually(lambda: state(upstream)["open"] == 0)


@pytest.mark.parametrize(
    ("status", "media_type"),
    [(429, "application/json"), (200, "application/json"), (500, "text/event-stream")],
)
def test_an_answer_that_is_no_stream_passes_as_it_is(
    watching: str, rewriting: str, status: int, media_type: str
) -> None:
    body = '{"error": {"message": "slow down"},\r\n "data: x\n\n": "\xff"}'

    async def ask(gateway: str) -> None:
        script = {"pieces": [body[:9], body[9:]], "status": status, "type": media_type}
        async with (
            aiohttp.ClientSession() as session,
            session.post(gateway + CHAT, json=script) as response,
        ):
            assert (response.status, response.content_type) == (status, media_type)
            assert response.headers["x-request-id"] == "abc"
            assert await response.read() == body.encode("latin-1")

    run(ask(watching))
    run(ask(rewriting))


def test_a_content_coding_passes_as_it_is(watching: str) -> None:
    """What is packed cannot be watched."""
    script = {"pieces": ["\x1f\x8b not really", "data: x"], "fields": {"content-encoding": "gzip"}}

    async def ask() -> None:
        async with (
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.post(watching + CHAT, json=script) as response,
        ):
            assert response.headers["content-encoding"] == "gzip"
            assert await response.read() == "".join(script["pieces"]).encode("latin-1")

    run(ask())


def test_a_redirect_passes_as_it_is(watching: str) -> None:
    script = {"pieces": [], "status": 307, "type": "text/html", "fields": {"location": "/else"}}

    async def ask() -> None:
        async with (
            aiohttp.ClientSession() as session,
            session.post(watching + CHAT, json=script, allow_redirects=False) as response,
        ):
            assert (response.status, response.headers["location"]) == (307, "/else")

    run(ask())


def test_one_clients_cookies_are_not_anothers(upstream: str, watching: str) -> None:
    async def ask(script: dict[str, Any]) -> None:
        async with (
            aiohttp.ClientSession() as session,
            session.post(watching + CHAT, json=script) as response,
        ):
            await response.read()

    run(ask({"pieces": [], "fields": {"set-cookie": "who=first; path=/"}}))
    run(ask({"pieces": []}))
    assert "cookie" not in state(upstream)["headers"]


def test_an_answer_that_is_no_stream_is_never_made_whole(watching: str) -> None:
    script = {"pieces": ['{"error": '], "type": "application/json", "ending": "abort"}

    async def ask() -> None:
        async with (
            aiohttp.ClientSession() as session,
            session.post(watching + CHAT, json=script) as response,
        ):
            with pytest.raises(aiohttp.ClientError):
                await response.read()

    run(ask())


def test_half_a_character_is_rewritten(rewriting: str) -> None:
    """Tokens cut a character in two, and JSON lets them."""
    halves = ['{"model":"inner","text":"\\ud83d"}', '{"model":"inner","text":"\\ude00 é"}']
    wire = "".join(f"data: {half}\n\n" for half in halves) + "data: [DONE]\n\n"
    events = parse(fetch_one(rewriting, pieces=[wire.encode().decode("latin-1")]))
    assert [event.json() for event in events[:-1]] == [
        {**json.loads(half), "model": "öffentlich"} for half in halves
    ]


def test_headers_of_the_request_reach_the_upstream(upstream: str, watching: str) -> None:
    async def ask() -> None:
        headers = {"authorization": "Bearer t", "connection": "close", "accept-encoding": "br"}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.post(watching + CHAT, json={"pieces": []}) as response,
        ):
            await response.read()

    run(ask())
    headers = state(upstream)["headers"]
    assert headers["authorization"] == "Bearer t"
    assert headers["accept-encoding"] == "identity"
    assert headers["host"] == upstream.replace("http://127.0.0.1", "localhost")
    assert "connection" not in headers


def test_an_upstream_that_is_not_there() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and nobody listens
        base = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        with serving("gateway", UPSTREAM=base) as (gateway, _):

            async def ask() -> None:
                async with (
                    aiohttp.ClientSession() as session,
                    session.post(gateway + CHAT, json={}) as response,
                ):
                    assert response.status == 502
                    assert (await response.json())["error"]["type"] == "upstream_error"

            run(ask())


@pytest.mark.parametrize("when", ["before the head", "between two events"])
def test_a_client_that_leaves_cancels_the_upstream(when: str, upstream: str, watching: str) -> None:
    """Even while the upstream is silent."""
    script: dict[str, Any] = {"pieces": ["data: 1\n\n"], "ending": "silence"}
    if when == "before the head":
        script["mute"] = 3600
    before, left = state(upstream), outcome(watching, "left")

    async def leave() -> None:
        async with aiohttp.ClientSession() as session:
            asking = asyncio.ensure_future(session.post(watching + CHAT, json=script))
            if when == "before the head":
                while (
                    json.loads(await read(session, f"{upstream}/state"))["open"] == before["open"]
                ):
                    await asyncio.sleep(0.01)
                asking.cancel()
            else:
                response = await asking
                assert await response.content.readany() == b"data: 1\n\n"
                response.close()

    run(leave())
    eventually(lambda: state(upstream)["left"] == before["left"] + 1)
    eventually(lambda: outcome(watching, "left") == left + 1)
    assert counters(watching)["gateway_active"] == 0


def test_a_client_that_leaves_while_it_asks(watching: str) -> None:
    left = outcome(watching, "left")
    address, _, port = watching.removeprefix("http://").partition(":")
    with socket.create_connection((address, int(port))) as client:
        client.sendall(f"POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{{".encode())
    eventually(lambda: outcome(watching, "left") == left + 1)


@pytest.mark.skipif(sys.platform != "linux", reason="a process's memory is read from /proc")
def test_a_slow_client_slows_the_upstream_and_not_the_gateways_memory(
    upstream: str, gateway: tuple[str, int]
) -> None:
    address, process = gateway
    event, flood = "data: " + "x" * 1016 + "\n\n", 64 * 1024  # 1 KiB each
    before = state(upstream)["sent"]

    def sent() -> int:
        now: int = state(upstream)["sent"] - before
        return now

    async def read_late() -> bytes:
        async with aiohttp.ClientSession(read_bufsize=2**12) as session:
            script = {"pieces": [event, "data: [DONE]\n\n"], "times": [flood, 1]}
            async with session.post(address + CHAT, json=script) as response:
                memory = resident(process)
                # It stalls: what the network and the gateway hold is full.
                seen, still = -1, 0
                while still < 10:
                    await asyncio.sleep(0.05)
                    now = await asyncio.to_thread(sent)
                    still = still + 1 if now == seen else 0
                    seen = now
                assert seen < flood * 1024 / 2
                assert resident(process) - memory < 8 * 2**20
                size, end = 0, b""
                async for chunk in response.content.iter_any():
                    size, end = size + len(chunk), (end + chunk)[-64:]
                assert size == flood * 1024 + len(b"data: [DONE]\n\n")
                assert resident(process) - memory < 8 * 2**20
                return end

    assert run(read_late()).endswith(b"xx\n\ndata: [DONE]\n\n")


def resident(process: int) -> int:
    """The memory that a process has now, in bytes."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
