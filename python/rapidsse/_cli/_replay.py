"""`rapidsse replay`: a captured stream from a real HTTP server, with the network's faults."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import TYPE_CHECKING, Any

from rapidsse._cli._terminal import Fault, complain, open_input, printable, whole_number
from rapidsse._cli._timing import read_timing, timing_path

if TYPE_CHECKING:
    from rapidsse.testing._reply import Reply
    from rapidsse.testing._server import Outcome

_DESCRIPTION = """\
Serves a captured stream on 127.0.0.1, to any method and path, until it is interrupted.

A PLACE is a number of bytes of the body as it is sent, or a share of it, as 50%.
"""

_EPILOG = """\
exit status: 0 interrupted, 2 bad usage, a file that cannot be read or a port that is taken

It needs h11: pip install 'rapidsse[replay]'
"""

_ENDS = {
    "whole": "",
    "reset": ", then the connection was reset",
    "close": ", then the connection was closed",
    "end": ", then the body was ended early",
    "garbage": ", then the chunked encoding was broken",
    "stall": ", then nothing more",
    "left": ", then the client left",
}


def add(commands: Any) -> None:
    """Offers the command."""
    replay = commands.add_parser(
        "replay",
        help="serve a captured stream over HTTP, with the network's faults",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    replay.add_argument("file", metavar="FILE", help="the stream; standard input if -")
    replay.add_argument(
        "--port",
        type=whole_number(0, "port"),
        default=8000,
        help="0 for a free one (default: 8000)",
    )

    response = replay.add_argument_group("the response")
    response.add_argument("--status", type=int, default=200, help="the status code (default: 200)")
    response.add_argument(
        "--content-type", default="text/event-stream", metavar="TYPE", help="empty for none"
    )
    response.add_argument(
        "--header",
        action="append",
        default=[],
        type=header,
        metavar="'NAME: VALUE'",
        help="a further header (may be given more than once)",
    )
    response.add_argument("--cors", action="store_true", help="let pages of any origin read it")
    response.add_argument("--gzip", action="store_true", help="compress it, each chunk flushed")
    response.add_argument(
        "--framing",
        choices=("chunked", "length", "close"),
        default="chunked",
        help="how the body's end is told (default: chunked)",
    )
    response.add_argument(
        "--resume",
        action="store_true",
        help="to a request with Last-Event-ID, send what follows that event",
    )

    stream = replay.add_argument_group("the stream")
    stream.add_argument("--eol", choices=("lf", "crlf", "cr"), help="change the line endings")
    stream.add_argument("--bom", action="store_true", help="begin with a BOM")

    pace = replay.add_argument_group("the pace")
    pace.add_argument(
        "--chunk",
        type=_chunk,
        metavar="CHUNK",
        help="what is sent at once: a number of bytes, event, whole, or random:SEED for 1 to 64 "
        "bytes (default: event)",
    )
    pace.add_argument(
        "--delay", type=float, default=0.0, metavar="SECONDS", help="between two chunks"
    )
    pace.add_argument(
        "--heartbeat",
        type=float,
        metavar="SECONDS",
        help="send a comment after so much silence between two events",
    )
    pace.add_argument(
        "--timing",
        action="store_true",
        help="send the chunks as `rapidsse record` got them: needs FILE.timing.jsonl",
    )

    faults = replay.add_argument_group("the faults")
    faults.add_argument(
        "--cut-at", type=_place, metavar="PLACE", help="end the response before this byte"
    )
    faults.add_argument(
        "--cut",
        choices=("reset", "close", "end", "garbage"),
        default="reset",
        help="how: reset the connection (default), close it, end the body as if it were whole, "
        "break the chunked encoding",
    )
    faults.add_argument(
        "--stall-at", type=_place, metavar="PLACE", help="send nothing more from this byte on"
    )
    faults.add_argument(
        "--length-error",
        type=int,
        default=0,
        metavar="BYTES",
        help="add this to the content-length; needs --framing length",
    )
    faults.add_argument(
        "--times",
        type=whole_number(1, "number of responses"),
        metavar="N",
        help="the first N responses alone have the faults, and a --status of 400 or more",
    )
    replay.set_defaults(run=run)


def header(value: str) -> tuple[str, str]:
    """An argparse type: "NAME: VALUE"."""
    name, colon, content = value.partition(":")
    if not colon or not name.strip():
        raise argparse.ArgumentTypeError("must be NAME: VALUE")
    return name.strip(), content.strip()


def _chunk(value: str) -> int | str:
    return int(value) if value.isdecimal() else value


def _place(value: str) -> int | str:
    return int(value) if value.isdecimal() else value


def run(options: argparse.Namespace) -> int:
    """Serves until it is interrupted; returns the exit status."""
    file, ours = open_input(options.file)
    try:
        data = file.read()
    except OSError as error:
        raise Fault(f"{options.file}: {error.strerror}") from None
    finally:
        if ours:
            file.close()
    script = _script(options, data)

    import asyncio  # no other command needs it

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(options, data, script))
    return 0


def _script(options: argparse.Namespace, data: bytes) -> list[Reply]:
    from dataclasses import replace

    from rapidsse.testing._reply import Reply

    timing = None
    if options.timing:
        if options.chunk is not None:
            raise Fault("--timing does not go with --chunk")
        timing = read_timing(timing_path(options.file))
    chunk = "event" if options.chunk is None else options.chunk
    try:
        reply = Reply(
            status=options.status,
            content_type=options.content_type or None,
            headers=options.header,
            chunk="whole" if timing is not None else chunk,
            delay=options.delay,
            heartbeat=options.heartbeat,
            cut_at=options.cut_at,
            cut=options.cut,
            stall_at=options.stall_at,
            gzip=options.gzip,
            eol=options.eol,
            bom=options.bom,
            framing=options.framing,
            length_error=options.length_error,
            resume=options.resume,
            timing=timing,
        )
        # A timing of another stream shows itself here, and not at the first request.
        next(reply.pieces(reply.body(data)), None)
    except ValueError as error:
        raise Fault(str(error)) from None
    if options.times is None:
        return [reply]
    healthy = replace(
        reply,
        status=200 if options.status >= 400 else options.status,
        cut_at=None,
        stall_at=None,
        length_error=0,
    )
    return [*[reply] * options.times, healthy]


async def _serve(options: argparse.Namespace, data: bytes, script: list[Reply]) -> None:
    import asyncio
    import signal

    from rapidsse.testing._server import Server

    server = Server(data, script, cors=options.cors, told=_tell)
    try:
        port = await server.start(options.port)
    except ModuleNotFoundError as error:
        raise Fault(str(error)) from None
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or "no such port"
        raise Fault(f"port {options.port}: {reason}") from None
    name = "standard input" if options.file == "-" else options.file
    complain(f"serving {name}, {len(data):,} bytes, on http://127.0.0.1:{port}/")
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, stop.set)
    try:
        await stop.wait()
    finally:
        await server.close()


def _tell(outcome: Outcome) -> None:
    request = outcome.request
    # The query may hold a key.
    path = printable(request.target.partition("?")[0], 60)
    print(
        f"{request.method} {path} -> {outcome.status}, {outcome.sent:,} of {outcome.length:,} "
        f"bytes{_ENDS[outcome.end]}",
        file=sys.stderr,
        flush=True,
    )
