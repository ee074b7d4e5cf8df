//! An application over ranks, and what is measured of it.

use std::fmt::Display;
use std::time::Duration;

use sinew_console::Failure;
use sinew_dist::bag::BagCounts;
use sinew_dist::{RankReport, World};

/// Time between two lines of progress.
pub(super) const SHOWN_EVERY: Duration = Duration::from_secs(1);

/// An application over ranks.
pub(super) trait Program: Sync {
    /// The result, the same on all ranks.
    type Answer: PartialEq + Display + Send;

    /// In words, as `--size` takes it.
    fn size(&self) -> String;

    /// One thread's answer.
    fn serial(&self) -> Self::Answer;

    /// The answer of all ranks, on all ranks, and what a bag did. Shows progress by `see`.
    fn over(&self, world: &World, see: &dyn Fn(&str)) -> (Self::Answer, Vec<BagCounts>);

    /// The published answer, if there is one.
    fn known(&self) -> Option<Self::Answer> {
        None
    }
}

/// The measurement, as rank 0 has it.
pub(super) struct Measured {
    pub(super) size: String,
    pub(super) serial: Duration,
    pub(super) parallel: Vec<Duration>,
    pub(super) answer: String,
    pub(super) right: bool,
    pub(super) reports: Vec<RankReport>,
    /// For each rank; empty without a bag.
    pub(super) bags: Vec<BagCounts>,
    /// The timelines of all ranks.
    pub(super) trace: Option<Result<String, Failure>>,
}

/// How many units all ranks have run.
pub(super) fn units(units: u64, world: &World) -> String {
    format!("{units} units on {} ranks", world.size())
}
