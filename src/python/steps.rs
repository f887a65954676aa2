//! What both iterators do: one item per step, chunk after chunk, and an end in one of three ways.

use pyo3::exceptions::PyException;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::make::{Maker, empty};
use super::package::{self, checked};
use super::shared::Shared;
use crate::{Cursor, Options, Progress};

/// What becomes of an event that the end of the stream cut off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unfinished {
    Discard,
    Raise,
    Yield,
}

/// What a step came to.
pub enum Step {
    Item(Py<PyAny>),
    /// The chunk is used up: pull the next one, then `accept` it, or `end`, or `fail`.
    Chunk,
    Overflow,
    /// An object could not be made. The exception is set.
    Failed,
    /// The iteration has ended.
    End,
    /// The stream ended inside a block, and that is to be an error.
    Interrupted,
    /// Another step is waiting for the source.
    Busy,
}

/// The state of an iterator.
pub struct Iteration {
    core: crate::Parser,
    maker: Maker,
    limit: Option<usize>,
    /// Exactly `bytes`.
    chunk: Option<Py<PyBytes>>,
    cursor: Cursor,
    policy: Unfinished,
    pulling: bool,
    ended: bool,
    unfinished: Option<Py<PyAny>>,
}

impl Iteration {
    #[inline(always)]
    fn step(&mut self, py: Python<'_>) -> Step {
        let Some(chunk) = self.chunk.as_ref().filter(|_| self.maker.items.is_empty()) else {
            return self.between_chunks();
        };
        let bytes = chunk.as_bytes(py);
        let progress = self.core.step(bytes, &mut self.cursor, &mut self.maker);
        if progress == Progress::Paused
            && let Some(item) = self.maker.first.take()
        {
            return Step::Item(item);
        }
        self.chunk_done(py, progress)
    }

    /// The chunk is parsed, or an object could not be made.
    #[inline(never)]
    fn chunk_done(&mut self, py: Python<'_>, progress: Progress) -> Step {
        match progress {
            Progress::Paused => {}
            Progress::Done => self.chunk.take().map_or((), |chunk| chunk.drop_ref(py)),
            Progress::Overflow => self.ended = true,
        }
        if std::mem::take(&mut self.maker.failed) {
            return Step::Failed;
        }
        match self.maker.first.take() {
            Some(item) => Step::Item(item),
            None if self.ended => self.overflow_or_end(),
            None => {
                self.pulling = true;
                Step::Chunk
            }
        }
    }

    /// There is no chunk at hand, or the last line made more than one item.
    #[inline(never)]
    fn between_chunks(&mut self) -> Step {
        if !self.maker.items.is_empty() {
            return Step::Item(self.maker.items.remove(0));
        }
        if self.pulling {
            return Step::Busy;
        }
        if self.ended {
            return self.overflow_or_end();
        }
        self.pulling = true;
        Step::Chunk
    }

    #[cold]
    fn overflow_or_end(&mut self) -> Step {
        let overflow = self.core.has_overflowed() && self.chunk.take().is_some();
        if overflow { Step::Overflow } else { Step::End }
    }

    /// The stream is over, by its end or by a fault of the source.
    fn close(&mut self, py: Python<'_>) {
        self.pulling = false;
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let Iteration { core, maker, .. } = self;
        let event = core.close(|event| maker.make_unfinished(py, event));
        self.unfinished = event.flatten();
    }

    fn end(&mut self, py: Python<'_>) -> Step {
        self.close(py);
        if std::mem::take(&mut self.maker.failed) {
            return Step::Failed;
        }
        let unfinished = self.unfinished.as_ref().map(|event| event.clone_ref(py));
        match self.policy {
            Unfinished::Raise if self.core.is_truncated() => Step::Interrupted,
            Unfinished::Yield => unfinished.map_or(Step::End, Step::Item),
            Unfinished::Raise | Unfinished::Discard => Step::End,
        }
    }
}

/// A source and how to close it, if that is for us to do.
struct Source {
    chunks: Option<Py<PyAny>>,
    close: Option<Py<PyAny>>,
}

/// An iterator's parts. Every use of the state is one call of `Shared::with` in here.
pub struct Steps {
    iteration: Shared<Iteration>,
    source: Shared<Source>,
}

impl Steps {
    /// `opened` is what `sync_chunks` or `async_chunks` returned.
    pub fn new(opened: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let py = opened.py();
        let policy = match options
            .map(|options| options.get_item("unfinished"))
            .transpose()?
            .flatten()
        {
            None => Unfinished::Discard,
            Some(policy) => {
                options.map_or(Ok(()), |options| options.del_item("unfinished"))?;
                let policy = package::check_unfinished(py)?.call1((policy,))?;
                match policy.extract()? {
                    "raise" => Unfinished::Raise,
                    "yield" => Unfinished::Yield,
                    _ => Unfinished::Discard,
                }
            }
        };
        let checked = checked(py, options, Some(Options::MAX_BUFFER_SIZE))?;
        let (chunks, close): (Py<PyAny>, Option<Py<PyAny>>) = opened.extract()?;
        let last_event_id = checked.last_event_id.unwrap_or_else(|| empty(py));
        Ok(Steps {
            iteration: Shared::new(Iteration {
                limit: checked.core.max_buffer_size,
                core: crate::Parser::new(checked.core),
                maker: Maker::new(last_event_id, true),
                chunk: None,
                cursor: Cursor::default(),
                policy,
                pulling: false,
                ended: false,
                unfinished: None,
            }),
            source: Shared::new(Source {
                chunks: Some(chunks),
                close,
            }),
        })
    }

    /// The next item, if the chunk at hand has one.
    #[inline(always)]
    pub fn step(&self, owner: &Bound<'_, PyAny>) -> Step {
        // SAFETY: parsing makes objects and runs no Python code; the chunk is exactly bytes.
        unsafe {
            self.iteration
                .with(owner, |iteration| iteration.step(owner.py()))
        }
    }

    /// Takes in the next chunk, once pulled.
    #[inline(always)]
    pub fn accept(&self, owner: &Bound<'_, PyAny>, chunk: Bound<'_, PyBytes>) {
        // SAFETY: the chunk is exactly bytes, and so is the one that is dropped, if any.
        unsafe {
            self.iteration.with(owner, |iteration| {
                let old = if iteration.ended {
                    // The source itself has closed the iterator.
                    Some(chunk.unbind())
                } else {
                    iteration.chunk.replace(chunk.unbind())
                };
                if let Some(old) = old {
                    old.drop_ref(owner.py());
                }
                iteration.cursor = Cursor::default();
                iteration.pulling = false;
            });
        }
    }

    /// The source has no more chunks.
    pub fn end(&self, owner: &Bound<'_, PyAny>) -> Step {
        drop(self.take_source(owner));
        // SAFETY: an event is made; no Python code runs.
        unsafe {
            self.iteration
                .with(owner, |iteration| iteration.end(owner.py()))
        }
    }

    /// The source failed, or gave something that is no chunk. Only an `Exception` ends the
    /// iteration; a step that was cancelled or interrupted can be made again.
    pub fn fail(&self, owner: &Bound<'_, PyAny>, error: PyErr, of_source: bool) -> PyErr {
        let py = owner.py();
        let ends = error.is_instance_of::<PyException>(py);
        if ends && of_source {
            drop(self.take_source(owner));
        }
        // SAFETY: an event is made at most; no Python code runs.
        unsafe {
            self.iteration.with(owner, |iteration| {
                if ends {
                    iteration.close(py);
                }
                iteration.pulling = false;
            });
        }
        error
    }

    /// A step that waited for the source was given up.
    pub fn give_up(&self, owner: &Bound<'_, PyAny>) {
        // SAFETY: a flag is set.
        unsafe {
            self.iteration
                .with(owner, |iteration| iteration.pulling = false)
        }
    }

    /// The source, as long as there is one.
    #[inline(always)]
    pub fn source<'py>(&self, owner: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        let py = owner.py();
        // SAFETY: a reference is copied.
        unsafe {
            self.source.with(owner, |source| {
                source.chunks.as_ref().map(|chunks| chunks.bind(py).clone())
            })
        }
    }

    /// Ends the iteration early; returns what closes the source.
    pub fn leave(&self, owner: &Bound<'_, PyAny>) -> Option<Py<PyAny>> {
        // SAFETY: a chunk that is exactly bytes and our own items are dropped.
        unsafe {
            self.iteration.with(owner, |iteration| {
                iteration.ended = true;
                iteration.chunk = None;
                iteration.maker.first = None;
                iteration.maker.items.clear();
            });
        }
        self.take_source(owner).close
    }

    fn take_source(&self, owner: &Bound<'_, PyAny>) -> Source {
        // SAFETY: references are moved.
        unsafe {
            self.source.with(owner, |source| Source {
                chunks: source.chunks.take(),
                close: source.close.take(),
            })
        }
    }

    /// The error of a step that can be followed by no other, if it has one.
    #[cold]
    pub fn error(&self, owner: &Bound<'_, PyAny>, step: &Step) -> Option<PyErr> {
        let py = owner.py();
        let made = match step {
            Step::Item(_) | Step::Chunk | Step::End => return None,
            Step::Failed => return Some(PyErr::fetch(py)),
            Step::Busy => return Some(busy()),
            Step::Overflow => {
                // SAFETY: a number is read.
                let limit = unsafe { self.iteration.with(owner, |iteration| iteration.limit) };
                return Some(package::overflow(py, limit));
            }
            Step::Interrupted => package::stream_interrupted(py)
                .and_then(|class| class.call1((self.unfinished(owner), self.last_event_id(owner)))),
        };
        Some(made.map_or_else(|error| error, PyErr::from_value))
    }

    pub fn last_event_id(&self, owner: &Bound<'_, PyAny>) -> Py<PyAny> {
        let py = owner.py();
        // SAFETY: a reference is copied.
        unsafe {
            self.iteration.with(owner, |iteration| {
                iteration.maker.last_event_id.clone_ref(py)
            })
        }
    }

    pub fn retry(&self, owner: &Bound<'_, PyAny>) -> Option<u64> {
        // SAFETY: a number is read.
        unsafe {
            self.iteration
                .with(owner, |iteration| iteration.core.retry())
        }
    }

    pub fn skipped(&self, owner: &Bound<'_, PyAny>) -> u64 {
        // SAFETY: a number is read.
        unsafe {
            self.iteration
                .with(owner, |iteration| iteration.core.skipped())
        }
    }

    pub fn truncated(&self, owner: &Bound<'_, PyAny>) -> bool {
        // SAFETY: a flag is read.
        unsafe {
            self.iteration
                .with(owner, |iteration| iteration.core.is_truncated())
        }
    }

    pub fn unfinished(&self, owner: &Bound<'_, PyAny>) -> Option<Py<PyAny>> {
        let py = owner.py();
        // SAFETY: a reference is copied.
        unsafe {
            self.iteration.with(owner, |iteration| {
                iteration
                    .unfinished
                    .as_ref()
                    .map(|event| event.clone_ref(py))
            })
        }
    }

    /// What the garbage collector may find a cycle through: the source.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // SAFETY: the collector runs while no thread is inside `with`, which makes no object that
        // could start it.
        let source = unsafe { self.source.peek() };
        visit.call(&source.chunks)?;
        visit.call(&source.close)
    }

    /// Breaks such a cycle.
    pub fn clear(&self, owner: &Bound<'_, PyAny>) {
        drop(self.take_source(owner));
    }
}

fn busy() -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err("the iterator is already waiting for its source")
}
