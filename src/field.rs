//! Fields: what a line says.
//!
//! The first colon ends the field's name, one space after it is dropped, the rest is the value; a
//! line without a colon is all name; a line that starts with one is a comment. These rules stand
//! here and nowhere else, for whole lines and (through [`HEAD`]) for lines cut by the network.

/// The four fields of the standard. Their names are case-sensitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Data,
    Event,
    Id,
    Retry,
}

impl Field {
    pub fn name(self) -> &'static str {
        match self {
            Field::Data => "data",
            Field::Event => "event",
            Field::Id => "id",
            Field::Retry => "retry",
        }
    }
}

/// A line taken apart. Values and texts are suffixes of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    Field(Field, &'a [u8]),
    Comment(&'a [u8]),
    Unknown,
}

/// So many bytes of a line decide what it is and where its value starts: the longest names, a
/// colon and the byte that may be the one space.
pub const HEAD: usize = "retry: ".len();

/// Takes a line apart, or the first [`HEAD`] bytes or more of one.
#[inline(always)]
pub fn split(line: &[u8]) -> Line<'_> {
    let (field, rest) = match line {
        [b':', text @ ..] => return Line::Comment(without_space(text)),
        [b'd', b'a', b't', b'a', rest @ ..] => (Field::Data, rest),
        [b'e', b'v', b'e', b'n', b't', rest @ ..] => (Field::Event, rest),
        [b'i', b'd', rest @ ..] => (Field::Id, rest),
        [b'r', b'e', b't', b'r', b'y', rest @ ..] => (Field::Retry, rest),
        _ => return Line::Unknown,
    };
    match rest {
        [b':', value @ ..] => Line::Field(field, without_space(value)),
        [] => Line::Field(field, rest),
        _ => Line::Unknown,
    }
}

/// The value of a `data` line that has a colon, which [`split`] would come to as well.
#[inline(always)]
pub fn data(line: &[u8]) -> Option<&[u8]> {
    line.strip_prefix(b"data:").map(without_space)
}

#[inline(always)]
fn without_space(value: &[u8]) -> &[u8] {
    match value {
        [b' ', rest @ ..] => rest,
        _ => value,
    }
}

/// An `id` is ignored if it has U+0000.
#[inline]
pub fn is_valid_id(value: &[u8]) -> bool {
    memchr::memchr(0, value).is_none()
}

/// The value of a `retry` field, which may come in pieces: one or more ASCII digits, else ignored.
#[derive(Clone, Copy, Debug, Default)]
pub struct Digits {
    value: u64,
    any: bool,
    other: bool,
}

impl Digits {
    /// The largest number of milliseconds told; what is above it is taken for it.
    const MAX: u64 = i64::MAX.cast_unsigned();

    #[inline]
    pub fn push(&mut self, piece: &[u8]) {
        for &byte in piece {
            if !byte.is_ascii_digit() {
                self.other = true;
                return;
            }
            self.any = true;
            self.value = self
                .value
                .saturating_mul(10)
                .saturating_add(u64::from(byte - b'0'));
        }
    }

    #[inline]
    pub fn milliseconds(self) -> Option<u64> {
        (self.any && !self.other).then_some(self.value.min(Self::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_at_the_first_colon() {
        let cases: [(&[u8], Line); 15] = [
            (b"data:a", Line::Field(Field::Data, b"a")),
            (b"data: a", Line::Field(Field::Data, b"a")),
            (b"data:  a:b", Line::Field(Field::Data, b" a:b")),
            (b"data", Line::Field(Field::Data, b"")),
            (b"data:", Line::Field(Field::Data, b"")),
            (b"data: ", Line::Field(Field::Data, b"")),
            (b"event:x", Line::Field(Field::Event, b"x")),
            (b"id", Line::Field(Field::Id, b"")),
            (b"retry: 7", Line::Field(Field::Retry, b"7")),
            (b": hi", Line::Comment(b"hi")),
            (b":", Line::Comment(b"")),
            (b"Data: a", Line::Unknown),
            (b"data : a", Line::Unknown),
            (b"datas", Line::Unknown),
            (b" id: 1", Line::Unknown),
        ];
        for (line, expected) in cases {
            assert_eq!(split(line), expected, "{line:?}");
            match data(line) {
                Some(value) => assert_eq!(expected, Line::Field(Field::Data, value)),
                None => assert!(line == b"data" || !line.starts_with(b"data:")),
            }
        }
    }

    #[test]
    fn retry_takes_ascii_digits_only_and_is_clamped() {
        let read = |pieces: &[&[u8]]| {
            let mut digits = Digits::default();
            pieces.iter().for_each(|piece| digits.push(piece));
            digits.milliseconds()
        };
        assert_eq!(read(&[b"3000"]), Some(3000));
        assert_eq!(read(&[b"30", b"", b"00"]), Some(3000));
        assert_eq!(read(&[b"00070"]), Some(70));
        assert_eq!(read(&[b"9223372036854775808"]), Some(Digits::MAX));
        assert_eq!(read(&[&[b'9'; 5000]]), Some(Digits::MAX));
        for refused in [
            &b""[..],
            b"+1",
            b"-1",
            b"1 ",
            b"1_0",
            b"1.0",
            b"\xEF\xBC\x91",
        ] {
            assert_eq!(read(&[refused]), None);
        }
        assert_eq!(read(&[b"1", b"x", b"2"]), None);
    }
}
