//! Any text in any field: what comes out parses back to the same one event, or is refused.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rapidsse::{Collector, Parser, encode_comment, encode_event};

fuzz_target!(|fields: (&str, &str, &str, Option<i64>)| {
    let (event, data, id, retry) = fields;
    if let Ok(bytes) = encode_comment(data) {
        let mut items = Collector::default();
        let mut parser = Parser::default();
        parser.feed(&bytes, &mut items).unwrap();
        assert!(items.events.is_empty() && parser.close(|_| ()).is_none());
        assert!(!parser.is_truncated());
    }
    let carried = |text: &str| !text.contains(['\r', '\n']);
    let right = carried(event) && carried(id) && !id.contains('\0') && retry.unwrap_or(0) >= 0;
    let encoded = encode_event(event, data, id, retry);
    assert_eq!(encoded.is_ok(), right);
    let Ok(bytes) = encoded else { return };
    let mut parser = Parser::default();
    let mut items = Collector::default();
    // Something before and after: it must not run into its neighbours.
    for stream in [b"data: before\n\n", &bytes[..], b"data: after\n\n"] {
        parser.feed(stream, &mut items).unwrap();
    }
    assert_eq!(items.events.len(), 3);
    let found = &items.events[1];
    assert_eq!(found.event, if event.is_empty() { "message" } else { event });
    assert_eq!(found.data, data.replace("\r\n", "\n").replace('\r', "\n"));
    assert_eq!(found.id, id);
    assert_eq!(found.retry, retry.map(i64::cast_unsigned));
    assert_eq!(items.events[2].data, "after");
});
