"""An adapter for DeepSeek-style endpoints: the data of each event, until the stream says [DONE].

    python examples/deepseek_adapter.py http://127.0.0.1:8000/chat/completions

Such an endpoint sends its chunks as events and ends with one whose data is [DONE]. A stream that
ends otherwise is not whole, which its caller must not take for an answer.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from rapidsse import EventStream, StreamInterrupted, completion


class StreamClosedError(Exception):
    """The stream closed before its [DONE].

    Attributes:
        last_event_id (str): the last event ID that came, if the endpoint sends any.
    """

    def __init__(self, last_event_id: str) -> None:
        super().__init__(last_event_id)
        self.last_event_id = last_event_id

    def __str__(self) -> str:
        return "the stream closed before [DONE]"


def deltas(response: Any) -> Iterator[str]:
    """The data of each event of a streaming response, of any HTTP client.

    Raises:
        StreamClosedError: the stream ended, or its connection broke, before [DONE]. A [DONE]
            without the blank line that completes its event is none.
        rapidsse.ResponseError: the response is no event stream, but an error, say.
    """
    with EventStream(response, done=completion.OPENAI) as events:
        try:
            for event in events:
                yield event.data
        except StreamInterrupted as error:
            raise StreamClosedError(error.last_event_id) from error


def main() -> int:
    import urllib.request

    with urllib.request.urlopen(sys.argv[1], timeout=60) as response:
        try:
            for data in deltas(response):
                print(data, flush=True)
        except StreamClosedError as error:
            print(f"deepseek_adapter: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
