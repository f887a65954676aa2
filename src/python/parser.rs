//! `Parser` and `parse`.

use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use super::chunk::chunk_bytes;
use super::generic_alias;
use super::make::{Maker, empty};
use super::package::{self, checked};
use super::shared::Shared;
use crate::{Cursor, Options, Progress};

/// A parser's state behind its Python object.
struct State {
    core: crate::Parser,
    maker: Maker,
    limit: Option<usize>,
    /// Whether the overflow has been told.
    raised: bool,
}

/// An incremental event stream parser: bytes in, events out, however the network cuts them.
///
/// Args:
///     last_event_id (str): the last event ID to start from.
///     max_buffer_size (int | None): the most that may be retained, in bytes; None for no limit.
///     comments (bool): also tell comments.
///     diagnostics (bool): also tell what the standard ignores.
///     raw (bool): keep each block's bytes in event.raw.
///     types (Collection[str] | None): keep events of these types ...
///     contains (Collection[bytes] | None): ... or whose data has one of these; skip the others.
///
/// Raises:
///     TypeError, ValueError: an option of another type or out of range.
///
/// Source: WHATWG HTML, Server-sent events, parsing and interpreting an event stream.
#[pyclass(frozen, module = "rapidsse")]
pub struct Parser {
    state: Shared<State>,
}

/// An argument that may be left out; None is a value like any other.
enum Given<'py> {
    Nothing,
    Value(Bound<'py, PyAny>),
}

impl<'py> FromPyObject<'_, 'py> for Given<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Given::Value(object.to_owned()))
    }
}

/// Why a call is refused.
enum Refused {
    Closed,
    Overflow(Option<usize>),
    Failed,
}

impl Refused {
    #[cold]
    fn into_error(self, py: Python<'_>) -> PyErr {
        match self {
            Refused::Failed => PyErr::fetch(py),
            Refused::Overflow(limit) => package::overflow(py, limit),
            Refused::Closed => match package::parser_closed(py).and_then(|class| class.call0()) {
                Ok(error) => PyErr::from_value(error),
                Err(error) => error,
            },
        }
    }
}

impl State {
    #[inline(always)]
    fn feed(&mut self, chunk: &[u8]) -> Result<(), Refused> {
        if self.core.is_closed() {
            return Err(self.refused());
        }
        let mut cursor = Cursor::default();
        let progress = self.core.step(chunk, &mut cursor, &mut self.maker);
        if std::mem::take(&mut self.maker.failed) {
            return Err(Refused::Failed);
        }
        if progress == Progress::Overflow && self.maker.items.is_empty() {
            return Err(self.refused());
        }
        Ok(())
    }

    #[cold]
    fn refused(&mut self) -> Refused {
        if self.core.has_overflowed() {
            self.raised = true;
            Refused::Overflow(self.limit)
        } else {
            Refused::Closed
        }
    }
}

impl Parser {
    /// Runs `work` on the state.
    ///
    /// # Safety
    ///
    /// As for [`Shared::with`].
    #[inline(always)]
    unsafe fn with<R>(slf: &Bound<'_, Self>, work: impl FnOnce(&mut State) -> R) -> R {
        // SAFETY: said above.
        unsafe { slf.get().state.with(slf.as_any(), work) }
    }

    /// The body of `feed`.
    #[inline(always)]
    pub fn feed_chunk<'py>(
        slf: &Bound<'py, Self>,
        chunk: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let chunk = chunk_bytes(chunk)?;
        // SAFETY: parsing makes objects and runs no Python code.
        let fed = unsafe {
            Self::with(slf, |state| {
                let fed = state.feed(chunk.as_bytes());
                fed.map(|()| std::mem::take(&mut state.maker.items))
            })
        };
        let mut items = fed.map_err(|refused| refused.into_error(py))?;
        let list = list_of(py, &mut items)?;
        // SAFETY: as above; the room goes back for the next call.
        unsafe { Self::with(slf, |state| give_back(&mut state.maker.items, items)) };
        Ok(list)
    }
}

/// Room for this many items is kept between calls.
const ROOM: usize = 4096;

fn give_back(place: &mut Vec<Py<PyAny>>, items: Vec<Py<PyAny>>) {
    if place.capacity() == 0 && items.capacity() <= ROOM {
        *place = items;
    }
}

/// A list of the items, which are taken out.
#[inline]
fn list_of<'py>(py: Python<'py>, items: &mut Vec<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: a new list of that length has that many empty slots, and nobody else knows it.
    unsafe {
        let list = Bound::from_owned_ptr_or_err(py, ffi::PyList_New(items.len().cast_signed()))?;
        for (i, item) in items.drain(..).enumerate() {
            ffi::PyList_SET_ITEM(list.as_ptr(), i.cast_signed(), item.into_ptr());
        }
        Ok(list)
    }
}

#[pymethods]
impl Parser {
    #[new]
    #[pyo3(
        signature = (**options),
        text_signature = "(*, last_event_id='', max_buffer_size=67108864, comments=False, \
            diagnostics=False, raw=False, types=None, contains=None)"
    )]
    fn new(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let checked = checked(py, options, Some(Options::MAX_BUFFER_SIZE))?;
        let last_event_id = checked.last_event_id.unwrap_or_else(|| empty(py));
        Ok(Parser {
            state: Shared::new(State {
                limit: checked.core.max_buffer_size,
                core: crate::Parser::new(checked.core),
                maker: Maker::new(last_event_id, false),
                raised: false,
            }),
        })
    }

    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        item: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        generic_alias(class, item)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "cannot pickle 'rapidsse.Parser' object",
        ))
    }

    /// Parses a chunk and returns the items it completes, in stream order.
    ///
    /// Args:
    ///     chunk (bytes | bytearray | memoryview): any C-contiguous buffer, cut anywhere.
    ///
    /// Raises:
    ///     BufferSizeExceeded: the limit was exceeded and every item before it handed over.
    ///     ParserClosed: after close().
    ///     TypeError, ValueError: what was given is no such buffer.
    ///
    /// Source: WHATWG HTML, Server-sent events, parsing an event stream.
    #[pyo3(signature = (chunk, /))]
    fn feed<'py>(slf: &Bound<'py, Self>, chunk: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Self::feed_chunk(slf, chunk)
    }

    /// Ends the stream. Returns the event that its end cut off, which the standard discards, or
    /// None if no data field had begun.
    ///
    /// Raises:
    ///     BufferSizeExceeded: the limit was exceeded and that has not been told yet.
    ///
    /// Source: WHATWG HTML, Server-sent events, interpreting an event stream.
    fn close(slf: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        let py = slf.py();
        // SAFETY: an event is made; no Python code runs.
        let closed = unsafe {
            Self::with(slf, |state| {
                if state.core.has_overflowed() && !state.raised {
                    return Err(state.refused());
                }
                let State { core, maker, .. } = state;
                let event = core.close(|event| maker.make_unfinished(py, event));
                if std::mem::take(&mut maker.failed) {
                    return Err(Refused::Failed);
                }
                Ok(event.flatten())
            })
        };
        closed.map_err(|refused| refused.into_error(py))
    }

    /// Begins a new stream with the same options.
    ///
    /// Args:
    ///     last_event_id (str): the last event ID to start from.
    ///
    /// Raises:
    ///     TypeError: last_event_id is not a str.
    ///     ValueError: last_event_id has U+0000, CR or LF.
    #[pyo3(signature = (last_event_id = Given::Nothing), text_signature = "($self, last_event_id='')")]
    fn reset(slf: &Bound<'_, Self>, last_event_id: Given<'_>) -> PyResult<()> {
        let py = slf.py();
        let id = match last_event_id {
            Given::Value(id) => package::check_last_event_id(py)?.call1((id,))?.unbind(),
            Given::Nothing => empty(py),
        };
        // SAFETY: buffers and exact strings are dropped; no Python code runs.
        unsafe {
            Self::with(slf, |state| {
                state.core.reset();
                state.maker.last_event_id = id;
                state.raised = false;
            });
        }
        Ok(())
    }

    /// The last event ID of the stream (str).
    #[getter]
    fn last_event_id(slf: &Bound<'_, Self>) -> Py<PyAny> {
        let py = slf.py();
        // SAFETY: a reference is copied.
        unsafe { Self::with(slf, |state| state.maker.last_event_id.clone_ref(py)) }
    }

    /// The stream's latest valid reconnection time in milliseconds (int | None).
    #[getter]
    fn retry(slf: &Bound<'_, Self>) -> Option<u64> {
        // SAFETY: a number is read.
        unsafe { Self::with(slf, |state| state.core.retry()) }
    }

    /// What max_buffer_size counts just now, in bytes (int).
    #[getter]
    fn buffered(slf: &Bound<'_, Self>) -> usize {
        // SAFETY: a number is read.
        unsafe { Self::with(slf, |state| state.core.buffered()) }
    }

    /// Whether nothing more can be fed: after close() or an overflow (bool).
    #[getter]
    fn closed(slf: &Bound<'_, Self>) -> bool {
        // SAFETY: a flag is read.
        unsafe { Self::with(slf, |state| state.core.is_closed()) }
    }

    /// Whether close() found the stream ended inside a block (bool).
    #[getter]
    fn truncated(slf: &Bound<'_, Self>) -> bool {
        // SAFETY: a flag is read.
        unsafe { Self::with(slf, |state| state.core.is_truncated()) }
    }

    /// Events that types and contains left out (int).
    #[getter]
    fn skipped(slf: &Bound<'_, Self>) -> u64 {
        // SAFETY: a number is read.
        unsafe { Self::with(slf, |state| state.core.skipped()) }
    }
}

/// Parses a whole body and returns its items, in stream order.
///
/// Args:
///     data (bytes | bytearray | memoryview): the body.
///     **options: those of Parser; max_buffer_size defaults to None here.
///
/// Raises:
///     BufferSizeExceeded: max_buffer_size was given and exceeded.
///     TypeError, ValueError: wrong data or options.
///
/// Source: WHATWG HTML, Server-sent events, parsing an event stream.
#[pyfunction]
#[pyo3(signature = (data, /, **options))]
pub fn parse<'py>(
    data: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = data.py();
    let checked = checked(py, options, None)?;
    let limit = checked.core.max_buffer_size;
    let last_event_id = checked.last_event_id.unwrap_or_else(|| empty(py));
    let mut core = crate::Parser::new(checked.core);
    let mut maker = Maker::new(last_event_id, false);
    let data = chunk_bytes(data)?;
    let progress = core.step(data.as_bytes(), &mut Cursor::default(), &mut maker);
    if let Some(error) = maker.take_failure(py) {
        return Err(error);
    }
    if progress == Progress::Overflow {
        return Err(package::overflow(py, limit));
    }
    list_of(py, &mut maker.items)
}
