//! The handle by which a whole pool is changed while it works.
//!
//! It holds nothing of its own: every wish goes to the word that workers and loops look at anyway.
//! The number of threads and the mapping to those of `limit` and `remap`, the schedule to the one
//! that loops which leave theirs open begin with, the end to the pool's `cancel` scope.
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

/// A handle to change a pool while it works: how many threads, on which processors, whom they steal
/// from, how loops are handed out, and to end what runs.
///
/// Any thread may use it at any time, workers of the pool as well. Changes take effect at the next
/// safe point of each worker: the next task, or between two slices of a loop under a
/// control. What such a control wishes for its loops goes before what is said
/// here, except that no loop has more threads than its pool lets work.
///
/// Clones are the same handle. One that outlives the pool keeps its memory, and does nothing.
///
/// ```
/// use sinew_core::{Mapping, Pool};
/// use sinew_policy::chunk::Schedule;
///
/// let pool = Pool::builder().threads(4).build()?;
/// let control = pool.control();
/// let elsewhere = control.clone();
/// std::thread::spawn(move || elsewhere.set_threads(3)).join().unwrap();
/// control.set_schedule(Schedule::Dynamic { chunk: 64 });
/// control.set_mapping(&Mapping::Compact)?;
/// let now = control.snapshot();
/// assert_eq!((now.threads, now.max_threads, now.under_way), (3, 4, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct PoolControl {
    state: Arc<PoolState>,
}

/// What [`PoolControl::snapshot`] answers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PoolSnapshot {
    /// Workers that may work: as many as were set, as affinity and quota feed, and as other
    /// programs leave.
    pub threads: usize,
    /// Workers there are.
    pub max_threads: usize,
    /// Workers that are awake.
    pub awake: usize,
    /// Where the threads are pinned.
    pub mapping: Mapping,
    /// How thieves choose their victims.
    pub victims: Victims,
    /// The schedule of loops that leave theirs open, if one was set, or asked for by others on the
    /// program's behalf.
    pub schedule: Option<Schedule>,
    /// Loops and skeletons under a control, and worklists, that have begun and not ended. A
    /// skeleton of several loops counts beside the loop that it is at.
    pub under_way: usize,
    /// What the workers have counted.
    pub counters: Counters,
}

impl Pool {
    /// The handle by which the pool is changed while it works.
    pub fn control(&self) -> PoolControl {
        PoolControl { state: Arc::clone(&self.state) }
    }

    /// Moves the pool's threads: each is pinned by `mapping`, or let go by [`Mapping::None`],
    /// before its next task or at the next safe point of a loop. From any thread, at any time.
    /// External threads, and pools on a described machine, are left where they are.
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

    /// Changes how thieves choose their victims, from their next search on. From any thread, at any
    /// time.
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

    /// How thieves choose their victims now.
    pub fn victims(&self) -> Victims {
        self.state.stealing.choice()
    }

    /// The greatest depth of tasks that may leave their package under [`Victims::Cats`], once that
    /// has been learned: with the first call from outside that eight tasks were stolen from.
    /// Choosing the policy anew forgets it.
    pub fn class_boundary(&self) -> Option<u32> {
        self.state.stealing.classes.boundary()
    }
}

impl PoolControl {
    /// Lets at most `threads` of the workers work, as [`Pool::set_workers`]; returns how many may
    /// now.
    ///
    /// # Panics
    ///
    /// If `threads` is 0.
    #[track_caller]
    pub fn set_threads(&self, threads: usize) -> usize {
        assert!(threads > 0, "a pool with 0 threads does nothing: use at least 1");
        self.state.set_limit(Source::Program, threads)
    }

    /// Moves the threads, as [`Pool::set_mapping`]. Threads whose loop has a control with a mapping
    /// are where that has them, until they leave the loop.
    ///
    /// # Errors
    ///
    /// [`MappingError`] if the mapping names a processor that this process may not use; everything
    /// stays as it was.
    pub fn set_mapping(&self, mapping: &Mapping) -> Result<(), MappingError> {
        self.state.set_mapping(mapping)
    }

    /// How thieves choose their victims, as [`Pool::set_victims`].
    pub fn set_victims(&self, victims: Victims) {
        self.state.stealing.set(victims);
    }

    /// By which schedule loops over items are run that leave theirs open, because they name none,
    /// or [`Schedule::Auto`]. `None`: as they would by themselves.
    ///
    /// They take it up when they begin, those under a control also between two
    /// slices, unless that control has a schedule. It goes before one that was asked for on the
    /// program's behalf by others (see `PoolBuilder::coordinate`).
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

    /// Ends what runs in the pool at this moment and can say that it was ended: loops and skeletons
    /// under a control, worklists, and [calls](Pool::run_under) that wait for a
    /// worker.
    ///
    /// They end at their next safe point and answer [`Cancelled`](crate::Cancelled), or a report
    /// that says so, as if their own control had been cancelled. That control stays as it is, and
    /// what begins after this call runs; so does a loop that is begun later by an item that was
    /// under way.
    ///
    /// Joins, scopes, detached tasks and skeletons without a control are not ended: they have no
    /// way to say that something is missing.
    pub fn cancel(&self) {
        self.state.cancel_scope.cancel();
    }

    /// How the pool is, and what was set. While it works, the numbers are of slightly different
    /// moments.
    ///
    /// # Cost
    ///
    /// Three locks, and the loads of all workers' counters.
    pub fn snapshot(&self) -> PoolSnapshot {
        let state = &*self.state;
        PoolSnapshot {
            threads: state.active_limit(),
            max_threads: state.slots.len(),
            awake: state.awake(),
            mapping: state.mapping(),
            victims: state.stealing.choice(),
            schedule: state.limit.schedule.get(),
            under_way: state.cancel_scope.under_way(),
            counters: state.counters(),
        }
    }
}

impl fmt::Debug for PoolControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PoolControl").field(&self.snapshot()).finish()
    }
}
