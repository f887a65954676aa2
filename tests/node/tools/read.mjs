// Reads a stream with fetch and eventsource-parser; prints its events as JSON, one a line.
import { EventSourceParserStream } from "eventsource-parser/stream";

const response = await fetch(process.argv[2], {
  method: process.argv[3] ?? "GET",
  body: process.argv[3] === "POST" ? "{}" : undefined,
});
const events = response.body
  .pipeThrough(new TextDecoderStream())
  .pipeThrough(new EventSourceParserStream());
try {
  for await (const { event, data, id } of events) {
    console.log(JSON.stringify([event ?? "message", data, id ?? ""]));
  }
} catch (error) {
  console.log(JSON.stringify("failed"));
}
