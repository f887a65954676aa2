//! The calls that are made once per chunk or per event, as plain C functions in the types' slots.
//!
//! PyO3 makes the types; here their hottest entries are exchanged for ones that do the same with
//! less around it (measured in `benches/NOTES.md`).

use std::ptr;

use pyo3::prelude::*;
use pyo3::{PyTypeInfo, ffi, intern};

use super::aiter::AsyncEventIterator;
use super::async_step::new_step;
use super::iter::EventIterator;
use super::parser::Parser;

unsafe extern "C" fn next(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: called by the interpreter, attached, with an object of the type.
    unsafe {
        let py = Python::assume_attached();
        let object = Bound::ref_from_ptr(py, &object).cast_unchecked::<EventIterator>();
        EventIterator::next_item(object)
    }
}

unsafe extern "C" fn feed(
    object: *mut ffi::PyObject,
    chunk: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: called by the interpreter, attached, with an object of the type.
    unsafe {
        let py = Python::assume_attached();
        let object = Bound::ref_from_ptr(py, &object).cast_unchecked::<Parser>();
        match Parser::feed_chunk(object, Bound::ref_from_ptr(py, &chunk)) {
            Ok(list) => list.into_ptr(),
            Err(error) => {
                error.restore(py);
                ptr::null_mut()
            }
        }
    }
}

unsafe extern "C" fn anext(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: called by the interpreter, attached, with an object of the type.
    unsafe { new_step(object) }
}

/// Puts the functions in their places.
pub fn init(py: Python<'_>) -> PyResult<()> {
    let feed_method = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: c"feed".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: feed },
        ml_flags: ffi::METH_O,
        ml_doc: Parser::type_object(py)
            .getattr(intern!(py, "feed"))?
            .getattr("__doc__")?
            .extract::<String>()
            .map(|doc| {
                let doc = format!("feed($self, chunk, /)\n--\n\n{doc}\0");
                doc.leak().as_ptr().cast()
            })?,
    }));
    // SAFETY: the types are ours and complete, nobody uses them yet, and each function takes
    // objects of the type whose slot it is put in.
    unsafe {
        let parser = Parser::type_object_raw(py);
        let feed = ffi::PyDescr_NewMethod(parser, feed_method);
        let feed = Bound::from_owned_ptr_or_err(py, feed)?;
        Parser::type_object(py).setattr("feed", feed)?;
        let iterator = EventIterator::type_object_raw(py);
        (*iterator).tp_iternext = Some(next);
        ffi::PyType_Modified(iterator);
        let iterator = AsyncEventIterator::type_object_raw(py);
        if let Some(slots) = (*iterator).tp_as_async.as_mut() {
            slots.am_anext = Some(anext);
        }
        ffi::PyType_Modified(iterator);
    }
    Ok(())
}
