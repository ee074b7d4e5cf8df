//! Jenkins, "Design and Analysis of a Plastic Parallel Programming System": experiments 1 to 5,
//! what it names as future work about access to memory, and what programs do to each other.
//!
//! | file | contents |
//! |---|---|
//! | `common` | what the experiments share |
//! | `bench` | the workload, run in several ways, timed and checked |
//! | `openmp` | the same in C, compiled where there is a compiler for it |
//! | `metrics` | Experiment 1: what metrics of each thread cost |
//! | `performance` | Experiment 2: beside sequential programs and OpenMP |
//! | `schedules` | Experiment 4: schedules, and changing them |
//! | `access` | future work: tasks that read memory in a row and at random |
//! | `programs/` | programs alone or beside each other, as processes |
//! | `switching` | Experiment 3: what it costs that programs can be changed |
//! | `sharing` | Experiment 5: two programs, coordinated and in anarchy |
//! | `pairs/` | every two of several kinds of programs |
//! | `exhibits` | all tables and figures, and what they are held against |
//!
//! A repetition of the publication's Collatz sequence takes about 10 ns here. At the default size
//! tasks have fewer repetitions, and as many tasks and chunks as there.

mod access;
mod bench;
mod common;
mod exhibits;
mod metrics;
mod openmp;
mod pairs;
mod performance;
mod programs;
mod schedules;
mod sharing;
mod switching;

pub(crate) use exhibits::exhibits;
pub use programs::{PROGRAM, run_program};

use crate::experiment::Experiment;

const PUBLICATION: &str =
    "Mark Jenkins, \"Design and Analysis of a Plastic Parallel Programming System\"";

/// The publication has means of 50 runs.
const REPEAT: [usize; 3] = [1, 5, 50];

/// All experiments of the publication, in its order.
pub(crate) fn experiments() -> Vec<Experiment> {
    vec![
        metrics::experiment(),
        performance::experiment(),
        switching::experiment(),
        schedules::experiment(),
        access::experiment(),
        sharing::experiment(),
        pairs::experiment(),
        pairs::simulated::experiment(),
    ]
}
