//! `AsyncEventIterator` and `aiter_events`.
//!
//! `__anext__` returns an awaitable that makes one step. One that waits keeps the source's awaitable
//! in `waiting` and hands everything through, so no coroutine or generator stands between the event
//! loop and the source.

use pyo3::exceptions::{
    PyBaseException, PyRuntimeError, PyStopAsyncIteration, PyStopIteration, PyTypeError,
};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use pyo3::{ffi, intern};

use super::package;
use super::parser::{chunk_bytes, generic_alias};
use super::shared::Shared;
use super::steps::{Step, Steps};

/// The items of a stream, one parsed per step. Made by aiter_events().
#[pyclass(frozen, module = "rapidsse")]
pub struct AsyncEventIterator {
    steps: Steps,
}

/// One step of an AsyncEventIterator, to be awaited once.
#[pyclass(frozen, module = "rapidsse", freelist = 64)]
pub struct AsyncStep {
    iterator: Py<AsyncEventIterator>,
    progress: Shared<Awaiting>,
}

/// How far a step has come.
enum Awaiting {
    NotBegun,
    /// The iterator of the awaitable that gives the next chunk.
    Chunk(Py<PyAny>),
    Done,
}

impl Drop for AsyncStep {
    /// A step that is dropped while it waits is given up.
    fn drop(&mut self) {
        // SAFETY: nobody else has the object any more.
        if let Awaiting::Chunk(_) = unsafe { self.progress.peek() } {
            Python::attach(|py| {
                let iterator = self.iterator.bind(py);
                iterator.get().steps.give_up(iterator.as_any());
            });
        }
    }
}

/// What awaiting came to.
pub enum Sent {
    /// The step is done.
    Return(Py<PyAny>),
    /// Something for the event loop.
    Yield(Py<PyAny>),
}

/// What became of the source's awaitable.
enum Awaited<'py> {
    Chunk(Bound<'py, PyAny>),
    Yield(Bound<'py, PyAny>),
    Error(PyErr),
}

/// `send` of any iterator.
#[inline(always)]
fn send<'py>(waiting: &Bound<'py, PyAny>, value: *mut ffi::PyObject) -> Awaited<'py> {
    let py = waiting.py();
    let mut result = std::ptr::null_mut();
    // SAFETY: attached; live objects; the result is a new reference or null with an exception.
    unsafe {
        let sent = ffi::PyIter_Send(waiting.as_ptr(), value, &raw mut result);
        match (sent, Bound::from_owned_ptr_or_opt(py, result)) {
            (ffi::PySendResult::PYGEN_RETURN, Some(chunk)) => Awaited::Chunk(chunk),
            (ffi::PySendResult::PYGEN_NEXT, Some(value)) => Awaited::Yield(value),
            _ => Awaited::Error(PyErr::fetch(py)),
        }
    }
}

/// The iterator that awaiting `awaitable` runs.
#[inline(always)]
fn awaited<'py>(awaitable: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = awaitable.py();
    // SAFETY: attached; slots are looked up on the type of a live object.
    unsafe {
        let object = awaitable.as_ptr();
        if ffi::PyCoro_CheckExact(object) != 0 || ffi::PyGen_CheckExact(object) != 0 {
            return Ok(awaitable);
        }
        let slots = (*ffi::Py_TYPE(object)).tp_as_async;
        let Some(slot) = slots.as_ref().and_then(|slots| slots.am_await) else {
            return Err(PyTypeError::new_err("__anext__() gave no awaitable"));
        };
        Bound::from_owned_ptr_or_err(py, slot(object))
    }
}

impl AsyncStep {
    /// Takes the state out; it is Done until something else is said.
    #[inline(always)]
    fn take(slf: &Bound<'_, Self>) -> Awaiting {
        // SAFETY: a reference is moved.
        unsafe {
            slf.get().progress.with(slf.as_any(), |progress| {
                std::mem::replace(progress, Awaiting::Done)
            })
        }
    }

    fn wait(slf: &Bound<'_, Self>, waiting: Bound<'_, PyAny>) {
        // SAFETY: a reference is moved in; what is dropped is Done.
        unsafe {
            slf.get().progress.with(slf.as_any(), |progress| {
                *progress = Awaiting::Chunk(waiting.unbind());
            });
        }
    }

    /// The body of `send`: begins the step, or goes on with it.
    #[inline(always)]
    pub fn sent(slf: &Bound<'_, Self>, value: *mut ffi::PyObject) -> PyResult<Sent> {
        let iterator = slf.get().iterator.bind(slf.py());
        match Self::take(slf) {
            Awaiting::NotBegun => match iterator.get().steps.step(iterator.as_any()) {
                Step::Item(item) => Ok(Sent::Return(item)),
                step => Self::pull(slf, step),
            },
            Awaiting::Chunk(waiting) => {
                let waiting = waiting.into_bound(slf.py());
                let result = send(&waiting, value);
                Self::went_on(slf, waiting, result)
            }
            Awaiting::Done => Err(PyRuntimeError::new_err(
                "cannot reuse already awaited coroutine",
            )),
        }
    }

    /// After a wait: the chunk has come, or not yet, or never will.
    fn went_on(
        slf: &Bound<'_, Self>,
        waiting: Bound<'_, PyAny>,
        result: Awaited<'_>,
    ) -> PyResult<Sent> {
        if let Awaited::Yield(value) = result {
            Self::wait(slf, waiting);
            return Ok(Sent::Yield(value.unbind()));
        }
        let iterator = slf.get().iterator.bind(slf.py());
        let step = Self::arrived(iterator, result)?;
        Self::pull(slf, step)
    }

    /// Pulls chunks until one has an item.
    #[inline(always)]
    fn pull(slf: &Bound<'_, Self>, mut step: Step) -> PyResult<Sent> {
        let iterator = slf.get().iterator.bind(slf.py());
        let (owner, steps) = (iterator.as_any(), &iterator.get().steps);
        loop {
            match step {
                Step::Item(item) => return Ok(Sent::Return(item)),
                Step::Chunk => {}
                other => {
                    let end = || PyStopAsyncIteration::new_err(());
                    return Err(steps.error(owner, &other).unwrap_or_else(end));
                }
            }
            let result = match steps.source(owner) {
                None => Awaited::Error(PyStopAsyncIteration::new_err(())),
                Some(source) => match Self::asked(&source) {
                    Err(error) => Awaited::Error(error),
                    // SAFETY: attached; None lives for ever.
                    Ok(waiting) => match send(&waiting, unsafe { ffi::Py_None() }) {
                        Awaited::Yield(value) => {
                            Self::wait(slf, waiting);
                            return Ok(Sent::Yield(value.unbind()));
                        }
                        result => result,
                    },
                },
            };
            step = Self::arrived(iterator, result)?;
        }
    }

    /// Asks the source for its next chunk.
    #[inline(always)]
    fn asked<'py>(source: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: attached; `async_chunks` gives an async iterator, whose type has the slot.
        let awaitable = unsafe {
            let slots = (*ffi::Py_TYPE(source.as_ptr())).tp_as_async;
            let Some(next) = slots.as_ref().and_then(|slots| slots.am_anext) else {
                return Err(PyTypeError::new_err("the source is no async iterator"));
            };
            Bound::from_owned_ptr_or_err(source.py(), next(source.as_ptr()))?
        };
        awaited(awaitable)
    }

    /// The source gave a chunk, ended or failed.
    #[inline(always)]
    fn arrived(iterator: &Bound<'_, AsyncEventIterator>, result: Awaited<'_>) -> PyResult<Step> {
        let (owner, steps) = (iterator.as_any(), &iterator.get().steps);
        match result {
            Awaited::Chunk(chunk) => match chunk_bytes(&chunk) {
                Ok(chunk) => {
                    steps.accept(owner, chunk);
                    Ok(steps.step(owner))
                }
                Err(refused) => Err(steps.fail(owner, refused, false)),
            },
            Awaited::Error(error) if error.is_instance_of::<PyStopAsyncIteration>(owner.py()) => {
                Ok(steps.end(owner))
            }
            Awaited::Error(error) => Err(steps.fail(owner, error, true)),
            Awaited::Yield(_) => Ok(Step::Busy),
        }
    }

    /// What Python's iterator protocol makes of it.
    fn told(sent: PyResult<Sent>) -> PyResult<Py<PyAny>> {
        match sent? {
            Sent::Yield(value) => Ok(value),
            Sent::Return(item) => Err(PyStopIteration::new_err((item,))),
        }
    }
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

    fn __anext__(slf: Py<Self>) -> AsyncStep {
        AsyncStep {
            iterator: slf,
            progress: Shared::new(Awaiting::NotBegun),
        }
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

#[pymethods]
impl AsyncStep {
    fn __await__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        // SAFETY: attached; None lives for ever.
        Self::told(Self::sent(slf, unsafe { ffi::Py_None() }))
    }

    /// Goes on with the step.
    #[pyo3(signature = (value, /))]
    fn send(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Self::told(Self::sent(slf, value.as_ptr()))
    }

    /// Throws an exception into the step.
    #[pyo3(signature = (*exception))]
    fn throw(slf: &Bound<'_, Self>, exception: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let thrown = || -> PyErr {
            let first = exception.get_item(0);
            let value = exception.get_item(1).ok().filter(|value| !value.is_none());
            match (first, value) {
                (_, Some(value)) if value.is_instance_of::<PyBaseException>() => {
                    PyErr::from_value(value)
                }
                (Ok(first), _) => PyErr::from_value(first),
                (Err(error), _) => error,
            }
        };
        let waiting = match Self::take(slf) {
            Awaiting::Chunk(waiting) => waiting.into_bound(py),
            Awaiting::NotBegun | Awaiting::Done => return Err(thrown()),
        };
        let result = match waiting.getattr_opt(intern!(py, "throw"))? {
            None => Awaited::Error(thrown()),
            Some(throw) => match throw.call1(exception) {
                Ok(value) => Awaited::Yield(value),
                Err(stop) if stop.is_instance_of::<PyStopIteration>(py) => {
                    Awaited::Chunk(stop.value(py).getattr(intern!(py, "value"))?)
                }
                Err(error) => Awaited::Error(error),
            },
        };
        Self::told(Self::went_on(slf, waiting, result))
    }

    /// Gives the step up. The iterator goes on with the next one.
    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        if let Awaiting::Chunk(waiting) = Self::take(slf) {
            let iterator = slf.get().iterator.bind(py);
            iterator.get().steps.give_up(iterator.as_any());
            if let Some(close) = waiting.bind(py).getattr_opt(intern!(py, "close"))? {
                close.call0()?;
            }
        }
        Ok(())
    }

    #[allow(clippy::needless_pass_by_value)]
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.iterator)?;
        // SAFETY: the collector runs while no thread is inside `with`.
        match unsafe { self.progress.peek() } {
            Awaiting::Chunk(waiting) => visit.call(&*waiting),
            Awaiting::NotBegun | Awaiting::Done => Ok(()),
        }
    }

    fn __clear__(slf: &Bound<'_, Self>) {
        if let Awaiting::Chunk(waiting) = Self::take(slf) {
            let iterator = slf.get().iterator.bind(slf.py());
            iterator.get().steps.give_up(iterator.as_any());
            drop(waiting);
        }
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
