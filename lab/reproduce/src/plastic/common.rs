//! Common to the experiments of this publication: caveats and labels.

use crate::experiment::{Caveat, Need};
use crate::paper::plastic::THREADS;
use crate::report::Part;
use crate::results::{Labels, Results};

pub(super) const FEWER_THREADS: Caveat = Caveat {
    unless: Need::Workers(THREADS),
    words: "The publication had 4 cores and 4 threads. With fewer, a static schedule has fewer \
        shares to be unequal, and less is won by another.",
};

pub(super) const OTHER_TIMES: Caveat = Caveat {
    unless: Need::Nothing,
    words: "The publication does not name the number that its sequences start from, and its \
        machine was a virtual one: its times are for comparison among themselves.",
};

pub(super) fn labels(way: &str, workers: usize, tasks: usize) -> Labels {
    vec![("way", way.to_owned()), ("workers", workers.to_string()), ("tasks", tasks.to_string())]
}

/// Says that nothing of OpenMP was measured, if so.
pub(super) fn without_openmp(results: &Results) -> Option<Part> {
    let is_there = results.samples().iter().any(|sample| {
        sample.labels.iter().any(|(name, value)| *name == "way" && value.starts_with("OpenMP"))
    });
    let words = "OpenMP was not measured: there is no C compiler that knows it here. `cc \
        -fopenmp` has to work; then run this again.";
    (!is_there && !results.samples().is_empty()).then(|| Part::words(words))
}
