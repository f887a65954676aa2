//! Lines: a line ends at CRLF, LF or CR and at nothing else.
//!
//! [`LineEnds`] hands out the position of every CR and LF of a chunk once, in order. That a CRLF
//! is one line end is the parser's to say: it swallows an LF that directly follows a CR, since
//! the two may come in different chunks.

use crate::scan::{BLOCK, Baseline, Scan, line_ends_short};

/// Blocks without a line end after which the line is taken for a long one.
const LONG: u32 = 8;

/// How far a chunk has been parsed. A new chunk starts at `Cursor::default()`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor {
    /// The first byte of the line at hand.
    pub(crate) at: usize,
    pub(crate) ends: LineEnds,
}

impl Cursor {
    /// Whether nothing of the chunk has been looked at.
    #[inline]
    pub(crate) fn is_new(&self) -> bool {
        self.ends.searched == 0
    }

    /// Finds the line ends of a chunk of a block at most; returns their mask.
    #[inline(always)]
    pub(crate) fn search_short(&mut self, chunk: &[u8]) -> u64 {
        self.ends.mask = match chunk.first_chunk() {
            Some(block) => Baseline.line_ends(block),
            None => line_ends_short(chunk),
        };
        self.ends.searched = chunk.len();
        self.ends.mask
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LineEnds {
    /// The line ends found and not yet handed out, counted from `base`.
    mask: u64,
    base: usize,
    /// Bytes searched so far.
    searched: usize,
}

impl LineEnds {
    /// The position of the next CR or LF of `chunk`, which is the same chunk at each call. One that
    /// is no longer than a block has been searched.
    #[inline(always)]
    pub fn next(&mut self, scan: impl Scan, chunk: &[u8]) -> Option<usize> {
        if self.mask == 0 && !self.search(scan, chunk) {
            return None;
        }
        let end = self.base + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        Some(end)
    }

    /// Takes the next line ends, one or two, which go up to `last`, if they are found already.
    #[inline(always)]
    pub fn take(&mut self, last: usize, count: usize) -> bool {
        if last >= self.searched {
            return false;
        }
        self.mask &= self.mask - 1;
        if count == 2 {
            self.mask &= self.mask - 1;
        }
        true
    }

    #[inline(always)]
    fn search(&mut self, scan: impl Scan, chunk: &[u8]) -> bool {
        let mut misses = 0;
        loop {
            let rest = &chunk[self.searched..];
            self.base = self.searched;
            let Some(block) = rest.first_chunk::<{ BLOCK }>() else {
                self.searched = chunk.len();
                self.mask = match chunk.last_chunk::<{ BLOCK }>() {
                    _ if rest.is_empty() => 0,
                    // The chunk's last block, less what was searched before.
                    Some(last) => scan.line_ends(last) >> (BLOCK - rest.len()),
                    None => 0,
                };
                return self.mask != 0;
            };
            self.mask = scan.line_ends(block);
            self.searched += BLOCK;
            if self.mask != 0 {
                return true;
            }
            misses += 1;
            if misses == LONG {
                // A long line: wider steps than ours pay for their start.
                match memchr::memchr2(b'\n', b'\r', &chunk[self.searched..]) {
                    Some(skipped) => self.searched += skipped,
                    None => self.searched = chunk.len(),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_end_once_and_in_order() {
        for length in 0..700 {
            for step in [1, 2, 3, 17, 63, 64, 65, 200, 699] {
                let chunk: Vec<u8> = (0..length)
                    .map(|i| match i % step {
                        0 if i % 2 == 0 => b'\n',
                        0 => b'\r',
                        _ => b'x',
                    })
                    .collect();
                let mut cursor = Cursor::default();
                if length <= BLOCK {
                    cursor.search_short(&chunk);
                }
                let next = || cursor.ends.next(Baseline, &chunk);
                let found: Vec<_> = std::iter::from_fn(next).collect();
                let expected: Vec<_> = (0..length).filter(|i| i % step == 0).collect();
                assert_eq!(found, expected, "{length} bytes, one in {step}");
            }
        }
    }
}
