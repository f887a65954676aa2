//! `str` objects from received bytes.
//!
//! ASCII, most of what streams carry, is tested and copied. Other valid text is measured (how many
//! characters, how wide the widest), then written straight into the new object, three-byte
//! characters (most of Chinese, Japanese, Korean) four at a time where the processor can. What is
//! not valid UTF-8 the interpreter decodes.

use std::{ptr, slice};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::scan::{Best, Scan, Work};

/// A new `str`: UTF-8 decoded, with U+FFFD for each maximal part that is none. Null and an
/// exception set when memory is short.
///
/// # Safety
///
/// The thread must be attached to the interpreter.
#[inline(always)]
pub unsafe fn str_from_utf8(bytes: &[u8]) -> *mut ffi::PyObject {
    if is_ascii(bytes) {
        // SAFETY: attached; `bytes` is ASCII.
        unsafe { str_from_ascii(bytes) }
    } else {
        // SAFETY: attached.
        unsafe { str_from_wide(bytes) }
    }
}

/// A text that is ASCII, as the object holds it.
pub fn ascii<'a>(text: &'a Bound<'_, PyString>) -> Option<&'a str> {
    let text = text.as_ptr();
    // SAFETY: attached; a str of this kind has one byte for each character, and they never change.
    let bytes = unsafe {
        if ffi::PyUnicode_KIND(text) != ffi::PyUnicode_1BYTE_KIND {
            return None;
        }
        let length = ffi::PyUnicode_GET_LENGTH(text).cast_unsigned();
        slice::from_raw_parts(ffi::PyUnicode_1BYTE_DATA(text), length)
    };
    // SAFETY: ASCII is UTF-8.
    is_ascii(bytes).then(|| unsafe { str::from_utf8_unchecked(bytes) })
}

/// Whether no byte has its top bit set. Looks at the last bytes twice rather than one by one.
#[inline(always)]
fn is_ascii(bytes: &[u8]) -> bool {
    let seen = if bytes.len() > LONG {
        return Best::default().run(IsAscii(bytes));
    } else if let Some(last) = bytes.last_chunk::<32>() {
        let (pieces, _) = bytes.as_chunks::<32>();
        any(pieces, last)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<16>(), bytes.last_chunk::<16>())
    {
        let [first, last] = [first, last].map(|half| u128::from_ne_bytes(*half));
        (first | last) as u64 | ((first | last) >> 64) as u64
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        u64::from_ne_bytes(*first) | u64::from_ne_bytes(*last)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        u64::from(u32::from_ne_bytes(*first) | u32::from_ne_bytes(*last))
    } else {
        u64::from(bytes.iter().fold(0, |any, byte| any | byte))
    };
    seen & TOP_BITS == 0
}

/// All bytes, or-ed together in eight.
#[inline(always)]
fn any(pieces: &[[u8; 32]], last: &[u8; 32]) -> u64 {
    let words = |piece: &[u8; 32]| {
        let (words, _) = piece.as_chunks::<8>();
        [words[0], words[1], words[2], words[3]].map(u64::from_ne_bytes)
    };
    let mut seen = words(last);
    for piece in pieces {
        for (seen, word) in seen.iter_mut().zip(words(piece)) {
            *seen |= word;
        }
    }
    seen[0] | seen[1] | seen[2] | seen[3]
}

/// From here on it pays to look for the widest registers; in bytes.
const LONG: usize = 1024;

/// The question [`is_ascii`] for many bytes.
struct IsAscii<'a>(&'a [u8]);

impl Work for IsAscii<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self, _: impl Scan) -> bool {
        let (pieces, rest) = self.0.as_chunks::<256>();
        let top_bits = |bytes: &[u8]| bytes.iter().fold(0, |any, byte| any | byte) >= 0x80;
        !pieces.iter().any(|piece| top_bits(piece)) && !top_bits(rest)
    }
}

const TOP_BITS: u64 = 0x8080_8080_8080_8080;

/// # Safety
///
/// The thread must be attached; `bytes` must be ASCII.
#[inline(always)]
unsafe fn str_from_ascii(bytes: &[u8]) -> *mut ffi::PyObject {
    // SAFETY: the characters of a compact ASCII str follow its head, one byte each, exactly as many
    // as its length, and nobody else knows the new object yet. (Nothing is written to the one empty
    // str.)
    unsafe {
        let text = ffi::PyUnicode_New(bytes.len().cast_signed(), 127);
        if !text.is_null() {
            let characters = text.cast::<ffi::PyASCIIObject>().add(1).cast();
            ptr::copy_nonoverlapping(bytes.as_ptr(), characters, bytes.len());
        }
        text
    }
}

/// # Safety
///
/// The thread must be attached; `bytes` must not be ASCII.
#[inline(never)]
unsafe fn str_from_wide(bytes: &[u8]) -> *mut ffi::PyObject {
    let Ok(valid) = simdutf8::basic::from_utf8(bytes) else {
        // SAFETY: attached; pointer and length are those of a slice.
        return unsafe {
            ffi::PyUnicode_DecodeUTF8(
                bytes.as_ptr().cast(),
                bytes.len().cast_signed(),
                c"replace".as_ptr(),
            )
        };
    };
    let (characters, largest) = Best::default().run(Measure(bytes));
    let widest = match largest {
        ..0xC4 => 0xFF,
        0xC4..0xF0 => 0xFFFF,
        _ => 0x0010_FFFF,
    };
    // SAFETY: attached. The str is made for the number of characters that `write` writes, in the
    // width of its kind, and nobody else knows it yet.
    unsafe {
        let text = ffi::PyUnicode_New(characters.cast_signed(), widest);
        if !text.is_null() {
            let out = ffi::PyUnicode_1BYTE_DATA(text);
            match widest {
                0xFF => write(valid, out),
                0xFFFF => write(valid, out.cast::<u16>()),
                _ => write(valid, out.cast::<u32>()),
            }
        }
        text
    }
}

/// Counts the characters of valid UTF-8 and finds its largest byte.
struct Measure<'a>(&'a [u8]);

impl Work for Measure<'_> {
    type Output = (usize, u8);

    #[inline(always)]
    fn run(self, _: impl Scan) -> (usize, u8) {
        let (pieces, rest) = self.0.as_chunks::<LANES>();
        // Zeros change neither.
        let mut last = [0; LANES];
        last[..rest.len()].copy_from_slice(rest);
        let mut largest = [0; LANES];
        let mut continuations = look(&[last], &mut largest);
        for pieces in pieces.chunks(255) {
            continuations += look(pieces, &mut largest);
        }
        let largest = largest.iter().fold(0, |largest, byte| largest.max(*byte));
        (self.0.len() - continuations, largest)
    }
}

const LANES: usize = 32;

/// The number of bytes that continue a character, in no more pieces than a byte can count.
#[inline(always)]
fn look(pieces: &[[u8; LANES]], largest: &mut [u8; LANES]) -> usize {
    let mut counts = [0u8; LANES];
    for piece in pieces {
        for lane in 0..LANES {
            counts[lane] += u8::from(piece[lane].cast_signed() < -64);
            largest[lane] = largest[lane].max(piece[lane]);
        }
    }
    counts.map(usize::from).iter().sum()
}

/// A width of characters in a `str`.
trait Unit: Copy {
    /// Cuts off what the width has no room for; it is never there.
    fn of(character: u32) -> Self;
}

impl Unit for u8 {
    fn of(character: u32) -> Self {
        character as u8
    }
}

impl Unit for u16 {
    fn of(character: u32) -> Self {
        character as u16
    }
}

impl Unit for u32 {
    fn of(character: u32) -> Self {
        character
    }
}

/// Writes the characters of `text`.
///
/// # Safety
///
/// `out` must have room for each of them, and each must fit its width.
unsafe fn write<U: Unit>(text: &str, mut out: *mut U) {
    let mut rest = text.as_bytes();
    let low = |byte: u8| u32::from(byte & 0x3F);
    loop {
        // SAFETY: each turn writes as many characters as it takes from `rest`.
        unsafe {
            while let Some(eight) = rest.first_chunk::<8>() {
                if u64::from_ne_bytes(*eight) & TOP_BITS != 0 {
                    break;
                }
                for (i, &byte) in eight.iter().enumerate() {
                    *out.add(i) = U::of(byte.into());
                }
                out = out.add(8);
                rest = &rest[8..];
            }
            let character = match *rest {
                [a @ 0xE0..0xF0, b, c, ..] => {
                    let taken = four_at_a_time::write(rest, out);
                    out = out.add(taken / 3);
                    rest = &rest[taken..];
                    if taken > 0 {
                        continue;
                    }
                    rest = &rest[3..];
                    u32::from(a & 0x0F) << 12 | low(b) << 6 | low(c)
                }
                [a @ ..0x80, ..] => {
                    rest = &rest[1..];
                    a.into()
                }
                [a @ 0xC0..0xE0, b, ..] => {
                    rest = &rest[2..];
                    u32::from(a & 0x1F) << 6 | low(b)
                }
                [a, b, c, d, ..] => {
                    rest = &rest[4..];
                    u32::from(a & 0x07) << 18 | low(b) << 12 | low(c) << 6 | low(d)
                }
                _ => return,
            };
            *out = U::of(character);
            out = out.add(1);
        }
    }
}

/// Runs of three-byte characters, with SSE4.1 where the processor has it.
#[cfg(target_arch = "x86_64")]
mod four_at_a_time {
    use super::Unit;
    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128,
        _mm_packus_epi32, _mm_set1_epi8, _mm_set1_epi32, _mm_setr_epi8, _mm_shuffle_epi8,
        _mm_srli_epi32, _mm_storel_epi64, _mm_storeu_si128,
    };

    /// Writes characters from the front of valid UTF-8 and returns how many bytes they were.
    ///
    /// # Safety
    ///
    /// `out` must have room for all characters of `bytes`, each of which must fit its width.
    #[inline]
    pub unsafe fn write<U: Unit>(bytes: &[u8], out: *mut U) -> usize {
        if bytes.len() < 16 || size_of::<U>() == 1 || !is_x86_feature_detected!("sse4.1") {
            return 0;
        }
        // SAFETY: the processor has SSE4.1; the rest is the caller's.
        unsafe { write_sse41(bytes, out) }
    }

    #[target_feature(enable = "sse4.1")]
    unsafe fn write_sse41<U: Unit>(bytes: &[u8], mut out: *mut U) -> usize {
        let mut taken = 0;
        while let Some(piece) = bytes[taken..].first_chunk::<16>() {
            // SAFETY: the load reads the 16 bytes of `piece`. What is stored are four characters,
            // the first of those that `out` has room for.
            unsafe {
                let bytes = _mm_loadu_si128(piece.as_ptr().cast::<__m128i>());
                let high = _mm_and_si128(bytes, _mm_set1_epi8(0xF0_u8.cast_signed()));
                let leads = _mm_cmpeq_epi8(high, _mm_set1_epi8(0xE0_u8.cast_signed()));
                if _mm_movemask_epi8(leads) & 0x0FFF != 0b0010_0100_1001 {
                    break;
                }
                // One character to each 32 bits: its last byte lowest.
                let order = _mm_setr_epi8(2, 1, 0, -1, 5, 4, 3, -1, 8, 7, 6, -1, 11, 10, 9, -1);
                let spread = _mm_shuffle_epi8(bytes, order);
                let last = _mm_and_si128(spread, _mm_set1_epi32(0x3F));
                let middle = _mm_and_si128(spread, _mm_set1_epi32(0x3F00));
                let first = _mm_and_si128(spread, _mm_set1_epi32(0x000F_0000));
                let four = _mm_or_si128(
                    _mm_or_si128(last, _mm_srli_epi32(middle, 2)),
                    _mm_srli_epi32(first, 4),
                );
                if size_of::<U>() == 2 {
                    _mm_storel_epi64(out.cast(), _mm_packus_epi32(four, four));
                } else {
                    _mm_storeu_si128(out.cast(), four);
                }
                out = out.add(4);
            }
            taken += 12;
        }
        taken
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod four_at_a_time {
    use super::Unit;

    /// Nothing is written here; the caller goes one by one.
    ///
    /// # Safety
    ///
    /// Always safe; its twin is not.
    pub unsafe fn write<U: Unit>(_: &[u8], _: *mut U) -> usize {
        0
    }
}
