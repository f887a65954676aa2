"""LiteLLM's proxy, a gateway nobody here wrote, read by the OpenAI SDK and by httpx.

It runs on 127.0.0.1 in an environment of its own, which `make systems` fills, and answers by
itself: its one model is a mock.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import openai
import pytest
from rapidsse import aiter_events, iter_events
from rapidsse.sdk import SSEDecoder
from support import run

HERE = Path(__file__).parent / "litellm"
PROGRAM = Path(sys.prefix) / "litellm" / "bin" / "litellm"
TEXT = "Été à 東京 — ça va ? 😀👩‍🚀"
KEY = f"sk-{secrets.token_hex(32)}"
QUESTION: Any = {
    "model": "mock-model",
    "messages": [{"role": "user", "content": "?"}],
    "stream": True,
}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The proxy's address. Whatever it would ask of the outside comes to a socket, and must not."""
    assert PROGRAM.exists(), "`make systems` installs it"
    home = tmp_path_factory.mktemp("litellm")
    with socket.create_server(("127.0.0.1", 0)) as outside:
        proxy = f"http://127.0.0.1:{outside.getsockname()[1]}"
        with subprocess.Popen(
            [
                *(str(PROGRAM), "--config", str(HERE / "config.yaml")),
                *("--host", "127.0.0.1", "--port", "0"),
            ],
            cwd=home,
            env={
                "HOME": str(home),
                "PATH": os.environ["PATH"],
                "PYTHONUTF8": "1",
                "PYTHONUNBUFFERED": "1",
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                "LITELLM_MASTER_KEY": KEY,
                "HTTP_PROXY": proxy,
                "HTTPS_PROXY": proxy,
                "NO_PROXY": "127.0.0.1",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        ) as process:
            address: list[str] = []
            log: list[str] = []
            known = threading.Event()

            def read() -> None:
                for line in process.stdout or ():
                    log.append(line)
                    if "Uvicorn running on " in line:
                        address.append(line.partition("running on ")[2].split()[0])
                        known.set()
                known.set()

            reader = threading.Thread(target=read, daemon=True)
            reader.start()
            try:
                known.wait(300)
                assert address, "".join(log)
                yield address[0]
            finally:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                reader.join(10)
        outside.setblocking(False)
        with pytest.raises(BlockingIOError):
            outside.accept()


class OpenAI(openai.OpenAI):
    def _make_sse_decoder(self) -> SSEDecoder:
        return SSEDecoder(unfinished="raise")


class AsyncOpenAI(openai.AsyncOpenAI):
    def _make_sse_decoder(self) -> SSEDecoder:
        return SSEDecoder(unfinished="raise")


def by_sdk(address: str, client_class: type[openai.OpenAI]) -> list[Any]:
    with (
        client_class(api_key=KEY, base_url=f"{address}/v1", max_retries=0) as client,
        client.chat.completions.create(**QUESTION) as stream,
    ):
        return [chunk.to_dict() for chunk in stream]


def by_async_sdk(address: str) -> list[Any]:
    async def read() -> list[Any]:
        async with (
            AsyncOpenAI(api_key=KEY, base_url=f"{address}/v1", max_retries=0) as client,
            await client.chat.completions.create(**QUESTION) as stream,
        ):
            return [chunk.to_dict() async for chunk in stream]

    return run(read())


def request(address: str) -> dict[str, Any]:
    return {
        "method": "POST",
        "url": f"{address}/v1/chat/completions",
        "headers": {"authorization": f"Bearer {KEY}"},
        "json": QUESTION,
    }


def by_httpx(address: str, module: Any) -> list[Any]:
    with (
        module.Client() as client,
        client.stream(**request(address)) as response,
        iter_events(response.iter_bytes(), unfinished="raise") as events,
    ):
        *chunks, last = events
    assert last.data == "[DONE]"
    return [event.json() for event in chunks]


def by_async_httpx(address: str, module: Any) -> list[Any]:
    async def read() -> list[Any]:
        async with (
            module.AsyncClient() as client,
            client.stream(**request(address)) as response,
            aiter_events(response.aiter_bytes(), unfinished="raise") as events,
        ):
            return [event async for event in events]

    *chunks, last = run(read())
    assert last.data == "[DONE]"
    return [event.json() for event in chunks]


def test_the_sdk_and_httpx_read_the_same_chunks(gateway: str) -> None:
    def alike(chunks: list[Any]) -> list[Any]:
        """Without what differs between two requests."""
        assert len({chunk["id"] for chunk in chunks}) == 1
        return [{**chunk, "id": "", "created": 0} for chunk in chunks]

    own = alike(by_sdk(gateway, openai.OpenAI))
    assert "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in own) == TEXT
    assert len(own) > 5
    assert alike(by_sdk(gateway, OpenAI)) == own
    assert alike(by_async_sdk(gateway)) == own
    for module in (httpx, httpx2):
        assert alike(by_httpx(gateway, module)) == own
        assert alike(by_async_httpx(gateway, module)) == own


def test_a_refusal_is_the_sdks_to_tell(gateway: str) -> None:
    client = OpenAI(api_key="sk-wrong", base_url=f"{gateway}/v1", max_retries=0)
    with client, pytest.raises(openai.APIStatusError):
        client.chat.completions.create(**QUESTION)
