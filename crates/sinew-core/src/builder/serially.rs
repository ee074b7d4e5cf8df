//! Code that must not be interrupted: joins, scopes and loops of this thread run serially, on this
//! thread.
//!
//! A worker that waits in a join runs other tasks meanwhile, and its second arm may be stolen.
//! Neither is allowed in code that must stay on one thread without interruption, such as a
//! transaction, in which an unrelated task could start another one.
//!
//! So [`serially`] makes the thread a worker of a pool of its own, with one slot and no other
//! thread. In that pool there are no thieves, every wait is over when it begins, and the fast path
//! of a join is unchanged. A call into another pool runs in this one.
//!
//! Transactions do not call it: they replace the current worker by that worker
//! ([`current_worker`]).
//!
//! # Not handled
//!
//! A captured [`Worker`](crate::Worker) of the enclosing pool, which works as usual.

use std::cell::OnceCell;
use std::ptr::null;

use sinew_sync::current_worker;

use crate::builder::PoolBuilder;
use crate::pool::Pool;
use crate::state::tls;

/// The thread's own pool.
struct Own(OnceCell<Pool>);

impl Own {
    fn pool(&self) -> &Pool {
        self.0.get_or_init(pool_of_one)
    }
}

impl Drop for Own {
    /// Transactions in later destructors run without it.
    fn drop(&mut self) {
        current_worker::set_serial(null());
    }
}

#[cfg(not(any(loom, shuttle)))]
std::thread_local! {
    static OWN: Own = const { Own(OnceCell::new()) };
}

#[cfg(shuttle)]
shuttle::thread_local! {
    static OWN: Own = Own(OnceCell::new());
}

#[cfg(loom)]
loom::thread_local! {
    static OWN: Own = Own(OnceCell::new());
}

/// Calls `f`, and runs all joins, scopes and loops in it serially on this thread, inside or outside
/// a pool.
///
/// The second arm of a join runs after the first one, a scope's task runs in its spawn, and
/// [`Pool::run`] and [`Pool::install`] call their closure on this thread. The thread runs no other
/// task meanwhile. Detached tasks go to the enclosing pool, as usual.
///
/// Nested spawns run at once up to a depth of 64. A task that is spawned deeper waits until a scope
/// ends, so that the stack stays bounded.
///
/// Calls may be nested. A transaction does the same.
///
/// # Panics
///
/// If `f` panics, with its payload. A broadcast inside panics, since it needs all threads of its
/// pool. The first call on a thread builds the pool of one; if that fails, this panics.
///
/// # Cost
///
/// Two accesses to thread-local storage. The first call on a thread takes microseconds, and a
/// quarter of a MiB of address space.
///
/// ```
/// let here = std::thread::current().id();
/// let threads = sinew_core::serially(|| {
///     sinew_core::join(|| std::thread::current().id(), || std::thread::current().id())
/// });
/// assert_eq!(threads, (here, here));
/// ```
pub fn serially<R>(f: impl FnOnce() -> R) -> R {
    if tls::is_serial() {
        return f();
    }
    let mut f = Some(f);
    let entered = OWN.try_with(|own| {
        let f = f.take().expect("called once");
        enter(own.pool(), f)
    });
    match (entered, f) {
        (Ok(result), _) => result,
        // The thread has run its destructors.
        (Err(_), Some(f)) => enter(&pool_of_one(), f),
        (Err(_), None) => unreachable!("only a closure that was called is gone"),
    }
}

fn enter<R>(pool: &Pool, f: impl FnOnce() -> R) -> R {
    let worker = &pool.state.slots[0];
    // Else the depth would be wrong when the tasks below have ended.
    if worker.stack.is_empty() {
        worker.stack.set_depth(0);
    }
    tls::within(worker, f)
}

/// The worker of the thread's own pool, for a transaction that begins; null if the thread has run
/// its destructors.
#[cold]
pub(crate) fn alone() -> current_worker::Pointer {
    let worker = OWN.try_with(|own| std::ptr::from_ref(&own.pool().state.slots[0]).cast());
    let worker = worker.unwrap_or(null());
    current_worker::set_serial(worker);
    worker
}

#[cold]
fn pool_of_one() -> Pool {
    match PoolBuilder::serial().build() {
        Ok(pool) => pool,
        Err(error) => panic!("sinew: a thread's own pool could not be built: {error}"),
    }
}
