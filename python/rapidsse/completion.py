"""What completes the streams of known endpoints, for the `done` of EventStream.

Each is what the provider's own documentation names. A marker is compared with an event's whole
data, never parsed and never looked for as a prefix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rapidsse import ServerSentEvent

__all__ = ["OPENAI", "anthropic", "openai_responses"]

OPENAI: Final = "[DONE]"
"""The data of the last event of an OpenAI-compatible chat or text completion (str)."""

_RESPONSES = frozenset(("response.completed", "response.failed", "response.incomplete"))


def anthropic(event: ServerSentEvent) -> bool:
    """Whether an event is the last of an Anthropic message: its type is `message_stop`."""
    return event.event == "message_stop"


def openai_responses(event: ServerSentEvent) -> bool:
    """Whether an event is the last of an OpenAI Response: its type says that the response was
    completed, has failed or is incomplete."""
    return event.event in _RESPONSES
