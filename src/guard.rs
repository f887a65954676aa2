//! The guard: a bound on what a stream can make us retain.

use std::error::Error;
use std::fmt;

use crate::field::{Field, Line};

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

/// The count is above the limit.
pub(crate) struct Exceeded;

/// The limit on the count of retained bytes, and whether it can be reached at all just now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    pub limit: usize,
    /// The count is at most this, after the bytes at hand too.
    bound: usize,
}

impl Guard {
    pub fn new(limit: Option<usize>) -> Self {
        Guard {
            limit: limit.unwrap_or(usize::MAX),
            bound: 0,
        }
    }

    /// Looks ahead: `coming` bytes add at most two each to the count (one to a value or between
    /// two `data` lines, one to the raw bytes). As long as that cannot exceed the limit nothing
    /// has to be counted. Whether that is so still.
    #[inline(always)]
    pub fn expect(&mut self, coming: usize) -> bool {
        self.bound = self.bound.saturating_add(coming.saturating_mul(2));
        !self.is_armed()
    }

    /// Starts anew from a count that is exact, before `coming` bytes.
    pub fn set(&mut self, count: usize, coming: usize) {
        self.bound = count;
        self.expect(coming);
    }

    /// Whether the bytes at hand could bring the count above the limit.
    #[inline]
    pub fn is_armed(&self) -> bool {
        self.bound > self.limit
    }

    pub fn check(&self, count: usize) -> Result<(), Exceeded> {
        if count > self.limit {
            Err(Exceeded)
        } else {
            Ok(())
        }
    }
}

/// What counts of a line while it has not ended, in bytes; `comments` says whether those are told.
pub(crate) fn counted(line: Line<'_>, comments: bool) -> usize {
    match line {
        Line::Field(Field::Data | Field::Event | Field::Id, value) => value.len(),
        Line::Comment(text) if comments => text.len(),
        Line::Field(Field::Retry, _) | Line::Comment(_) | Line::Unknown => 0,
    }
}
