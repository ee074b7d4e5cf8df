#![forbid(unsafe_code)]
//! Sinew by rayon's names: `bench programs --chains` builds the programs with this crate in place
//! of rayon.
//!
//! The iterators are those of Sinew's prelude, unchanged, and so is `join`. Scopes, calls and pools
//! have the signatures that the programs expect; each is one call of Sinew's. From outside of pools
//! all use the global pool of Sinew, whose number of threads `SINEW_THREADS` sets.

pub use sinew::skeleton::{OpenScope as Scope, OpenScopeFifo as ScopeFifo};
pub use sinew::{BroadcastContext, BuildError as ThreadPoolBuildError, iter, join, prelude};

use sinew::{Pool, Worker, global_pool};
use sinew_core::with_current;

/// The types of chains over vectors, by rayon's names.
pub mod vec {
    /// A chain over the elements of a vector.
    pub type IntoIter<T> = <Vec<T> as sinew::iter::IntoParallelIterator>::Iter;
}

/// The types of chains over ranges.
pub mod range {
    /// A chain over a range.
    pub type Iter<T> = <std::ops::Range<T> as sinew::iter::IntoParallelIterator>::Iter;
}

/// The types of chains over inclusive ranges.
pub mod range_inclusive {
    /// A chain over an inclusive range.
    pub type Iter<T> = <std::ops::RangeInclusive<T> as sinew::iter::IntoParallelIterator>::Iter;
}

/// A scope in the current pool, or the global one.
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    in_pool(|worker| worker.open_scope(op))
}

/// A scope whose tasks begin in the order in which they were spawned.
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    in_pool(|worker| worker.open_scope_fifo(op))
}

/// A scope whose body runs on the calling thread.
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    with_current(|worker| match worker {
        Some(worker) => worker.open_scope(op),
        None => global_pool().in_place_scope(op),
    })
}

/// A detached task.
pub fn spawn(func: impl FnOnce() + Send + 'static) {
    sinew::spawn(|_| func());
}

/// Calls `op` on every thread of the current pool, or of the global one.
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    in_pool(|worker| worker.broadcast(&op))
}

/// The number of the calling thread in its pool.
pub fn current_thread_index() -> Option<usize> {
    with_current(|worker| worker.map(Worker::index))
}

/// The number of threads of the current pool, or of the global one.
pub fn current_num_threads() -> usize {
    with_current(|worker| worker.map_or_else(|| global_pool().max_threads(), Worker::max_threads))
}

/// Calls `f` as a worker: the one that this thread is, or one of the global pool, in whose external
/// slot this thread then works.
fn in_pool<R: Send>(f: impl FnOnce(&Worker) -> R + Send) -> R {
    with_current(|worker| match worker {
        Some(worker) => f(worker),
        None => global_pool().run(f),
    })
}

/// A pool of its own, all of whose threads are its own, too.
#[derive(Debug)]
pub struct ThreadPool(Pool);

impl ThreadPool {
    /// Calls `op` on a thread of the pool.
    pub fn install<R: Send>(&self, op: impl FnOnce() -> R + Send) -> R {
        self.0.install(|_| op())
    }

    /// Calls `op` on every thread of the pool.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        self.0.broadcast(op)
    }

    /// A join in the pool.
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.0.install(|worker| worker.join(|_| a(), |_| b()))
    }
}

/// Describes a [`ThreadPool`].
#[derive(Debug, Default)]
pub struct ThreadPoolBuilder(usize);

impl ThreadPoolBuilder {
    /// A pool of as many threads as the environment says.
    pub fn new() -> Self {
        Self::default()
    }

    /// A pool of `threads` threads.
    #[must_use]
    pub fn num_threads(self, threads: usize) -> Self {
        Self(threads)
    }

    /// Starts the threads.
    ///
    /// # Errors
    ///
    /// As [`sinew::PoolBuilder::build`].
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let builder = Pool::builder().external_slot(false);
        let builder = if self.0 == 0 { builder } else { builder.threads(self.0) };
        builder.build().map(ThreadPool)
    }
}
