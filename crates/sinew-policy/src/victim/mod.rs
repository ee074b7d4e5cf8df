//! Whom to steal from.
//!
//! A thief asks its policy for a victim, tries it, and tells the policy what came of it. The policy
//! sees the other workers only through a read-only [`View`], whose answers may be out of date by
//! the time they are used: a wrong guess costs an attempt, never a task.
//!
//! | rule | chooses by |
//! |---|---|
//! | [`Random`] | a private random permutation |
//! | [`Set`] | a part of that, larger the fewer thieves there are |
//! | [`Sample`], over either | the task nearest the root among some |
//! | [`Nearest`], [`NearestOrRandom`] | distance; one master a package leaves it |
//! | [`MostLoaded`], [`SortedLoads`] | the number of tasks on offer |
//! | [`DistanceWeighted`] | chance, less the farther |
//! | [`Cats`] | the class of the task: may it leave its package? |
//! | [`Dealt`] | a large piece for each package, then distance |
//!
//! # Rounds
//!
//! A *search* begins with [`VictimPolicy::start`] and lasts until the thief has found work or given
//! up. It is divided into *rounds*: `next` answers `None` when a round is over, so that the thief
//! can do between rounds what must be done now and then (look at its inbox, ask for an exposure,
//! decide to park). The call after that begins the next round of the same search.
//!
//! # Invariants
//!
//! - I1: a policy never answers the thief itself, nor a number that is not below [`View::workers`].
//! - I2: every round ends, and within one round of [`Random`] no worker is answered twice.
//! - I3: a worker that has tasks on offer, active or not, is answered in every round of [`Random`].
//! - I4: under every policy it is answered sooner or later in a search that goes on, however often
//!   others are tried in vain, unless [`VictimPolicy::allows`] is false for it; and with
//!   [`Reach::Everywhere`] that is true for all.
//!
//! I4 is why rules that look at some workers only (the heaviest, the nearest to the root) now and
//! then walk past all: a task that nobody looks at would never be run.
//!
//! # Tests
//!
//! I1 and I4 for every policy in `tests`, over pools in which workers come and go; 200 random runs
//! of each in `model`; what each rule says exactly beside it.

mod cats;
mod choice;
mod circle;
mod dealt;
mod levels;
mod masters;
#[cfg(test)]
mod model;
mod most_loaded;
mod nearest;
mod parse;
mod random;
mod ranking;
mod sample;
mod set;
mod sorted;
mod stride;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod weighted;

pub use cats::{Cats, Tally, boundary};
pub use choice::Victims;
pub use dealt::Dealt;
pub use masters::{Candidate, Holder, takes_over};
pub use most_loaded::MostLoaded;
pub use nearest::{Nearest, NearestOrRandom};
pub use parse::ParseVictimsError;
pub use random::Random;
pub use sample::{Sample, Samples, Sampling};
pub use set::Set;
pub use sorted::{AfterSuccess, Loads, Scope, SortedLoads};
pub use stride::Stride;
pub use weighted::DistanceWeighted;

/// What a policy may know about the pool at the moment of the question.
///
/// What has a default is asked by rules that know the machine; the defaults describe one without
/// parts.
pub trait View {
    /// The number of seats; never changes during the life of a pool.
    fn workers(&self) -> usize;
    /// The seat of the thief.
    fn me(&self) -> usize;
    /// Whether somebody works at seat `worker` now.
    fn is_active(&self, worker: usize) -> bool;
    /// How many tasks of `worker` could be stolen now.
    fn load(&self, worker: usize) -> usize;
    /// The depth of the oldest of them in the tree of tasks (0 is the root), if there is one that
    /// the thief may run.
    fn oldest_depth(&self, worker: usize) -> Option<u32>;
    /// How far `worker` is from the thief, as a level of the machine: 0 shares everything, more is
    /// farther. Never changes.
    fn distance(&self, worker: usize) -> u8;

    /// The package `worker` sits in, numbered from 0 without gaps. Never changes.
    fn package(&self, worker: usize) -> usize {
        let _ = worker;
        0
    }

    /// The distance of workers that share a last-level cache and nothing closer: who is nearer
    /// shares more. Never changes.
    fn last_level(&self) -> u8 {
        1
    }

    /// All others by how near they are, in ascending order of their numbers and without gaps. Never
    /// changes. The default asks for each; who knows better, since workers are numbered as they
    /// sit, can answer without.
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

    /// The `most` heaviest of those who offer something, where somebody keeps a list of them;
    /// equals in the thief's order. The default, `None`, says that each has to be asked, which is
    /// what it means in any case: a rule chooses nobody else for being told, and looking at
    /// everybody is what the answer stands for and costs. Asked in the largest pools only.
    fn heaviest(&self, order: &Stride, most: usize) -> Option<Heaviest> {
        let _ = (order, most);
        None
    }

    /// How far the thief may go now, under a rule that keeps to packages.
    fn reach(&self) -> Reach {
        Reach::Machine
    }

    /// The greatest depth of tasks that may leave their package; `None` until it has been learned.
    /// See [`Cats`].
    fn boundary(&self) -> Option<u32> {
        None
    }

    /// Whether the thief's package has yet to get its piece of what runs now. See [`Dealt`].
    fn wants_piece(&self) -> bool {
        false
    }
}

/// Workers next to each other in number and at one distance from the thief.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbours {
    /// The first of them, and the one after the last.
    pub first: usize,
    /// See there.
    pub end: usize,
    /// As [`View::distance`] has it.
    pub distance: u8,
    /// Whether they are in the thief's package.
    pub near: bool,
}

/// Those who offer most.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Heaviest {
    /// Who they are, the heaviest first. All offer at least one task.
    pub workers: Vec<usize>,
    /// Whether others offer something, too.
    pub more: bool,
}

/// How far a thief may go whose rule keeps to packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// A slave: its own package.
    Package,
    /// The master of its package: wherever the rule lets masters go.
    Machine,
    /// There is work in sight that the rule withholds from everybody who is free: anywhere,
    /// whatever the rule says.
    Everywhere,
}

/// What came of one attempt to steal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The thief got a task.
    Stolen,
    /// The victim works, but had nothing to steal.
    Empty,
    /// Another thief, or the victim itself, was faster.
    Lost,
    /// The victim was without work and stealing too.
    Thief,
}

/// A rule for choosing victims, private to one worker.
///
/// `random` answers 64 evenly distributed bits at each call. A policy draws what it needs and
/// nothing more, so that a simulation with the same numbers makes the same choices.
pub trait VictimPolicy: Send {
    /// A search begins.
    fn start(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64);

    /// The next victim to try, or `None` when a round is over. Before the first search there is
    /// none.
    fn next(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) -> Option<usize>;

    /// What came of trying `victim`, the last one answered. Attempts made on other advice
    /// (leapfrogging) are not told.
    fn outcome(&mut self, victim: usize, outcome: Outcome);

    /// Whether the rule lets the thief go to `victim` at all now. Asked before a silent owner's
    /// tasks are exposed, which no policy chooses.
    fn allows(&self, view: &dyn View, victim: usize) -> bool {
        let _ = (view, victim);
        true
    }
}

/// Whether an attempt can be of use: somebody is there, or has left tasks behind. A seat given up
/// in the middle of a join still holds tasks, and nobody else will run them.
fn is_worth_trying(view: &dyn View, worker: usize) -> bool {
    view.is_active(worker) || view.load(worker) > 0
}

/// Whether `worker` sits in the thief's package.
fn is_near(view: &dyn View, worker: usize) -> bool {
    view.package(worker) == view.package(view.me())
}

/// A number below `bound`, which is at least 1, from one draw; the bias is below `bound`/2⁶⁴.
#[inline]
fn below(bound: usize, random: &mut dyn FnMut() -> u64) -> usize {
    ((u128::from(random()) * bound as u128) >> 64) as usize
}
