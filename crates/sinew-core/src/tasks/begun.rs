//! Scopes that begin with one call and end with another, for interfaces without closures: the
//! library for C.

use std::fmt;
use std::process::abort;

use sinew_sync::atomic::{AtomicBool, Ordering};

use crate::pool::Pool;
use crate::scope::ScopeState;
use crate::state::worker::Worker;

/// The count of the caller, which stands for the body of another scope.
const CALLER: u32 = 1;

/// A scope that has begun. Its pool must not end before it.
///
/// ```
/// use std::sync::Arc;
///
/// let pool = sinew_core::Pool::builder().threads(2).build()?;
/// let (one, scope) = (Arc::new(()), Arc::new(pool.begin_scope()));
/// for _ in 0..10 {
///     let (one, inner) = (one.clone(), scope.clone());
///     scope.spawn(move |_| inner.spawn(move |_| drop(one)));
/// }
/// assert!(scope.end() && !scope.has_tasks() && !scope.end());
/// assert_eq!(Arc::strong_count(&one), 1);
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
pub struct BegunScope {
    /// Elsewhere, since its tasks have pointers to it.
    state: Box<ScopeState>,
    is_ended: AtomicBool,
}

impl Pool {
    /// Begins a scope, which the calling thread must [end](BegunScope::end).
    // Hidden: programs in Rust have closures.
    #[doc(hidden)]
    pub fn begin_scope(&self) -> BegunScope {
        let state = Box::new(ScopeState::new(self.serving(), CALLER, false));
        BegunScope { state, is_ended: AtomicBool::new(false) }
    }
}

impl BegunScope {
    /// Spawns a task that the scope waits for, from any thread.
    ///
    /// # Cost
    ///
    /// A block of memory, and one locked instruction on a line that other workers write.
    pub fn spawn<F>(&self, body: F)
    where
        F: for<'w> FnOnce(&'w Worker) + Send + 'static,
    {
        let inside = self.state.inside();
        self.state.count_in(1);
        // SAFETY: counted, and queued once; the scope does not end before (C2).
        unsafe { self.state.queue(self.state.task(body, inside), inside) };
    }

    /// Whether tasks have been spawned and not ended.
    pub fn has_tasks(&self) -> bool {
        self.state.pending() > CALLER.into()
    }

    /// Waits until all tasks have ended, those included that they spawn meanwhile. Returns false,
    /// at once, if the scope has ended before.
    ///
    /// # Panics
    ///
    /// With the payload of the first task that panicked. If another thread began the scope.
    // Not track_caller: the first panic is that of a task.
    pub fn end(&self) -> bool {
        // Relaxed: one thread.
        if self.is_ended.swap(true, Ordering::Relaxed) {
            return false;
        }
        self.state.complete(|| (), || CALLER);
        true
    }
}

impl Drop for BegunScope {
    /// Tasks have pointers to the scope.
    fn drop(&mut self) {
        // Relaxed: no other thread has the scope.
        if !self.is_ended.load(Ordering::Relaxed) && self.has_tasks() {
            eprintln!("sinew: a scope was dropped before its end");
            abort();
        }
    }
}

impl fmt::Debug for BegunScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BegunScope").field("has_tasks", &self.has_tasks()).finish_non_exhaustive()
    }
}
