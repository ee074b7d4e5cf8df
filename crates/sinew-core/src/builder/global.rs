//! The global pool, and functions that use the current pool.

use crate::pool::Pool;
use crate::state::tls;
use crate::state::worker::Worker;

#[cfg(not(any(loom, shuttle)))]
mod imp {
    use sinew_sync::statics::{AtomicBool, AtomicPtr, Ordering};
    use std::ptr::null_mut;

    use crate::builder::PoolBuilder;
    use crate::fork;
    use crate::pool::Pool;

    static GLOBAL: AtomicPtr<Pool> = AtomicPtr::new(null_mut());

    /// The pool of threads that belong to no other pool. It is built from the environment at its
    /// first use, and never ends.
    ///
    /// # Panics
    ///
    /// If the system refuses to start even one thread.
    #[inline]
    #[track_caller]
    pub fn pool() -> &'static Pool {
        // Acquire: pairs with the exchange in `build`.
        // SAFETY: the pointer comes from `Box::leak`.
        match unsafe { GLOBAL.load(Ordering::Acquire).as_ref() } {
            Some(pool) => pool,
            None => build(),
        }
    }

    /// The pool is built without a lock: after a fork a thread that does not exist could hold it.
    /// If two threads build a pool at the same time, one of both is dropped.
    #[cold]
    #[track_caller]
    fn build() -> &'static Pool {
        let pool = match PoolBuilder::from_env().build() {
            Ok(pool) => pool,
            Err(error) => panic!("sinew: the global pool could not be built: {error}"),
        };
        static REGISTERED: AtomicBool = AtomicBool::new(false);
        fork::after(&REGISTERED, forget);
        let new = Box::into_raw(Box::new(pool));
        let put = GLOBAL.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire);
        // SAFETY: both pointers come from `Box::into_raw`; no other thread has the loser's.
        unsafe {
            match put {
                Ok(_) => &*new,
                Err(first) => {
                    drop(Box::from_raw(new));
                    &*first
                }
            }
        }
    }

    /// In a forked child: the pool's threads do not exist.
    extern "C" fn forget() {
        GLOBAL.store(null_mut(), Ordering::Release);
    }
}

#[cfg(any(loom, shuttle))]
mod imp {
    use crate::pool::Pool;

    /// Models use pools of their own.
    ///
    /// # Panics
    ///
    /// Always.
    #[track_caller]
    pub fn pool() -> &'static Pool {
        panic!("there is no global pool under a model checker")
    }
}

pub use imp::pool;

/// Calls `f` with the current worker, entering the global pool if this thread is not a worker yet;
/// see [`Pool::run`].
///
/// # Panics
///
/// If `f` panics, with its payload.
///
/// # Cost
///
/// One access to thread-local storage inside a pool, some 20 ns from outside.
#[inline]
pub fn run<F, R>(f: F) -> R
where
    F: for<'w> FnOnce(&'w Worker) -> R + Send,
    R: Send,
{
    match tls::current() {
        Some(worker) => f(worker),
        None => from_outside(f),
    }
}

/// Calls `f` with this thread's worker, if it is one, in the pool that it entered last.
///
/// # Cost
///
/// One access to thread-local storage.
///
/// ```
/// assert!(sinew_core::with_current(|w| w.is_none()));
/// assert!(sinew_core::run(|_| sinew_core::with_current(|w| w.is_some())));
/// ```
#[inline]
pub fn with_current<R>(f: impl FnOnce(Option<&Worker>) -> R) -> R {
    f(tls::current())
}

#[cold]
fn from_outside<F, R>(f: F) -> R
where
    F: for<'w> FnOnce(&'w Worker) -> R + Send,
    R: Send,
{
    Pool::run(pool(), f)
}
