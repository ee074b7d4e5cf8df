//! A list that drops its values one by one, even if some panic.
//!
//! A transaction drops unrelated values together: of several variables, of several earlier commits.
//! In a plain vector a second `Drop` that panics would abort the process. This list drops all
//! values, and then resumes the first panic. If the thread is already unwinding, its own panic
//! continues.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

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

    /// Calls `f` with each value, first to last. If it panics, the others are dropped.
    #[inline]
    pub(crate) fn for_each(mut self, mut f: impl FnMut(T)) {
        self.0.reverse();
        while let Some(value) = self.0.pop() {
            f(value);
        }
    }

    #[inline(never)]
    fn drop_all(&mut self) {
        let mut values = std::mem::take(&mut self.0).into_iter();
        let mut first = Panics::default();
        while values.len() > 0 {
            first.catch(|| values.by_ref().for_each(drop));
        }
        first.resume();
    }
}

impl<T> Drop for Drops<T> {
    #[inline]
    fn drop(&mut self) {
        // Each transaction has several of these, most of them empty.
        if !self.0.is_empty() {
            self.drop_all();
        }
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
