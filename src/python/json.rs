//! `json.loads`, sooner.

use jiter::{PartialMode, PythonParse, StringCacheMode};
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::{event, package};

/// The interpreter's bound on the digits of a number can be set to this, and no lower.
const DIGITS: usize = 640;

/// Whether more digits stand in a row than the interpreter may be told to accept.
fn has_long_number(text: &[u8]) -> bool {
    // Such a row has a digit at a multiple of its length.
    let digits = |bytes: &[u8]| {
        bytes
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    (0..text.len()).step_by(DIGITS).any(|at| {
        let before = text[..at].iter().rev();
        let before = before.take_while(|byte| byte.is_ascii_digit()).count();
        before + digits(&text[at..]) > DIGITS
    })
}

/// What `json.loads(data)` gives. A fast parser answers where it accepts the text; where it
/// refuses, the standard library has the word: on lone surrogates, NaN, depth, and on errors.
pub fn loads<'py>(data: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
    let py = data.py();
    if let Ok(text) = event::utf8(data.as_any(), "data")
        && !has_long_number(text.as_bytes())
    {
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
