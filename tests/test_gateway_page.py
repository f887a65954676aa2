"""docs/gateway.md: its commands run, one after the other, and print what the page says."""

from __future__ import annotations

import os
import re
import shlex
import ssl
import subprocess
import sys
from contextlib import ExitStack
from importlib import metadata
from pathlib import Path
from typing import Any

import httpx
from gateway_servers import PATIENCE, free_port, running
from test_gateway_nginx import NGINX

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "gateway.md").read_text(encoding="utf-8")
PORTS = ("9000", "8000", "8001", "8443")

CONSOLE = re.findall(r"^```console\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
# Each command, and what it prints up to the next.
COMMANDS = [
    (command, output)
    for block in CONSOLE
    for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


def test_the_python_of_the_page_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 1
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", blocks[0]],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == '[DONE] True\n{"delta": "[DONE]"} False\n1\n'


def test_what_the_example_needs_is_what_it_is_tested_with() -> None:
    assert COMMANDS[0][0] == "pip install -r examples/gateway/requirements.txt"
    lines = (ROOT / "examples" / "gateway" / "requirements.txt").read_text().splitlines()
    names = [re.split(r"[\[>=]", line)[0] for line in lines if not line.startswith("#")]
    assert names == ["aiohttp", "starlette", "uvicorn"]
    for name in names:
        metadata.version(name)


class Session:
    """A terminal in which the page's commands are run, with ports that are free here."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._ports = {port: str(free_port()) for port in PORTS}
        self._servers: dict[str, ExitStack] = {}
        (folder / "examples").symlink_to(ROOT / "examples")

    def run(self, command: str, output: str) -> None:
        """Runs a command of the page; what it prints must be the output."""
        for port, free in self._ports.items():
            command = re.sub(rf"(?<=[: ]){port}\b", free, command)
        words = shlex.split(command)
        if words[-1] == "&":
            self._start(words[:-1])
        elif words[0] == "curl":
            assert self._fetch(words) == output
        else:
            subprocess.run(words, cwd=self._folder, check=True, capture_output=True)
        if words[0] == "cp":
            config = self._folder / "edge" / "nginx.conf"
            text = config.read_text()
            for port, free in self._ports.items():
                text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{free}")
            config.write_text(text)

    def _start(self, words: list[str]) -> None:
        environment = dict(os.environ)
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
        if words[0] == "uvicorn":
            port = words[words.index("--port") + 1]
            words = [sys.executable, "-m", *words, "--log-level", "warning"]
        else:
            assert words[0] == "nginx"
            port = self._ports["8443"]
            words = [str(NGINX), *words[1:]]
        if port in self._servers:
            self._servers.pop(port).close()
        self._servers[port] = self._stack.enter_context(ExitStack())
        self._servers[port].enter_context(
            running(words, int(port), cwd=self._folder, env=environment)
        )

    def _fetch(self, words: list[str]) -> str:
        """What `curl` would print."""
        options: dict[str, Any] = {}
        data = None
        for number, word in enumerate(words):
            if word == "--cacert":
                certificate = self._folder / words[number + 1]
                options["verify"] = ssl.create_default_context(cafile=str(certificate))
            elif word == "--http2":
                options |= {"http1": False, "http2": True}
            elif word == "-d":
                data = words[number + 1]
        (url,) = [word for word in words if word.startswith("http")]
        with httpx.Client(timeout=PATIENCE, **options) as client:
            response = client.get(url) if data is None else client.post(url, content=data)
        return response.text


def test_the_commands_of_the_page_run(tmp_path: Path) -> None:
    """Those with nginx where it is installed, or must be."""
    with_nginx = NGINX is not None or "REQUIRE_NGINX" in os.environ
    with ExitStack() as stack:
        session = Session(tmp_path, stack)
        for command, output in COMMANDS[1:]:
            if with_nginx or not ("nginx -p" in command or "--http2" in command):
                session.run(command, output)
