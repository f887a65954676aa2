//! State of a Python object that any thread may reach.

use std::cell::UnsafeCell;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;

/// Whether the interpreter has a GIL, under which statics may be touched too. An object then begins
/// with a reference count and its type and nothing else.
pub const GIL: bool = size_of::<ffi::PyObject>() == 2 * size_of::<usize>();

/// State that is only touched through [`Shared::with`].
pub struct Shared<T>(UnsafeCell<T>);

// SAFETY: `with` gives one thread at a time access to the value: the one that holds the GIL or,
// without a GIL, the owner's critical section. `T: Send`, since that thread changes.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The interpreter allocates objects with this alignment and no larger one.
    const ALIGNED: () = assert!(align_of::<T>() <= 2 * size_of::<usize>());

    pub fn new(value: T) -> Self {
        const { Self::ALIGNED };
        Shared(UnsafeCell::new(value))
    }

    /// Runs `work` on the value, which belongs to the Python object `owner`.
    ///
    /// # Safety
    ///
    /// `work` must not run Python code or release the GIL (and so must not drop an object that
    /// may have a finalizer): until it returns nobody else may reach the value.
    #[inline(always)]
    pub unsafe fn with<R>(&self, owner: &Bound<'_, PyAny>, work: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: see the type and the function: this is the only reference.
        with_critical_section(owner, || work(unsafe { &mut *self.0.get() }))
    }

    /// The value, for the garbage collector.
    ///
    /// # Safety
    ///
    /// No thread may be inside [`Shared::with`] while the reference is used.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn peek(&self) -> &mut T {
        // SAFETY: said above.
        unsafe { &mut *self.0.get() }
    }
}
