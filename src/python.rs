//! The extension module `rapidsse._rapidsse`: Python types over the core.
//!
//! These rooms know Python and nothing of the standard. Hot and therefore written against the C
//! API: the event object ([`event`]), text ([`text`]), a step of an async iterator
//! ([`async_step`]) and the calls that are made once per chunk
//! or per event ([`slots`]). The rest is plain PyO3, and what both backends say in the same words
//! (option checks, errors, reprs, sources) is asked of the package's Python files ([`package`]).

mod aiter;
mod async_step;
mod chunk;
mod event;
mod items;
mod iter;
mod json;
mod make;
mod package;
mod parser;
mod shared;
mod slots;
mod steps;
mod text;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The compiled backend.
#[pymodule(gil_used = false)]
fn _rapidsse(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    make::init(py);
    async_step::init(py)?;
    module.add("ServerSentEvent", event::init(py)?)?;
    module.add_class::<items::Comment>()?;
    module.add_class::<items::Diagnostic>()?;
    module.add_class::<parser::Parser>()?;
    module.add_class::<iter::EventIterator>()?;
    module.add_class::<aiter::AsyncEventIterator>()?;
    module.add_function(wrap_pyfunction!(parser::parse, module)?)?;
    module.add_function(wrap_pyfunction!(iter::iter_events, module)?)?;
    module.add_function(wrap_pyfunction!(aiter::aiter_events, module)?)?;
    slots::init(py)
}

/// `class[item]`.
fn generic_alias<'py>(
    class: &Bound<'py, PyType>,
    item: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: attached; both are live objects.
    unsafe {
        let alias = ffi::Py_GenericAlias(class.as_ptr(), item.as_ptr());
        Bound::from_owned_ptr_or_err(class.py(), alias)
    }
}
