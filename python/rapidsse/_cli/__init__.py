"""The command `rapidsse`: a module for each of its commands, which it offers by `add`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

import rapidsse
from rapidsse._cli import _check, _parse, _record, _replay
from rapidsse._cli._terminal import EXIT_USAGE, Fault, complain


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = _arguments(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except Fault as fault:
        complain(str(fault))
        return EXIT_USAGE
    except BrokenPipeError:
        # Whoever read the output has left. Nothing is to be told, at exit neither.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="rapidsse", description="Tools for Server-Sent Events.")
    parser.add_argument("--version", action="version", version=rapidsse.__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (_parse, _check, _replay, _record):
        command.add(commands)
    return parser.parse_args(arguments)
