//! Pools: the handle to a set of workers, and calls into it.
//!
//! A pool of `n` workers has `n` worker slots; the number never changes. Slot 0 is the external
//! slot, and each other slot has a thread. A caller from outside takes the external slot
//! ([`Pool::run`]), or queues its call for the threads and waits ([`Pool::install`], and `run` when
//! the slot is taken). A caller by [`Pool::call`] may return without a result. A pool without an
//! external slot has a thread at every slot, or the thread that built it at slot 0.
//!
//! | file | contents |
//! |---|---|
//! | `call` | the builder of a call with a priority, a deadline or a control |
//! | `control`, `cancel_registration` | the handle that changes a pool; registration for cancellations |
//! | `threads`, `standby` | the threads of a pool; the thread of a pool of one worker |
//! | `visit` | a call by a thread that uses the external slot |
//! | `inject` | a call that is queued for the pool's threads |

pub(crate) mod call;
pub(crate) mod cancel_registration;
pub(crate) mod control;
pub(crate) mod inject;
pub(crate) mod standby;
pub(crate) mod threads;
pub(crate) mod visit;

use std::fmt;
use std::sync::Arc;

use sinew_sync::lock::Mutex;
use sinew_sync::thread::JoinHandle;
use sinew_topology::CpuAssignment;

use self::inject::{Body, CallError, Terms, erased};
use crate::fork;
use crate::pool::threads::ThreadSettings;
use crate::scheduler::waiter;
use crate::seams::observer::Observer;
use crate::state::counters::Counters;
use crate::state::poll::PollReason;
use crate::state::pool_state::PoolState;
use crate::state::tls;
use crate::state::worker::Worker;

/// A set of workers that run tasks together.
///
/// Dropping a pool runs all spawned tasks and joins its threads.
///
/// ```
/// use sinew_core::Pool;
///
/// let pool = Pool::builder().threads(2).build()?;
/// let (a, b) = pool.run(|w| w.join(|_| 1, |_| 2));
/// assert_eq!(a + b, 3);
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
pub struct Pool {
    pub(crate) state: Arc<PoolState>,
    pub(crate) threads: Mutex<Vec<JoinHandle<()>>>,
    /// Whether the standby thread of a pool of one worker runs.
    pub(crate) standby: Mutex<bool>,
    pub(crate) settings: Arc<ThreadSettings>,
}

impl Pool {
    /// Calls `f` with a worker of this pool, which is the current pool inside `f`.
    ///
    /// `f` runs on the calling thread, if that is a worker of this pool or the external slot is
    /// free. If another thread from outside holds that slot, one of the pool's threads calls `f`,
    /// as with [`install`](Self::install).
    ///
    /// A worker of another pool that takes the external slot runs only tasks of this pool while it
    /// waits in it. If tasks of two pools call into each other, use `install`, whose caller
    /// continues to run tasks of its own pool.
    ///
    /// # Panics
    ///
    /// If `f` panics, with its payload.
    ///
    /// # Cost
    ///
    /// Some 20 ns if `f` runs on the calling thread.
    pub fn run<F, R>(&self, f: F) -> R
    where
        F: for<'w> FnOnce(&'w Worker) -> R + Send,
        R: Send,
    {
        let result = erased(f, |body| {
            let called = self.run_body(body, None);
            debug_assert!(called.is_ok(), "a call without terms is not withdrawn");
        });
        result.unwrap_or_else(|| unreachable!("the call has run"))
    }

    /// Calls `body` as [`run`](Self::run) does.
    fn run_body(&self, body: Body<'_>, terms: Option<&Terms<'_>>) -> Result<(), CallError> {
        // A caller that is to cancel a control at the deadline must wait meanwhile.
        let must_wait = terms.is_some_and(Terms::cancels_at_deadline);
        let may_enter = !must_wait && self.state.takes_external_threads();
        if let Some(worker) = tls::serving(&self.state) {
            tls::with_current(worker, body);
        } else if may_enter && self.state.external_slot.try_enter() {
            self.state.as_external_thread(Terms::priority_of(terms), body);
        } else {
            return self.call_from_outside(body, terms);
        }
        Ok(())
    }

    /// Runs `f` on one of the pool's threads and waits for it; at once, if the calling thread is
    /// one.
    ///
    /// A caller that takes no part leaves its worker slot empty: in a pool of two workers, one
    /// thread does all the work. [`run`](Self::run) uses both.
    ///
    /// A worker of another pool that calls this runs tasks of its own pool while it waits, except
    /// under [`Wait::Descendants`](crate::Wait::Descendants). So several pools may call each other
    /// in a cycle.
    ///
    /// A pool of one worker has no threads. A calling thread without a pool takes its external slot
    /// as soon as that is free. Until then the external thread may serve the call: when it waits
    /// for another pool, or between two pieces of its work, as described below. A plain loop in a
    /// pool of one worker is a single piece. A call of another pool's worker runs on the external
    /// thread, or on a thread that the pool starts for such calls.
    ///
    /// If all workers have work, one of them serves the call between two pieces of its work: chunks
    /// of loops, leaves of sorts and of divide and conquer, items of streams, units of worklists.
    /// Short work is left to end first: a call interrupts work of a lower
    /// [priority](crate::Priority) at once, work of its own priority after 0.3 ms, and any work
    /// after a tenth of a second. At most four calls are nested on one thread. The
    /// interrupted work continues when the call has ended, so long calls should have a low
    /// priority. A call must not wait for a lock that the caller of the interrupted work holds, nor
    /// for a message that is sent after that work, or by another call, which may be below it on the
    /// stack. Programs that need this build their pool with
    /// [`Wait::Descendants`](crate::Wait::Descendants) or [`Wait::Block`](crate::Wait::Block),
    /// under which no call interrupts other work.
    ///
    /// # Panics
    ///
    /// If `f` panics, with its payload.
    ///
    /// # Blocking
    ///
    /// Until `f` has ended.
    pub fn install<F, R>(&self, f: F) -> R
    where
        F: for<'w> FnOnce(&'w Worker) -> R + Send,
        R: Send,
    {
        let result = erased(f, |body| self.install_body(body));
        result.unwrap_or_else(|| unreachable!("the call has run"))
    }

    /// Calls `body` as [`install`](Self::install) does.
    fn install_body(&self, body: Body<'_>) {
        match tls::serving(&self.state) {
            Some(worker) => tls::with_current(worker, body),
            None => {
                let called = self.call_from_outside(body, None);
                debug_assert!(called.is_ok(), "a call without terms is not withdrawn");
            }
        }
    }

    /// Calls `body` for a thread that is not in the pool yet.
    fn call_from_outside(
        &self,
        body: Body<'_>,
        terms: Option<&Terms<'_>>,
    ) -> Result<(), CallError> {
        if self.state.is_of_another_process() {
            // The child has no other thread. A thread that held the slot at the fork holds it for
            // ever.
            if !self.state.takes_external_threads() || !self.state.external_slot.try_enter() {
                fork::die_of_lost_workers();
            }
        } else if self.state.has_threads() || !self.state.takes_external_threads() {
            return inject::run(&self.state, body, terms);
        } else if waiter::living_worker().is_some() && self.start_standby() {
            // A worker of another pool that took the slot would run only tasks of this pool while
            // it waits. In a cycle of pools that call each other, each thread could then wait for a
            // pool that no thread serves. So it queues the call. The external thread of this pool
            // serves the call if it waits for another pool; else the standby thread does.
            return inject::run(&self.state, body, terms);
        } else if !self.state.external_slot.try_enter() {
            return inject::run_or_sit(&self.state, body, terms);
        }
        self.state.as_external_thread(Terms::priority_of(terms), body);
        Ok(())
    }

    /// The number of worker slots, including the external slot. Never changes.
    pub fn max_threads(&self) -> usize {
        self.state.slots.len()
    }

    /// The PU of each worker slot, and their distances, as when the pool was built.
    pub fn cpu_assignment(&self) -> &CpuAssignment {
        &self.state.cpu_assignment
    }

    /// The limit in force: how many of the workers may work now. At least 1, at most
    /// [`max_threads`](Self::max_threads). It is the minimum of the number that was
    /// [set](crate::PoolControl::set_threads), the CPUs that affinity and quota allow, and the
    /// granted cores.
    ///
    /// ```
    /// let pool = sinew_core::Pool::builder().threads(4).build()?;
    /// pool.control().set_threads(2);
    /// assert_eq!((pool.threads(), pool.max_threads()), (2, 4));
    /// # Ok::<(), sinew_core::BuildError>(())
    /// ```
    pub fn threads(&self) -> usize {
        self.state.active_limit()
    }

    /// Sets a poll reason at every worker. Each worker calls the reason's function at its next push
    /// or safe point. From any thread, at any time.
    ///
    /// # Panics
    ///
    /// If the process has more reasons than a poll word has room for.
    // Not track_caller: the reasons of the whole process count, not this call.
    pub fn request_poll(&self, reason: &PollReason) {
        self.state.slots.iter().for_each(|slot| slot.ask(reason));
    }

    /// The calling thread's worker in this pool, if it is one of its workers.
    ///
    /// ```
    /// let pool = sinew_core::Pool::builder().threads(2).build()?;
    /// assert!(pool.with_current(|w| w.is_none()));
    /// pool.run(|v| pool.with_current(|w| assert_eq!(w.map(|w| w.index()), Some(v.index()))));
    /// # Ok::<(), sinew_core::BuildError>(())
    /// ```
    pub fn with_current<R>(&self, f: impl FnOnce(Option<&Worker>) -> R) -> R {
        f(tls::current_in(&self.state))
    }

    /// Whether this process inherited the pool through a fork, without its threads.
    pub fn is_of_another_process(&self) -> bool {
        self.state.is_of_another_process()
    }

    /// Ends the pool without waiting: its threads run all spawned tasks, and then leave.
    pub fn close(self) {
        drop(self.end());
    }

    /// Ends the pool and waits until every thread has left it, including threads that the user
    /// provided. Must not be called by one of its workers.
    ///
    /// # Panics
    ///
    /// If the caller is a worker of this pool.
    ///
    /// # Blocking
    ///
    /// Until all spawned tasks have run.
    #[track_caller]
    pub fn shutdown(self) {
        assert!(
            tls::current_in(&self.state).is_none(),
            "a worker cannot wait for the end of its own pool"
        );
        let state = Arc::clone(&self.state);
        drop(self);
        if !state.is_of_another_process() {
            state.threads.wait();
        }
    }

    /// Starts the shutdown, once; returns the threads to join.
    fn end(&self) -> Vec<JoinHandle<()>> {
        let threads = std::mem::take(&mut *self.threads.lock());
        if !self.state.is_ending() {
            self.state.end();
            let may_wait = tls::current_in(&self.state).is_none();
            self.state.hooks.iter().for_each(|hook| hook.ended(may_wait));
        }
        threads
    }

    /// The observer that the pool was [built with](crate::PoolBuilder::observer).
    pub fn observer(&self) -> Option<&dyn Observer> {
        self.state.observer.as_deref()
    }

    /// The number of threads that are awake now; a hint.
    pub fn awake_threads(&self) -> usize {
        self.state.awake()
    }

    /// The counters of all slots, summed. While tasks run, the sum is of slightly different
    /// moments.
    pub fn counters(&self) -> Counters {
        self.state.counters()
    }

    /// The memory of a worker in bytes, without its thread's stack.
    pub fn bytes_per_worker(&self) -> usize {
        size_of::<Worker>() + self.state.slots[0].stack.bytes()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.state.is_of_another_process() {
            std::mem::take(&mut *self.threads.lock()).into_iter().for_each(std::mem::forget);
            return;
        }
        let inside = tls::current_in(&self.state).is_some();
        for thread in self.end() {
            if !inside {
                // A worker never unwinds.
                let _ = thread.join();
            }
        }
        if self.state.takes_external_threads() && !self.state.has_threads() && !inside {
            self.run_what_is_left();
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("max_threads", &self.max_threads())
            .field("wait", &self.state.wait)
            .finish_non_exhaustive()
    }
}
