//! `str` objects from received bytes.

use std::ptr;

use pyo3::ffi;

/// A new `str`: UTF-8 decoded, with U+FFFD for each maximal part that is none. Null and an
/// exception set when memory is short.
///
/// # Safety
///
/// The thread must be attached to the interpreter.
#[inline]
pub unsafe fn str_from_utf8(bytes: &[u8]) -> *mut ffi::PyObject {
    if bytes.is_ascii() {
        // SAFETY: attached; `bytes` is ASCII.
        unsafe { str_from_ascii(bytes) }
    } else {
        // SAFETY: attached; pointer and length are those of a slice.
        unsafe {
            ffi::PyUnicode_DecodeUTF8(
                bytes.as_ptr().cast(),
                bytes.len().cast_signed(),
                c"replace".as_ptr(),
            )
        }
    }
}

/// # Safety
///
/// The thread must be attached; `bytes` must be ASCII.
#[inline]
unsafe fn str_from_ascii(bytes: &[u8]) -> *mut ffi::PyObject {
    // SAFETY: a compact ASCII str has room for exactly its length in one-byte characters, and
    // nobody else knows the new object yet.
    unsafe {
        let text = ffi::PyUnicode_New(bytes.len().cast_signed(), 127);
        if !text.is_null() && !bytes.is_empty() {
            ptr::copy_nonoverlapping(bytes.as_ptr(), ffi::PyUnicode_1BYTE_DATA(text), bytes.len());
        }
        text
    }
}
