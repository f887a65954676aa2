"""A terminal for a command, as a person has one."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Sequence


def in_terminal(
    command: Sequence[str],
    *,
    environment: dict[str, str],
    stream: bytes | None = None,
    output: int | None = None,
    columns: int = 80,
) -> tuple[int, bytes]:
    """Runs a command whose streams are a terminal; its exit status and what the terminal got.

    `stream` is what comes on standard input, by a pipe; `output` is a file descriptor in place of
    the terminal for standard output.
    """
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        command,
        stdin=follower if stream is None else subprocess.PIPE,
        stdout=follower if output is None else output,
        stderr=follower,
        env={**environment, "TERM": "xterm-256color"},
    )
    os.close(follower)
    if stream is not None:
        assert process.stdin
        process.stdin.write(stream)
        process.stdin.close()
    shown = b""
    try:
        while block := os.read(leader, 65536):
            shown += block
    except OSError:
        # Linux says so when the last one has left the terminal.
        pass
    finally:
        os.close(leader)
    return process.wait(30), shown
