//! Handlers around `fork(2)`, and values that are computed once in a process that may fork.
//!
//! A thread must not wait for another one to compute such a value or to register a handler: in a
//! forked child it may wait for a thread that does not exist.

use std::sync::OnceLock;

use crate::statics::{AtomicBool, Ordering};

/// A handler. It must do nothing that is forbidden between `fork` and `exec`.
pub type Handler = extern "C" fn();

/// Registers three handlers: `prepare` runs before each fork, `parent` and `child` run after it in
/// the two processes. On systems without `fork` it does nothing.
#[cfg(all(unix, not(any(loom, shuttle))))]
pub fn register(prepare: Handler, parent: Handler, child: Handler) {
    // SAFETY: plain functions, which exist as long as the program.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}

/// Registers three handlers: `prepare` runs before each fork, `parent` and `child` run after it in
/// the two processes. On systems without `fork` it does nothing.
#[cfg(not(all(unix, not(any(loom, shuttle)))))]
pub fn register(_prepare: Handler, _parent: Handler, _child: Handler) {}

/// [`register`] unless `done` is set, which this sets. Threads that call it at the same time may
/// all register, so the handlers may run more than once for a fork.
pub fn register_once(done: &AtomicBool, prepare: Handler, parent: Handler, child: Handler) {
    // Relaxed: it publishes nothing; the system's list of handlers has a lock.
    if !done.load(Ordering::Relaxed) {
        register(prepare, parent, child);
        done.store(true, Ordering::Relaxed);
    }
}

/// The value of `cell`, computed by `f` if there is none. Threads that call it at the same time may
/// all compute; they return the same value.
pub fn once<T>(cell: &OnceLock<T>, f: impl FnOnce() -> T) -> &T {
    if let Some(value) = cell.get() {
        return value;
    }
    let value = f();
    cell.get_or_init(|| value)
}
