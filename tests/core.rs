//! The core as a plain Rust crate: the table of cases, for every cutting, and the guard.

use rapidsse::{Collector, Cursor, Event, Flow, Options, OwnedEvent, Parser, Progress, Sink};
use serde_json::Value;

/// A string, or pieces of one with their repeats.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(pieces) => pieces
            .iter()
            .map(|piece| {
                let times = usize::try_from(piece[1].as_u64().unwrap()).unwrap();
                piece[0].as_str().unwrap().repeat(times)
            })
            .collect(),
        _ => panic!("no text: {value}"),
    }
}

fn bytes(value: &Value) -> Vec<u8> {
    let hex = |text: &str| -> Vec<u8> {
        (0..text.len())
            .step_by(2)
            .map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap())
            .collect()
    };
    let pieces = value.as_array().unwrap().iter();
    pieces
        .flat_map(|piece| {
            let times = usize::try_from(piece[1].as_u64().unwrap()).unwrap();
            hex(piece[0].as_str().unwrap()).repeat(times)
        })
        .collect()
}

fn cases() -> Vec<Value> {
    let table = include_str!("../python/rapidsse/testing/cases.jsonl");
    let cases = table
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    cases.collect()
}

/// An event's type, data and ID.
type Plain = (String, String, String);

fn plain(event: &OwnedEvent) -> Plain {
    (event.event.clone(), event.data.clone(), event.id.clone())
}

fn expected(event: &Value) -> Plain {
    (
        text(&event["event"]),
        text(&event["data"]),
        text(&event["id"]),
    )
}

/// With nothing to tell but events, with comments, with all there is, and with a limit that is
/// near but not exceeded: each goes other ways through the parser.
fn options(length: usize) -> [Options; 4] {
    let plain = Options::default;
    [
        plain(),
        Options {
            comments: true,
            ..plain()
        },
        Options {
            comments: true,
            diagnostics: true,
            raw: true,
            ..plain()
        },
        Options {
            max_buffer_size: Some(length.max(1)),
            ..plain()
        },
    ]
}

fn check<'a>(case: &Value, chunks: impl Iterator<Item = &'a [u8]> + Clone) {
    for options in options(chunks.clone().map(<[u8]>::len).sum()) {
        check_with(options, case, chunks.clone());
    }
}

fn check_with<'a>(options: Options, case: &Value, chunks: impl Iterator<Item = &'a [u8]>) {
    let comments_wanted = options.comments;
    let mut parser = Parser::new(options);
    let mut items = Collector::default();
    for chunk in chunks {
        parser.feed(chunk, &mut items).unwrap();
    }
    let name = &case["name"];
    let events: Vec<_> = items.events.iter().map(plain).collect();
    let right: Vec<_> = case["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(expected)
        .collect();
    assert_eq!(events, right, "{name}");
    let comments: Vec<_> = case["comments"]
        .as_array()
        .unwrap()
        .iter()
        .map(text)
        .filter(|_| comments_wanted)
        .collect();
    assert_eq!(items.comments, comments, "{name}");
    assert_eq!(parser.retry(), case["retry"].as_u64(), "{name}");
    assert_eq!(items.last_event_id, text(&case["last_event_id"]), "{name}");
    let unfinished = parser.close(|event| plain(&items.own(event)));
    let right = Some(&case["unfinished"]).filter(|event| !event.is_null());
    assert_eq!(unfinished, right.map(expected), "{name}");
    assert_eq!(
        Some(parser.is_truncated()),
        case["truncated"].as_bool(),
        "{name}"
    );
}

#[test]
fn every_case_for_every_cutting() {
    let cases = cases();
    assert!(cases.len() > 390);
    for case in &cases {
        let data = bytes(&case["input"]);
        check(case, std::iter::once(&data[..]));
        for size in [1, 2, 3, 7] {
            check(case, data.chunks(size));
        }
        if data.len() <= 300 {
            for place in 0..data.len() {
                let (start, end) = data.split_at(place);
                check(case, [start, end].into_iter());
            }
        }
    }
}

/// Wants a pause after each event, and counts.
#[derive(Default)]
struct OneByOne(usize);

impl Sink for OneByOne {
    fn last_event_id(&mut self, _: &[u8]) {}

    fn event(&mut self, _: Event<'_>) -> Flow {
        self.0 += 1;
        Flow::Stop
    }

    fn comment(&mut self, _: &[u8]) -> Flow {
        Flow::Continue
    }

    fn diagnostic(&mut self, _: rapidsse::Diagnostic<'_>) -> Flow {
        Flow::Continue
    }
}

#[test]
fn one_event_per_step_where_the_sink_says_stop() {
    for end in ["\n", "\r", "\r\n"] {
        let chunk = format!("data: a{end}{end}event: x{end}data: b{end}data: c{end}{end}: d{end}");
        let mut parser = Parser::default();
        let (mut cursor, mut sink) = (Cursor::default(), OneByOne::default());
        let mut step = || parser.step(chunk.as_bytes(), &mut cursor, &mut sink);
        assert_eq!(step(), Progress::Paused);
        assert_eq!(step(), Progress::Paused);
        assert_eq!(step(), Progress::Done);
        assert_eq!(sink.0, 2);
    }
}

#[test]
fn the_default_limit_is_64_mib() {
    assert_eq!(Options::default().max_buffer_size, Some(67_108_864));
}

#[test]
fn feeding_goes_on_whatever_the_sink_says() {
    let mut sink = OneByOne::default();
    let mut parser = Parser::default();
    parser
        .feed(b"data: a\n\ndata: b\n\ndata: c", &mut sink)
        .unwrap();
    assert_eq!(sink.0, 2);
    assert!(parser.close(|event| event.data == b"c").unwrap());
}

#[test]
fn an_overflow_tells_the_limit_and_no_payload() {
    let options = Options {
        max_buffer_size: Some(4),
        ..Options::default()
    };
    let overflow = Parser::new(options)
        .feed(b"data: secret\n\n", &mut Collector::default())
        .unwrap_err();
    assert_eq!(overflow.limit, 4);
    assert_eq!(overflow.to_string(), "a block exceeds the limit of 4 bytes");
}

#[test]
fn the_guard_decides_by_the_byte() {
    let stream = b"data: 1234\n\ndata: 12345\n\n";
    for size in 1..=stream.len() {
        let mut parser = Parser::new(Options {
            max_buffer_size: Some(4),
            ..Options::default()
        });
        let mut items = Collector::default();
        let results: Vec<_> = stream
            .chunks(size)
            .map(|chunk| parser.feed(chunk, &mut items).is_ok())
            .collect();
        let taken = results.iter().filter(|&&ok| ok).count() * size;
        assert!(taken <= 22 && taken + size > 22, "{taken} bytes by {size}");
        assert_eq!(items.events.len(), 1);
        assert_eq!(parser.buffered(), 0);
        assert!(parser.is_closed() && parser.has_overflowed());
        parser.reset();
        assert!(parser.feed(b"data: 1\n\n", &mut items).is_ok());
        assert_eq!(items.events.len(), 2);
    }
}

#[test]
fn a_closed_parser_takes_in_nothing() {
    let mut parser = Parser::default();
    let mut items = Collector::default();
    parser.feed(b"data: x", &mut items).unwrap();
    assert!(parser.close(|event| event.data.to_vec()).is_some());
    assert!(parser.close(|_| ()).is_none());
    parser.feed(b"data: y\n\n", &mut items).unwrap();
    assert!(items.events.is_empty());
}
