//! The table of experiments.

use crate::experiment::Experiment;
use crate::{openskel, plastic, queues, thesis, wool};

/// All experiments, publication by publication.
static EXPERIMENTS: [&dyn Experiment; 23] = [
    &wool::Table1,
    &wool::Speedup,
    &wool::Breakdown,
    &wool::Sampling,
    &thesis::Profiles,
    &thesis::Matrix,
    &queues::Table1,
    &queues::Figures,
    &openskel::Versions,
    &openskel::Single,
    &openskel::LateLocks,
    &openskel::Combined,
    &openskel::Thresholds,
    &openskel::TunersPath,
    &openskel::Footprint,
    &openskel::Places,
    &plastic::Metrics,
    &plastic::Performance,
    &plastic::Switching,
    &plastic::Schedules,
    &plastic::Access,
    &plastic::Sharing,
    &plastic::Pairs,
];

/// All experiments, in the order in which they are listed.
pub fn all() -> &'static [&'static dyn Experiment] {
    &EXPERIMENTS
}

/// The experiment with exactly this name.
pub fn find(name: &str) -> Option<&'static dyn Experiment> {
    EXPERIMENTS.iter().copied().find(|experiment| experiment.about().name == name)
}
