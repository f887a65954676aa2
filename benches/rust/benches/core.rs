//! The core against the parsers in Rust: bytes in, events visited, no Python anywhere.
//!
//! The stream is the `openai` shape, written by `python benches/shapes.py --write FOLDER` and named
//! by the variable `SSE_STREAM`; `benches/run.py` does both. Chunks are made beforehand, as `Bytes`,
//! which the peers want. Each parser's events are compared with the stream's data lines before it
//! is timed; one that gets them wrong is left out, with a word on standard error.
//!
//! Parsers differ in what they hand out, so ours is there twice: `rapidsse` hands out checked text
//! borrowed from its buffer, `rapidsse-owned` makes an event that owns its strings, as most peers do.

use std::borrow::Cow;
use std::convert::Infallible;
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use futures_core::Stream;
use rapidsse::{Collector, Diagnostic, Event, Flow, Options, Parser, Sink};

type Visit<'a> = &'a mut dyn FnMut(&str);
type Run = fn(&[Bytes], Visit<'_>);

/// A body that has all its chunks.
struct Body<'a>(std::slice::Iter<'a, Bytes>);

impl Stream for Body<'_> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.next().cloned().map(Ok))
    }
}

/// Takes all there is from a stream that never waits.
fn drain<S: Stream>(stream: S, mut take: impl FnMut(S::Item)) {
    let mut stream = pin!(stream);
    let mut context = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(item)) = stream.as_mut().poll_next(&mut context) {
        take(item);
    }
}

/// What an application does with received bytes: text as it is where it is valid, U+FFFD for the rest.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Our events as checked text, borrowed.
struct Borrowed<'a, 'b> {
    visit: &'a mut Visit<'b>,
}

impl Sink for Borrowed<'_, '_> {
    fn last_event_id(&mut self, _: &[u8]) {}

    fn event(&mut self, event: Event<'_>) -> Flow {
        black_box(text(event.event));
        (self.visit)(&text(event.data));
        Flow::Continue
    }

    fn comment(&mut self, _: &[u8]) -> Flow {
        Flow::Continue
    }

    fn diagnostic(&mut self, _: Diagnostic<'_>) -> Flow {
        Flow::Continue
    }
}

/// Our events with strings of their own.
struct Owned<'a, 'b> {
    ids: Collector,
    visit: &'a mut Visit<'b>,
}

impl Sink for Owned<'_, '_> {
    fn last_event_id(&mut self, id: &[u8]) {
        self.ids.last_event_id(id);
    }

    fn event(&mut self, event: Event<'_>) -> Flow {
        let event = black_box(self.ids.own(event));
        (self.visit)(&event.data);
        Flow::Continue
    }

    fn comment(&mut self, _: &[u8]) -> Flow {
        Flow::Continue
    }

    fn diagnostic(&mut self, _: Diagnostic<'_>) -> Flow {
        Flow::Continue
    }
}

fn rapidsse(chunks: &[Bytes], mut visit: Visit<'_>) {
    let mut parser = Parser::new(Options::default());
    let mut sink = Borrowed { visit: &mut visit };
    for chunk in chunks {
        parser.feed(chunk, &mut sink).expect("within the limit");
    }
}

fn rapidsse_owned(chunks: &[Bytes], mut visit: Visit<'_>) {
    let mut parser = Parser::new(Options::default());
    let mut sink = Owned {
        ids: Collector::default(),
        visit: &mut visit,
    };
    for chunk in chunks {
        parser.feed(chunk, &mut sink).expect("within the limit");
    }
}

fn eventsource_stream(chunks: &[Bytes], visit: Visit<'_>) {
    drain(
        eventsource_stream::EventStream::new(Body(chunks.iter())),
        |event| visit(&event.expect("an event").data),
    );
}

fn sseer(chunks: &[Bytes], visit: Visit<'_>) {
    drain(sseer::EventStream::new(Body(chunks.iter())), |event| {
        visit(&event.expect("an event").data);
    });
}

fn sse_core(chunks: &[Bytes], visit: Visit<'_>) {
    let mut decoder = sse_core::SseDecoder::new();
    for chunk in chunks {
        let mut rest = &chunk[..];
        while let Some(event) = decoder.next(&mut rest) {
            if let sse_core::SseEvent::Message(event) = event.expect("within the limit") {
                visit(&event.data);
            }
        }
    }
}

fn sse_stream(chunks: &[Bytes], visit: Visit<'_>) {
    drain(
        sse_stream::SseByteStream::new(Body(chunks.iter())),
        |event| {
            if let Some(data) = event.expect("an event").data {
                visit(&data);
            }
        },
    );
}

const PARSERS: [(&str, Run); 6] = [
    ("rapidsse", rapidsse),
    ("rapidsse-owned", rapidsse_owned),
    ("eventsource-stream", eventsource_stream),
    ("sseer", sseer),
    ("sse-core", sse_core),
    ("sse-stream", sse_stream),
];

fn core(criterion: &mut Criterion) {
    let path = std::env::var("SSE_STREAM").expect("SSE_STREAM names the stream's file");
    let body = std::fs::read(path).expect("the stream's file");
    // The shape has one data line per event and nothing else but blank lines.
    let expected: Vec<&str> = std::str::from_utf8(&body)
        .expect("text")
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .collect();
    for size in [16 * 1024, 128] {
        let chunks: Vec<Bytes> = body.chunks(size).map(Bytes::copy_from_slice).collect();
        let mut group = criterion.benchmark_group(format!("openai-{size}"));
        group.throughput(Throughput::Elements(expected.len() as u64));
        for (name, run) in PARSERS {
            let mut seen = 0;
            let mut right = true;
            run(&chunks, &mut |data| {
                right &= expected.get(seen) == Some(&data);
                seen += 1;
            });
            if !right || seen != expected.len() {
                eprintln!("wrong events: {name} at {size} bytes");
                continue;
            }
            group.bench_with_input(BenchmarkId::from_parameter(name), &chunks, |b, chunks| {
                b.iter(|| {
                    let mut bytes = 0;
                    run(black_box(chunks), &mut |data| bytes += data.len());
                    bytes
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, core);
criterion_main!(benches);
