//! A stream, its options and its cutting out of any bytes; the core's word against the judge's.

use super::{Event, Item, Judge, Settings};
use rapidsse::{Cursor, Diagnostic, Filter, Flow, Options, OwnedEvent, Parser, Progress, Sink};

/// How a stream is cut.
#[derive(Clone, Copy, Debug)]
enum Cutting {
    Whole,
    /// Into chunks of so many bytes.
    Even(usize),
    /// Into chunks of up to so many bytes, empty ones too.
    Random(usize),
}

/// A case: the first [`HEAD`] bytes say the options and the cutting, the rest is the stream.
#[derive(Debug)]
pub struct Example {
    settings: Settings,
    cutting: Cutting,
    seed: u64,
    /// Whether the sink wants a pause after items.
    pauses: bool,
    stream: Vec<u8>,
}

pub const HEAD: usize = 4;

impl Example {
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let (&[flags, limit, cutting, seed], rest) = bytes.split_first_chunk::<HEAD>()?;
        let on = |bit: u8| flags >> bit & 1 == 1;
        let filter = || {
            let types = ["message", "error", "x", "\u{FFFD}"];
            let needles = [&b"x"[..], b"\n", b"aa", b"\xFF"];
            let chosen = |at: &usize| seed >> at & 1 == 1;
            (
                (0..4).filter(chosen).map(|at| types[at].into()).collect(),
                (4..8)
                    .filter(chosen)
                    .map(|at| needles[at - 4].into())
                    .collect(),
            )
        };
        Some(Example {
            settings: Settings {
                comments: on(0),
                diagnostics: on(1),
                raw: on(2),
                filter: on(3).then(filter),
                limit: on(4).then(|| match limit {
                    0..200 => usize::from(limit) + 1,
                    _ => (usize::from(limit) - 199) * 1500,
                }),
            },
            cutting: match cutting {
                0 => Cutting::Whole,
                1..128 => Cutting::Even(usize::from(cutting)),
                128..=255 => Cutting::Random(usize::from(cutting - 127) * 2),
            },
            seed: u64::from(seed) + 1,
            pauses: on(5),
            // Seldom: long lines take time.
            stream: match on(6) && on(7) {
                true => stretched(rest, !(1..200).contains(&cutting)),
                false => rest.into(),
            },
        })
    }

    fn chunks(&self) -> Vec<&[u8]> {
        let mut rest = &self.stream[..];
        let mut seed = self.seed;
        let mut chunks = Vec::new();
        while !rest.is_empty() {
            let size = match self.cutting {
                Cutting::Whole => rest.len(),
                Cutting::Even(size) => size,
                Cutting::Random(most) => (random(&mut seed) % (most as u64 + 1)) as usize,
            };
            let (chunk, others) = rest.split_at(size.min(rest.len()));
            chunks.push(chunk);
            rest = others;
        }
        chunks
    }
}

/// The next number of a simple generator.
pub fn random(seed: &mut u64) -> u64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

/// Rare bytes stand for many, so that few bytes make long lines: 2 for more than a block of the
/// scan, 3 for more than ten, 4 for more than a buffer is kept for.
fn stretched(bytes: &[u8], huge: bool) -> Vec<u8> {
    let mut counts = [3, 1, usize::from(huge)];
    let mut stream = Vec::new();
    for &byte in bytes {
        match byte {
            2..=4 if counts[usize::from(byte) - 2] > 0 => {
                counts[usize::from(byte) - 2] -= 1;
                let length = [70, 650, 70_000][usize::from(byte) - 2];
                stream.resize(stream.len() + length, b'w' + byte);
            }
            _ => stream.push(byte),
        }
    }
    stream
}

/// Keeps the items in their order.
#[derive(Default)]
struct InOrder {
    items: Vec<Item>,
    last_event_id: String,
    pauses: bool,
    since_pause: usize,
}

impl InOrder {
    fn take(&mut self, item: Item) -> Flow {
        self.items.push(item);
        self.since_pause += 1;
        if self.pauses {
            Flow::Stop
        } else {
            Flow::Continue
        }
    }

    fn own(&self, event: rapidsse::Event<'_>) -> Event {
        let collector = rapidsse::Collector {
            last_event_id: self.last_event_id.clone(),
            ..Default::default()
        };
        let OwnedEvent {
            event,
            data,
            id,
            retry,
            raw,
        } = collector.own(event);
        Event {
            event,
            data,
            id,
            retry,
            raw,
        }
    }
}

impl Sink for InOrder {
    fn last_event_id(&mut self, id: &[u8]) {
        self.last_event_id = String::from_utf8_lossy(id).into_owned();
    }

    fn event(&mut self, event: rapidsse::Event<'_>) -> Flow {
        let event = self.own(event);
        self.take(Item::Event(event))
    }

    fn comment(&mut self, text: &[u8]) -> Flow {
        self.take(Item::Comment(String::from_utf8_lossy(text).into_owned()))
    }

    fn diagnostic(&mut self, found: Diagnostic<'_>) -> Flow {
        self.take(Item::Diagnostic(
            found.kind.name(),
            found.line,
            found.offset,
            found.detail.to_owned(),
        ))
    }
}

fn options(settings: &Settings) -> Options {
    Options {
        max_buffer_size: settings.limit,
        comments: settings.comments,
        diagnostics: settings.diagnostics,
        raw: settings.raw,
        filter: settings.filter.as_ref().map(|(types, needles)| {
            Filter::new(
                types.iter().map(String::as_str),
                needles.iter().map(Vec::as_slice),
            )
        }),
    }
}

/// A chunk, in steps where the sink wants them; whether the limit still holds.
fn feed(parser: &mut Parser, chunk: &[u8], sink: &mut InOrder) -> bool {
    if !sink.pauses {
        return parser.feed(chunk, sink).is_ok();
    }
    let mut cursor = Cursor::default();
    loop {
        sink.since_pause = 0;
        let progress = parser.step(chunk, &mut cursor, sink);
        assert!(sink.since_pause <= 3, "a line makes three items at most");
        match progress {
            Progress::Paused => assert!(sink.since_pause > 0),
            Progress::Done => return true,
            Progress::Overflow => return false,
        }
    }
}

/// Panics where the core says other than the judge; does nothing if the bytes are too few.
pub fn check(bytes: &[u8]) {
    let Some(example) = Example::new(bytes) else {
        return;
    };
    let mut parser = Parser::new(options(&example.settings));
    run(&example, &mut parser);
    if example.seed.is_multiple_of(2) {
        parser.reset();
        run(&example, &mut parser);
    }
}

fn run(example: &Example, parser: &mut Parser) {
    let mut judge = Judge::new(&example.settings);
    let mut sink = InOrder {
        pauses: example.pauses,
        ..InOrder::default()
    };
    assert!(!parser.is_closed() && !parser.has_overflowed() && !parser.is_truncated());
    let mut equal = 0;
    for chunk in example.chunks() {
        let ok = feed(parser, chunk, &mut sink);
        chunk.iter().for_each(|&byte| judge.byte(byte));
        assert_eq!(ok, !judge.overflow, "the guard of {example:?}");
        assert_eq!(sink.items.len(), judge.items.len(), "{example:?}");
        let (said, right) = (&sink.items[equal..], &judge.items[equal..]);
        assert_eq!(said, right, "the items of {example:?}");
        equal = sink.items.len();
        assert_eq!(parser.buffered(), judge.count(), "the count of {example:?}");
        assert_eq!(parser.is_closed(), judge.overflow);
        assert_eq!(parser.has_overflowed(), judge.overflow);
        let said = (&sink.last_event_id, parser.retry(), parser.skipped());
        let right = (&judge.last_event_id, judge.retry, judge.skipped);
        assert_eq!(said, right, "the attributes of {example:?}");
    }
    let (retry, skipped) = (judge.retry, judge.skipped);
    let (unfinished, truncated) = judge.end();
    let said = parser.close(|event| sink.own(event));
    assert_eq!(said, unfinished, "the unfinished event of {example:?}");
    assert_eq!(parser.is_truncated(), truncated, "the end of {example:?}");
    assert_eq!((parser.retry(), parser.skipped()), (retry, skipped));
    assert!(parser.is_closed() && parser.buffered() == 0);
    assert!(parser.close(|_| ()).is_none());
    let taken = sink.items.len();
    let _ = feed(parser, b"data: late\n\n", &mut sink);
    assert_eq!(sink.items.len(), taken);
}
