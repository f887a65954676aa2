//! The sink that makes Python objects of what the core hands over.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::prelude::*;
use pyo3::{ffi, intern};

use super::event::{Fields, new_event, release};
use super::items::{Comment, Diagnostic as PyDiagnostic};
use super::text::str_from_utf8;
use crate::{Diagnostic, Event, Flow, Sink};

static MESSAGE: AtomicPtr<ffi::PyObject> = AtomicPtr::new(ptr::null_mut());
static EMPTY: AtomicPtr<ffi::PyObject> = AtomicPtr::new(ptr::null_mut());

/// Makes the strings that every event may need. They live as long as the process.
pub fn init(py: Python<'_>) {
    MESSAGE.store(intern!(py, "message").clone().into_ptr(), Ordering::Relaxed);
    EMPTY.store(intern!(py, "").clone().into_ptr(), Ordering::Relaxed);
}

/// A new reference to the empty string.
pub fn empty(py: Python<'_>) -> Py<PyAny> {
    // SAFETY: `init` has run, and the string lives for ever.
    unsafe { Bound::from_borrowed_ptr(py, EMPTY.load(Ordering::Relaxed)) }.unbind()
}

/// Event types up to this length are remembered; in bytes.
const NAME: usize = 48;

/// Makes items and holds them until they are taken. It is used attached only, and makes no object
/// whose making can run the garbage collector.
pub struct Maker {
    pub items: Vec<Py<PyAny>>,
    /// A `str`.
    pub last_event_id: Py<PyAny>,
    /// The last event type seen, and its `str`: streams have few types, and repeat them.
    name: [u8; NAME],
    name_len: usize,
    name_text: Option<Py<PyAny>>,
    /// Whether an object could not be made. The exception is set.
    pub failed: bool,
    /// Whether to stop after each item.
    pub one_at_a_time: bool,
}

impl Maker {
    pub fn new(last_event_id: Py<PyAny>, one_at_a_time: bool) -> Self {
        Maker {
            items: Vec::new(),
            last_event_id,
            name: [0; NAME],
            name_len: 0,
            name_text: None,
            failed: false,
            one_at_a_time,
        }
    }

    /// Whether an object could not be made since this was last asked.
    pub fn take_failure(&mut self, py: Python<'_>) -> Option<PyErr> {
        std::mem::take(&mut self.failed).then(|| PyErr::fetch(py))
    }

    /// A new reference to the event type's `str`, or null.
    #[inline]
    fn event_type(&mut self, py: Python<'_>, name: &[u8]) -> *mut ffi::PyObject {
        if name.is_empty() {
            // SAFETY: `init` has run, and the string lives for ever.
            return unsafe { ffi::Py_NewRef(MESSAGE.load(Ordering::Relaxed)) };
        }
        if name == &self.name[..self.name_len]
            && let Some(text) = &self.name_text
        {
            return text.clone_ref(py).into_ptr();
        }
        // SAFETY: attached.
        let text = unsafe { str_from_utf8(name) };
        if name.len() <= NAME {
            self.name[..name.len()].copy_from_slice(name);
            self.name_len = name.len();
            // SAFETY: attached; a live object or null.
            self.name_text =
                unsafe { Bound::from_borrowed_ptr_or_opt(py, text) }.map(Bound::unbind);
        }
        text
    }

    /// The Python event, or None with an exception set.
    #[inline(always)]
    pub fn make(
        &mut self,
        py: Python<'_>,
        event: Event<'_>,
        id: *mut ffi::PyObject,
    ) -> Option<Py<PyAny>> {
        // SAFETY: attached; every value is owned, exact or null; null ones are refused.
        unsafe {
            let fields = Fields {
                event: self.event_type(py, event.event),
                data: str_from_utf8(event.data),
                id,
                retry: match event.retry {
                    None => ffi::Py_NewRef(ffi::Py_None()),
                    Some(milliseconds) => ffi::PyLong_FromUnsignedLongLong(milliseconds),
                },
                raw: match event.raw {
                    None => ffi::Py_NewRef(ffi::Py_None()),
                    Some(raw) => {
                        let length = raw.len().cast_signed();
                        ffi::PyBytes_FromStringAndSize(raw.as_ptr().cast(), length)
                    }
                },
            };
            let failed = fields.event.is_null()
                || fields.data.is_null()
                || fields.id.is_null()
                || fields.retry.is_null()
                || fields.raw.is_null();
            if failed {
                release(&fields);
                return None;
            }
            Bound::from_owned_ptr_or_opt(py, new_event(fields)).map(Bound::unbind)
        }
    }

    /// The event that the end of the stream cut off. Its block's ID is its own alone.
    pub fn make_unfinished(&mut self, py: Python<'_>, event: Event<'_>) -> Option<Py<PyAny>> {
        let id = match event.id {
            // SAFETY: attached.
            Some(id) => unsafe { str_from_utf8(id) },
            None => self.last_event_id.clone_ref(py).into_ptr(),
        };
        let made = self.make(py, event, id);
        self.failed |= made.is_none();
        made
    }

    #[inline]
    fn push(&mut self, made: Option<Py<PyAny>>) -> Flow {
        match made {
            Some(item) => self.items.push(item),
            None => self.failed = true,
        }
        if self.one_at_a_time || self.failed {
            Flow::Stop
        } else {
            Flow::Continue
        }
    }

    fn push_new(&mut self, py: Python<'_>, made: PyResult<Py<PyAny>>) -> Flow {
        let made = made.map_err(|error| error.restore(py)).ok();
        self.push(made)
    }
}

/// # Safety
///
/// A maker is used attached only.
#[inline(always)]
unsafe fn attached<'py>() -> Python<'py> {
    // SAFETY: said above.
    unsafe { Python::assume_attached() }
}

impl Sink for Maker {
    fn last_event_id(&mut self, id: &[u8]) {
        // SAFETY: see `attached`.
        let (py, text) = unsafe {
            let py = attached();
            (py, Bound::from_owned_ptr_or_opt(py, str_from_utf8(id)))
        };
        match text {
            Some(text) => std::mem::replace(&mut self.last_event_id, text.unbind()).drop_ref(py),
            None => self.failed = true,
        }
    }

    #[inline]
    fn event(&mut self, event: Event<'_>) -> Flow {
        // SAFETY: see `attached`.
        let py = unsafe { attached() };
        let id = self.last_event_id.clone_ref(py).into_ptr();
        let made = self.make(py, event, id);
        self.push(made)
    }

    fn comment(&mut self, text: &[u8]) -> Flow {
        // SAFETY: see `attached`.
        let py = unsafe { attached() };
        let made = Comment::received(py, text);
        self.push_new(py, made)
    }

    fn diagnostic(&mut self, diagnostic: Diagnostic<'_>) -> Flow {
        // SAFETY: see `attached`.
        let py = unsafe { attached() };
        let made = PyDiagnostic::received(py, diagnostic);
        self.push_new(py, made)
    }
}
