//! `AsyncEventIterator` and `aiter_events`.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use super::async_step::new_step;
use super::steps::Steps;
use super::{generic_alias, package};

/// The items of a stream, one parsed per step. Made by aiter_events().
#[pyclass(frozen, module = "rapidsse")]
pub struct AsyncEventIterator {
    pub steps: Steps,
}

#[pymethods]
impl AsyncEventIterator {
    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        item: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        generic_alias(class, item)
    }

    fn __aiter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __anext__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: attached; the module is there before its objects.
        unsafe { Bound::from_owned_ptr_or_err(slf.py(), new_step(slf.as_ptr())) }
    }

    fn __aenter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        package::ready(slf.py())?.call1((slf,))
    }

    #[pyo3(signature = (*_exception))]
    fn __aexit__<'py>(
        slf: &Bound<'py, Self>,
        _exception: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::aclose(slf)
    }

    /// Ends the iteration; to be awaited. A source that is an iterator is closed; a file stays
    /// open.
    fn aclose<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        package::closing(slf.py())?.call1((slf.getattr(intern!(slf.py(), "_leave"))?,))
    }

    /// Ends the iteration; returns what closes the source, or None.
    fn _leave(slf: &Bound<'_, Self>) -> Option<Py<PyAny>> {
        slf.get().steps.leave(slf.as_any())
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
///     chunks (AsyncIterable[bytes] | StreamReader): an async iterable of chunks, an object with
///         aiohttp's readany(), or an async binary file; never read by lines. What iter_events
///         takes is taken too, and blocks the event loop while it is read.
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
pub fn aiter_events(
    chunks: &Bound<'_, PyAny>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<AsyncEventIterator> {
    let opened = package::async_chunks(chunks.py())?.call1((chunks,))?;
    Ok(AsyncEventIterator {
        steps: Steps::new(&opened, options)?,
    })
}
