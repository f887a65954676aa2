//! The wire form of events and comments. What cannot be carried is refused, so that no value can
//! begin a line of its own.

use std::fmt;

/// A value that the format cannot carry. No payload is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    LineEnd(&'static str),
    Nul(&'static str),
    Retry,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::LineEnd(what) => write!(f, "{what} must not contain CR or LF"),
            EncodeError::Nul(what) => write!(f, "{what} must not contain U+0000"),
            EncodeError::Retry => f.write_str("retry must be between 0 and 2**63 - 1 milliseconds"),
        }
    }
}

impl std::error::Error for EncodeError {}

fn line(out: &mut Vec<u8>, start: &[u8], value: &[u8]) {
    out.extend_from_slice(start);
    out.extend_from_slice(value);
    out.push(b'\n');
}

fn in_one_line(what: &'static str, value: &[u8]) -> Result<(), EncodeError> {
    match memchr::memchr2(b'\r', b'\n', value) {
        Some(_) => Err(EncodeError::LineEnd(what)),
        None => Ok(()),
    }
}

/// An event's wire form, its blank line included. CRLF, LF and CR in `data` become line breaks.
pub fn encode_event(
    event: &str,
    data: &str,
    id: &str,
    retry: Option<i64>,
) -> Result<Vec<u8>, EncodeError> {
    let (event, mut data, id) = (event.as_bytes(), data.as_bytes(), id.as_bytes());
    in_one_line("event", event)?;
    in_one_line("id", id)?;
    if memchr::memchr(0, id).is_some() {
        return Err(EncodeError::Nul("id"));
    }
    let mut out = Vec::with_capacity(event.len() + data.len() + data.len() / 8 + id.len() + 48);
    if !event.is_empty() && event != b"message" {
        line(&mut out, b"event: ", event);
    }
    if !id.is_empty() {
        line(&mut out, b"id: ", id);
    }
    match retry {
        Some(ms @ 0..) => line(&mut out, b"retry: ", ms.to_string().as_bytes()),
        Some(_) => return Err(EncodeError::Retry),
        None => {}
    }
    while let Some(end) = memchr::memchr2(b'\r', b'\n', data) {
        line(&mut out, b"data: ", &data[..end]);
        let crlf = data[end..].starts_with(b"\r\n");
        data = &data[end + 1 + usize::from(crlf)..];
    }
    line(&mut out, b"data: ", data);
    out.push(b'\n');
    Ok(out)
}

/// A comment's wire form, one line.
pub fn encode_comment(text: &str) -> Result<Vec<u8>, EncodeError> {
    let text = text.as_bytes();
    in_one_line("a comment", text)?;
    let mut out = Vec::with_capacity(text.len() + 3);
    line(&mut out, b": ", text);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_in_order_and_defaults_are_left_out() {
        let plain = encode_event("message", "a", "", None).unwrap();
        assert_eq!(plain, b"data: a\n\n");
        let all = encode_event("e", "a\r\nb\rc\n", "1", Some(5)).unwrap();
        assert_eq!(
            all,
            b"event: e\nid: 1\nretry: 5\ndata: a\ndata: b\ndata: c\ndata: \n\n"
        );
        assert_eq!(encode_comment("x").unwrap(), b": x\n");
    }

    #[test]
    fn what_would_begin_a_line_is_refused() {
        for bad in ["a\rb", "a\nb"] {
            assert_eq!(
                encode_event(bad, "", "", None),
                Err(EncodeError::LineEnd("event"))
            );
            assert_eq!(
                encode_event("", "", bad, None),
                Err(EncodeError::LineEnd("id"))
            );
            assert!(encode_comment(bad).is_err());
        }
        assert_eq!(
            encode_event("", "", "\0", None),
            Err(EncodeError::Nul("id"))
        );
        assert_eq!(encode_event("", "", "", Some(-1)), Err(EncodeError::Retry));
    }

    #[test]
    fn a_refusal_names_the_field_and_quotes_nothing() {
        let said = |event, id, retry| encode_event(event, "", id, retry).unwrap_err().to_string();
        assert_eq!(said("a\n", "", None), "event must not contain CR or LF");
        assert_eq!(said("", "a\r", None), "id must not contain CR or LF");
        assert_eq!(said("", "a\0", None), "id must not contain U+0000");
        assert_eq!(
            said("", "", Some(-1)),
            "retry must be between 0 and 2**63 - 1 milliseconds"
        );
        let comment = encode_comment("a\n").unwrap_err().to_string();
        assert_eq!(comment, "a comment must not contain CR or LF");
    }
}
