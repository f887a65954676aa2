//! What the package's Python files do for both backends.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::{Filter, Options};

macro_rules! helpers {
    ($($name:ident = $module:literal . $attribute:literal;)*) => {$(
        pub fn $name(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
            static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            CELL.import(py, $module, $attribute)
        }
    )*};
}

helpers! {
    check_options = "rapidsse._options"."check_options";
    check_last_event_id = "rapidsse._options"."check_last_event_id";
    check_unfinished = "rapidsse._options"."check_unfinished";
    bad_chunk = "rapidsse._options"."bad_chunk";
    bad_field = "rapidsse._options"."bad_field";
    sync_chunks = "rapidsse._sources"."sync_chunks";
    async_chunks = "rapidsse._sources"."async_chunks";
    ready = "rapidsse._sources"."ready";
    closing = "rapidsse._sources"."closing";
    event_repr = "rapidsse._shared"."event_repr";
    comment_repr = "rapidsse._shared"."comment_repr";
    diagnostic_repr = "rapidsse._shared"."diagnostic_repr";
    restore_event = "rapidsse._shared"."restore_event";
    restore_comment = "rapidsse._shared"."restore_comment";
    restore_diagnostic = "rapidsse._shared"."restore_diagnostic";
    parser_closed = "rapidsse._errors"."ParserClosed";
    buffer_size_exceeded = "rapidsse._errors"."BufferSizeExceeded";
    stream_interrupted = "rapidsse._errors"."StreamInterrupted";
    json_loads = "json"."loads";
}

/// A parser's options: the core's, and what Python objects are kept beside it.
pub struct Checked {
    pub core: Options,
    pub last_event_id: Option<Py<PyAny>>,
}

type Values<'py> = (
    Py<PyAny>,
    Option<Bound<'py, PyAny>>,
    bool,
    bool,
    bool,
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyAny>>,
);

/// Calls `check_options`, which holds the rules and their messages for both backends.
pub fn checked(
    py: Python<'_>,
    options: Option<&Bound<'_, PyDict>>,
    max_buffer_size: Option<usize>,
) -> PyResult<Checked> {
    let mut core = Options {
        max_buffer_size,
        ..Options::default()
    };
    let Some(options) = options.filter(|options| !options.is_empty()) else {
        return Ok(Checked {
            core,
            last_event_id: None,
        });
    };
    let limited = options.contains("max_buffer_size")?;
    let checked = check_options(py)?.call((), Some(options))?;
    let (last_event_id, limit, comments, diagnostics, raw, types, contains) =
        checked.extract::<Values<'_>>()?;
    if limited {
        // A limit beyond the address space is none.
        core.max_buffer_size = limit.and_then(|limit| limit.extract().ok());
    }
    (core.comments, core.diagnostics, core.raw) = (comments, diagnostics, raw);
    if types.is_some() || contains.is_some() {
        let mut names: Vec<String> = Vec::new();
        for name in types.iter().flat_map(|all| all.try_iter()).flatten() {
            // A type with a lone surrogate is never received.
            names.extend(name?.extract::<String>().ok());
        }
        let mut needles: Vec<Vec<u8>> = Vec::new();
        for needle in contains.iter().flat_map(|all| all.try_iter()).flatten() {
            needles.push(needle?.extract()?);
        }
        core.filter = Some(Filter::new(
            names.iter().map(String::as_str),
            needles.iter().map(Vec::as_slice),
        ));
    }
    Ok(Checked {
        core,
        last_event_id: Some(last_event_id),
    })
}

/// The exception for a parser whose limit was exceeded.
pub fn overflow(py: Python<'_>, limit: Option<usize>) -> PyErr {
    match buffer_size_exceeded(py).and_then(|class| class.call1((limit,))) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}
