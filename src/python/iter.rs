//! `EventIterator` and `iter_events`.

use pyo3::exceptions::PyStopIteration;
use pyo3::ffi;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};

use super::chunk::chunk_bytes;
use super::steps::{Step, Steps};
use super::{generic_alias, package};

/// The items of a stream, one parsed per step. Made by iter_events().
#[pyclass(frozen, module = "rapidsse")]
pub struct EventIterator {
    steps: Steps,
}

impl EventIterator {
    /// The body of `__next__`: the next item, or null: the end, or an exception that is set.
    ///
    /// It is called from a slot, where PyO3 does not know that the thread is attached; so nothing
    /// here is dropped but through `py`, and whatever is not the daily case is done in `attached`.
    #[inline(always)]
    pub fn next_item(slf: &Bound<'_, Self>) -> *mut ffi::PyObject {
        let (py, owner, steps) = (slf.py(), slf.as_any(), &slf.get().steps);
        loop {
            match steps.step(owner) {
                Step::Item(item) => return item.into_ptr(),
                Step::Chunk => {}
                other => return Self::attached(slf, |slf| Self::outcome(slf, other)),
            }
            let Some(source) = steps.source(owner) else {
                return Self::attached(slf, Self::exhausted);
            };
            // SAFETY: attached; `sync_chunks` gives an iterator, whose type has the slot.
            let chunk = unsafe {
                let next = (*ffi::Py_TYPE(source.as_ptr())).tp_iternext;
                let chunk = next.map_or(std::ptr::null_mut(), |next| next(source.as_ptr()));
                Bound::from_owned_ptr_or_opt(py, chunk)
            };
            match chunk.map(Bound::cast_into_exact::<PyBytes>) {
                Some(Ok(chunk)) => steps.accept(owner, chunk),
                Some(Err(other)) => {
                    let other = other.into_inner();
                    let refused = Self::attached(slf, |slf| Self::convert(slf, &other));
                    if refused.is_null() {
                        return refused;
                    }
                }
                None => return Self::attached(slf, Self::exhausted),
            }
        }
    }

    /// Does what is not done for each event, in full attachment; null for an exception or an end.
    #[cold]
    #[inline(never)]
    fn attached<'py>(
        slf: &Bound<'py, Self>,
        work: impl FnOnce(&Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>>,
    ) -> *mut ffi::PyObject {
        Python::attach(|py| match work(slf.as_unbound().bind(py)) {
            Ok(item) => item.map_or(std::ptr::null_mut(), Py::into_ptr),
            Err(error) => {
                error.restore(py);
                std::ptr::null_mut()
            }
        })
    }

    fn outcome(slf: &Bound<'_, Self>, step: Step) -> PyResult<Option<Py<PyAny>>> {
        if let Step::Item(item) = step {
            return Ok(Some(item));
        }
        slf.get()
            .steps
            .error(slf.as_any(), &step)
            .map_or(Ok(None), Err)
    }

    /// The source gave no chunk: it has ended, or an exception is set.
    fn exhausted(slf: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        let (py, owner, steps) = (slf.py(), slf.as_any(), &slf.get().steps);
        match PyErr::take(py) {
            Some(failure) if !failure.is_instance_of::<PyStopIteration>(py) => {
                Err(steps.fail(owner, failure, true))
            }
            _ => Self::outcome(slf, steps.end(owner)),
        }
    }

    /// Takes in a chunk that is not exactly bytes. What is returned only tells success.
    fn convert(slf: &Bound<'_, Self>, chunk: &Bound<'_, PyAny>) -> PyResult<Option<Py<PyAny>>> {
        let (owner, steps) = (slf.as_any(), &slf.get().steps);
        let chunk = chunk_bytes(chunk).map_err(|refused| steps.fail(owner, refused, false))?;
        steps.accept(owner, chunk);
        Ok(Some(slf.py().None()))
    }
}

#[pymethods]
impl EventIterator {
    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        item: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        generic_alias(class, item)
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(slf: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        let item = Self::next_item(slf);
        // SAFETY: a new reference, or null, where an exception may be set.
        match unsafe { Bound::from_owned_ptr_or_opt(slf.py(), item) } {
            Some(item) => Ok(Some(item.unbind())),
            None => PyErr::take(slf.py()).map_or(Ok(None), Err),
        }
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(slf: &Bound<'_, Self>, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        Self::close(slf)
    }

    /// Ends the iteration. A source that is an iterator is closed; a file stays open.
    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        match slf.get().steps.leave(slf.as_any()) {
            Some(close) => close.call0(slf.py()).map(drop),
            None => Ok(()),
        }
    }

    /// The last event ID as of the last item (str).
    #[getter]
    fn last_event_id(slf: &Bound<'_, Self>) -> Py<PyAny> {
        slf.get().steps.last_event_id(slf.as_any())
    }

    /// The latest valid reconnection time as of the last item, in milliseconds (int | None).
    #[getter]
    fn retry(slf: &Bound<'_, Self>) -> Option<u64> {
        slf.get().steps.retry(slf.as_any())
    }

    /// Events that types and contains left out so far (int).
    #[getter]
    fn skipped(slf: &Bound<'_, Self>) -> u64 {
        slf.get().steps.skipped(slf.as_any())
    }

    /// The event that the end of the stream cut off (ServerSentEvent | None).
    #[getter]
    fn unfinished(slf: &Bound<'_, Self>) -> Option<Py<PyAny>> {
        slf.get().steps.unfinished(slf.as_any())
    }

    /// Whether the stream ended inside a block (bool).
    #[getter]
    fn truncated(slf: &Bound<'_, Self>) -> bool {
        slf.get().steps.truncated(slf.as_any())
    }

    #[allow(clippy::needless_pass_by_value)]
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.steps.traverse(&visit)
    }

    fn __clear__(slf: &Bound<'_, Self>) {
        slf.get().steps.clear(slf.as_any());
    }
}

/// Iterates over the items of a stream, parsing one per step.
///
/// Args:
///     chunks (Iterable[bytes] | BinaryIO): an iterable of chunks, or a binary file, which is
///         read in blocks that return as soon as bytes are there; never by lines.
///     unfinished (str): what becomes of an event that the end of the stream cut off: 'discard',
///         as in the standard, 'raise' StreamInterrupted, or 'yield' it.
///     **options: those of Parser.
///
/// Raises:
///     TypeError, ValueError: a source or an option that is not as said.
///     BufferSizeExceeded, StreamInterrupted: while iterating.
///
/// Source: WHATWG HTML, Server-sent events, parsing an event stream.
#[pyfunction]
#[pyo3(
    signature = (chunks, /, **options),
    text_signature = "(chunks, /, *, unfinished='discard', **options)"
)]
pub fn iter_events(
    chunks: &Bound<'_, PyAny>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<EventIterator> {
    let opened = package::sync_chunks(chunks.py())?.call1((chunks,))?;
    let steps = Steps::new(&opened, options)?;
    Ok(EventIterator { steps })
}
