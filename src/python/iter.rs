//! `EventIterator` and `iter_events`.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use pyo3::{PyErr, ffi};

use super::package;
use super::parser::{chunk_bytes, generic_alias};
use super::steps::{Step, Steps, error};

/// The items of a stream, one parsed per step. Made by iter_events().
#[pyclass(frozen, module = "rapidsse")]
pub struct EventIterator {
    steps: Steps,
}

impl EventIterator {
    /// The body of `__next__`: the next item, None at the end.
    #[inline(always)]
    pub fn following(slf: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        let steps = &slf.get().steps;
        let mut step = steps.step(slf.as_any());
        loop {
            match step {
                Step::Item(item) => return Ok(Some(item)),
                Step::Chunk => {
                    if let Some(end) = Self::pull(slf)? {
                        step = end;
                    } else {
                        step = steps.step(slf.as_any());
                    }
                }
                other => return error(slf.py(), other).map_or(Ok(None), Err),
            }
        }
    }

    /// Pulls the next chunk; the last step where there is none.
    #[inline(always)]
    fn pull(slf: &Bound<'_, Self>) -> PyResult<Option<Step>> {
        let (py, owner, steps) = (slf.py(), slf.as_any(), &slf.get().steps);
        let Some(source) = steps.source(owner) else {
            return Ok(Some(steps.end(owner)));
        };
        // SAFETY: attached; `sync_chunks` gives an iterator, whose type has the slot.
        let chunk = unsafe {
            let next = (*ffi::Py_TYPE(source.as_ptr())).tp_iternext;
            let chunk = next.map_or(std::ptr::null_mut(), |next| next(source.as_ptr()));
            Bound::from_owned_ptr_or_opt(py, chunk)
        };
        let Some(chunk) = chunk else {
            let failure = PyErr::take(py);
            return match failure {
                Some(failure) if !is_stop(py, &failure) => Err(steps.fail(owner, failure, true)),
                _ => Ok(Some(steps.end(owner))),
            };
        };
        match chunk_bytes(&chunk) {
            Ok(chunk) => {
                steps.accept(owner, chunk);
                Ok(None)
            }
            Err(refused) => Err(steps.fail(owner, refused, false)),
        }
    }
}

fn is_stop(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<pyo3::exceptions::PyStopIteration>(py)
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
        Self::following(slf)
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
        slf.get().steps.clear(slf.py());
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
#[pyo3(signature = (chunks, /, *, unfinished = None, **options))]
pub fn iter_events(
    chunks: &Bound<'_, PyAny>,
    unfinished: Option<&Bound<'_, PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<EventIterator> {
    let opened = package::sync_chunks(chunks.py())?.call1((chunks,))?;
    let steps = Steps::new(&opened, unfinished, options)?;
    Ok(EventIterator { steps })
}
