//! Jenkins, "Design and Analysis of a Plastic Parallel Programming System": experiments 1 to 5,
//! what it names as future work about access to memory, and what programs do to each other.
//!
//! | file | what lives there |
//! |---|---|
//! | `bench` | the workload, gone about in several ways, timed and judged |
//! | `openmp` | the same in C, compiled where there is a compiler for it |
//! | `metrics` | Experiment 1: what metrics of each thread cost |
//! | `performance` | Experiment 2: beside sequential programs and OpenMP |
//! | `switching` | Experiment 3: what it costs that loops can be changed |
//! | `schedules` | Experiment 4: schedules, and changing them |
//! | `access` | future work: tasks that read memory in a row and at random |
//! | `programs/` | programs beside each other, as processes |
//! | `sharing` | Experiment 5: two programs, coordinated and in anarchy |
//! | `pairs/` | every two of several kinds of programs |
//!
//! A repetition of the publication's Collatz sequence takes about 10 ns here. At the default size
//! tasks have fewer repetitions, and as many tasks and chunks as there.

mod access;
mod bench;
mod metrics;
mod openmp;
mod pairs;
mod performance;
mod programs;
mod schedules;
mod sharing;
mod switching;

pub(crate) use access::Access;
pub(crate) use metrics::Metrics;
pub(crate) use pairs::Pairs;
pub(crate) use performance::Performance;
pub use programs::{PROGRAM, run_program};
pub(crate) use schedules::Schedules;
pub(crate) use sharing::Sharing;
pub(crate) use switching::Switching;

use crate::experiment::{Caveat, Labels, Need};
use crate::paper::plastic::THREADS;
use crate::report::Part;
use crate::results::Results;
use crate::setting::Scale;

const FEWER_THREADS: Caveat = Caveat {
    unless: Need::Workers(THREADS),
    words: "The publication had 4 cores and 4 threads. With fewer, a static schedule has fewer shares to be unequal, and less is won by another.",
};

const OTHER_TIMES: Caveat = Caveat {
    unless: Need::Nothing,
    words: "The publication does not name the number that its sequences start from, and its machine was a virtual one: its times are for comparison among themselves.",
};

/// The publication has means of 50 runs.
fn usual_repeat(scale: Scale) -> usize {
    scale.pick(1, 5, 50)
}

fn labels(way: &str, workers: usize, tasks: usize) -> Labels {
    vec![("way", way.to_owned()), ("workers", workers.to_string()), ("tasks", tasks.to_string())]
}

/// Says that nothing of OpenMP was measured, if so.
fn without_openmp(results: &Results) -> Option<Part> {
    let is_there = results.samples().iter().any(|sample| {
        sample.labels.iter().any(|(name, value)| *name == "way" && value.starts_with("OpenMP"))
    });
    let words = "OpenMP was not measured: there is no C compiler that knows it here. `cc -fopenmp` has to work; then run this again.";
    (!is_there && !results.samples().is_empty()).then(|| Part::words(words))
}
