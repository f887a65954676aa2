// A server on 127.0.0.1 that streams the Vercel AI SDK's UI message format.
//
// GET streams a message; POST answers with what eventsource-parser makes of the bytes it gets, as a
// JSON list of [type, data, id]. The address is printed when it listens; the end of stdin stops it.
import { createServer } from "node:http";
import { createUIMessageStream, createUIMessageStreamResponse } from "ai";
import { createParser } from "eventsource-parser";

const TEXT = ["Été ", "東京", " — 👩‍🚀", "\u2028line\u2029 ends\u0085", "\r\nof none\n", ""];

function message() {
  return createUIMessageStreamResponse({
    stream: createUIMessageStream({
      generateId: () => "message-1",
      execute({ writer }) {
        writer.write({ type: "start", messageId: "message-1" });
        writer.write({ type: "text-start", id: "text-1" });
        for (const delta of TEXT) writer.write({ type: "text-delta", id: "text-1", delta });
        writer.write({ type: "text-end", id: "text-1" });
        writer.write({ type: "tool-input-start", toolCallId: "call-1", toolName: "météo" });
        const input = { city: "Zürich", grad: "°C" };
        writer.write({ type: "tool-input-available", toolCallId: "call-1", toolName: "météo", input });
        writer.write({ type: "data-weather", data: { text: "[DONE]" } });
        writer.write({ type: "finish" });
      },
    }),
  });
}

async function parsed(request) {
  const events = [];
  const parser = createParser({
    onEvent: ({ event, data, id }) => events.push([event ?? "message", data, id ?? ""]),
  });
  const decoder = new TextDecoder();
  for await (const chunk of request) parser.feed(decoder.decode(chunk, { stream: true }));
  return events;
}

const server = createServer(async (request, response) => {
  if (request.method === "POST") {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(await parsed(request)));
    return;
  }
  const { status, headers, body } = message();
  response.writeHead(status, Object.fromEntries(headers));
  for await (const chunk of body) {
    // Cut inside characters too: an event's bytes in pieces of five.
    for (let at = 0; at < chunk.length; at += 5) response.write(chunk.subarray(at, at + 5));
  }
  response.end();
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.on("end", () => process.exit()).resume();
