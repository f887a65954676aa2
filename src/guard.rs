//! The guard: a bound on what a stream can make us retain.

use std::error::Error;
use std::fmt;

/// The stream made the retained bytes exceed the limit. Nothing is retained from here on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// The limit, in bytes.
    pub limit: usize,
}

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a block exceeds the limit of {} bytes", self.limit)
    }
}

impl Error for Overflow {}

/// The limit on the count of retained bytes, and whether it can be reached at all just now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    pub limit: usize,
    /// Whether the bytes at hand could bring the count above the limit.
    armed: bool,
}

impl Guard {
    pub fn new(limit: Option<usize>) -> Self {
        Guard {
            limit: limit.unwrap_or(usize::MAX),
            armed: true,
        }
    }

    /// Looks ahead: `coming` bytes add at most two each to the count (one to a value or between
    /// two `data` lines, one to the raw bytes), so a short enough chunk needs no counting.
    #[inline]
    pub fn arm(&mut self, count: usize, coming: usize) {
        self.armed = count.saturating_add(coming.saturating_mul(2)) > self.limit;
    }

    #[inline]
    pub fn armed(self) -> bool {
        self.armed
    }

    pub fn exceeded_by(self, count: usize) -> bool {
        count > self.limit
    }
}
