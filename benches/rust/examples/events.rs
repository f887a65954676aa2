//! What the parsers of crates.io make of streams, for `../conformance.py`.
//!
//! Standard input: a stream a line, in hexadecimal. Standard output: for each stream and parser, three
//! lines `["NAME", WAY, [[EVENT, DATA, ID], ...]]`: fed "whole", by "bytes", and "open", byte by byte
//! with the stream not ended. A parser that panics, or takes long, has null for its events.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::{BufRead, Write as _};
use std::panic::{catch_unwind, set_hook};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_core::Stream;

/// For a stream.
const PATIENCE: Duration = Duration::from_secs(10);

type Events = Vec<[String; 3]>;

/// A body that has all its chunks, and then ends or leaves its reader waiting.
struct Body {
    chunks: std::vec::IntoIter<Bytes>,
    ends: bool,
    until: Instant,
}

impl Stream for Body {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        assert!(
            Instant::now() < self.until,
            "a quadratic parser would never end"
        );
        match self.chunks.next() {
            None if !self.ends => Poll::Pending,
            chunk => Poll::Ready(chunk.map(Ok)),
        }
    }
}

/// The items of a stream that never waits, up to its first error.
fn drain<T, E>(stream: impl Stream<Item = Result<T, E>>) -> Vec<T> {
    let mut stream = pin!(stream);
    let mut context = Context::from_waker(Waker::noop());
    let mut items = Vec::new();
    while let Poll::Ready(Some(Ok(item))) = stream.as_mut().poll_next(&mut context) {
        items.push(item);
    }
    items
}

/// No type is the type "message", as in the standard.
fn typed(event: String) -> String {
    if event.is_empty() {
        "message".to_owned()
    } else {
        event
    }
}

fn eventsource_stream(body: Body) -> Events {
    drain(eventsource_stream::EventStream::new(body))
        .into_iter()
        .map(|event| [typed(event.event), event.data, event.id])
        .collect()
}

fn sseer(body: Body) -> Events {
    drain(sseer::EventStream::new(body))
        .into_iter()
        .map(|event| {
            [
                typed(event.event.to_string()),
                event.data.to_string(),
                event.id.to_string(),
            ]
        })
        .collect()
}

fn quoted(text: &str) -> String {
    let mut json = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                json.push('\\');
                json.push(character);
            }
            ' '..='~' => json.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _ = write!(json, "\\u{unit:04x}");
                }
            }
        }
    }
    json.push('"');
    json
}

fn json(events: &Events) -> String {
    let events: Vec<String> = events
        .iter()
        .map(|event| format!("[{}]", event.each_ref().map(|text| quoted(text)).join(",")))
        .collect();
    format!("[{}]", events.join(","))
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    (0..hexadecimal.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hexadecimal[at..at + 2], 16).expect("hexadecimal"))
        .collect()
}

fn main() -> std::io::Result<()> {
    let parsers: [(&str, fn(Body) -> Events); 2] =
        [("eventsource-stream", eventsource_stream), ("sseer", sseer)];
    set_hook(Box::new(|_| {})); // a panic is an answer here
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let stream = bytes(&line?);
        for (name, parse) in parsers {
            let ways = [
                ("whole", stream.len().max(1), true),
                ("bytes", 1, true),
                ("open", 1, false),
            ];
            for (way, size, ends) in ways {
                let chunks: Vec<_> = stream.chunks(size).map(Bytes::copy_from_slice).collect();
                let body = Body {
                    chunks: chunks.into_iter(),
                    ends,
                    until: Instant::now() + PATIENCE,
                };
                let events =
                    catch_unwind(|| parse(body)).map_or("null".to_owned(), |found| json(&found));
                writeln!(output, "[\"{name}\",\"{way}\",{events}]")?;
            }
        }
    }
    Ok(())
}
