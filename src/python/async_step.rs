//! What `AsyncEventIterator.__anext__` returns, written against the C API: one is made, awaited
//! and dropped for each event.
//!
//! A step is awaited once. One that waits keeps the source's awaitable and hands everything
//! through, so no coroutine or generator stands between the event loop and the source.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::exceptions::{PyBaseException, PyStopAsyncIteration, PyStopIteration};
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::{PyBytes, PyTuple};
use pyo3::{ffi, intern};

use super::aiter::AsyncEventIterator;
use super::chunk::chunk_bytes;
use super::event::{called, method, unnamed_arguments};
use super::shared::GIL;
use super::steps::Step;

const DOC: &CStr = c"One step of an AsyncEventIterator, to be awaited once.";

/// The object; owns a reference to each slot that is not null.
///
/// Not begun: the iterator alone. Waiting: both. Running or done: neither, so that a step that
/// somebody keeps holds nothing.
#[repr(C)]
struct StepObject {
    head: ffi::PyObject,
    /// An `AsyncEventIterator`.
    iterator: *mut ffi::PyObject,
    /// The iterator of the awaitable that gives the next chunk.
    waiting: *mut ffi::PyObject,
}

static TYPE: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(ptr::null_mut());

/// The memory of the last step that went, or null: `async for` drops one before it asks for the
/// next. Only under a GIL, which makes a load and a store one action.
static SPARE: AtomicPtr<StepObject> = AtomicPtr::new(ptr::null_mut());

/// A new step of `iterator`, or null with an exception set.
///
/// # Safety
///
/// The thread must be attached, [`init`] done, and `iterator` an `AsyncEventIterator`.
#[inline(always)]
pub unsafe fn new_step(iterator: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the type is alive as long as the module. A spare is the memory of an object of the
    // type, which nobody has any more; the slots are written before the collector sees them.
    unsafe {
        let class = TYPE.load(Ordering::Relaxed);
        let spare = SPARE.load(Ordering::Relaxed);
        let object = if spare.is_null() {
            let object = ffi::PyObject_GC_New::<StepObject>(class);
            if object.is_null() {
                return ptr::null_mut();
            }
            object
        } else {
            SPARE.store(ptr::null_mut(), Ordering::Relaxed);
            ffi::PyObject_Init(spare.cast(), class).cast()
        };
        (*object).iterator = ffi::Py_NewRef(iterator);
        (*object).waiting = ptr::null_mut();
        ffi::PyObject_GC_Track(object.cast());
        object.cast()
    }
}

unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: the last reference is gone; an instance owns one to its type.
    unsafe {
        ffi::PyObject_GC_UnTrack(object.cast());
        clear(object);
        let class = ffi::Py_TYPE(object);
        if GIL && SPARE.load(Ordering::Relaxed).is_null() {
            SPARE.store(object.cast(), Ordering::Relaxed);
        } else {
            ffi::PyObject_GC_Del(object.cast());
        }
        ffi::Py_DECREF(class.cast());
    }
}

unsafe extern "C" fn traverse(
    object: *mut ffi::PyObject,
    visit: ffi::visitproc,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: called by the collector, while nobody changes the slots.
    unsafe {
        let step = object.cast::<StepObject>();
        let class = ffi::Py_TYPE(object).cast();
        for slot in [class, (*step).iterator, (*step).waiting] {
            if !slot.is_null() {
                let found = visit(slot, argument);
                if found != 0 {
                    return found;
                }
            }
        }
        0
    }
}

/// Gives the step up, if it waits, and drops what it holds.
unsafe extern "C" fn clear(object: *mut ffi::PyObject) -> c_int {
    // SAFETY: attached; an object of the type.
    unsafe {
        let py = Python::assume_attached();
        if let (Some(iterator), Some(_waiting)) = take(py, object) {
            iterator.get().steps.give_up(iterator.as_any());
        }
        0
    }
}

type Taken<'py> = (
    Option<Bound<'py, AsyncEventIterator>>,
    Option<Bound<'py, PyAny>>,
);

/// Takes the slots out; the step is done until it is said to wait.
///
/// # Safety
///
/// `object` must be a step, which may be about to go.
#[inline(always)]
unsafe fn take<'py>(py: Python<'py>, object: *mut ffi::PyObject) -> Taken<'py> {
    let step = object.cast::<StepObject>();
    let take = || {
        // SAFETY: this thread alone is at the slots; references are moved.
        unsafe {
            let iterator = ptr::replace(&raw mut (*step).iterator, ptr::null_mut());
            let waiting = ptr::replace(&raw mut (*step).waiting, ptr::null_mut());
            (
                Bound::from_owned_ptr_or_opt(py, iterator).map(|it| it.cast_into_unchecked()),
                Bound::from_owned_ptr_or_opt(py, waiting),
            )
        }
    };
    // SAFETY: a live object, or one that only this thread knows.
    unsafe { with_critical_section(Bound::ref_from_ptr(py, &object), take) }
}

/// The step waits from now on.
///
/// # Safety
///
/// `object` must be a step whose slots were taken.
unsafe fn wait(
    object: *mut ffi::PyObject,
    iterator: Bound<'_, AsyncEventIterator>,
    waiting: Bound<'_, PyAny>,
) {
    let py = iterator.py();
    let step = object.cast::<StepObject>();
    let put = || {
        // SAFETY: this thread alone is at the slots, which are null; references are moved in.
        unsafe {
            (*step).iterator = iterator.into_ptr();
            (*step).waiting = waiting.into_ptr();
        }
    };
    // SAFETY: a live object.
    unsafe { with_critical_section(Bound::ref_from_ptr(py, &object), put) }
}

/// What a step came to: a reference to hand on, or null with an exception set.
type Sent = (ffi::PySendResult, *mut ffi::PyObject);

const ERROR: Sent = (ffi::PySendResult::PYGEN_ERROR, ptr::null_mut());

/// Goes on with a step that was taken: with the source's awaitable, if it waited for one. Returns
/// when there is an item or something for the event loop, or never will be.
///
/// As in `EventIterator`, nothing here is dropped but through `py`, and whatever is not the daily
/// case is done in `attached`.
///
/// # Safety
///
/// The thread must be attached, `object` a step and `value` alive.
#[inline(always)]
unsafe fn advance(
    object: *mut ffi::PyObject,
    iterator: Bound<'_, AsyncEventIterator>,
    mut waiting: Option<Bound<'_, PyAny>>,
    mut value: *mut ffi::PyObject,
) -> Sent {
    let (py, owner, steps) = (iterator.py(), iterator.as_any(), &iterator.get().steps);
    // SAFETY: None lives for ever.
    let none = unsafe { ffi::Py_None() };
    loop {
        let awaited = match waiting.take() {
            Some(awaited) => awaited,
            None => match steps.step(owner) {
                Step::Item(item) => return (ffi::PySendResult::PYGEN_RETURN, item.into_ptr()),
                Step::Chunk => match steps.source(owner).and_then(|source| ask(&source)) {
                    Some(awaited) => awaited,
                    None => return attached(&iterator, exhausted),
                },
                other => return attached(&iterator, |iterator| outcome(iterator, other)),
            },
        };
        let mut result = ptr::null_mut();
        // SAFETY: attached; live objects; the result is a new reference or null.
        let sent = unsafe { ffi::PyIter_Send(awaited.as_ptr(), value, &raw mut result) };
        // SAFETY: said above.
        let result = unsafe { Bound::from_owned_ptr_or_opt(py, result) };
        match (sent, result) {
            (ffi::PySendResult::PYGEN_RETURN, Some(chunk)) => {
                if !accept(&iterator, chunk) {
                    return ERROR;
                }
            }
            (ffi::PySendResult::PYGEN_NEXT, Some(result)) => {
                // SAFETY: a step, whose slots were taken.
                unsafe { wait(object, iterator, awaited) };
                return (ffi::PySendResult::PYGEN_NEXT, result.into_ptr());
            }
            _ => return attached(&iterator, exhausted),
        }
        value = none;
    }
}

/// The iterator that awaiting the source's next chunk runs, or None with an exception set.
#[inline(always)]
fn ask<'py>(source: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let py = source.py();
    let refuse = |message: &CStr| {
        // SAFETY: attached.
        unsafe { ffi::PyErr_SetString(ffi::PyExc_TypeError, message.as_ptr()) };
        None
    };
    // SAFETY: attached; slots are looked up on the types of live objects; results are new
    // references, or null with an exception set.
    unsafe {
        let slots = (*ffi::Py_TYPE(source.as_ptr())).tp_as_async.as_ref();
        let Some(next) = slots.and_then(|slots| slots.am_anext) else {
            return refuse(c"the source is no async iterator");
        };
        let awaitable = Bound::from_owned_ptr_or_opt(py, next(source.as_ptr()))?;
        let object = awaitable.as_ptr();
        if ffi::PyCoro_CheckExact(object) != 0 || ffi::PyGen_CheckExact(object) != 0 {
            return Some(awaitable);
        }
        let slots = (*ffi::Py_TYPE(object)).tp_as_async.as_ref();
        let Some(slot) = slots.and_then(|slots| slots.am_await) else {
            return refuse(c"__anext__() gave no awaitable");
        };
        Bound::from_owned_ptr_or_opt(py, slot(object))
    }
}

/// Takes a chunk in. If it is none: false, and an exception is set.
#[inline(always)]
fn accept(iterator: &Bound<'_, AsyncEventIterator>, chunk: Bound<'_, PyAny>) -> bool {
    match chunk.cast_into_exact::<PyBytes>() {
        Ok(chunk) => {
            iterator.get().steps.accept(iterator.as_any(), chunk);
            true
        }
        Err(other) => {
            let other = other.into_inner();
            let convert = |iterator: &Bound<'_, AsyncEventIterator>| {
                let (owner, steps) = (iterator.as_any(), &iterator.get().steps);
                let chunk =
                    chunk_bytes(&other).map_err(|refused| steps.fail(owner, refused, false))?;
                steps.accept(owner, chunk);
                Ok(iterator.py().None())
            };
            // What is returned only tells success.
            let (sent, none) = attached(iterator, convert);
            // SAFETY: attached; None, or null.
            unsafe { ffi::Py_XDECREF(none) };
            sent == ffi::PySendResult::PYGEN_RETURN
        }
    }
}

/// Does what is not done for each event, in full attachment.
#[cold]
#[inline(never)]
fn attached(
    iterator: &Bound<'_, AsyncEventIterator>,
    work: impl FnOnce(&Bound<'_, AsyncEventIterator>) -> PyResult<Py<PyAny>>,
) -> Sent {
    Python::attach(|py| match work(iterator.as_unbound().bind(py)) {
        Ok(item) => (ffi::PySendResult::PYGEN_RETURN, item.into_ptr()),
        Err(error) => {
            error.restore(py);
            ERROR
        }
    })
}

/// What a step gives that no other follows.
fn outcome(iterator: &Bound<'_, AsyncEventIterator>, step: Step) -> PyResult<Py<PyAny>> {
    match step {
        Step::Item(item) => Ok(item),
        other => {
            let error = iterator.get().steps.error(iterator.as_any(), &other);
            Err(error.unwrap_or_else(|| PyStopAsyncIteration::new_err(())))
        }
    }
}

/// The source gave no chunk: it has ended, or an exception is set.
fn exhausted(iterator: &Bound<'_, AsyncEventIterator>) -> PyResult<Py<PyAny>> {
    let (py, owner, steps) = (iterator.py(), iterator.as_any(), &iterator.get().steps);
    match PyErr::take(py) {
        Some(failure) if !failure.is_instance_of::<PyStopAsyncIteration>(py) => {
            Err(steps.fail(owner, failure, true))
        }
        _ => outcome(iterator, steps.end(owner)),
    }
}

/// Begins a step, or goes on with it.
///
/// # Safety
///
/// The thread must be attached, `object` a step and `value` alive.
#[inline(always)]
unsafe fn sent(object: *mut ffi::PyObject, value: *mut ffi::PyObject) -> Sent {
    // SAFETY: said above.
    unsafe {
        let py = Python::assume_attached();
        match take(py, object) {
            (Some(iterator), waiting) => advance(object, iterator, waiting, value),
            _ => {
                let message = c"cannot reuse already awaited coroutine";
                ffi::PyErr_SetString(ffi::PyExc_RuntimeError, message.as_ptr());
                ERROR
            }
        }
    }
}

/// What Python's iterator protocol makes of it. Our items are never exceptions or tuples, which
/// StopIteration would take for something else.
///
/// # Safety
///
/// The thread must be attached.
unsafe fn told(sent: Sent) -> *mut ffi::PyObject {
    match sent {
        // SAFETY: attached; an owned reference.
        (ffi::PySendResult::PYGEN_RETURN, item) => unsafe {
            ffi::PyErr_SetObject(ffi::PyExc_StopIteration, item);
            ffi::Py_DECREF(item);
            ptr::null_mut()
        },
        (_, value) => value,
    }
}

unsafe extern "C" fn am_send(
    object: *mut ffi::PyObject,
    value: *mut ffi::PyObject,
    result: *mut *mut ffi::PyObject,
) -> ffi::PySendResult {
    // SAFETY: a slot function of the type, called with a place for the result.
    unsafe {
        let (sent, value) = sent(object, value);
        *result = value;
        sent
    }
}

unsafe extern "C" fn iternext(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: a slot function of the type.
    unsafe { told(sent(object, ffi::Py_None())) }
}

unsafe extern "C" fn send(
    object: *mut ffi::PyObject,
    value: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: a method of the type.
    unsafe { told(sent(object, value)) }
}

unsafe extern "C" fn throw(
    object: *mut ffi::PyObject,
    exception: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: a method of the type, called with a tuple.
    unsafe {
        called(ptr::null_mut(), |_| {
            Python::attach(|py| {
                let exception = Bound::from_borrowed_ptr(py, exception);
                Ok(told(thrown(py, object, &exception.cast_into_unchecked())?))
            })
        })
    }
}

/// The body of `throw`.
///
/// # Safety
///
/// `object` must be a step.
unsafe fn thrown(
    py: Python<'_>,
    object: *mut ffi::PyObject,
    exception: &Bound<'_, PyTuple>,
) -> PyResult<Sent> {
    let error = || -> PyErr {
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
    // SAFETY: said above.
    let (Some(iterator), Some(awaited)) = (unsafe { take(py, object) }) else {
        return Err(error());
    };
    let failed = match awaited.getattr_opt(intern!(py, "throw")) {
        Err(error) => error,
        Ok(None) => error(),
        Ok(Some(throw)) => match throw.call1(exception) {
            Ok(value) => {
                // SAFETY: a step, whose slots were taken.
                unsafe { wait(object, iterator, awaited) };
                return Ok((ffi::PySendResult::PYGEN_NEXT, value.into_ptr()));
            }
            Err(stop) if stop.is_instance_of::<PyStopIteration>(py) => {
                let chunk = stop.value(py).getattr(intern!(py, "value"))?;
                if !accept(&iterator, chunk) {
                    return Ok(ERROR);
                }
                // SAFETY: attached; a step; None lives for ever.
                return Ok(unsafe { advance(object, iterator, None, ffi::Py_None()) });
            }
            Err(error) => error,
        },
    };
    failed.restore(py);
    Ok(attached(&iterator, exhausted))
}

unsafe extern "C" fn close(
    object: *mut ffi::PyObject,
    _: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: a method of the type.
    unsafe {
        called(ptr::null_mut(), |_| {
            Python::attach(|py| {
                if let (Some(iterator), Some(awaited)) = take(py, object) {
                    iterator.get().steps.give_up(iterator.as_any());
                    if let Some(close) = awaited.getattr_opt(intern!(py, "close"))? {
                        close.call0()?;
                    }
                }
                Ok(py.None().into_ptr())
            })
        })
    }
}

const SEND_DOC: &CStr = c"send($self, value, /)
--

Goes on with the step.";

const THROW_DOC: &CStr = c"throw($self, /, *exception)
--

Throws an exception into the step.";

const CLOSE_DOC: &CStr = c"close($self, /)
--

Gives the step up. The iterator goes on with the next one.";

/// Makes the type.
pub fn init(py: Python<'_>) -> PyResult<()> {
    let methods = Box::leak(Box::new([
        method(c"send", unnamed_arguments(send), ffi::METH_O, SEND_DOC),
        method(
            c"throw",
            unnamed_arguments(throw),
            ffi::METH_VARARGS,
            THROW_DOC,
        ),
        method(
            c"close",
            unnamed_arguments(close),
            ffi::METH_NOARGS,
            CLOSE_DOC,
        ),
        ffi::PyMethodDef::zeroed(),
    ]));
    let slot = |slot, pfunc: *mut c_void| ffi::PyType_Slot { slot, pfunc };
    let itself = ffi::PyObject_SelfIter as *mut c_void;
    let mut slots = [
        slot(ffi::Py_tp_doc, DOC.as_ptr().cast_mut().cast()),
        slot(ffi::Py_tp_dealloc, dealloc as *mut c_void),
        slot(ffi::Py_tp_traverse, traverse as *mut c_void),
        slot(ffi::Py_tp_clear, clear as *mut c_void),
        slot(ffi::Py_am_await, itself),
        slot(ffi::Py_am_send, am_send as *mut c_void),
        slot(ffi::Py_tp_iter, itself),
        slot(ffi::Py_tp_iternext, iternext as *mut c_void),
        slot(ffi::Py_tp_methods, methods.as_mut_ptr().cast()),
        slot(0, ptr::null_mut()),
    ];
    let flags =
        ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_HAVE_GC | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION;
    let mut spec = ffi::PyType_Spec {
        name: c"rapidsse.AsyncStep".as_ptr(),
        basicsize: size_of::<StepObject>() as c_int,
        itemsize: 0,
        flags: flags as _,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the spec describes `StepObject`; what the type keeps pointers to is leaked or
    // static; the type itself is kept alive for ever.
    unsafe {
        let class = Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&raw mut spec))?;
        TYPE.store(class.into_ptr().cast(), Ordering::Relaxed);
    }
    Ok(())
}
