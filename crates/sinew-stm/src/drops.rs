//! A list that drops its values one by one, even if some panic.
//!
//! A transaction drops unrelated values together: of several variables, of several earlier commits.
//! In a plain vector a second `Drop` that panics would abort the process. This list drops all
//! values, and then resumes the first panic. If the thread is already unwinding, its own panic
//! continues.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The values for which an empty list keeps room.
const MOST_KEPT: usize = 1 << 10;

/// Values to drop.
pub(crate) struct Drops<T>(Vec<T>);

impl<T> Default for Drops<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Drops<T> {
    pub(crate) fn push(&mut self, value: T) {
        self.0.push(value);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Moves the values from `from` on to the end of `to`.
    pub(crate) fn move_from(&mut self, from: usize, to: &mut Self) {
        to.0.extend(self.0.drain(from..));
    }

    /// Takes out all values and calls `f` with each, first to last. If it panics, the others are
    /// dropped.
    #[inline]
    pub(crate) fn for_each(&mut self, f: impl FnMut(T)) {
        if !self.0.is_empty() {
            self.take_all(f);
        }
    }

    fn take_all(&mut self, mut f: impl FnMut(T)) {
        let mut rest = Self(std::mem::take(&mut self.0));
        rest.0.reverse();
        while let Some(value) = rest.0.pop() {
            f(value);
        }
        self.reuse(std::mem::take(&mut rest.0));
    }

    /// Drops all values, first to last.
    #[inline]
    pub(crate) fn clear(&mut self) {
        // Each transaction has several of these, most of them empty.
        if !self.0.is_empty() {
            self.drop_all();
        }
    }

    #[inline(never)]
    fn drop_all(&mut self) {
        let mut rest = std::mem::take(&mut self.0);
        rest.reverse();
        let mut first = Panics::default();
        while !rest.is_empty() {
            first.catch(|| {
                while let Some(value) = rest.pop() {
                    drop(value);
                }
            });
        }
        self.reuse(rest);
        first.resume();
    }

    /// Keeps the room of an empty list, unless it is a large one.
    fn reuse(&mut self, empty: Vec<T>) {
        if empty.capacity() <= MOST_KEPT {
            self.0 = empty;
        }
    }
}

impl<T> Drop for Drops<T> {
    #[inline]
    fn drop(&mut self) {
        self.clear();
    }
}

/// The first of several panics.
#[derive(Default)]
pub(crate) struct Panics(Option<Box<dyn Any + Send>>);

impl Panics {
    /// Calls `f`, and keeps its panic if it is the first one.
    pub(crate) fn catch(&mut self, f: impl FnOnce()) {
        match catch_unwind(AssertUnwindSafe(f)) {
            Err(payload) if self.0.is_none() => self.0 = Some(payload),
            Err(payload) => drop_payload(payload),
            Ok(()) => {}
        }
    }

    /// Resumes the panic, if there was one and the thread is not already unwinding.
    pub(crate) fn resume(self) {
        match self.0 {
            Some(payload) if std::thread::panicking() => drop_payload(payload),
            Some(payload) => resume_unwind(payload),
            None => {}
        }
    }
}

/// Drops the payload of a panic. If that drop panics, the second payload is leaked, as its drop
/// might panic again.
pub(crate) fn drop_payload(payload: Box<dyn Any + Send>) {
    if let Err(next) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(next);
    }
}
