"""`rapidsse record`: a stream's bytes as they come, and when they came."""

from __future__ import annotations

import argparse
import contextlib
import time
from typing import TYPE_CHECKING, Any

from rapidsse._cli._replay import header
from rapidsse._cli._terminal import Fault, Progress, complain
from rapidsse._cli._timing import timing_path, write_chunk

if TYPE_CHECKING:
    import httpx

EXIT_FAILED = 1

_DESCRIPTION = """\
Saves the body of a response as its bytes come, and beside it, in FILE.timing.jsonl, when each
chunk came. Headers, keys and the address are written to neither. A content coding, which is not
asked for, is decoded: FILE holds what a parser would be given.
"""

_EPILOG = """\
exit status: 0 the response ended, or was interrupted with Ctrl-C, 1 it failed, or its status is
not 2xx (what came is saved all the same), 2 bad usage or a file that cannot be written

It needs httpx: pip install 'rapidsse[record]'
"""


def add(commands: Any) -> None:
    """Offers the command."""
    record = commands.add_parser(
        "record",
        help="save a stream's bytes as they come, and when they came",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    record.add_argument("url", metavar="URL")
    record.add_argument("-o", "--output", required=True, metavar="FILE")
    record.add_argument(
        "--header",
        action="append",
        default=[],
        type=_headers,
        metavar="'NAME: VALUE'",
        help="a header of the request, or @FILE with one a line, which keeps a key out of the "
        "list of processes (may be given more than once)",
    )
    record.add_argument(
        "--data",
        type=_content,
        metavar="DATA",
        help="send this by POST, or @FILE its content; as JSON unless a content-type is given",
    )
    record.add_argument("--method", help="in place of GET or POST")
    record.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="give up after so much silence (default: never)",
    )
    record.set_defaults(run=run)


def _headers(value: str) -> list[tuple[str, str]]:
    """An argparse type: a header, or those of a file."""
    if not value.startswith("@"):
        return [header(value)]
    lines = _content(value).decode("latin-1").splitlines()
    return [header(line) for line in lines if line.strip()]


def _content(value: str) -> bytes:
    """An argparse type: what is given, or what is in the file given."""
    if not value.startswith("@"):
        return value.encode("utf-8", "surrogateescape")
    try:
        with open(value[1:], "rb") as file:
            return file.read()
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{value[1:]}: {error.strerror}") from None


def run(options: argparse.Namespace) -> int:
    """Records one response; returns the exit status."""
    try:
        import httpx
    except ImportError:
        raise Fault("recording needs httpx: pip install 'rapidsse[record]'") from None

    # What httpx says of a bad request may quote a header or the address, and so a key.
    bad = (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError, ValueError)
    client = httpx.Client(timeout=httpx.Timeout(options.timeout))
    with client:
        try:
            response = client.send(_request(client, options), stream=True)
        except bad:
            raise Fault("the address or a header is not valid") from None
        except httpx.HTTPError as error:
            complain(f"there was no response: {_reason(error)}")
            return EXIT_FAILED
        with contextlib.closing(response):
            return _save(response, options.output)


def _request(client: httpx.Client, options: argparse.Namespace) -> httpx.Request:
    headers = {"accept": "text/event-stream", "accept-encoding": "identity"}
    content = None
    if options.data is not None:
        headers["content-type"] = "application/json"
        content = options.data
    given = [each for headers in options.header for each in headers]
    for name, value in given:
        headers[name.lower()] = value
    method = options.method or ("GET" if content is None else "POST")
    return client.build_request(method, options.url, headers=headers, content=content)


def _save(response: httpx.Response, path: str) -> int:
    import httpx

    start = time.monotonic()
    size = chunks = 0
    status = 0
    progress = Progress(None)
    try:
        with (
            open(path, "wb", buffering=0) as body,
            open(timing_path(path), "w", encoding="utf-8") as timing,
        ):
            try:
                for chunk in response.iter_bytes():
                    write_chunk(timing, time.monotonic() - start, len(chunk))
                    body.write(chunk)
                    size += len(chunk)
                    chunks += 1
                    progress.advance(len(chunk))
            except KeyboardInterrupt:
                progress.clear()
                complain("interrupted")
            except httpx.HTTPError as error:
                progress.clear()
                complain(f"the response failed: {_reason(error)}")
                status = EXIT_FAILED
    except OSError as error:
        raise Fault(f"{error.filename or path}: {error.strerror}") from None
    finally:
        progress.clear()
    if not response.is_success:
        complain(f"the status is {response.status_code}, what came is no stream to count on")
        status = EXIT_FAILED
    seconds = time.monotonic() - start
    complain(f"saved {size:,} bytes, {chunks:,} chunks, {seconds:.1f} s in {path}")
    return status


def _reason(error: httpx.HTTPError) -> str:
    return str(error) or type(error).__name__
