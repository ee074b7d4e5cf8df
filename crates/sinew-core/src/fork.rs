//! Survival of `fork(2)`: the child has one thread, and none of the workers.
//!
//! The child drops its reference to the global pool (`global`), and builds its own when it first
//! needs one. An inherited pool has another generation than the process, which shows that its
//! threads do not exist: it wakes no thread, its shutdown joins none, and a caller that enters it
//! is its only worker. A join or scope aborts if a thread of the parent had taken one of its tasks,
//! since the result will never come. A call that only those threads could serve aborts as well.

use sinew_sync::statics::{AtomicBool, AtomicU32, Ordering};

static GENERATION: AtomicU32 = AtomicU32::new(0);

extern "C" fn nothing() {}

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    sinew_sync::fence::forget();
}

/// Another number in each process, from the first call on: it grows with each fork.
pub(crate) fn generation() -> u32 {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    after(&REGISTERED, in_child);
    current()
}

/// Registers `handler` to run first in each child of a later fork, unless `done` says that it is
/// registered. It may only store to memory, since a thread that does not exist in the child may
/// hold any lock, and may run twice.
pub(crate) fn after(done: &AtomicBool, handler: extern "C" fn()) {
    sinew_sync::fork::register_once(done, nothing, nothing, handler);
}

pub(crate) fn current() -> u32 {
    // Relaxed: the number changes only while the process has one thread.
    GENERATION.load(Ordering::Relaxed)
}

/// Ends a child that calls into a pool where only its parent's threads could serve it.
#[cold]
pub(crate) fn die_of_lost_workers() -> ! {
    eprintln!(
        "sinew: a forked child calls into a pool whose workers are its parent's; build a pool in \
         the child"
    );
    std::process::abort()
}

/// Ends a child that joins a task which a thread of its parent has taken.
#[cold]
pub(crate) fn die_of_lost_task() -> ! {
    eprintln!(
        "sinew: a forked child waits for a task that a thread of its parent had taken; fork \
         outside of joins, scopes and loops"
    );
    std::process::abort()
}
