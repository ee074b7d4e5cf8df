//! Survival of `fork(2)`: the child has one thread, and none of the workers.
//!
//! The child forgets the global pool (`global`), and builds its own when it first needs one. A pool
//! that came along knows by its generation that its threads are not there: it wakes no thread, its
//! end joins none, and a caller that enters it is alone in it. A join or a scope that needs a task
//! which a thread of the parent had taken aborts, since that task's result will never come; so does
//! a call that only those threads could serve.

use sinew_sync::statics::{AtomicU32, Ordering};
use std::sync::Once;

static GENERATION: AtomicU32 = AtomicU32::new(0);

extern "C" fn nothing() {}

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    sinew_sync::fence::forget();
}

/// Counts the forks between the first process and this one, from the first call on.
pub(crate) fn generation() -> u32 {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| after(in_child));
    current()
}

/// In each child of a fork from now on, `handler` runs first. It may only store: a lock may have
/// been held by a thread that the child does not have.
pub(crate) fn after(handler: extern "C" fn()) {
    sinew_sync::fork::register(nothing, nothing, handler);
}

pub(crate) fn current() -> u32 {
    // Relaxed: it changes only while the process has one thread.
    GENERATION.load(Ordering::Relaxed)
}

/// Ends a child that calls into a pool where only its parent's threads could serve it.
#[cold]
pub(crate) fn die_of_lost_workers() -> ! {
    eprintln!(
        "sinew: a forked child calls into a pool whose workers are its parent's; build a pool in the child"
    );
    std::process::abort()
}

/// Ends a child that joins a task which a thread of its parent has taken.
#[cold]
pub(crate) fn die_of_lost_task() -> ! {
    eprintln!(
        "sinew: a forked child waits for a task that a thread of its parent had taken; fork outside of joins, scopes and loops"
    );
    std::process::abort()
}
