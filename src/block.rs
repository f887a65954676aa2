//! The block: what the lines since the last blank line add up to.

use std::ops::Range;

use crate::field::Digits;

/// A buffer that grew beyond this is given back when its block ends; in bytes.
const KEEP: usize = 64 * 1024;

/// Empties a buffer, and gives back what it allocated if that is much.
#[inline]
pub fn empty(buffer: &mut Vec<u8>) {
    buffer.clear();
    if buffer.capacity() > KEEP {
        release(buffer);
    }
}

#[cold]
fn release(buffer: &mut Vec<u8>) {
    *buffer = Vec::new();
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nothing,
    Chunk,
    Own,
}

/// A value of the block: a span of the chunk at hand for as long as that will do, bytes of our
/// own from when it has to outlive the chunk or is joined from several lines.
#[derive(Debug, Default)]
pub struct Value {
    place: Place,
    start: usize,
    end: usize,
    own: Vec<u8>,
    /// How much the last value took whose memory was given back; in bytes.
    given_back: usize,
}

impl Value {
    #[inline]
    pub fn is_set(&self) -> bool {
        self.place != Place::Nothing
    }

    /// In bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match self.place {
            Place::Nothing => 0,
            Place::Chunk => self.end - self.start,
            Place::Own => self.own.len(),
        }
    }

    #[inline]
    pub fn get<'a>(&'a self, chunk: &'a [u8]) -> &'a [u8] {
        match self.place {
            Place::Nothing => &[],
            Place::Chunk => chunk.get(self.start..self.end).unwrap_or_default(),
            Place::Own => &self.own,
        }
    }

    #[inline]
    pub fn set(&mut self, span: Range<usize>) {
        self.clear();
        self.place = Place::Chunk;
        (self.start, self.end) = (span.start, span.end);
    }

    /// Takes over the bytes of `value`, which is left empty.
    pub fn set_own(&mut self, value: &mut Vec<u8>) {
        self.clear();
        self.place = Place::Own;
        std::mem::swap(&mut self.own, value);
    }

    /// Makes the bytes our own.
    #[inline(always)]
    pub fn keep(&mut self, chunk: &[u8]) {
        if self.place != Place::Own {
            if self.given_back > 0 {
                self.prepare();
            }
            if self.place == Place::Chunk {
                self.own.extend_from_slice(&chunk[self.start..self.end]);
            }
            self.place = Place::Own;
        }
    }

    /// Makes room for another value like the last one, which was large: streams repeat themselves,
    /// and memory that is not written to costs nothing.
    #[cold]
    fn prepare(&mut self) {
        let last = std::mem::take(&mut self.given_back);
        self.own.reserve_exact(last + last / 8);
    }

    /// Keeps a value that is a span of the chunk, which is about to end.
    #[inline]
    pub fn outlive(&mut self, chunk: &[u8]) {
        if self.place == Place::Chunk {
            self.keep(chunk);
        }
    }

    /// Adds an LF and a span of the chunk.
    #[inline(never)]
    fn join(&mut self, chunk: &[u8], span: Range<usize>) {
        self.keep(chunk);
        self.append(chunk, span);
    }

    /// The same for a value that is our own already.
    #[inline(always)]
    fn append(&mut self, chunk: &[u8], span: Range<usize>) {
        // The byte before a value is the line's own: copied along, it gives place to the LF.
        let joint = self.own.len();
        self.own.extend_from_slice(&chunk[span.start - 1..span.end]);
        self.own[joint] = b'\n';
    }

    #[cold]
    fn give_back(&mut self) {
        let length = std::mem::take(&mut self.own).len();
        self.given_back = if length > KEEP { length } else { 0 };
    }

    #[inline]
    fn clear(&mut self) {
        if self.place == Place::Own {
            if self.own.capacity() > KEEP {
                self.give_back();
            }
            self.own.clear();
        }
        self.place = Place::Nothing;
    }
}

/// The bytes of the block's lines, for those who asked for them.
#[derive(Debug, Default)]
struct Raw {
    own: Vec<u8>,
    /// Where the rest of them starts in the chunk at hand.
    from: usize,
}

#[derive(Debug, Default)]
pub struct Block {
    pub data: Value,
    pub event: Value,
    pub id: Value,
    /// The last valid one, in milliseconds.
    pub retry: Option<u64>,
    /// What kinds of lines have ended, comments apart.
    lines: u8,
    raw: Raw,
}

impl Block {
    pub const DATA: u8 = 1;
    /// A line of another field.
    pub const FIELD: u8 = 2;
    /// A line that is neither.
    pub const OTHER: u8 = 4;

    /// A line of this kind has ended.
    #[inline]
    pub fn note(&mut self, kind: u8) {
        self.lines |= kind;
    }

    /// Whether a line of this kind has ended.
    #[inline]
    pub fn has(&self, kind: u8) -> bool {
        self.lines & kind != 0
    }

    /// A `data` line ended, all of it in the chunk at hand. Lines are joined with LF.
    #[inline]
    pub fn data_line(&mut self, chunk: &[u8], value: Range<usize>) {
        if self.has(Self::DATA) {
            self.data.join(chunk, value);
        } else {
            self.data.set(value);
            self.note(Self::DATA);
        }
    }

    /// The same for a line that follows another `data` line of the chunk.
    #[inline(always)]
    pub fn next_data_line(&mut self, chunk: &[u8], value: Range<usize>) {
        if self.data.place == Place::Own {
            self.data.append(chunk, value);
        } else {
            self.data.join(chunk, value);
        }
    }

    /// A `data` line began; its value follows in pieces.
    #[inline]
    pub fn open_data_line(&mut self, chunk: &[u8]) {
        self.data.keep(chunk);
        if self.has(Self::DATA) {
            self.data.own.push(b'\n');
        }
    }

    #[inline]
    pub fn push_data(&mut self, piece: &[u8]) {
        self.data.own.extend_from_slice(piece);
    }

    /// A `retry` line ended. Whether its value is valid; the standard ignores another.
    pub fn set_retry(&mut self, digits: Digits) -> bool {
        let milliseconds = digits.milliseconds();
        if milliseconds.is_some() {
            self.retry = milliseconds;
        }
        milliseconds.is_some()
    }

    /// Whether a line has ended that is no comment.
    #[inline]
    pub fn has_line(&self) -> bool {
        self.lines != 0
    }

    /// What the guard counts of the finished lines, the raw bytes apart; in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.data.len() + self.event.len() + self.id.len()
    }

    /// The number of raw bytes up to `end` in the chunk.
    pub fn raw_len(&self, end: usize) -> usize {
        self.raw.own.len() + (end - self.raw.from)
    }

    /// The raw bytes start anew at `at` in the chunk.
    pub fn start_raw(&mut self, at: usize) {
        empty(&mut self.raw.own);
        self.raw.from = at;
    }

    /// The chunk's bytes before `at` are no raw bytes.
    pub fn skip_raw(&mut self, at: usize) {
        self.raw.from = at;
    }

    /// Raw bytes that are not in the chunk at hand.
    pub fn push_raw(&mut self, bytes: &[u8]) {
        self.raw.own.extend_from_slice(bytes);
    }

    /// Keeps the raw bytes up to `end`; the rest starts at `from`.
    pub fn keep_raw(&mut self, chunk: &[u8], end: usize, from: usize) {
        self.raw.own.extend_from_slice(&chunk[self.raw.from..end]);
        self.raw.from = from;
    }

    pub fn raw(&self) -> &[u8] {
        &self.raw.own
    }

    /// The chunk ends: what is still a span of it becomes our own.
    #[inline]
    pub fn outlive(&mut self, chunk: &[u8]) {
        self.data.outlive(chunk);
        self.event.outlive(chunk);
        self.id.outlive(chunk);
    }

    /// A new block begins. The raw bytes are apart, see [`Block::start_raw`].
    #[inline(always)]
    pub fn clear(&mut self) {
        if self.has(Self::DATA) {
            self.data.clear();
        }
        if self.has(Self::FIELD) {
            self.event.clear();
            self.id.clear();
            self.retry = None;
        }
        self.lines = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length);
        bytes.resize(length, b'x');
        bytes
    }

    #[test]
    fn what_a_large_buffer_took_is_given_back() {
        assert_eq!(KEEP, 65_536);
        let (mut small, mut large) = (of(KEEP), of(KEEP + 1));
        empty(&mut small);
        empty(&mut large);
        assert_eq!((small.len(), small.capacity()), (0, KEEP));
        assert_eq!((large.len(), large.capacity()), (0, 0));
    }

    /// The capacity of a value after one that took `before` has gone, and the next has begun.
    fn room_after(before: &mut Vec<u8>) -> usize {
        let mut value = Value::default();
        value.set_own(before);
        value.clear();
        assert!(value.own.capacity() <= KEEP);
        value.keep(&[]);
        value.own.capacity()
    }

    #[test]
    fn room_is_made_for_another_value_like_a_large_one() {
        assert_eq!(room_after(&mut of(80_000)), 90_000);
        assert_eq!(room_after(&mut of(KEEP + 1)), KEEP + 1 + KEEP / 8);
        assert_eq!(room_after(&mut of(KEEP)), KEEP);
        assert_eq!(room_after(&mut of(0)), 0);
        // Much room, of which little was used.
        let mut much = Vec::with_capacity(2 * KEEP);
        much.resize(KEEP, b'x');
        assert_eq!(room_after(&mut much), 0);
    }
}
