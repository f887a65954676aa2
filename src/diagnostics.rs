//! Diagnostics: what the standard ignores silently and a person debugging wants to see.

use crate::field::Field;

/// What was ignored or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    InvalidUtf8,
    UnknownField,
    InvalidRetry,
    InvalidId,
    NoData,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::InvalidUtf8 => "invalid-utf-8",
            Kind::UnknownField => "unknown-field",
            Kind::InvalidRetry => "invalid-retry",
            Kind::InvalidId => "invalid-id",
            Kind::NoData => "no-data",
        }
    }
}

/// One finding about one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diagnostic<'a> {
    pub kind: Kind,
    /// The line's number, from 1; a CRLF ends one line.
    pub line: u64,
    /// The line's first byte, counted from the stream's first, the BOM included.
    pub offset: u64,
    /// The field's name where it is harmless to tell, else empty.
    pub detail: &'a str,
}

/// What a line turned out to be when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Field {
        field: Field,
        /// Whether the standard ignores the value.
        ignored: bool,
    },
    Comment,
    Unknown,
}

/// The longest name of an unknown field that is told; in bytes.
const NAME: usize = 64;

/// The name of an unknown field, if it looks like one: what lost its `data:` is payload.
pub(crate) fn unknown_name(line: &[u8]) -> &str {
    let within = &line[..line.len().min(NAME + 1)];
    let Some(colon) = memchr::memchr(b':', within) else {
        return "";
    };
    let name = &line[..colon];
    let harmless = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b' ');
    match std::str::from_utf8(name) {
        Ok(text) if name.iter().all(harmless) => text,
        _ => "",
    }
}

/// What diagnostics have to know of a line that comes in pieces: a constant number of bytes.
#[derive(Debug)]
pub(crate) struct Watch {
    start: [u8; NAME + 1],
    len: usize,
    /// An incomplete sequence at the end of what has come so far.
    tail: [u8; 4],
    tail_len: usize,
    invalid: bool,
}

impl Default for Watch {
    fn default() -> Self {
        Watch {
            start: [0; NAME + 1],
            len: 0,
            tail: [0; 4],
            tail_len: 0,
            invalid: false,
        }
    }
}

impl Watch {
    pub fn push(&mut self, mut piece: &[u8]) {
        let kept = piece.len().min(self.start.len() - self.len);
        self.start[self.len..self.len + kept].copy_from_slice(&piece[..kept]);
        self.len += kept;
        while self.tail_len > 0 && !piece.is_empty() && !self.invalid {
            self.tail[self.tail_len] = piece[0];
            self.tail_len += 1;
            piece = &piece[1..];
            match std::str::from_utf8(&self.tail[..self.tail_len]) {
                Ok(_) => self.tail_len = 0,
                Err(error) => self.invalid = error.error_len().is_some(),
            }
        }
        if self.invalid || piece.is_empty() {
            return;
        }
        if let Err(error) = std::str::from_utf8(piece) {
            let rest = &piece[error.valid_up_to()..];
            if error.error_len().is_some() {
                self.invalid = true;
            } else {
                self.tail[..rest.len()].copy_from_slice(rest);
                self.tail_len = rest.len();
            }
        }
    }

    /// The first bytes of the line, enough for [`unknown_name`].
    pub fn start(&self) -> &[u8] {
        &self.start[..self.len]
    }

    pub fn is_valid_utf8(&self) -> bool {
        !self.invalid && self.tail_len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_may_be_told() {
        assert_eq!(unknown_name(b"Data: secret"), "Data");
        assert_eq!(unknown_name(b"x-y_z 9:"), "x-y_z 9");
        assert_eq!(unknown_name(b"no colon"), "");
        assert_eq!(unknown_name(b"{\"a\": 1}"), "");
        let longest = [&[b'n'; NAME][..], b":"].concat();
        assert_eq!(unknown_name(&longest).len(), NAME);
        let longer = [b"n", &longest[..]].concat();
        assert_eq!(unknown_name(&longer), "");
    }

    #[test]
    fn validity_does_not_depend_on_the_cutting() {
        let lines: [&[u8]; 9] = [
            "a\u{e9}\u{4e2d}\u{1f600}z".as_bytes(),
            b"\xF0\x9F\x98",
            b"\xF0\x9F\x98z",
            b"\xC0\x80",
            b"\xED\xA0\x80",
            b"\xE4\xB8\xAD\xE4",
            b"\xF4\x90\x80\x80",
            b"\x80",
            b"plain",
        ];
        for line in lines {
            for size in 1..=line.len() {
                let mut watch = Watch::default();
                line.chunks(size).for_each(|piece| watch.push(piece));
                assert_eq!(
                    watch.is_valid_utf8(),
                    std::str::from_utf8(line).is_ok(),
                    "{line:?} by {size}"
                );
                assert_eq!(watch.start(), line);
            }
        }
    }
}
