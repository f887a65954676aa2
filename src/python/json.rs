//! `json.loads`, sooner.

use jiter::{PartialMode, PythonParse, StringCacheMode};
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::{event, package};

/// What `json.loads(data)` gives. A fast parser answers where it accepts the text; where it
/// refuses, the standard library has the word: on lone surrogates, NaN, depth, and on errors.
pub fn loads<'py>(data: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
    let py = data.py();
    if let Ok(text) = event::utf8(data.as_any(), "data") {
        let parse = PythonParse {
            allow_inf_nan: false,
            cache_mode: StringCacheMode::Keys,
            partial_mode: PartialMode::Off,
            catch_duplicate_keys: false,
            float_mode: jiter::FloatMode::Float,
        };
        if let Ok(value) = parse.python_parse(py, text.as_bytes()) {
            return Ok(value);
        }
    }
    package::json_loads(py)?.call1((data,))
}
