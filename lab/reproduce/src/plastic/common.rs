//! Common to the experiments of this publication: caveats, labels, and how rounds are summarised.
//! The error bars of its figures are standard deviations, and so are ours.

use crate::experiment::{Caveat, Need};
use crate::paper::plastic::THREADS;
use crate::parameters::Parameter;
use crate::report::{Cell, Part, Series, cell};
use crate::results::{Labels, Results, Which};
use crate::setting::Setting;
use crate::statistics::{ENOUGH_ROUNDS, is_beyond, mean, median, standard_deviation};

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

/// Parameters of several experiments: tasks, repetitions of the sequence in each, and tasks that a
/// thread takes at a time.
pub(super) const TASKS: Parameter = Parameter::new("tasks", 1 << 32);
pub(super) const REPEATS: Parameter = Parameter::new("repeats", u32::MAX as u64);
pub(super) const CHUNK: Parameter = Parameter::new("chunk", 1 << 32);

/// The chunk of dynamic chunks: the publication's, or the one that is given.
pub(super) fn chunk(setting: &Setting) -> usize {
    setting.parameters.one(CHUNK, 1_000)
}

pub(super) fn labels(way: &str, workers: usize, tasks: usize) -> Labels {
    vec![("way", way.to_owned()), ("workers", workers.to_string()), ("tasks", tasks.to_string())]
}

/// The time of a case: the median of its rounds, and as there mean and standard deviation.
pub(super) fn times(results: &Results, which: &Which<'_>) -> [(String, Cell); 3] {
    let rounds = results.values(which, "wall_s");
    [
        cell("time, s", median(&rounds)),
        cell("mean, s", mean(&rounds)),
        cell("standard deviation, s", standard_deviation(&rounds)),
    ]
}

/// A series of medians with standard deviations as error bars: the rounds of a category each.
pub(super) fn series(name: impl Into<String>, rounds: &[Vec<f64>]) -> Series {
    let deviations = rounds.iter().map(|values| standard_deviation(values)).collect();
    Series::new(name, rounds.iter().map(|values| median(values)).collect()).spreads(deviations)
}

/// The time added to `wall` seconds, given its parts of it in all rounds.
pub(super) fn added(wall: Option<f64>, parts: &[f64]) -> [(String, Cell); 4] {
    let percent: Vec<f64> = parts.iter().map(|part| part * 100.0).collect();
    [
        cell("added, ms", median(parts).zip(wall).map(|(part, wall)| part * wall * 1e3)),
        cell("added, %", median(&percent)),
        cell("standard deviation, %", standard_deviation(&percent)),
        cell("which is", judged(parts)),
    ]
}

/// The words for a difference that counts.
pub(super) const BEYOND: &str = "beyond the noise";

/// The worth of these differences of all rounds; `None` if there are none.
pub(super) fn judged(differences: &[f64]) -> Option<&'static str> {
    match differences.len() {
        0 => None,
        few if few < ENOUGH_ROUNDS => Some("too few rounds"),
        _ if is_beyond(differences, 0.0) => Some(BEYOND),
        _ => Some("within the noise"),
    }
}

/// The median of these ratios of all rounds, and the worth of its difference from 1.
pub(super) fn ratio(title: &str, ratios: &[f64]) -> [(String, Cell); 2] {
    let differences: Vec<f64> = ratios.iter().map(|ratio| ratio - 1.0).collect();
    [cell(title, median(ratios)), cell("which is", judged(&differences))]
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a verdict from one round, or one on rounds that do not agree.
    #[test]
    fn a_ratio_is_judged_from_three_rounds_that_agree() {
        let judged = |ratios: &[f64]| match &ratio("a / b", ratios)[1] {
            (_, Cell::Text(words)) => words.clone(),
            (_, other) => format!("{other:?}"),
        };
        assert_eq!([judged(&[0.5]), judged(&[0.5, 0.5])], ["too few rounds"; 2]);
        assert_eq!(judged(&[0.5, 0.9, 0.75]), BEYOND);
        assert_eq!(judged(&[0.5, 1.5, 0.75]), "within the noise");
        assert_eq!(judged(&[]), "Gap");
    }
}
