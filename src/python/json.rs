//! `json.loads`, sooner.
//!
//! The objects are made here, straight from the text; strings with escapes and fractions `jiter`
//! reads. Whatever is refused is the standard library's to decide: lone surrogates, NaN, depth,
//! very long numbers, and every error.

use std::ffi::CString;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use jiter::Jiter;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyString};

use super::package;
use super::shared::GIL;
use super::text::{ascii, str_from_utf8};

/// What was made, or None: refused, with no exception set.
type Made<'py> = Option<Bound<'py, PyAny>>;

/// Reads a text from the front.
struct Reader<'a, 'py> {
    py: Python<'py>,
    /// UTF-8.
    text: &'a [u8],
    at: usize,
}

impl<'py> Reader<'_, 'py> {
    /// The first byte of the next token.
    #[inline(always)]
    fn next(&mut self) -> Option<u8> {
        loop {
            match *self.text.get(self.at)? {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    /// Goes past the next token, which must be `byte`.
    #[inline(always)]
    fn expect(&mut self, byte: u8) -> Option<()> {
        let found = self.next()? == byte;
        self.at += 1;
        found.then_some(())
    }

    /// Whether the object or array goes on after a value.
    #[inline(always)]
    fn goes_on(&mut self, end: u8) -> Option<bool> {
        let byte = self.next()?;
        self.at += 1;
        match byte {
            b',' => Some(true),
            byte => (byte == end).then_some(false),
        }
    }

    fn value(&mut self) -> Made<'py> {
        let py = self.py;
        match self.next()? {
            b'"' => self.string(string),
            b'{' => self.nested(Self::object),
            b'[' => self.nested(Self::array),
            b'n' => self.literal(b"null", || py.None().into_bound(py)),
            b't' => self.literal(b"true", || PyBool::new(py, true).to_owned().into_any()),
            b'f' => self.literal(b"false", || PyBool::new(py, false).to_owned().into_any()),
            _ => self.number(),
        }
    }

    #[inline(always)]
    fn literal(&mut self, name: &[u8], value: impl FnOnce() -> Bound<'py, PyAny>) -> Made<'py> {
        let found = self.text[self.at..].starts_with(name);
        self.at += name.len();
        found.then(value)
    }

    /// A string, from its opening quote; `made` makes it.
    #[inline(always)]
    fn string(&mut self, made: fn(Python<'py>, &[u8]) -> Made<'py>) -> Made<'py> {
        let rest = &self.text[self.at..];
        let plain = &rest[1..];
        let length = plain_length(plain);
        match plain.get(length)? {
            b'"' => {
                self.at += length + 2;
                made(self.py, &plain[..length])
            }
            b'\\' => self.escaped(made),
            _ => None,
        }
    }

    #[inline(never)]
    fn escaped(&mut self, made: fn(Python<'py>, &[u8]) -> Made<'py>) -> Made<'py> {
        let mut reader = Jiter::new(&self.text[self.at..]);
        let made = made(self.py, reader.known_str().ok()?.as_bytes());
        self.at += reader.current_index();
        made
    }

    fn number(&mut self) -> Made<'py> {
        let rest = &self.text[self.at..];
        let sign = usize::from(rest[0] == b'-');
        let digits = rest[sign..].iter().take_while(|byte| byte.is_ascii_digit());
        let end = sign + digits.count();
        if matches!(rest.get(end), Some(b'.' | b'e' | b'E')) {
            let mut reader = Jiter::new(rest);
            let value = reader.next_float().ok()?;
            self.at += reader.current_index();
            // SAFETY: attached; a new reference, or null with an exception set.
            return unsafe { owned(self.py, ffi::PyFloat_FromDouble(value)) };
        }
        self.at += end;
        let (number, digits) = (&rest[..end], &rest[sign..end]);
        match digits {
            [_] | [b'1'..=b'9', ..] => {}
            _ => return None,
        }
        if digits.len() > SMALL {
            return long(self.py, number);
        }
        let value = digits
            .iter()
            .fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
        let value = if sign == 0 { value } else { -value };
        // SAFETY: attached; a new reference, or null with an exception set.
        unsafe { owned(self.py, ffi::PyLong_FromLongLong(value)) }
    }

    /// An object or an array, as deep as the interpreter lets its own parser go.
    #[inline(always)]
    fn nested(&mut self, body: impl FnOnce(&mut Self) -> Made<'py>) -> Made<'py> {
        self.at += 1;
        // SAFETY: attached; what is entered is left.
        unsafe {
            if ffi::Py_EnterRecursiveCall(c" while decoding JSON".as_ptr()) != 0 {
                ffi::PyErr_Clear();
                return None;
            }
            let made = body(self);
            ffi::Py_LeaveRecursiveCall();
            made
        }
    }

    fn object(&mut self) -> Made<'py> {
        // SAFETY: attached; a new reference or null.
        let dict = unsafe { owned(self.py, ffi::PyDict_New()) }?;
        if self.next()? == b'}' {
            self.at += 1;
            return Some(dict);
        }
        loop {
            if self.next()? != b'"' {
                return None;
            }
            let key = self.string(key)?;
            self.expect(b':')?;
            let value = self.value()?;
            // SAFETY: attached; live objects; the key is exactly str.
            unsafe {
                if ffi::PyDict_SetItem(dict.as_ptr(), key.as_ptr(), value.as_ptr()) != 0 {
                    return refused();
                }
            }
            if !self.goes_on(b'}')? {
                return Some(dict);
            }
        }
    }

    fn array(&mut self) -> Made<'py> {
        // SAFETY: attached; a new reference or null.
        let list = unsafe { owned(self.py, ffi::PyList_New(0)) }?;
        if self.next()? == b']' {
            self.at += 1;
            return Some(list);
        }
        loop {
            let value = self.value()?;
            // SAFETY: attached; live objects.
            unsafe {
                if ffi::PyList_Append(list.as_ptr(), value.as_ptr()) != 0 {
                    return refused();
                }
            }
            if !self.goes_on(b']')? {
                return Some(list);
            }
        }
    }
}

/// An integer of so many digits fits into 64 bits.
const SMALL: usize = 18;

/// The interpreter's bound on the digits of a number can be set to this, and no lower.
const DIGITS: usize = 640;

/// The `int` of a sign and digits.
#[cold]
fn long<'py>(py: Python<'py>, number: &[u8]) -> Made<'py> {
    if number.len() > DIGITS {
        return None;
    }
    let text = CString::new(number).ok()?;
    // SAFETY: attached; a new reference, or null with an exception set.
    unsafe {
        owned(
            py,
            ffi::PyLong_FromString(text.as_ptr(), ptr::null_mut(), 10),
        )
    }
}

/// How far a string's text goes without a quote, a backslash or a control character.
#[inline(always)]
fn plain_length(text: &[u8]) -> usize {
    match text.first_chunk::<32>() {
        Some(first) => match plain_words(first) {
            32 => long_plain_length(text),
            length => length,
        },
        None => plain_words(text),
    }
}

#[inline(never)]
fn long_plain_length(text: &[u8]) -> usize {
    let (pieces, _) = text.as_chunks::<64>();
    let plain = |piece: &&[u8; 64]| !piece.iter().fold(false, |any, byte| any | stops(byte));
    let length = 64 * pieces.iter().take_while(plain).count();
    length + plain_words(&text[length..])
}

#[inline(always)]
fn stops(byte: &u8) -> bool {
    matches!(byte, b'"' | b'\\' | ..0x20)
}

#[inline(always)]
fn plain_words(text: &[u8]) -> usize {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const TOP: u64 = 0x8080_8080_8080_8080;
    let (words, rest) = text.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let (quote, backslash) = (word ^ (LOW * 0x22), word ^ (LOW * 0x5C));
        // The lowest top bit that is left is that of a byte below 0x20, or of a zero byte.
        let found = word.wrapping_sub(LOW * 0x20) & !word
            | quote.wrapping_sub(LOW) & !quote
            | backslash.wrapping_sub(LOW) & !backslash;
        if found & TOP != 0 {
            return i * 8 + (found & TOP).trailing_zeros() as usize / 8;
        }
    }
    words.len() * 8 + rest.iter().take_while(|byte| !stops(byte)).count()
}

/// # Safety
///
/// The thread must be attached; `object` must be an owned reference, or null with an exception set.
#[inline(always)]
unsafe fn owned(py: Python<'_>, object: *mut ffi::PyObject) -> Made<'_> {
    if object.is_null() {
        return refused();
    }
    // SAFETY: said above.
    Some(unsafe { Bound::from_owned_ptr(py, object) })
}

/// Memory is short: the standard library shall say so.
#[cold]
fn refused<'py>() -> Made<'py> {
    // SAFETY: only called attached.
    unsafe { ffi::PyErr_Clear() };
    None
}

#[inline(always)]
fn string<'py>(py: Python<'py>, bytes: &[u8]) -> Made<'py> {
    // SAFETY: attached; a new reference, or null with an exception set.
    unsafe { owned(py, str_from_utf8(bytes)) }
}

/// Keys of this length, in bytes, are remembered: a stream's payloads have the same ones.
const REMEMBERED: std::ops::RangeInclusive<usize> = 2..=64;

/// The last ASCII keys seen, each an owned reference, by what `place` says. Only under a GIL,
/// which makes a load and a store one action.
static KEYS: [AtomicPtr<ffi::PyObject>; 1 << PLACES] =
    [const { AtomicPtr::new(ptr::null_mut()) }; 1 << PLACES];
const PLACES: u32 = 10;

/// Where a text of at least two bytes is remembered.
#[inline(always)]
fn place(text: &[u8]) -> usize {
    let (first, last) = if let (Some(first), Some(last)) =
        (text.first_chunk::<8>(), text.last_chunk::<8>())
    {
        (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        (
            u32::from_le_bytes(*first).into(),
            u32::from_le_bytes(*last).into(),
        )
    } else {
        (
            text[0].into(),
            u64::from(text[1]) << 8 | u64::from(text[text.len() - 1]),
        )
    };
    let mixed =
        (first ^ last.rotate_left(29) ^ text.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> (64 - PLACES)) as usize
}

#[inline(always)]
fn key<'py>(py: Python<'py>, bytes: &[u8]) -> Made<'py> {
    if !GIL || !REMEMBERED.contains(&bytes.len()) {
        return string(py, bytes);
    }
    // SAFETY: attached. What is remembered is compact ASCII and alive; the references are counted;
    // dropping a str runs no code of others.
    unsafe {
        let place = &KEYS[place(bytes)];
        let known = place.load(Ordering::Relaxed);
        if !known.is_null() {
            let length = ffi::PyUnicode_GET_LENGTH(known).cast_unsigned();
            let data = ffi::PyUnicode_1BYTE_DATA(known);
            if std::slice::from_raw_parts(data, length) == bytes {
                return Some(Bound::from_borrowed_ptr(py, known));
            }
        }
        let key = string(py, bytes)?;
        if bytes.is_ascii() {
            place.store(key.clone().into_ptr(), Ordering::Relaxed);
            ffi::Py_XDECREF(known);
        }
        Some(key)
    }
}

fn parse<'py>(py: Python<'py>, text: &[u8]) -> Made<'py> {
    let mut reader = Reader { py, text, at: 0 };
    let value = reader.value()?;
    reader.next().is_none().then_some(value)
}

/// What `json.loads(data)` gives.
pub fn loads<'py>(data: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
    let py = data.py();
    let parsed = if let Some(text) = ascii(data) {
        parse(py, text.as_bytes())
    } else {
        // Not `to_str`, which would keep a second copy of the text in the object.
        // SAFETY: attached; a live str; a new reference to bytes, or null with an exception set.
        unsafe {
            owned(py, ffi::PyUnicode_AsUTF8String(data.as_ptr()))
                .and_then(|bytes| parse(py, bytes.cast_unchecked::<PyBytes>().as_bytes()))
        }
    };
    match parsed {
        Some(value) => Ok(value),
        None => package::json_loads(py)?.call1((data,)),
    }
}
