// eventsource-parser as the judge: streams come in on stdin, each a line of JSON with its chunks in
// base64; what it makes of each goes out in the same order.
import { createInterface } from "node:readline";
import { createParser } from "eventsource-parser";

function judge(chunks) {
  const told = { events: [], retry: null, id: "" };
  const parser = createParser({
    onId: (id) => (told.id = id),
    onEvent: (event) => told.events.push([event.event || "message", event.data, told.id]),
    onRetry: (retry) => (told.retry = String(BigInt(Number.isFinite(retry) ? retry : 2 ** 64))),
  });
  const decoder = new TextDecoder();
  for (const chunk of chunks) {
    parser.feed(decoder.decode(Buffer.from(chunk, "base64"), { stream: true }));
  }
  return told;
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(judge(JSON.parse(line))));
}
