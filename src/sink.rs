//! Where parsed items go.

use crate::diagnostics::{Diagnostic, Kind};

/// Whether a sink wants more just now. Parsing stops at the end of the line at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Flow {
    Continue,
    Stop,
}

/// Takes items as the parser completes them, as slices of what was received: UTF-8, or meant to
/// be. Decoding, with U+FFFD for what is not, is the sink's work.
pub trait Sink {
    /// A blank line ended a block that set this ID, whether it makes an event or not.
    fn last_event_id(&mut self, id: &[u8]);
    fn event(&mut self, event: Event<'_>) -> Flow;
    fn comment(&mut self, text: &[u8]) -> Flow;
    fn diagnostic(&mut self, diagnostic: Diagnostic<'_>) -> Flow;
}

/// An event as it was received.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The type; empty means `message`.
    pub event: &'a [u8],
    /// The `data` values joined with LF.
    pub data: &'a [u8],
    /// The ID that the event's own block set.
    pub id: Option<&'a [u8]>,
    /// The block's last valid `retry`, in milliseconds.
    pub retry: Option<u64>,
    /// The bytes of the block's lines, if they are kept.
    pub raw: Option<&'a [u8]>,
}

/// An event that owns its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedEvent {
    pub event: String,
    pub data: String,
    /// The last event ID as of this event.
    pub id: String,
    pub retry: Option<u64>,
    pub raw: Option<Vec<u8>>,
}

/// A sink for plain Rust: keeps everything, decoded.
#[derive(Debug, Default)]
pub struct Collector {
    pub events: Vec<OwnedEvent>,
    pub comments: Vec<String>,
    pub diagnostics: Vec<(Kind, u64, u64, String)>,
    pub last_event_id: String,
}

fn decoded(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

impl Collector {
    /// Decodes an event; `id` is the last event ID where its block set none.
    pub fn own(&self, event: Event<'_>) -> OwnedEvent {
        OwnedEvent {
            event: match event.event {
                b"" => "message".to_owned(),
                name => decoded(name),
            },
            data: decoded(event.data),
            id: event.id.map_or_else(|| self.last_event_id.clone(), decoded),
            retry: event.retry,
            raw: event.raw.map(<[u8]>::to_vec),
        }
    }
}

impl Sink for Collector {
    fn last_event_id(&mut self, id: &[u8]) {
        self.last_event_id = decoded(id);
    }

    fn event(&mut self, event: Event<'_>) -> Flow {
        let event = self.own(event);
        self.events.push(event);
        Flow::Continue
    }

    fn comment(&mut self, text: &[u8]) -> Flow {
        self.comments.push(decoded(text));
        Flow::Continue
    }

    fn diagnostic(&mut self, found: Diagnostic<'_>) -> Flow {
        let Diagnostic {
            kind,
            line,
            offset,
            detail,
        } = found;
        self.diagnostics
            .push((kind, line, offset, detail.to_owned()));
        Flow::Continue
    }
}
