//! Faxén and Ardelius, "Manycore Work Stealing": Table 1 and Figures 4 to 8.
//!
//! | file | contents |
//! |---|---|
//! | `workloads` | which programs are run, how large, how often |
//! | `strategies` | the victims of their thieves |
//! | `model` | the bounds that work and span set |
//! | `simulated` | Figure 4 |
//! | `chip` | Figure 5 and the steal intervals of Table 1 on the simulated chip |
//! | `table1` | Table 1 |
//! | `speedup` | Figure 5 |
//! | `breakdown` | Figure 6 |
//! | `sampling` | Figures 7 and 8 |
//! | `exhibits` | all tables and figures, and what they are held against |
//!
//! Thieves never park nor pause, as theirs never back off, and workers that wait leapfrog.

mod breakdown;
mod chip;
mod exhibits;
mod model;
mod sampling;
mod simulated;
mod speedup;
mod strategies;
mod table1;
mod workloads;

use crate::common::{Conditions, Subject};
use crate::experiment::{Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::results::Metrics;

pub(crate) use exhibits::exhibits;

const PUBLICATION: &str = "Karl-Filip Faxén and John Ardelius, \"Manycore Work Stealing\"";

/// All experiments of the publication, in its order.
pub(crate) fn experiments() -> Vec<Experiment> {
    vec![
        simulated::experiment(),
        chip::experiment(),
        table1::experiment(),
        speedup::experiment(),
        breakdown::experiment(),
        sampling::experiment(),
    ]
}

/// The limits of Figures 5 to 8 and Table 1 on a small machine.
const FEW_WORKERS: Caveat = Caveat {
    unless: Need::Workers(32),
    words: "The publication had 63 workers. Few workers hardly steal, a victim set contains all of \
        them, and sampling has no choice. Differences between the strategies are noise here, and \
        the fall of the speed-up below the model does not show.",
};

/// The same for all of them.
const OTHER_PROCESSOR: Caveat = Caveat {
    unless: Need::Nothing,
    words: "The publication's processor ran at 700 MHz, in order, with 64 KiB of second-level \
        cache a core and a cheap test-and-set: cycles here are others, and relate to memory \
        differently.",
};

const INTERRUPTIONS: Caveat = Caveat {
    unless: Need::Nothing,
    words: "Work and span consist of the shortest time of each stretch in all recordings. Where \
        the span is by the clock, the program has too many tasks for a recording: its parallelism \
        is the largest of all rounds, and too small on a machine that is busy otherwise.",
};

/// A pool whose idle workers search without a pause, as the publication's do.
fn conditions(workers: usize) -> Conditions {
    Conditions::workers(workers).restless()
}

/// A run without a profile.
fn timed(subject: &Subject, conditions: &Conditions) -> Result<Metrics, Failure> {
    let measured = subject.parallel(&conditions.build()?)?;
    Ok(vec![
        ("wall_s", measured.wall_s),
        ("steals", measured.steals()),
        ("failed_steals", measured.failed_steals()),
        ("back_outs_a_steal", measured.back_outs()),
    ])
}
