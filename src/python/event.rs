//! `ServerSentEvent`, written against the C API.
//!
//! An event costs one allocation besides its text, is not tracked by the garbage collector (its
//! slots hold exact `str`, `int`, `None` and `bytes` objects, so it can be in no cycle), and its
//! attributes are members, which the interpreter reads without a call.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple, PyType};

use super::shared::GIL;
use super::text::ascii;
use super::{json, package};
use crate::{EncodeError, encode_event};

const DOC: &CStr = c"ServerSentEvent(event='message', data='', id='', retry=None)
--

One event of a stream, as it is dispatched. Immutable and hashable.

Attributes:
    event (str): the event type; 'message' when the stream gave none.
    data (str): the values of the block's data fields, joined with LF.
    id (str): the last event ID as of this event.
    retry (int | None): the block's own last valid reconnection time, in milliseconds.
    raw (bytes | None): the bytes of the block's lines, with raw=True.

Raises:
    TypeError: a value of another type.

Source: WHATWG HTML, Server-sent events, interpreting an event stream.";

/// The object; owns a reference to each slot.
#[repr(C)]
struct EventObject {
    head: ffi::PyObject,
    event: *mut ffi::PyObject,
    data: *mut ffi::PyObject,
    id: *mut ffi::PyObject,
    retry: *mut ffi::PyObject,
    raw: *mut ffi::PyObject,
}

static TYPE: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(ptr::null_mut());

/// Memory of events that are gone, for the next ones: a stack, linked through `data`. It is touched
/// where there is a GIL, under it.
static SPARE: AtomicPtr<EventObject> = AtomicPtr::new(ptr::null_mut());
static SPARES: AtomicUsize = AtomicUsize::new(0);

/// So many are kept at most.
const MANY: usize = 64;

/// Memory for an event that owns a reference to its type already, or null.
///
/// # Safety
///
/// The thread must be attached, [`init`] done.
#[inline(always)]
unsafe fn allocate() -> *mut EventObject {
    // SAFETY: attached; a spare is the memory of an event, which is not used any more.
    unsafe {
        let spare = SPARE.load(Ordering::Relaxed);
        if GIL && !spare.is_null() {
            SPARE.store((*spare).data.cast(), Ordering::Relaxed);
            SPARES.store(SPARES.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
            return spare;
        }
        let object = ffi::PyObject_Malloc(size_of::<EventObject>()).cast::<EventObject>();
        if !object.is_null() {
            ffi::Py_INCREF(TYPE.load(Ordering::Relaxed).cast());
        }
        object
    }
}

/// A new event, which takes over the references it is given: exact `str`, `str`, `str`, `int` or
/// None, `bytes` or None. Where one is null, or memory is short: null, and an exception is set.
///
/// # Safety
///
/// The thread must be attached, [`init`] done, and the values as said.
#[inline(always)]
pub unsafe fn new_event(
    event: *mut ffi::PyObject,
    data: *mut ffi::PyObject,
    id: *mut ffi::PyObject,
    retry: *mut ffi::PyObject,
    raw: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the type is alive as long as the module, the allocation has the object's size and
    // is written whole before anybody sees it.
    unsafe {
        let object = allocate();
        let missing = event.is_null() || data.is_null() || id.is_null();
        if object.is_null() || missing || retry.is_null() || raw.is_null() {
            return failed(object, [event, data, id, retry, raw]);
        }
        let class = TYPE.load(Ordering::Relaxed);
        if GIL {
            let mut head = ffi::PyObject_HEAD_INIT;
            head.ob_type = class;
            ptr::write(object.cast(), head);
        } else {
            ffi::PyObject_Init(object.cast(), class);
            // It took a reference to the type, which the memory owns already.
            ffi::Py_DECREF(class.cast());
        }
        (*object).event = event;
        (*object).data = data;
        (*object).id = id;
        (*object).retry = retry;
        (*object).raw = raw;
        object.cast()
    }
}

/// Gives back what was to become an event.
///
/// # Safety
///
/// As for [`new_event`]; nothing of it is used again.
#[cold]
unsafe fn failed(object: *mut EventObject, values: [*mut ffi::PyObject; 5]) -> *mut ffi::PyObject {
    // SAFETY: each is an owned reference or null, the memory is that of no object yet.
    unsafe {
        for value in values {
            ffi::Py_XDECREF(value);
        }
        release(object);
        if ffi::PyErr_Occurred().is_null() {
            ffi::PyErr_NoMemory();
        }
        ptr::null_mut()
    }
}

unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: the last reference is gone; the slots own theirs, an instance owns one to its type.
    unsafe {
        let event = object.cast::<EventObject>();
        ffi::Py_DECREF((*event).event);
        ffi::Py_DECREF((*event).data);
        ffi::Py_DECREF((*event).id);
        ffi::Py_DECREF((*event).retry);
        ffi::Py_DECREF((*event).raw);
        release(event);
    }
}

/// Gives back the memory of an event and, unless it is kept, the reference to the type.
///
/// # Safety
///
/// The thread must be attached; the memory is that of [`allocate`], or null, and not used again.
#[inline(always)]
unsafe fn release(object: *mut EventObject) {
    let many = SPARES.load(Ordering::Relaxed);
    if GIL && many < MANY && !object.is_null() {
        // SAFETY: said above.
        unsafe { (*object).data = SPARE.load(Ordering::Relaxed).cast() };
        SPARE.store(object, Ordering::Relaxed);
        SPARES.store(many + 1, Ordering::Relaxed);
    } else if !object.is_null() {
        // SAFETY: said above; the type is alive as long as the module.
        unsafe {
            ffi::PyObject_Free(object.cast());
            ffi::Py_DECREF(TYPE.load(Ordering::Relaxed).cast());
        }
    }
}

/// A view of an event's slots.
struct View<'a, 'py> {
    py: Python<'py>,
    object: &'a EventObject,
}

impl<'py> View<'_, 'py> {
    /// # Safety
    ///
    /// `object` must be an event and outlive the view.
    unsafe fn of(py: Python<'py>, object: *mut ffi::PyObject) -> Self {
        // SAFETY: said above.
        let object = unsafe { &*object.cast::<EventObject>() };
        View { py, object }
    }

    fn slot(&self, slot: *mut ffi::PyObject) -> Bound<'py, PyAny> {
        // SAFETY: a slot holds an object.
        unsafe { Bound::from_borrowed_ptr(self.py, slot) }
    }

    /// Event, data, id and retry: what is compared.
    fn fields(&self) -> [Bound<'py, PyAny>; 4] {
        let event = self.object;
        [event.event, event.data, event.id, event.retry].map(|slot| self.slot(slot))
    }

    fn raw(&self) -> Bound<'py, PyAny> {
        self.slot(self.object.raw)
    }
}

/// Runs the body of a C function; an error becomes the interpreter's current exception.
///
/// # Safety
///
/// The thread must be attached, as it is in a call from the interpreter.
pub unsafe fn called<R>(failure: R, body: impl for<'py> FnOnce(Python<'py>) -> PyResult<R>) -> R {
    // SAFETY: said above.
    let py = unsafe { Python::assume_attached() };
    body(py).unwrap_or_else(|error| {
        error.restore(py);
        failure
    })
}

/// An exact `str` equal to `value`, which must be a `str`.
pub fn exact_str<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    if value.is_exact_instance_of::<PyString>() {
        return Ok(value.clone());
    }
    if !value.is_instance_of::<PyString>() {
        let error = package::bad_field(value.py())?.call1((name, "a str", value))?;
        return Err(PyErr::from_value(error));
    }
    // SAFETY: attached; the argument is a str.
    unsafe { Bound::from_owned_ptr_or_err(value.py(), ffi::PyUnicode_FromObject(value.as_ptr())) }
}

/// None, or an exact `int` equal to `value`.
pub fn exact_int<'py>(
    value: &Bound<'py, PyAny>,
    name: &str,
    what: &str,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: attached; type checks of a live object.
    let (is_int, is_exact) = unsafe {
        let object = value.as_ptr();
        (
            ffi::PyLong_Check(object) != 0,
            ffi::PyLong_CheckExact(object) != 0,
        )
    };
    if is_exact {
        return Ok(value.clone());
    }
    if !is_int {
        let error = package::bad_field(value.py())?.call1((name, what, value))?;
        return Err(PyErr::from_value(error));
    }
    // SAFETY: attached; the argument is an int.
    unsafe { Bound::from_owned_ptr_or_err(value.py(), ffi::PyNumber_Long(value.as_ptr())) }
}

fn exact_retry<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if value.is_none() {
        return Ok(value.clone());
    }
    exact_int(value, "retry", "an int or None")
}

/// An event of values from Python.
fn event_of<'py>(
    py: Python<'py>,
    values: [Option<Bound<'py, PyAny>>; 4],
) -> PyResult<Bound<'py, PyAny>> {
    let [event, data, id, retry] = values;
    let text = |value: Option<Bound<'py, PyAny>>, name| match value {
        Some(value) => exact_str(&value, name),
        None => Ok(PyString::new(py, "").into_any()),
    };
    let mut event = text(event, "event")?;
    if event.is_empty()? {
        event = pyo3::intern!(py, "message").clone().into_any();
    }
    let (data, id) = (text(data, "data")?, text(id, "id")?);
    let retry = match retry {
        Some(retry) => exact_retry(&retry)?,
        None => py.None().into_bound(py),
    };
    let raw = py.None();
    // SAFETY: attached; all are exact and owned.
    unsafe {
        let made = new_event(
            event.into_ptr(),
            data.into_ptr(),
            id.into_ptr(),
            retry.into_ptr(),
            raw.into_ptr(),
        );
        Bound::from_owned_ptr_or_err(py, made)
    }
}

unsafe extern "C" fn new(
    _class: *mut ffi::PyTypeObject,
    args: *mut ffi::PyObject,
    kwargs: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    const NAMES: [*const c_char; 5] = [
        c"event".as_ptr(),
        c"data".as_ptr(),
        c"id".as_ptr(),
        c"retry".as_ptr(),
        ptr::null(),
    ];
    let mut names = NAMES;
    let mut values = [ptr::null_mut::<ffi::PyObject>(); 4];
    let [event, data, id, retry] = &mut values;
    // SAFETY: attached; the format takes four optional objects, borrowed from the arguments.
    unsafe {
        let parsed = ffi::PyArg_ParseTupleAndKeywords(
            args,
            kwargs,
            c"|OOOO:ServerSentEvent".as_ptr(),
            names.as_mut_ptr().cast(),
            ptr::from_mut(event),
            ptr::from_mut(data),
            ptr::from_mut(id),
            ptr::from_mut(retry),
        );
        if parsed == 0 {
            return ptr::null_mut();
        }
        called(ptr::null_mut(), |py| {
            let values = values.map(|value| Bound::from_borrowed_ptr_or_opt(py, value));
            Ok(event_of(py, values)?.into_ptr())
        })
    }
}

unsafe extern "C" fn repr(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: a slot function of the type.
    unsafe {
        called(ptr::null_mut(), |py| {
            let fields = View::of(py, object).fields();
            let fields = PyTuple::new(py, fields)?;
            Ok(package::event_repr(py)?.call1(fields)?.into_ptr())
        })
    }
}

unsafe extern "C" fn hash(object: *mut ffi::PyObject) -> ffi::Py_hash_t {
    // SAFETY: a slot function of the type.
    unsafe {
        called(-1, |py| {
            let fields = View::of(py, object).fields();
            PyTuple::new(py, fields)?.hash()
        })
    }
}

unsafe extern "C" fn compare(
    one: *mut ffi::PyObject,
    other: *mut ffi::PyObject,
    operation: c_int,
) -> *mut ffi::PyObject {
    // SAFETY: a slot function of the type: `one` is an event; `other` is looked at first.
    unsafe {
        called(ptr::null_mut(), |py| {
            let class = TYPE.load(Ordering::Relaxed);
            let negated = match operation {
                ffi::Py_EQ => false,
                ffi::Py_NE => true,
                _ => return Ok(py.NotImplemented().into_ptr()),
            };
            if ffi::Py_TYPE(other) != class {
                return Ok(py.NotImplemented().into_ptr());
            }
            let pairs = View::of(py, one)
                .fields()
                .into_iter()
                .zip(View::of(py, other).fields());
            for (a, b) in pairs {
                if !a.eq(&b)? {
                    return Ok(ffi::PyBool_FromLong(negated.into()));
                }
            }
            Ok(ffi::PyBool_FromLong((!negated).into()))
        })
    }
}

unsafe extern "C" fn json_method(
    object: *mut ffi::PyObject,
    _: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: a method of the type.
    unsafe {
        called(ptr::null_mut(), |py| {
            let view = View::of(py, object);
            let data = view
                .slot(view.object.data)
                .cast_into_unchecked::<PyString>();
            Ok(json::loads(&data)?.into_ptr())
        })
    }
}

/// UTF-8 of a text, which must not have lone surrogates.
pub fn utf8<'a>(text: &'a Bound<'_, PyAny>, name: &str) -> PyResult<std::borrow::Cow<'a, str>> {
    let text = text.cast::<PyString>()?;
    let invalid = || PyValueError::new_err(format!("{name} must not contain lone surrogates"));
    if let Some(ascii) = ascii(text) {
        return Ok(ascii.into());
    }
    // Not `to_str`, which would keep a second copy of the text in the object.
    let bytes = text.encode_utf8().map_err(|_| invalid())?;
    Ok(String::from_utf8(bytes.as_bytes().to_vec())
        .map_err(|_| invalid())?
        .into())
}

unsafe extern "C" fn encode(
    object: *mut ffi::PyObject,
    _: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: a method of the type.
    unsafe {
        called(ptr::null_mut(), |py| {
            let [event, data, id, retry] = View::of(py, object).fields();
            let (event, data, id) = (
                utf8(&event, "event")?,
                utf8(&data, "data")?,
                utf8(&id, "id")?,
            );
            let refused = |error: EncodeError| PyValueError::new_err(error.to_string());
            let retry: Option<i64> = match retry.is_none() {
                true => None,
                false => Some(retry.extract().map_err(|_| refused(EncodeError::Retry))?),
            };
            let wire = encode_event(&event, &data, &id, retry).map_err(refused)?;
            Ok(PyBytes::new(py, &wire).into_ptr())
        })
    }
}

unsafe extern "C" fn reduce(
    object: *mut ffi::PyObject,
    _: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: a method of the type.
    unsafe {
        called(ptr::null_mut(), |py| {
            let view = View::of(py, object);
            let [event, data, id, retry] = view.fields();
            let values = (event, data, id, retry, view.raw());
            Ok((package::restore_event(py)?, values)
                .into_pyobject(py)?
                .into_ptr())
        })
    }
}

unsafe extern "C" fn copy(object: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: a live object.
    unsafe { ffi::Py_NewRef(object) }
}

unsafe extern "C" fn replace(
    object: *mut ffi::PyObject,
    args: *mut ffi::PyObject,
    kwargs: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: a method of the type, called with a tuple and a dict or null.
    unsafe {
        called(ptr::null_mut(), |py| {
            let args = Bound::from_borrowed_ptr(py, args).cast_into_unchecked::<PyTuple>();
            if !args.is_empty() {
                return Err(PyTypeError::new_err(
                    "__replace__() takes no positional arguments",
                ));
            }
            let all = PyDict::new(py);
            let fields = View::of(py, object).fields();
            for (name, field) in ["event", "data", "id", "retry"].into_iter().zip(fields) {
                all.set_item(name, field)?;
            }
            if let Some(changes) = Bound::from_borrowed_ptr_or_opt(py, kwargs) {
                all.update(changes.cast::<PyDict>()?.as_mapping())?;
            }
            let class = ffi::Py_TYPE(object).cast::<ffi::PyObject>();
            let class = Bound::from_borrowed_ptr(py, class);
            Ok(class.call((), Some(&all))?.into_ptr())
        })
    }
}

/// A pickle's way back, `raw` included.
unsafe extern "C" fn restore(
    _: *mut ffi::PyObject,
    args: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: a static method, called with a tuple; the event that gets the raw bytes is new.
    unsafe {
        called(ptr::null_mut(), |py| {
            let args = Bound::from_borrowed_ptr(py, args).cast_into_unchecked::<PyTuple>();
            let (event, data, id, retry, raw) = args.extract()?;
            let made = event_of(py, [Some(event), Some(data), Some(id), Some(retry)])?;
            let raw: Option<Bound<'_, PyBytes>> = raw;
            if let Some(raw) = raw {
                let object = made.as_ptr().cast::<EventObject>();
                ffi::Py_DECREF((*object).raw);
                (*object).raw = raw.into_ptr();
            }
            Ok(made.into_ptr())
        })
    }
}

const fn member(name: &'static CStr, kind: c_int, offset: usize) -> ffi::PyMemberDef {
    ffi::PyMemberDef {
        name: name.as_ptr(),
        type_code: kind,
        offset: offset.cast_signed(),
        flags: ffi::Py_READONLY,
        doc: ptr::null(),
    }
}

pub const fn method(
    name: &'static CStr,
    function: ffi::PyMethodDefPointer,
    flags: c_int,
    doc: &'static CStr,
) -> ffi::PyMethodDef {
    ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: function,
        ml_flags: flags,
        ml_doc: doc.as_ptr(),
    }
}

pub const fn unnamed_arguments(function: ffi::PyCFunction) -> ffi::PyMethodDefPointer {
    ffi::PyMethodDefPointer {
        PyCFunction: function,
    }
}

const JSON_DOC: &CStr = c"json($self, /)
--

The data parsed as JSON: json.loads(self.data), in result and in error.

Raises:
    json.JSONDecodeError: the data is not JSON.";

const ENCODE_DOC: &CStr = c"encode($self, /)
--

The event's wire form, ending with a blank line: parse(event.encode()) == [event].

CRLF and CR in data become line breaks, since the format cannot carry them.

Raises:
    ValueError: CR or LF in event or id, U+0000 in id, a lone surrogate, or a retry outside
        0 to 2**63 - 1 milliseconds.

Source: WHATWG HTML, Server-sent events, parsing an event stream.";

/// Makes the type.
pub fn init(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    let members = Box::leak(Box::new([
        member(
            c"event",
            ffi::Py_T_OBJECT_EX,
            offset_of!(EventObject, event),
        ),
        member(c"data", ffi::Py_T_OBJECT_EX, offset_of!(EventObject, data)),
        member(c"id", ffi::Py_T_OBJECT_EX, offset_of!(EventObject, id)),
        member(
            c"retry",
            ffi::Py_T_OBJECT_EX,
            offset_of!(EventObject, retry),
        ),
        member(c"raw", ffi::Py_T_OBJECT_EX, offset_of!(EventObject, raw)),
        // SAFETY: the sentinel of the C API is all zeros.
        unsafe { std::mem::zeroed() },
    ]));
    let methods = Box::leak(Box::new([
        method(
            c"json",
            unnamed_arguments(json_method),
            ffi::METH_NOARGS,
            JSON_DOC,
        ),
        method(
            c"encode",
            unnamed_arguments(encode),
            ffi::METH_NOARGS,
            ENCODE_DOC,
        ),
        method(
            c"__reduce__",
            unnamed_arguments(reduce),
            ffi::METH_NOARGS,
            c"",
        ),
        method(c"__copy__", unnamed_arguments(copy), ffi::METH_NOARGS, c""),
        method(c"__deepcopy__", unnamed_arguments(copy), ffi::METH_O, c""),
        method(
            c"__replace__",
            ffi::PyMethodDefPointer {
                PyCFunctionWithKeywords: replace,
            },
            ffi::METH_VARARGS | ffi::METH_KEYWORDS,
            c"",
        ),
        method(
            c"_restore",
            unnamed_arguments(restore),
            ffi::METH_VARARGS | ffi::METH_STATIC,
            c"",
        ),
        ffi::PyMethodDef::zeroed(),
    ]));
    let slot = |slot, pfunc: *mut c_void| ffi::PyType_Slot { slot, pfunc };
    let mut slots = [
        slot(ffi::Py_tp_doc, DOC.as_ptr().cast_mut().cast()),
        slot(ffi::Py_tp_new, new as *mut c_void),
        slot(ffi::Py_tp_dealloc, dealloc as *mut c_void),
        slot(ffi::Py_tp_repr, repr as *mut c_void),
        slot(ffi::Py_tp_hash, hash as *mut c_void),
        slot(ffi::Py_tp_richcompare, compare as *mut c_void),
        slot(ffi::Py_tp_members, members.as_mut_ptr().cast()),
        slot(ffi::Py_tp_methods, methods.as_mut_ptr().cast()),
        slot(0, ptr::null_mut()),
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"rapidsse.ServerSentEvent".as_ptr(),
        basicsize: size_of::<EventObject>() as c_int,
        itemsize: 0,
        flags: ffi::Py_TPFLAGS_DEFAULT as _,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the spec describes `EventObject`; what the type keeps pointers to is leaked or
    // static; the type itself is kept alive for ever.
    let class = unsafe {
        let class = Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&raw mut spec))?;
        TYPE.store(class.clone().into_ptr().cast(), Ordering::Relaxed);
        class.cast_into_unchecked::<PyType>()
    };
    class.setattr("__match_args__", ("event", "data", "id", "retry"))?;
    Ok(class)
}
