//! Rules that choose the victim of a steal.
//!
//! A thief gets a victim from its rule, tries it, and reports the outcome to the rule. The rule
//! sees the other workers only through a read-only [`View`], whose values may be out of date when
//! they are used: a wrong guess costs an attempt, never a task.
//!
//! [`Victims`] has the table of all rules. A pool steals by [`Random`] by default.
//!
//! # Rounds
//!
//! A *search* begins with [`VictimPolicy::start`] and lasts until the thief has found work or given
//! up. It consists of *rounds*: `next` returns `None` at the end of a round, and the thief checks
//! its inbox, exposes tasks or parks. The next call begins the next round of the same search.
//!
//! # Invariants
//!
//! - V1: a rule never returns the thief itself, nor a number that is not below [`View::workers`].
//! - V2: every round ends, and within one round of [`Random`] no worker is returned twice.
//! - V3: a worker with waiting tasks, active or not, is returned in every round of [`Random`].
//! - V4: every rule returns such a worker eventually in a search that continues, however often
//!   other victims fail, unless [`VictimPolicy::allows`] is false for it. With
//!   [`Reach::Everywhere`] that is true for all.
//!
//! Rules that check only some workers (those with most tasks, those nearest to the root) walk past
//! all now and then because of V4: a task that no rule finds would never run.
//!
//! # To add a rule
//!
//! A file here, with its `mod` and `pub use` below. Its name, parameters and needs are in
//! `victims`: a variant, a line of `RULES`, and the arms that the compiler asks for.
//!
//! A rule that needs another fact about the pool needs another method of [`View`], with a default.
//! The pool has it in `sinew-core/src/scheduler/victim/view.rs`, the simulator in
//! `lab/sim/src/view.rs`, and tests in `testing` and `model`. If workers must record something for
//! it, the record lies in `sinew-core/src/stealing` or in the worker (`state/worker.rs`).
//!
//! # Tests
//!
//! V1 and V4 for every rule in `tests`, over pools in which workers come and go; 200 random runs of
//! each in `model`; the exact behaviour of each rule in its own file.

mod boundary;
#[cfg(feature = "experiments")]
mod cats;
mod circle;
mod levels;
mod masters;
#[cfg(test)]
mod model;
#[cfg(feature = "experiments")]
mod most_loaded;
mod nearest;
mod parameters;
#[cfg(feature = "experiments")]
mod pieces;
mod random;
#[cfg(feature = "experiments")]
mod ranking;
#[cfg(feature = "experiments")]
mod sample;
#[cfg(feature = "experiments")]
mod set;
#[cfg(feature = "experiments")]
mod sorted;
mod stride;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod victims;
#[cfg(feature = "experiments")]
mod weighted;

pub use boundary::{Tally, boundary};
#[cfg(feature = "experiments")]
pub use cats::Cats;
pub use masters::{Candidate, Holder, takes_over};
#[cfg(feature = "experiments")]
pub use most_loaded::MostLoaded;
pub use nearest::{Nearest, NearestOrRandom};
#[cfg(feature = "experiments")]
pub use pieces::PiecePerPackage;
pub use random::Random;
#[cfg(feature = "experiments")]
pub use sample::{Sample, Samples, Sampling};
#[cfg(feature = "experiments")]
pub use set::Set;
#[cfg(feature = "experiments")]
pub use sorted::{AfterSuccess, LoadScope, Loads, SortedLoads};
pub use stride::Stride;
pub use victims::{ParseVictimsError, Victims};
#[cfg(feature = "experiments")]
pub use weighted::DistanceWeighted;

/// The facts about the pool that a rule may use.
///
/// Rules that use the machine's structure call the methods with a default. The defaults describe a
/// machine of one package whose cores share all caches.
pub trait View {
    /// The number of worker slots; never changes during the life of a pool.
    fn workers(&self) -> usize;
    /// The number of the thief.
    fn me(&self) -> usize;
    /// Whether a thread runs worker `worker` now.
    fn is_active(&self, worker: usize) -> bool;
    /// How many tasks of `worker` wait, if the thief may run the oldest one. Tasks that no thief
    /// can take yet count as well: an attempt at their owner asks for them.
    fn load(&self, worker: usize) -> usize;
    /// The depth of the oldest of these tasks in the task tree (0 is the root), if there is one
    /// that the thief may run.
    fn oldest_depth(&self, worker: usize) -> Option<u32>;
    /// The distance of `worker` from the thief, as a level of the machine: 0 shares everything,
    /// more is farther. Never changes.
    fn distance(&self, worker: usize) -> u8;

    /// The package of `worker`, numbered from 0 without gaps. Never changes.
    fn package(&self, worker: usize) -> usize {
        let _ = worker;
        0
    }

    /// The distance of workers that share a last-level cache and nothing closer; a nearer worker
    /// shares more. Never changes.
    fn last_level(&self) -> u8 {
        1
    }

    /// All other workers by distance, in ascending order of their numbers and without gaps. Never
    /// changes. The default calls [`distance`](Self::distance) for each; an implementation with
    /// workers numbered by place can return it directly.
    fn neighbours(&self) -> Vec<Neighbours> {
        let place = |worker: usize| {
            (self.distance(worker), self.package(worker) == self.package(self.me()))
        };
        let mut all: Vec<Neighbours> = Vec::new();
        for worker in (0..self.workers()).filter(|&worker| worker != self.me()) {
            let (distance, near) = place(worker);
            match all.last_mut() {
                Some(last)
                    if last.end == worker && (last.distance, last.near) == (distance, near) =>
                {
                    last.end += 1;
                }
                _ => all.push(Neighbours { first: worker, end: worker + 1, distance, near }),
            }
        }
        all
    }

    /// The `most` workers with most tasks that wait, if the runtime keeps such a list; equals in
    /// the thief's order. The default, `None`, makes the rule scan all workers. The list replaces
    /// that scan exactly: a rule chooses no other worker because of it, and its cost counts as that
    /// of the scan. Used in the largest pools only.
    fn heaviest(&self, order: &Stride, most: usize) -> Option<Heaviest> {
        let _ = (order, most);
        None
    }

    /// The present reach of the thief, under a rule that keeps to packages.
    fn reach(&self) -> Reach {
        Reach::Machine
    }

    /// The greatest depth of tasks that may leave their package; `None` until it is known. See
    /// [`Cats`].
    fn boundary(&self) -> Option<u32> {
        None
    }

    /// Whether the thief's package still needs its piece of the computation. See
    /// [`PiecePerPackage`].
    fn wants_piece(&self) -> bool {
        false
    }
}

/// Workers with consecutive numbers and one distance from the thief.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbours {
    /// The first of them.
    pub first: usize,
    /// One after the last worker.
    pub end: usize,
    /// As in [`View::distance`].
    pub distance: u8,
    /// Whether they are in the thief's package.
    pub near: bool,
}

/// The workers with most tasks that wait.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Heaviest {
    /// The workers, the most loaded first. All have at least one task that waits.
    pub workers: Vec<usize>,
    /// Whether tasks of other workers wait, too.
    pub more: bool,
}

/// The reach of a thief whose rule keeps to packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Its own package: the thief is not the master of it.
    Package,
    /// As far as the rule lets masters steal: the thief is the master of its package.
    Machine,
    /// Anywhere, regardless of the rule: work exists that the rule forbids to every free worker.
    Everywhere,
}

/// The outcome of one attempt to steal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The thief got a task.
    Stolen,
    /// The victim runs a task, but had nothing to steal.
    Empty,
    /// Another thief, or the victim itself, was faster.
    Lost,
    /// The victim had no work and is a thief itself.
    Thief,
}

/// A rule that chooses victims, private to one worker.
///
/// `random` returns 64 uniformly distributed bits per call. A rule draws only the numbers that it
/// needs, so that a simulation with the same numbers makes the same choices.
pub trait VictimPolicy: Send {
    /// A search begins.
    fn start(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64);

    /// The next victim to try, or `None` at the end of a round and before the first search.
    fn next(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) -> Option<usize>;

    /// The outcome of trying `victim`, the last one returned. Attempts outside of the rule
    /// (leapfrogging) are not reported.
    fn outcome(&mut self, victim: usize, outcome: Outcome);

    /// Whether the rule lets the thief steal from `victim` now. Checked before the tasks of an
    /// owner that has not pushed for long are exposed, which no rule chooses.
    fn allows(&self, view: &dyn View, victim: usize) -> bool {
        let _ = (view, victim);
        true
    }
}

/// Whether an attempt can succeed: the worker is running, or has left tasks behind. A worker slot
/// that its thread left in the middle of a join still has tasks, which only thieves can run.
fn is_worth_trying(view: &dyn View, worker: usize) -> bool {
    view.is_active(worker) || view.load(worker) > 0
}

/// Whether `worker` is in the thief's package.
fn is_near(view: &dyn View, worker: usize) -> bool {
    view.package(worker) == view.package(view.me())
}

/// A number below `bound`, which is at least 1, from one draw; the bias is below `bound`/2⁶⁴.
#[inline]
fn below(bound: usize, random: &mut dyn FnMut() -> u64) -> usize {
    ((u128::from(random()) * bound as u128) >> 64) as usize
}
