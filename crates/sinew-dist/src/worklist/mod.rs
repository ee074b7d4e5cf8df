//! A transactional worklist over all ranks, whose units have a home rank.
//!
//! Each rank has a [`Worklist`] of its own, with its order, its settings and its tuner. A unit has
//! a *home*, by a key that the program gives it: the rank that owns what the unit's transaction
//! reads and writes. A unit that is added travels to its home once the transaction that added it
//! has committed. So transactions stay within a rank, and no variable is shared between ranks.
//!
//! ```
//! use sinew::stm::TArray;
//! use sinew::worklist::Worklist;
//!
//! // On how few steps is each number reached from 1, by adding 1 or doubling? Rank r owns the
//! // numbers r, r + ranks, r + 2 ranks, …
//! let world = sinew_dist::init()?;
//! let ranks = world.size() as usize;
//! let steps = TArray::new(1_000_usize.div_ceil(ranks), u64::MAX);
//! let first = (world.rank() == 0).then_some((1, 0));
//! let mut reached: Worklist<(usize, u64)> = first.into_iter().collect();
//! let found = world.worklist(&mut reached).home(|(number, _)| *number as u64).run_fold(
//!     |tx, &(number, so_far), out| {
//!         let found = so_far < steps.get(tx, number / ranks)?;
//!         if found {
//!             steps.set(tx, number / ranks, so_far)?;
//!             let next = [number + 1, 2 * number].into_iter().filter(|next| *next < 1_000);
//!             out.extend(next.map(|next| (next, so_far + 1)));
//!         }
//!         Ok(found)
//!     },
//!     |improved: &mut u64, found| *improved += u64::from(found),
//!     |a, b| a + b,
//! )?;
//! assert!(found.sum >= 999);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Cases
//!
//! | when | what happens |
//! |---|---|
//! | a transaction fails | it is repeated, as in any worklist; what it added is dropped |
//! | a unit calls `retry` | it waits on its home for a change by another unit; `Waiting` at the end |
//! | a unit panics | the job ends, and names the rank |
//! | a key is as large as the number of ranks | the home of key `k` is rank `k` modulo this number |
//! | all units have one home | that rank runs them; the others are silent |
//! | ranks compute different homes for a unit | the job ends, and names the sender |
//! | a rank's control or pool cancels | its units stay in its list; other ranks go on |
//!
//! | file | contents |
//! |---|---|
//! | `local` | the list of one rank, and the routing of what its units add |
//! | `message` | messages between ranks |
//! | `member` | one rank's part: rounds, messages, waves |
//! | `error` | the errors |
//!
//! # Not handled
//!
//! A home that cannot keep up with what others send has no means to slow them down: the units wait
//! in its memory. A thread outside of the list that changes what units wait for must hold a
//! [`KeepAlive`](sinew::worklist::KeepAlive) of its rank's list.

mod error;
mod local;
mod member;
mod message;
#[cfg(all(test, shuttle))]
mod shuttle;

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sinew::stm::{Tx, TxResult};
use sinew::worklist::{Report, Worklist, WorklistError as LocalError};

use crate::World;
use crate::wire::{Plain, Serde, Way};
pub use error::WorklistError;
pub use local::Out;
use local::{Homes, Routed, Running};
use member::Member;

/// The work of a rank for a worklist. The sums over all ranks of `given` and `taken`, of
/// `units_given` and `units_taken`, and of `sent` and `received`, are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HomeCounts {
    /// Units whose transaction has committed.
    pub run: u64,
    /// Failed attempts.
    pub aborts: u64,
    /// Units that wait at the end.
    pub waiting: u64,
    /// Whether the run was cancelled on this rank.
    pub cancelled: bool,
    /// Rounds of the rank's list.
    pub rounds: u64,
    /// Messages with units that were sent.
    pub given: u64,
    /// Messages with units that came.
    pub taken: u64,
    /// Units that left this rank.
    pub units_given: u64,
    /// Units that came.
    pub units_taken: u64,
    /// Waves that looked for the end.
    pub waves: u64,
    /// All messages sent for the list.
    pub sent: u64,
    /// All messages received for the list.
    pub received: u64,
}

/// The result of a worklist, the same on all ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Homed<A = ()> {
    /// The accumulators of all workers of all ranks together.
    pub sum: A,
    /// The work of each rank.
    pub counts: Vec<HomeCounts>,
    /// Whether a rank has cancelled its list.
    pub cancelled: bool,
}

impl World {
    /// Begins a worklist over all ranks, each with its own `list`, of which most are empty in most
    /// programs. Units of another home travel there first. See the [module](crate::worklist).
    ///
    /// Units travel by serde; see [`World::plain_worklist`](crate::World::plain_worklist).
    pub fn worklist<'l, U>(&'l self, list: &'l mut Worklist<U>) -> WithoutHomes<'l, U>
    where
        U: Serialize + DeserializeOwned + Send + Sync,
    {
        WithoutHomes { world: self, list, way: PhantomData }
    }

    /// Begins a worklist whose units are plain data and travel as their bytes.
    pub fn plain_worklist<'l, U: Pod + Send + Sync>(
        &'l self,
        list: &'l mut Worklist<U>,
    ) -> WithoutHomes<'l, U, Plain> {
        WithoutHomes { world: self, list, way: PhantomData }
    }
}

/// A worklist whose units have no homes yet. `W` is the way in which units travel.
#[must_use = "nothing runs until `run`"]
pub struct WithoutHomes<'l, U, W = Serde> {
    world: &'l World,
    list: &'l mut Worklist<U>,
    way: PhantomData<W>,
}

/// A worklist over ranks before its last call.
#[must_use = "nothing runs until `run`"]
pub struct HomeWorklist<'l, U, H, W = Serde> {
    list: WithoutHomes<'l, U, W>,
    key: H,
}

impl<U, W> fmt::Debug for WithoutHomes<'_, U, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithoutHomes").field("units", &self.list.len()).finish_non_exhaustive()
    }
}

impl<U, H, W> fmt::Debug for HomeWorklist<'_, U, H, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HomeWorklist").field("list", &self.list).finish_non_exhaustive()
    }
}

impl<'l, U, W> WithoutHomes<'l, U, W> {
    /// Sets the home of each unit by a key: the home of key `k` is rank `k` modulo the number of
    /// ranks. So rank `r` owns the keys `r`, `r` + ranks, `r` + 2 ranks, …; a program that deals
    /// its keys in another way returns the number of the rank.
    ///
    /// The key must follow from the unit alone, in the same way on all ranks.
    pub fn home<H: Fn(&U) -> u64 + Sync>(self, key: H) -> HomeWorklist<'l, U, H, W> {
        HomeWorklist { list: self, key }
    }
}

impl<U, H, W> HomeWorklist<'_, U, H, W>
where
    U: Send + Sync,
    H: Fn(&U) -> u64 + Sync,
    W: Way<U>,
{
    /// Runs `process` for every unit on its home, each as one transaction. Units that it adds run
    /// as well, on their homes.
    ///
    /// # Errors
    ///
    /// [`WorklistError::Refused`] before any unit has run; [`WorklistError::Waiting`] after all
    /// that did not have to wait.
    ///
    /// # Panics
    ///
    /// As `process` does. That ends the job.
    ///
    /// # Cost
    ///
    /// For each unit what the rank's list costs. A rank that runs units sends what they added, and
    /// reads its messages, about every millisecond: at most one message for each other rank, or
    /// one for 65,536 units. A rank without units is silent.
    #[track_caller]
    pub fn run<'env, F>(self, process: F) -> Result<Homed, WorklistError>
    where
        F: for<'tx> Fn(&mut Tx<'tx, 'env>, &U, &mut Out<'_, U>) -> TxResult<()> + Sync,
    {
        self.run_fold(process, |(): &mut (), ()| (), |(), ()| ())
    }

    /// As [`run`](Self::run). The result of each unit is folded into the accumulator of its worker
    /// after its commit; `merge` combines accumulators of workers and ranks, in any order.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    ///
    /// # Panics
    ///
    /// As `process`, `fold` or `merge` do. That ends the job.
    #[track_caller]
    pub fn run_fold<'env, V, A, F, G, M>(
        self,
        process: F,
        fold: G,
        merge: M,
    ) -> Result<Homed<A>, WorklistError>
    where
        A: Default + Send + Serialize + DeserializeOwned,
        F: for<'tx> Fn(&mut Tx<'tx, 'env>, &U, &mut Out<'_, U>) -> TxResult<V> + Sync,
        G: Fn(&mut A, V) + Sync,
        M: Fn(A, A) -> A,
    {
        let WithoutHomes { world, list, .. } = self.list;
        let homes = Homes::new(&self.key, world.rank(), world.size());
        let work = Routed::new(&homes, process, fold);
        let mut units = list.take_units();
        let mut away = homes.deal(&mut units);
        list.extend(units);
        let mut ran = Ok(HomeCounts::default());
        let ended = list.run_in_rounds(world.pool(), &work, |rounds| {
            ran = agree(world, None).map(|()| {
                let member = Member::<U, W>::new(world, std::mem::take(&mut away));
                member.run(&mut Running { homes: &homes, rounds })
            });
        });
        if let Err(error) = &ended
            && !matches!(error, LocalError::Waiting { .. })
        {
            ran = agree(world, Some(&error.to_string())).map(|()| HomeCounts::default());
        }
        // Those that were not sent, since the list was refused.
        list.extend(away.into_iter().flatten());
        let mut counts = ran?;
        let locals = count(&mut counts, ended);
        let own = locals.into_iter().map(|own| own.sum).reduce(&merge).unwrap_or_default();
        let sum = world.all_reduce(own, merge);
        let counts = world.all_gather(&counts);
        match counts.iter().map(|one| one.waiting).sum() {
            0 => {
                let cancelled = counts.iter().any(|one| one.cancelled);
                Ok(Homed { sum, counts, cancelled })
            }
            units => Err(WorklistError::Waiting { units }),
        }
    }
}

/// Returns the error of the first rank that has one, on all ranks.
fn agree(world: &World, error: Option<&str>) -> Result<(), WorklistError> {
    let errors = world.all_gather(&error.map(str::to_owned));
    let first = (0..).zip(errors).find_map(|(rank, why)| Some((rank, why?)));
    first.map_or(Ok(()), |(rank, why)| Err(WorklistError::Refused { rank, why }))
}

/// Adds what the rank's list has counted, and returns its local values.
fn count<L>(counts: &mut HomeCounts, ended: Result<Report<L>, LocalError>) -> Vec<L> {
    match ended {
        Ok(report) => {
            (counts.run, counts.aborts) = (report.commits, report.aborts);
            counts.cancelled = report.cancelled;
            report.locals
        }
        Err(LocalError::Waiting { units, report }) => {
            (counts.run, counts.aborts) = (report.commits, report.aborts);
            counts.waiting = units as u64;
            Vec::new()
        }
        Err(_) => Vec::new(),
    }
}
