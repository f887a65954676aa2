//! An incremental parser for `text/event-stream`, the format of Server-Sent Events, after the
//! WHATWG HTML standard ("Server-sent events": parsing and interpreting an event stream).
//!
//! Bytes go in, cut anywhere; items come out through a [`Sink`], as slices of what was received.
//! The verdict never depends on the cutting, an item comes out with the very byte that completes
//! it, time is linear in the bytes, and what is retained is bounded by [`Options::max_buffer_size`].
//!
//! ```
//! use rapidsse::{Collector, Parser};
//!
//! let mut parser = Parser::default();
//! let mut items = Collector::default();
//! parser.feed(b"data: {\"n\":", &mut items).unwrap();
//! parser.feed(b" 1}\n\n", &mut items).unwrap();
//! assert_eq!(items.events[0].data, "{\"n\": 1}");
//! ```
//!
//! A byte's way: [`Parser::feed`] → `lines` (where lines end) → `field` (what a line says) →
//! `block` (what the lines so far add up to) → [`Sink`]. A line that the network cut goes through
//! `cut` in place of `field`. The `guard` counts along, `diagnostics` watches what the standard
//! ignores, `filter` decides which events are worth making.
//!
//! The feature `python` adds the extension module; without it the crate knows nothing of Python.

mod block;
mod cut;
mod diagnostics;
mod encode;
mod field;
mod filter;
mod guard;
mod lines;
mod parser;
mod scan;
mod sink;

#[cfg(feature = "python")]
mod python;

pub use diagnostics::{Diagnostic, Kind};
pub use encode::{EncodeError, encode_comment, encode_event};
pub use filter::Filter;
pub use guard::Overflow;
pub use lines::Cursor;
pub use parser::{Options, Parser, Progress};
pub use sink::{Collector, Event, Flow, OwnedEvent, Sink};
