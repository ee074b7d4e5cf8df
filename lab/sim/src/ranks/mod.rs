//! A bag of tasks over ranks in virtual time, with the policy that `sinew-dist` runs.
//!
//! A rank runs batches of units. It reads its messages between two batches, an idle one at once.
//! Whom an idle rank asks, what it gets and when the bag ends is decided by
//! [`sinew_policy::lifelines`].
//!
//! | file | contents |
//! |---|---|
//! | `unit` | the shapes of bags |
//! | `network` | how long a message takes |
//! | `run` | the events of a run |
//! | `text` | a bag as a line of text |
//!
//! # Invariants
//!
//! - R1: every node of the bag runs once before the end, if no rank stops for ever.
//! - R2: messages between two ranks arrive in the order in which they were sent, as over MPI.
//! - R3: a rank that works has an event at the end of its units at the latest. So batches between
//!   two messages need no events.
//!
//! # Cost
//!
//! An event for each message and each time that a rank becomes idle, and some hashes for each unit.
//!
//! # Tests
//!
//! `tests`: R1 over shapes, networks and slow ranks; one wave too few; silence; a comparison with
//! an event for every batch; the published form of the time of stealing with latency.

mod network;
mod run;
#[cfg(test)]
mod tests;
mod text;
mod unit;

use sinew_policy::lifelines::{Rank, Settings};

pub use network::Network;
pub use text::RanksTextError;
pub use unit::Shape;

use crate::engine::Progress;
use crate::queue::Time;

/// A bag, and the ranks that run it. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RanksSetup {
    /// The number of ranks, at least 1.
    pub ranks: u32,
    /// Nodes of the whole bag, which begins at rank 0.
    pub nodes: u64,
    /// How units divide.
    pub shape: Shape,
    /// The largest number of nodes that is one unit to the end.
    pub grain: u64,
    /// The time of a node on a rank.
    pub node_ns: u64,
    /// How long a batch takes, to the end of its last unit.
    pub batch_ns: u64,
    /// The network between the ranks.
    pub network: Network,
    /// Ranks that are slower than the others.
    pub slow: Option<Slow>,
    /// A rank that stops.
    pub stop: Option<Stop>,
    /// The policy's settings.
    pub settings: Settings,
    /// Waves in a row with equal sums that end the bag: 2. One is a mistake that tests look for.
    pub equal_waves: u32,
    /// Whether the run ends with its last unit, and not with the report of the end. Ranks that ask
    /// at random for ever never find the end.
    pub ends_with_last_unit: bool,
    /// Runs with the same seed are equal.
    pub seed: u64,
}

/// Ranks that need more time for each node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slow {
    /// One of so many ranks is slow, from rank 0 on; at least 1.
    pub every: u32,
    /// The factor of its time, in percent; at least 1.
    pub percent: u64,
}

/// A rank that stops, as a process does that gets no processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// The rank.
    pub rank: Rank,
    /// When it stops.
    pub at_ns: u64,
    /// After what time it goes on. If never, the others end the job after
    /// [`SILENCE_NS`](Self::SILENCE_NS).
    pub for_ns: Option<u64>,
}

impl Stop {
    /// The time without a sign of life after which `sinew-dist` ends a job.
    pub const SILENCE_NS: u64 = 1_500_000_000;
}

impl RanksSetup {
    /// A wide bag of `nodes` nodes over `ranks` ranks: nodes of a microsecond, at most a hundred in
    /// a unit, batches of a millisecond, messages of two microseconds.
    pub fn new(ranks: u32, nodes: u64) -> Self {
        Self {
            ranks,
            nodes,
            shape: Shape::default(),
            grain: 100,
            node_ns: 1_000,
            batch_ns: 1_000_000,
            network: Network::default(),
            slow: None,
            stop: None,
            settings: Settings::default(),
            equal_waves: 2,
            ends_with_last_unit: false,
            seed: 0,
        }
    }

    /// The speed of all ranks together, in ranks of full speed.
    pub fn speed(&self) -> f64 {
        let ranks = f64::from(self.ranks);
        let Some(Slow { every, percent }) = self.slow else { return ranks };
        let slow = f64::from(self.ranks.div_ceil(every.max(1)));
        ranks - slow + slow * 100.0 / percent.max(1) as f64
    }
}

/// The events of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RanksReport {
    /// The time at which rank 0 reported the end, in picoseconds; or that of the last unit, if the
    /// run ended with it.
    pub time: Time,
    /// The nodes that had run by then.
    pub nodes: u64,
    /// The units that had run by then.
    pub units: u64,
    /// The sum of all ranks' work, in picoseconds.
    pub work: Time,
    /// Questions for units.
    pub questions: u64,
    /// Questions that were refused.
    pub refused: u64,
    /// Messages with units.
    pub gifts: u64,
    /// Units in them.
    pub moved: u64,
    /// All messages until the end.
    pub messages: u64,
    /// The bytes of messages with units.
    pub gift_bytes: u64,
    /// Waves.
    pub waves: u64,
    /// The rank whose silence ended the job.
    pub lost: Option<Rank>,
    /// Events of the simulator.
    pub events: u64,
}

impl RanksReport {
    /// The time that ranks of full speed would need without any loss, over the time of the run.
    pub fn efficiency(&self, setup: &RanksSetup) -> f64 {
        let best = self.nodes as f64 * setup.node_ns as f64 * crate::NS as f64 / setup.speed();
        best / self.time as f64
    }
}

/// Runs a bag to its end.
///
/// # Panics
///
/// If there are no ranks, or if the rank that stops is none of them.
#[track_caller]
pub fn run_ranks(setup: RanksSetup) -> RanksReport {
    run_ranks_while(setup, |_| true).expect("a run that nobody ends")
}

/// Like [`run_ranks`], but returns nothing when `goes_on` returns false; it is called now and then.
/// Tasks in its progress are nodes.
///
/// # Panics
///
/// As [`run_ranks`].
#[track_caller]
pub fn run_ranks_while(
    setup: RanksSetup,
    goes_on: impl FnMut(&Progress) -> bool,
) -> Option<RanksReport> {
    assert!(setup.ranks > 0, "there is at least one rank");
    assert!(setup.stop.is_none_or(|stop| stop.rank < setup.ranks), "the rank that stops exists");
    run::run(setup, goes_on)
}
