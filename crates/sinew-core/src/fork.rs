//! Survival of `fork(2)`: the child has one thread, and none of the workers.
//!
//! The child forgets the global pool, and builds its own when it first needs one. A pool that came along knows by its generation that its
//! threads are not there: nobody is woken in it, dropping it joins nobody, and a join whose task a thread of the parent had stolen
//! aborts, since that task's result will never come.

#[cfg(all(unix, not(any(loom, shuttle))))]
mod imp {
    use std::sync::Once;
    use sinew_sync::statics::{AtomicU32, Ordering};

    static GENERATION: AtomicU32 = AtomicU32::new(0);

    extern "C" fn in_child() {
        // Only stores: the handler must not take locks that a thread of the parent may have held.
        GENERATION.fetch_add(1, Ordering::Relaxed);
        sinew_sync::fence::forget();
        crate::global::forget();
    }

    /// Counts the forks between the first process and this one, from the first call on.
    pub(crate) fn generation() -> u32 {
        static REGISTERED: Once = Once::new();
        REGISTERED.call_once(|| {
            // SAFETY: the handler is a plain function and does nothing that is forbidden between fork and exec.
            unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        });
        current()
    }

    pub(crate) fn current() -> u32 {
        // Relaxed: it changes only while the process has one thread.
        GENERATION.load(Ordering::Relaxed)
    }
}

#[cfg(not(all(unix, not(any(loom, shuttle)))))]
mod imp {
    pub(crate) fn generation() -> u32 {
        0
    }

    pub(crate) fn current() -> u32 {
        0
    }
}

pub(crate) use imp::{current, generation};

/// Ends a child that joins a task which a thread of its parent has taken.
#[cold]
pub(crate) fn die_of_lost_task() -> ! {
    eprintln!(
        "sinew: a forked child waits for a task that a thread of its parent had taken; fork outside of joins, scopes and loops"
    );
    std::process::abort()
}
