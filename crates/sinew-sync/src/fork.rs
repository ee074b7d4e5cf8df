//! Handlers around `fork(2)`.

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
