"""examples/gateway/nginx.conf: nginx passes every event on at once, over HTTP/1.1 and HTTP/2.

Where nginx is not installed these are skipped, unless REQUIRE_NGINX says that they must not be.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from gateway_servers import (
    GATEWAY,
    PATIENCE,
    counters,
    free_port,
    get,
    running,
    serving,
    state,
)
from support import run

CHAT = "/v1/chat/completions"
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
pytestmark = pytest.mark.skipif(
    NGINX is None and not os.environ.get("REQUIRE_NGINX"), reason="nginx is not installed"
)


def certificate(folder: Path) -> None:
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", "gateway.key", "-out", "gateway.crt"),
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )


@contextmanager
def nginx(folder: Path, gateway: str) -> Iterator[int]:
    """The example's nginx, in one process of its own, before the gateway; its port."""
    port = free_port()
    config = (GATEWAY / "nginx.conf").read_text()
    for example, here in (
        ("server 127.0.0.1:8000;", f"server {gateway.removeprefix('http://')};"),
        ("listen 127.0.0.1:8443 ", f"listen 127.0.0.1:{port} "),
    ):
        assert config.count(example) == 1
        config = config.replace(example, here)
    (folder / "nginx.conf").write_text(config)
    certificate(folder)
    command = [str(NGINX), "-p", str(folder), "-e", "stderr", "-c", "nginx.conf"]
    # One process, without workers that could outlive it.
    with running([*command, "-g", "daemon off; master_process off;"], port):
        yield port


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with serving("upstream") as (address, _):
        yield address


@pytest.fixture(scope="module")
def gateway(upstream: str) -> Iterator[str]:
    with serving("gateway", UPSTREAM=f"{upstream}/v1") as (address, _):
        yield address


@pytest.fixture(scope="module")
def front(gateway: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """nginx's address, and its certificate."""
    folder = tmp_path_factory.mktemp("nginx")
    with nginx(folder, gateway) as port:
        yield f"https://127.0.0.1:{port}", folder / "gateway.crt"


@contextmanager
def trusting(certificate: Path, version: str) -> Iterator[httpx.AsyncClient]:
    context = ssl.create_default_context(cafile=str(certificate))
    http2 = version == "HTTP/2"
    yield httpx.AsyncClient(verify=context, http1=not http2, http2=http2, timeout=PATIENCE)


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/2"])
def test_each_event_passes_at_once(version: str, front: tuple[str, Path], upstream: str) -> None:
    """Event N is here before the upstream is told to send N + 1."""
    address, certificate = front
    pieces = [f"data: {number}\n\n" for number in range(5)] + ["data: [DONE]\n\n"]
    name = version.replace("/", "-")

    async def follow() -> None:
        with trusting(certificate, version) as client:
            script = {"pieces": pieces, "held": name}
            async with client, client.stream("POST", address + CHAT, json=script) as response:
                assert response.http_version == version
                assert response.headers["content-type"].startswith("text/event-stream")
                chunks = response.aiter_raw()
                for piece in pieces:
                    assert await anext(chunks) == piece.encode()
                    await asyncio.to_thread(get, f"{upstream}/seen/{name}")
                assert [chunk async for chunk in chunks] == []

    run(follow())


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/2"])
def test_many_streams_at_once(version: str, front: tuple[str, Path], upstream: str) -> None:
    """Over HTTP/2, all on one connection."""
    address, certificate = front
    pieces = [f"data: {number}\n\n" for number in range(50)] + ["data: [DONE]\n\n"]

    async def follow() -> list[bytes]:
        with trusting(certificate, version) as client:
            async with client:
                asked = [client.post(address + CHAT, json={"pieces": pieces}) for _ in range(50)]
                return [response.content for response in await asyncio.gather(*asked)]

    assert run(follow()) == ["".join(pieces).encode()] * 50


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/2"])
def test_a_client_that_leaves_nginx_cancels_the_upstream(
    version: str, front: tuple[str, Path], gateway: str, upstream: str
) -> None:
    address, certificate = front
    left = state(upstream)["left"]

    async def leave() -> None:
        with trusting(certificate, version) as client:
            script = {"pieces": ["data: 1\n\n"], "ending": "silence"}
            async with client, client.stream("POST", address + CHAT, json=script) as response:
                assert await anext(response.aiter_raw()) == b"data: 1\n\n"

    run(leave())
    until = time.monotonic() + PATIENCE
    while state(upstream)["left"] != left + 1 or counters(gateway)["gateway_active"]:
        assert time.monotonic() < until
        time.sleep(0.02)


def test_metrics_stay_inside(front: tuple[str, Path]) -> None:
    address, certificate = front

    async def ask() -> int:
        with trusting(certificate, "HTTP/1.1") as client:
            async with client:
                return (await client.get(f"{address}/metrics")).status_code

    assert run(ask()) == 404
