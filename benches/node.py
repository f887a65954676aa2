"""eventsource-parser on Node, as contenders that take their turns in another process."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from race import Run
from shapes import Stream

HERE = Path(__file__).parent / "node"
BYTES_IN = ("TextDecoder", "StringDecoder", "TextDecoderStream")
WAYS = (*BYTES_IN, "strings")


class Node:
    """The runner (`node/runner.mjs`); answers one line for each that it is sent."""

    def __init__(self, work: Path) -> None:
        if not shutil.which("node"):
            raise OSError("node is not installed")
        if not (HERE / "node_modules").is_dir():
            subprocess.run(
                ["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=HERE, check=True
            )
        self._work = work
        self._process = subprocess.Popen(
            ["node", "runner.mjs"],
            cwd=HERE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        self.version, self.parser = self.ask("version")

    def ask(self, *words: object) -> list[str]:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\t".join(map(str, words)) + "\n")
        process.stdin.flush()
        verdict, *answer = process.stdout.readline().rstrip("\n").split("\t")
        if verdict != "ok":
            raise OSError(f"the Node runner says: {verdict} {answer}")
        return answer

    def load(self, stream: Stream) -> dict[str, str]:
        """Gives the runner a stream; what each way gets wrong ("" for nothing)."""
        body, lengths = self._work / "stream", self._work / "lengths"
        body.write_bytes(b"".join(stream.chunks))
        lengths.write_text("".join(f"{len(chunk)}\n" for chunk in stream.chunks), "ascii")
        self.ask("load", body, lengths)
        digest = hashlib.sha256()
        for event in stream.events:
            digest.update(f"{event.event}\0{event.data}\0{event.id}\0".encode())
        right = [digest.hexdigest(), str(len(stream.events))]
        return {way: "" if self.ask("check", way) == right else "wrong events" for way in WAYS}

    def contender(self, way: str) -> Run:
        return lambda times: int(self.ask("run", way, times)[0]) / 1e9

    def ready(self, way: str, seconds: float) -> float:
        """Runs a way until its code is compiled; the seconds of one run after that."""
        spent = one = 0.0
        while spent < seconds:
            one = self.contender(way)(1)
            spent += one
        return one

    def close(self) -> None:
        self._process.stdin.close()  # type: ignore[union-attr]
        self._process.wait(10)
