//! The pool that the free functions use from outside of pools.

use std::sync::{Mutex, OnceLock, PoisonError};

use crate::builder::ThreadPoolBuilder;
use crate::error::ThreadPoolBuildError;
use crate::pool::ThreadPool;
use crate::spawner::ThreadSpawn;

static GLOBAL: OnceLock<ThreadPool> = OnceLock::new();
/// Held while the global pool is built. The build may fail, and starts threads that may use the
/// pool.
static BUILDING: Mutex<()> = Mutex::new(());

/// The pool of the free functions.
///
/// # Panics
///
/// If it cannot be built.
#[inline]
pub(crate) fn global() -> &'static ThreadPool {
    GLOBAL.get().unwrap_or_else(|| build_global_cold())
}

#[cold]
fn build_global_cold() -> &'static ThreadPool {
    let built = set_global(|| {
        ThreadPoolBuilder::new().build().or_else(|error| {
            if error.is_unsupported() { on_this_thread().map_err(|_| error) } else { Err(error) }
        })
    });
    match (GLOBAL.get(), built) {
        // This thread or another one has stored a pool.
        (Some(pool), _) => pool,
        (None, Err(error)) => panic!("the global thread pool could not be built: {error}"),
        (None, Ok(())) => unreachable!("the pool was set"),
    }
}

/// On targets without threads: a pool of the first thread that uses it.
fn on_this_thread() -> Result<ThreadPool, ThreadPoolBuildError> {
    ThreadPoolBuilder::new().num_threads(1).use_current_thread().build()
}

/// Builds the global pool, unless there is one.
fn set_global(
    build: impl FnOnce() -> Result<ThreadPool, ThreadPoolBuildError>,
) -> Result<(), ThreadPoolBuildError> {
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    if GLOBAL.get().is_some() {
        return Err(ThreadPoolBuildError::global_exists());
    }
    let pool = build()?;
    GLOBAL.set(pool).map_err(|_| ThreadPoolBuildError::global_exists())
}

impl<S> ThreadPoolBuilder<S>
where
    S: ThreadSpawn,
{
    /// Builds the pool that the free functions use from outside of pools.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build), and if there is such a pool already.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        set_global(|| self.build())
    }
}
