//! `Comment` and `Diagnostic`.

use pyo3::basic::CompareOp;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};

use super::event::{exact_int, exact_str, utf8};
use super::package;
use super::text::str_from_utf8;

/// What a pickle holds: the function that restores the object, and its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

/// `self == other`, `self != other` or `NotImplemented`, from the tuples of what is compared.
fn compared<'py>(
    one: &Bound<'py, PyTuple>,
    other: Option<Bound<'py, PyTuple>>,
    operation: CompareOp,
) -> PyResult<Py<PyAny>> {
    match (other, operation) {
        (Some(other), CompareOp::Eq | CompareOp::Ne) => {
            Ok(one.rich_compare(other, operation)?.unbind())
        }
        _ => Ok(one.py().NotImplemented()),
    }
}

/// One comment line of a stream, told with comments=True. Immutable and hashable.
///
/// Attributes:
///     text (str): what follows the colon, less one leading space.
///
/// Raises:
///     TypeError: text is not a str.
///
/// Source: WHATWG HTML, Server-sent events, interpreting an event stream.
#[pyclass(frozen, module = "rapidsse")]
pub struct Comment {
    #[pyo3(get)]
    text: Py<PyString>,
}

impl Comment {
    pub fn received(py: Python<'_>, text: &[u8]) -> PyResult<Py<PyAny>> {
        // SAFETY: attached.
        let text = unsafe { Bound::from_owned_ptr_or_err(py, str_from_utf8(text))? };
        let text = text.cast_into::<PyString>()?.unbind();
        Ok(Py::new(py, Comment { text })?.into_any())
    }

    /// What is compared.
    fn key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, [&self.text])
    }
}

#[pymethods]
impl Comment {
    #[classattr]
    fn __match_args__() -> (&'static str,) {
        ("text",)
    }

    #[new]
    fn new(text: &Bound<'_, PyAny>) -> PyResult<Self> {
        let text = exact_str(text, "text")?.cast_into::<PyString>()?.unbind();
        Ok(Comment { text })
    }

    /// The comment's wire form, one line.
    ///
    /// Raises:
    ///     ValueError: CR, LF or a lone surrogate in the text.
    ///
    /// Source: WHATWG HTML, Server-sent events, parsing an event stream.
    fn encode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let text = self.text.bind(py).as_any();
        let wire = crate::encode_comment(&utf8(text, "a comment")?);
        let wire = wire.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &wire))
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        package::comment_repr(py)?.call1((&self.text,))
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.key(py)?.hash()
    }

    fn __richcmp__<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        operation: CompareOp,
    ) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let key = other.cast::<Self>().ok().map(|other| other.get().key(py));
        compared(&self.key(py)?, key.transpose()?, operation)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        Ok((package::restore_comment(py)?.clone(), self.key(py)?))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (**changes))]
    fn __replace__<'py>(
        slf: &Bound<'py, Self>,
        changes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let fields = PyDict::new(slf.py());
        fields.set_item("text", &slf.get().text)?;
        replaced(slf.as_any(), &fields, changes)
    }
}

/// A new object of the same type, with some of its fields changed.
fn replaced<'py>(
    slf: &Bound<'py, PyAny>,
    fields: &Bound<'py, PyDict>,
    changes: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(changes) = changes {
        fields.update(changes.as_mapping())?;
    }
    slf.get_type().call((), Some(fields))
}

/// Something the standard ignores silently, told with diagnostics=True. Immutable and hashable.
///
/// Attributes:
///     kind (str): 'invalid-utf-8', 'unknown-field', 'invalid-retry', 'invalid-id' or 'no-data'.
///     line (int): the line's number, from 1; a CRLF ends one line.
///     offset (int): the line's first byte, counted from the stream's first, the BOM included.
///     detail (str): the field's name where it is harmless to tell, else empty.
///
/// Raises:
///     TypeError: a value of another type.
///
/// Source: WHATWG HTML, Server-sent events, interpreting an event stream.
#[pyclass(frozen, module = "rapidsse")]
pub struct Diagnostic {
    #[pyo3(get)]
    kind: Py<PyString>,
    #[pyo3(get)]
    line: Py<PyAny>,
    #[pyo3(get)]
    offset: Py<PyAny>,
    #[pyo3(get)]
    detail: Py<PyString>,
}

impl Diagnostic {
    pub fn received(py: Python<'_>, found: crate::Diagnostic<'_>) -> PyResult<Py<PyAny>> {
        let made = Diagnostic {
            kind: PyString::new(py, found.kind.name()).unbind(),
            line: found.line.into_pyobject(py)?.into_any().unbind(),
            offset: found.offset.into_pyobject(py)?.into_any().unbind(),
            detail: PyString::new(py, found.detail).unbind(),
        };
        Ok(Py::new(py, made)?.into_any())
    }

    /// What is compared.
    fn key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (&self.kind, &self.line, &self.offset, &self.detail).into_pyobject(py)
    }
}

#[pymethods]
impl Diagnostic {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str, &'static str) {
        ("kind", "line", "offset", "detail")
    }

    #[new]
    fn new(
        kind: &Bound<'_, PyAny>,
        line: &Bound<'_, PyAny>,
        offset: &Bound<'_, PyAny>,
        detail: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        Ok(Diagnostic {
            kind: exact_str(kind, "kind")?.cast_into::<PyString>()?.unbind(),
            line: exact_int(line, "line", "an int")?.unbind(),
            offset: exact_int(offset, "offset", "an int")?.unbind(),
            detail: exact_str(detail, "detail")?
                .cast_into::<PyString>()?
                .unbind(),
        })
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        package::diagnostic_repr(py)?.call1(self.key(py)?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.key(py)?.hash()
    }

    fn __richcmp__<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        operation: CompareOp,
    ) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let key = other.cast::<Self>().ok().map(|other| other.get().key(py));
        compared(&self.key(py)?, key.transpose()?, operation)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        Ok((package::restore_diagnostic(py)?.clone(), self.key(py)?))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (**changes))]
    fn __replace__<'py>(
        slf: &Bound<'py, Self>,
        changes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let fields = PyDict::new(slf.py());
        let found = slf.get();
        fields.set_item("kind", &found.kind)?;
        fields.set_item("line", &found.line)?;
        fields.set_item("offset", &found.offset)?;
        fields.set_item("detail", &found.detail)?;
        replaced(slf.as_any(), &fields, changes)
    }
}
