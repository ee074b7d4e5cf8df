//! The handle that changes a running pool.
//!
//! Its only state of its own is the number of earlier cancellations. Each request is stored in a
//! word that workers and loops read anyway: the number of threads in `limit`, the mapping in
//! `pins`, the schedule in `preset`, a cancellation in `cancel`.
//!
//! # Tests
//!
//! `tests/pool/control.rs`.

use std::fmt;
use std::sync::Arc;

use sinew_policy::chunk::Schedule;
use sinew_policy::victim::Victims;
use sinew_topology::{Mapping, MappingError};

use crate::pool::Pool;
use crate::seams::limit::Source;
use crate::state::counters::Counters;
use crate::state::pool_state::PoolState;

/// A handle that changes a running pool: the number of threads, their processors, the victim
/// policy, and the schedule of loops. It can also cancel the running work.
///
/// Any thread may use it at any time, including workers of the pool. Changes take effect at the
/// next safe point of each worker: the next task, or between two slices of a loop under a control.
/// The control of a loop has priority over this handle, except that no loop has more threads than
/// the limit of its pool.
///
/// Clones are the same handle. A handle that outlives the pool keeps the pool's memory, and has no
/// effect.
///
/// ```
/// use sinew_core::{Mapping, Pool};
/// use sinew_policy::chunk::Schedule;
///
/// let pool = Pool::builder().threads(4).build()?;
/// let control = pool.control();
/// let clone = control.clone();
/// std::thread::spawn(move || clone.set_threads(3)).join().unwrap();
/// control.set_schedule(Schedule::Dynamic { chunk: 64 });
/// control.set_mapping(&Mapping::Compact)?;
/// let now = control.snapshot();
/// assert_eq!((now.threads, now.max_threads, now.running), (3, 4, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct PoolControl {
    state: Arc<PoolState>,
    /// The number of cancellations when [`Pool::control`] returned this handle.
    cancellations: u64,
}

/// The result of [`PoolControl::snapshot`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PoolSnapshot {
    /// Threads that may work: the minimum of the number that was set, the CPUs that affinity and
    /// quota allow, and the granted cores.
    pub threads: usize,
    /// The number of worker slots, the external slot included.
    pub max_threads: usize,
    /// Threads that are awake now.
    pub awake_threads: usize,
    /// The mapping that pins the threads.
    pub mapping: Mapping,
    /// Workers whose threads other code, or a user with `taskset`, has bound since the mapping was
    /// set: they do not follow it.
    pub bound_workers: Vec<usize>,
    /// The victim policy.
    pub victims: Victims,
    /// The schedule of loops that name none, if the program set one or a coordinator granted one.
    pub schedule: Option<Schedule>,
    /// Loops and skeletons under a control, and worklists, that have begun and not ended. A
    /// skeleton that consists of several loops and its present loop count as two.
    pub running: usize,
    /// The counters of all workers, summed.
    pub counters: Counters,
}

impl Pool {
    /// The handle that changes the running pool.
    pub fn control(&self) -> PoolControl {
        let state = Arc::clone(&self.state);
        PoolControl { cancellations: state.cancel_scope.cancellations(), state }
    }

    /// Pins the pool's threads by `mapping`, or unpins them with [`Mapping::None`]. Each thread
    /// moves before its next task or at the next safe point of a loop. From any thread, at any
    /// time. External threads, and threads of pools on a described machine, do not move.
    ///
    /// The newest request decides. A mapping also pins threads that the program, or a user with
    /// `taskset`, has bound before; [`Mapping::None`] gives them their binding back. A thread that
    /// is bound after this call keeps its binding until the next one, and is in
    /// [`PoolSnapshot::bound_workers`].
    ///
    /// # Errors
    ///
    /// [`MappingError`] if the mapping names a processor that this process may not use; everything
    /// stays as it was.
    ///
    /// ```
    /// use sinew_core::{Mapping, Pool};
    ///
    /// let pool = Pool::builder().threads(2).build()?;
    /// pool.set_mapping(&Mapping::Compact)?;
    /// assert_eq!(pool.mapping(), Mapping::Compact);
    /// assert!(pool.set_mapping(&Mapping::Explicit(vec![123_456])).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_mapping(&self, mapping: &Mapping) -> Result<(), MappingError> {
        self.state.set_mapping(mapping)
    }

    /// The mapping that the threads follow.
    pub fn mapping(&self) -> Mapping {
        self.state.mapping()
    }

    /// Sets the victim policy, which thieves follow from their next search on. From any thread, at
    /// any time.
    ///
    /// ```
    /// use sinew_core::{Pool, Victims};
    ///
    /// let pool = Pool::builder().threads(2).build()?;
    /// pool.set_victims(Victims::MostLoaded { every: 5 });
    /// assert_eq!(pool.victims(), Victims::MostLoaded { every: 5 });
    /// # Ok::<(), sinew_core::BuildError>(())
    /// ```
    pub fn set_victims(&self, victims: Victims) {
        self.state.stealing.set(victims);
    }

    /// The present victim policy.
    pub fn victims(&self) -> Victims {
        self.state.stealing.choice()
    }

    /// The greatest depth of tasks that may leave their package under [`Victims::Cats`], once it is
    /// measured: in the first call from outside in which eight tasks were stolen. A new choice of
    /// the policy resets it.
    pub fn class_boundary(&self) -> Option<u32> {
        self.state.stealing.classes.boundary()
    }
}

impl PoolControl {
    /// Lets at most `threads` of the workers work. The others stand down after their present task,
    /// and return when the limit rises. At least one thread works. `None` takes the request back:
    /// only affinity, quota and the granted cores limit the pool then. [`Pool::threads`] and
    /// [`snapshot`](Self::snapshot) return the limit in force.
    ///
    /// # Panics
    ///
    /// If `threads` is 0.
    #[track_caller]
    pub fn set_threads(&self, threads: impl Into<Option<usize>>) {
        let threads = threads.into();
        assert!(threads != Some(0), "a pool with 0 threads does nothing: use at least 1");
        self.state.set_limit(Source::Program, threads.unwrap_or(usize::MAX));
    }

    /// Pins the threads, as [`Pool::set_mapping`]. Threads in a loop whose control has a mapping
    /// follow that one until they leave the loop.
    ///
    /// # Errors
    ///
    /// [`MappingError`] if the mapping names a processor that this process may not use; everything
    /// stays as it was.
    pub fn set_mapping(&self, mapping: &Mapping) -> Result<(), MappingError> {
        self.state.set_mapping(mapping)
    }

    /// Sets the victim policy, as [`Pool::set_victims`].
    pub fn set_victims(&self, victims: Victims) {
        self.state.stealing.set(victims);
    }

    /// Sets the schedule of loops over items that name none, or that name [`Schedule::Auto`].
    /// `None` restores their own choice.
    ///
    /// A loop reads the schedule when it begins. A loop under a control without a schedule also
    /// reads it between two slices. It has priority over a schedule that a coordinator grants (see
    /// `PoolBuilder::coordinate`).
    ///
    /// # Panics
    ///
    /// If a chunk of the schedule is 0.
    #[track_caller]
    pub fn set_schedule(&self, schedule: impl Into<Option<Schedule>>) {
        match schedule.into().map(Schedule::check).transpose() {
            Ok(schedule) => {
                self.state.limit.schedule.set(schedule);
                self.state.tell_choice();
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Cancels the loops and skeletons under a control, the worklists, and the waiting
    /// [calls](Pool::call) of the pool, as far as they have begun.
    ///
    /// They end at their next safe point and return [`Cancelled`](crate::Cancelled), or a report
    /// that contains it, as if their own control had been cancelled. That control itself is not
    /// cancelled, and work that begins after this call runs; so does a loop that a running item
    /// begins later.
    ///
    /// Joins, scopes, detached tasks and skeletons without a control are not cancelled, because
    /// their results cannot express it.
    pub fn cancel(&self) {
        self.state.cancel_scope.cancel();
    }

    /// Whether the pool was [cancelled](Self::cancel), through any handle, since [`Pool::control`]
    /// returned this one. Clones agree. A later handle says no, because later work is not
    /// cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.state.cancel_scope.cancellations() != self.cancellations
    }

    /// The state and settings of the pool. While it works, the numbers are of slightly different
    /// moments.
    ///
    /// # Cost
    ///
    /// Four locks, the loads of all workers' counters, and a lock and a system call for each
    /// worker's thread.
    pub fn snapshot(&self) -> PoolSnapshot {
        let state = &*self.state;
        PoolSnapshot {
            threads: state.active_limit(),
            max_threads: state.slots.len(),
            awake_threads: state.awake(),
            mapping: state.mapping(),
            bound_workers: state.bound_workers(),
            victims: state.stealing.choice(),
            schedule: state.limit.schedule.get(),
            running: state.cancel_scope.under_way(),
            counters: state.counters(),
        }
    }
}

impl fmt::Debug for PoolControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PoolControl").field(&self.snapshot()).finish()
    }
}
