"""The `mcp` package's own server over streamable HTTP on 127.0.0.1, in a thread of its own."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

STEPS = 4


@contextmanager
def mcp_server() -> Iterator[str]:
    """A server with a tool `count`, whose streams can be resumed; its address.

    Its endpoint is /mcp.
    """
    import uvicorn
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context
    from mcp.server.streamable_http import EventCallback, EventMessage, EventStore

    class Store(EventStore):
        """Every message of every stream, in order; its ID is its place."""

        def __init__(self) -> None:
            self.messages: list[tuple[str, Any]] = []

        async def store_event(self, stream_id: str, message: Any) -> str:
            self.messages.append((stream_id, message))
            return f"message-{len(self.messages)}"

        async def replay_events_after(
            self, last_event_id: str, send_callback: EventCallback
        ) -> str | None:
            seen = int(last_event_id.removeprefix("message-"))
            stream_id = self.messages[seen - 1][0]
            for place, (other, message) in enumerate(self.messages, 1):
                if place > seen and other == stream_id and message is not None:
                    await send_callback(EventMessage(message, f"message-{place}"))
            return stream_id

    server = MCPServer("counting")

    @server.tool()
    async def count(context: Context) -> str:
        for step in range(STEPS):
            await context.report_progress(step, STEPS, f"é😀 {step}")
        return "counted"

    app = server.streamable_http_app(event_store=Store(), retry_interval=1500)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none")
    uvicorn_server = uvicorn.Server(config)
    thread = threading.Thread(target=uvicorn_server.run, daemon=True)
    thread.start()
    try:
        while not uvicorn_server.started:
            thread.join(0.01)
            assert thread.is_alive(), "uvicorn did not start"
        port = uvicorn_server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        uvicorn_server.should_exit = True
        thread.join(10)
