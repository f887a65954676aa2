//! The sink that makes Python objects of what the core hands over.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::prelude::*;
use pyo3::{ffi, intern};

use super::event::new_event;
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
    /// The first item, where they are made one at a time; `items` has what its line made besides.
    pub first: Option<Py<PyAny>>,
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
            first: None,
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
    #[inline(always)]
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
        self.new_event_type(py, name)
    }

    /// The `str` of an event type that is not the one before; remembered if it is short.
    #[inline(never)]
    fn new_event_type(&mut self, py: Python<'_>, name: &[u8]) -> *mut ffi::PyObject {
        // SAFETY: attached.
        let text = unsafe { str_from_utf8(name) };
        if name.len() <= NAME {
            self.name[..name.len()].copy_from_slice(name);
            self.name_len = name.len();
            // SAFETY: attached; a live object or null.
            let kept = unsafe { Bound::from_borrowed_ptr_or_opt(py, text) }.map(Bound::unbind);
            // A plain drop would put the reference off for as long as nothing else attaches.
            if let Some(before) = std::mem::replace(&mut self.name_text, kept) {
                before.drop_ref(py);
            }
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
        // SAFETY: attached. Pointer and length are those of a slice. `new_event` is given owned
        // references, exact, or null.
        unsafe {
            let retry = match event.retry {
                None => ffi::Py_NewRef(ffi::Py_None()),
                Some(milliseconds) => ffi::PyLong_FromUnsignedLongLong(milliseconds),
            };
            let raw = match event.raw {
                None => ffi::Py_NewRef(ffi::Py_None()),
                Some(raw) => {
                    ffi::PyBytes_FromStringAndSize(raw.as_ptr().cast(), raw.len().cast_signed())
                }
            };
            let name = self.event_type(py, event.event);
            let data = str_from_utf8(event.data);
            let made = new_event(name, data, id, retry, raw);
            Bound::from_owned_ptr_or_opt(py, made).map(Bound::unbind)
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

    #[inline(always)]
    fn push(&mut self, made: Option<Py<PyAny>>) -> Flow {
        match made {
            Some(item) if self.one_at_a_time && self.first.is_none() => {
                self.first = Some(item);
                Flow::Stop
            }
            Some(item) => {
                self.items.push(item);
                if self.one_at_a_time {
                    Flow::Stop
                } else {
                    Flow::Continue
                }
            }
            None => self.fail(),
        }
    }

    /// An object could not be made. What is there already waits for its turn.
    #[cold]
    fn fail(&mut self) -> Flow {
        if let Some(first) = self.first.take() {
            self.items.insert(0, first);
        }
        self.failed = true;
        Flow::Stop
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
    #[inline(never)]
    fn last_event_id(&mut self, id: &[u8]) {
        // SAFETY: see `attached`.
        let (py, text) = unsafe {
            let py = attached();
            (py, Bound::from_owned_ptr_or_opt(py, str_from_utf8(id)))
        };
        match text {
            Some(text) => std::mem::replace(&mut self.last_event_id, text.unbind()).drop_ref(py),
            None => {
                let _ = self.fail();
            }
        }
    }

    #[inline(always)]
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
