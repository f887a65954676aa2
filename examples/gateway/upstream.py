"""An upstream to try the gateway with: it answers every chat with the same few tokens.

uvicorn --app-dir examples/gateway --port 9000 upstream:app
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from rapidsse import Comment, ServerSentEvent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

TOKENS = ["Grüße", ", 世界", " 👋"]
USAGE = {"prompt_tokens": 3, "completion_tokens": len(TOKENS), "total_tokens": 3 + len(TOKENS)}


def encoded(choices: list[dict[str, Any]], **more: Any) -> bytes:
    payload = {"id": "chatcmpl-1", "model": "echo-1", "choices": choices, **more}
    data = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return ServerSentEvent(data=data).encode()


async def answer() -> AsyncIterator[bytes]:
    yield Comment("thinking").encode()
    for token in TOKENS:
        await asyncio.sleep(0.05)
        yield encoded([{"index": 0, "delta": {"content": token}}])
    yield encoded([], usage=USAGE)
    yield ServerSentEvent(data="[DONE]").encode()


async def chat(request: Request) -> Response:
    if not (await request.json()).get("stream"):
        return JSONResponse({"error": {"message": "only streams here"}}, 400)
    return StreamingResponse(answer(), media_type="text/event-stream")


app = Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])
