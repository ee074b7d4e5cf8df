//! A bag of units over all ranks: running a unit may add more; idle ranks steal from others.
//!
//! Units have no order. Each rank keeps its units in a list and runs them in batches, with all
//! workers of its pool; between two batches it reads its messages. Whom an idle rank asks, what it
//! is given, and when all are done is decided in `sinew_policy::lifelines`.
//!
//! | file | contents |
//! |---|---|
//! | `batch` | a batch of units in the pool |
//! | `message` | messages between ranks |
//! | `member` | one rank's part: batches, questions, gifts, waves |
//! | `progress` | how many units all ranks have run so far |
//! | `survivor` | the same for a bag that survives the loss of ranks, with leases for waves |

mod batch;
mod member;
mod message;
mod progress;
#[cfg(all(test, shuttle))]
mod shuttle;
mod survivor;

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use bytemuck::Pod;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
pub use sinew_policy::lifelines::Settings;

use crate::World;
use crate::wire::{Plain, Serde, Way};
use crate::world::Purpose;
use batch::Batches;
use member::Member;
use progress::{Progress, See};
use survivor::Survivor;

/// Units that running one adds.
#[derive(Debug)]
pub struct Out<'u, U>(&'u mut Vec<U>);

impl<U> Out<'_, U> {
    /// Adds a unit.
    pub fn push(&mut self, unit: U) {
        self.0.push(unit);
    }
}

impl<U> Extend<U> for Out<'_, U> {
    fn extend<I: IntoIterator<Item = U>>(&mut self, units: I) {
        self.0.extend(units);
    }
}

/// The work of a rank for a bag. The sums over all ranks of `given` and `taken`, and of `sent` and
/// `received`, are equal, unless a rank was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BagCounts {
    /// Units run.
    pub run: u64,
    /// Batches.
    pub batches: u64,
    /// Questions to ranks chosen at random.
    pub random_questions: u64,
    /// Questions to lifelines.
    pub lifeline_questions: u64,
    /// Questions that were refused.
    pub refused: u64,
    /// Messages with units that answered a question, and pushes.
    pub given: u64,
    /// The pushes among them.
    pub pushed: u64,
    /// Messages with units that came.
    pub taken: u64,
    /// Units that left this rank.
    pub units_given: u64,
    /// Units that came.
    pub units_taken: u64,
    /// Waves that looked for the end.
    pub waves: u64,
    /// Results that this rank reported to a giver, in a bag that survives losses.
    pub reported: u64,
    /// Ranks that were lost in the meantime.
    pub lost: u64,
    /// All messages sent for the bag.
    pub sent: u64,
    /// All messages received for the bag.
    pub received: u64,
}

impl World {
    /// Begins a bag. Rank `r` starts with its own `units`; most programs give them to rank 0 alone.
    ///
    /// Units travel by serde; see [`World::plain_bag`](crate::World::plain_bag).
    ///
    /// ```
    /// use sinew_dist::World;
    ///
    /// // The nodes of a binary tree with ten levels.
    /// let world: World = sinew_dist::init()?;
    /// let roots = if world.rank() == 0 { vec![10_u32] } else { vec![] };
    /// let nodes = world.bag(roots).run(
    ///     |level, out, nodes: &mut u64| {
    ///         *nodes += 1;
    ///         if level > 1 {
    ///             out.extend([level - 1; 2]);
    ///         }
    ///     },
    ///     |a, b| a + b,
    /// );
    /// assert_eq!(nodes, 1023);
    /// # Ok::<(), sinew_dist::InitError>(())
    /// ```
    pub fn bag<U>(&self, units: impl IntoIterator<Item = U>) -> Bag<'_, U>
    where
        U: Serialize + DeserializeOwned + Send,
    {
        let units = units.into_iter().collect();
        Bag::new(self, units)
    }

    /// Begins a bag whose units are plain data and travel as their bytes.
    pub fn plain_bag<U: Pod + Send>(
        &self,
        units: impl IntoIterator<Item = U>,
    ) -> Bag<'_, U, Plain> {
        let units = units.into_iter().collect();
        Bag::new(self, units)
    }
}

/// A bag before its last call. `W` is the way in which units travel.
#[must_use = "nothing runs until `run`"]
pub struct Bag<'w, U, W = Serde> {
    world: &'w World,
    units: Vec<U>,
    settings: Settings,
    progress: Option<(Duration, See<'w>)>,
    survives: bool,
    way: PhantomData<W>,
}

impl<U, W> fmt::Debug for Bag<'_, U, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = self.units.len();
        f.debug_struct("Bag").field("units", &units).field("settings", &self.settings).finish()
    }
}

impl<'w, U, W> Bag<'w, U, W> {
    fn new(world: &'w World, units: Vec<U>) -> Self {
        let settings = Settings::default();
        Self { world, units, settings, progress: None, survives: false, way: PhantomData }
    }
}

impl<'w, U: Send, W: Way<U>> Bag<'w, U, W> {
    /// How many ranks an idle one asks, and which. All ranks must give the same.
    pub fn steal_by(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Shows about how many units all ranks have run: rank 0 calls `see` with a number that grows,
    /// about once every `every`. All ranks must ask for it.
    ///
    /// # Cost
    ///
    /// At most one message a rank in that time; none from ranks without news. Numbers go up a tree,
    /// so they are late by `every` a level; in a bag that survives losses they go to rank 0.
    pub fn progress(mut self, every: Duration, see: impl FnMut(u64) + 'w) -> Self {
        self.progress = Some((every, Box::new(see)));
        self
    }

    /// The bag survives the loss of any ranks but rank 0: others run again the units that a lost
    /// rank had. Units may run more than once; the result counts each of them once. All ranks must
    /// ask for it.
    ///
    /// The job goes on without the lost ranks ([`World::lost`]). A panic still ends it.
    ///
    /// Ranks as threads can do that, and Open MPI 4.1 if `mpirun` was started with
    /// `--enable-recovery`. Otherwise the job ends with a line that says so.
    ///
    /// # Cost
    ///
    /// Each rank keeps a copy of what it gives away until it gets the result, one message for each
    /// gift. At the end each rank sends a message to each other one.
    pub fn survive_losses(mut self) -> Self {
        self.survives = true;
        self
    }

    /// Runs all units, those that units add included. `unit` gets a unit, the place for units that
    /// it adds, and an accumulator; `merge` combines accumulators of workers and ranks, in any
    /// order. Returns the result on all ranks.
    ///
    /// # Panics
    ///
    /// As `unit` does. That ends the job.
    ///
    /// # Cost
    ///
    /// A rank with units looks at its messages about every millisecond, or after some units if they
    /// take longer. An idle one sends a bounded number of messages.
    pub fn run<A, F, M>(self, unit: F, merge: M) -> A
    where
        A: Default + Send + Serialize + DeserializeOwned,
        F: Fn(U, &mut Out<'_, U>, &mut A) + Sync,
        M: Fn(A, A) -> A,
    {
        self.run_counted(unit, merge).0
    }

    /// As [`run`](Self::run). Also returns what each rank did.
    pub fn run_counted<A, F, M>(self, unit: F, merge: M) -> (A, Vec<BagCounts>)
    where
        A: Default + Send + Serialize + DeserializeOwned,
        F: Fn(U, &mut Out<'_, U>, &mut A) + Sync,
        M: Fn(A, A) -> A,
    {
        let world = self.world;
        let mut batches = Batches::new(world.pool(), &unit, &merge);
        let progress = self.progress.map(|(every, see)| Progress::new(every, see));
        if self.survives {
            let survivor = Survivor::<U, W, A, M>::new(world, self.units, self.settings, &merge)
                .with_progress(progress);
            let (sum, counts) = survivor.run(|units, sum| {
                let run = batches.run(units);
                *sum = merge(std::mem::take(sum), batches.take());
                run
            });
            return (sum, world.all_gather(&counts));
        }
        let member = Member::<U, W>::new(world, self.units, self.settings).with_progress(progress);
        let (counts, _) = member.run(|| false, |units| batches.run(units));
        let sum = world.all_reduce(batches.take(), merge);
        (sum, world.all_gather(&counts))
    }

    /// As [`run`](Self::run), but stops all ranks soon after `stop` has returned true on rank 0,
    /// which asks it between two batches. Meanwhile the number of ranks may change:
    ///
    /// ```
    /// # use sinew_dist::{World, threads::Ranks};
    /// let program = |world: &World| {
    ///     let (mut units, mut sum) = (Some(vec![]), 0);
    ///     if !world.joined() {
    ///         units = Some(vec![16_u32]);
    ///     }
    ///     while let Some(own) = units {
    ///         let grows = world.size() == 1;
    ///         let bag = world.bag(own);
    ///         let add = |unit, out: &mut sinew_dist::bag::Out<'_, u32>, sum: &mut u64| {
    ///             *sum += 1;
    ///             out.extend(1..unit);
    ///         };
    ///         let part = bag.run_until(move || grows, add, |a, b| a + b);
    ///         sum += part.result;
    ///         units = part.rest;
    ///         if units.is_some() {
    ///             world.grow(1).unwrap();
    ///         }
    ///     }
    ///     sum
    /// };
    /// let sums = Ranks::new(1).run(program).unwrap();
    /// assert_eq!(sums[0], 1 << 15);
    /// ```
    ///
    /// # Panics
    ///
    /// As `unit` does, which ends the job; and if the bag is to survive losses, as it cannot stop.
    ///
    /// # Cost
    ///
    /// To stop: a message a rank, and the waves of the end of a bag.
    #[track_caller]
    pub fn run_until<A, F, M>(self, stop: impl FnMut() -> bool, unit: F, merge: M) -> Part<A, U>
    where
        A: Default + Send + Serialize + DeserializeOwned,
        F: Fn(U, &mut Out<'_, U>, &mut A) + Sync,
        M: Fn(A, A) -> A,
    {
        assert!(!self.survives, "a bag that survives losses cannot stop: use `run`");
        let world = self.world;
        let mut batches = Batches::new(world.pool(), &unit, &merge);
        let progress = self.progress.map(|(every, see)| Progress::new(every, see));
        let member = Member::<U, W>::new(world, self.units, self.settings).with_progress(progress);
        let (_, rest) = member.run(stop, |units| batches.run(units));
        let both = |a: (A, u64), b: (A, u64)| (merge(a.0, b.0), a.1 + b.1);
        let (result, left) = world.all_reduce((batches.take(), rest.len() as u64), both);
        Part { result, rest: (left > 0).then_some(rest) }
    }

    /// Moves the units of all ranks but the first `ranks` to these. Returns the units of this rank:
    /// for a bag that was stopped, before [`World::shrink`].
    ///
    /// # Panics
    ///
    /// If there are fewer than `ranks` ranks, or `ranks` is 0.
    ///
    /// # Cost
    ///
    /// A message of each rank that loses its units.
    #[track_caller]
    pub fn spread(self, ranks: u32) -> Vec<U> {
        let Self { world, mut units, .. } = self;
        let (own, size) = (world.rank(), world.size());
        assert!((1..=size).contains(&ranks), "units on {ranks} of {size} ranks");
        let call = world.call("spread");
        if own >= ranks {
            call.send(own % ranks, Purpose::Bag, W::pack(&units));
            return Vec::new();
        }
        for from in (ranks..size).filter(|from| from % ranks == own) {
            let moved = W::unpack(&call.receive(from, Purpose::Bag));
            units.extend(moved.unwrap_or_else(|| call.refuse()));
        }
        units
    }
}

/// The result of a bag that may have been stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<A, U> {
    /// The result of the units that have run, on all ranks.
    pub result: A,
    /// The units that this rank has left, for the next bag; `None` if no rank has any.
    pub rest: Option<Vec<U>>,
}
