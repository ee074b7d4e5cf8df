//! The first panic of several tasks, for scopes and loops.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use sinew_sync::lock::Mutex;

type Payload = Box<dyn Any + Send>;

/// Keeps the payload of the first panic, by the order of the calls, and drops those of later ones.
///
/// For code that catches the panics of its tasks, and resumes one when all tasks have ended.
///
/// ```
/// use std::panic::catch_unwind;
/// use sinew_core::FirstPanic;
///
/// let first = FirstPanic::default();
/// for text in ["one", "two"] {
///     first.keep(catch_unwind(|| std::panic::resume_unwind(Box::new(text))).unwrap_err());
/// }
/// assert_eq!(first.take().unwrap().downcast_ref(), Some(&"one"));
/// assert!(first.take().is_none());
/// ```
pub struct FirstPanic(Mutex<Option<Payload>>);

impl Default for FirstPanic {
    #[inline]
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl FirstPanic {
    /// Keeps `payload` if it is the first one. A later one is dropped; if that panics, the process
    /// aborts.
    #[cold]
    pub fn keep(&self, payload: Payload) {
        let mut first = self.0.lock();
        if first.is_none() {
            *first = Some(payload);
        } else {
            drop(first);
            discard(payload);
        }
    }

    /// The first payload, if there was a panic since the last call.
    #[inline]
    pub fn take(&self) -> Option<Payload> {
        self.0.lock().take()
    }
}

impl fmt::Debug for FirstPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstPanic").finish_non_exhaustive()
    }
}

/// Drops the payload of a later panic. No caller could handle a panic of its destructor.
#[cold]
fn discard(payload: Payload) {
    if catch_unwind(AssertUnwindSafe(|| drop(payload))).is_err() {
        eprintln!("sinew: the payload of a panic panicked when it was dropped: aborting");
        std::process::abort();
    }
}
