//! What a chunk is: `bytes`, or any other C-contiguous buffer.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::package;

/// The bytes of a chunk. What is not exactly `bytes` is copied, so that no code of others and no
/// other thread can change them while they are parsed.
#[inline]
pub fn chunk_bytes<'py>(chunk: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    match chunk.cast_exact::<PyBytes>() {
        Ok(bytes) => Ok(bytes.clone()),
        Err(_) => copied(chunk),
    }
}

#[cold]
fn copied<'py>(chunk: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = chunk.py();
    // SAFETY: attached; the view is released after its bytes are copied, and only if it was got.
    unsafe {
        let mut view = std::mem::zeroed::<ffi::Py_buffer>();
        if ffi::PyObject_GetBuffer(chunk.as_ptr(), &raw mut view, ffi::PyBUF_SIMPLE) != 0 {
            ffi::PyErr_Clear();
            return Err(PyErr::from_value(package::bad_chunk(py)?.call1((chunk,))?));
        }
        let bytes = ffi::PyBytes_FromStringAndSize(view.buf.cast(), view.len);
        ffi::PyBuffer_Release(&raw mut view);
        Ok(Bound::from_owned_ptr_or_err(py, bytes)?.cast_into_unchecked())
    }
}
