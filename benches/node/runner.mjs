// eventsource-parser, run in turn with ours: this process waits on standard input while another
// parser is timed, so that both meet the same machine.
//
// One command a line, one answer a line; words are separated by tabs.
//   load BODY LENGTHS  read a stream: its bytes, and the chunks' lengths (one a line)  -> ok CHUNKS
//   check WAY          parse it; the events, as one digest                              -> ok SHA256 EVENTS
//   run WAY TIMES      parse it so often; the time of all                               -> ok NANOSECONDS
//   version                                                                             -> ok NODE PARSER
// A command that fails answers `error MESSAGE`.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { StringDecoder } from 'node:string_decoder'

import { createParser } from 'eventsource-parser'
import { EventSourceParserStream } from 'eventsource-parser/stream'

let chunks = []
let strings = []

// Each way hands every event to `onEvent`. The first three take bytes, as a response's body gives
// them; `strings` gets text made beforehand, with no decoding in its time.
const ways = {
  TextDecoder(onEvent) {
    const parser = createParser({ onEvent })
    const decoder = new TextDecoder()
    for (const chunk of chunks) parser.feed(decoder.decode(chunk, { stream: true }))
    parser.feed(decoder.decode())
  },
  StringDecoder(onEvent) {
    const parser = createParser({ onEvent })
    const decoder = new StringDecoder('utf8')
    for (const chunk of chunks) parser.feed(decoder.write(chunk))
    parser.feed(decoder.end())
  },
  async TextDecoderStream(onEvent) {
    let at = 0
    const body = new ReadableStream({
      pull(controller) {
        if (at < chunks.length) controller.enqueue(chunks[at++])
        else controller.close()
      },
    })
    const events = body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream())
    for await (const event of events) onEvent(event)
  },
  strings(onEvent) {
    const parser = createParser({ onEvent })
    for (const chunk of strings) parser.feed(chunk)
  },
}

let count = 0
let length = 0
// The consumer: visits every event and reads its text, like the loop in Python.
function visit(event) {
  count++
  length += event.data.length
}

const commands = {
  load(body, lengths) {
    const bytes = readFileSync(body)
    chunks = []
    let at = 0
    for (const size of readFileSync(lengths, 'ascii').trim().split('\n').map(Number)) {
      chunks.push(Buffer.from(bytes.subarray(at, at + size)))
      at += size
    }
    const decoder = new TextDecoder()
    strings = chunks.map((chunk) => decoder.decode(chunk, { stream: true }))
    return chunks.length
  },
  async check(way) {
    const digest = createHash('sha256')
    let events = 0
    await ways[way]((event) => {
      digest.update(`${event.event || 'message'}\0${event.data}\0${event.id ?? ''}\0`)
      events++
    })
    return `${digest.digest('hex')}\t${events}`
  },
  async run(way, times) {
    const parse = ways[way]
    const waits = way === 'TextDecoderStream'
    count = length = 0
    const began = process.hrtime.bigint()
    for (let i = 0; i < Number(times); i++) {
      if (waits) await parse(visit)
      else parse(visit)
    }
    const took = process.hrtime.bigint() - began
    if (length < 0) throw new Error('unreachable')
    return took
  },
  version() {
    const parser = createRequire(import.meta.url)('eventsource-parser/package.json').version
    return `${process.version}\t${parser}`
  },
}

for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...words] = line.split('\t')
  try {
    console.log(`ok\t${await commands[name](...words)}`)
  } catch (error) {
    console.log(`error\t${String(error.message).replaceAll('\n', ' ')}`)
  }
}
