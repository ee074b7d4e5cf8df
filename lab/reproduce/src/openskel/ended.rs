//! The optimisations that a run ended with: as numbers among its measurements, and the sets of
//! several runs.
//!
//! The publication says of its tuner that it converges to the oracle's set of optimisations, so
//! sets are compared: which optimisations are on, without their parameters and without the number
//! of workers.

use std::fmt;

use sinew_policy::worklist::Settings;

use crate::results::{Metrics, Results, Which};

/// The names of the settings among the measurements of a run; without swap-retry the last is -1.
const NAMES: [&str; 5] =
    ["ended_threads", "ended_stealing", "ended_lifespan", "ended_coalescing", "ended_swap_after"];

/// The settings as measurements.
pub(super) fn metrics(settings: Settings) -> Metrics {
    let Settings { threads, stealing, lifespan, coalescing, swap_after, .. } = settings;
    let bit = |on: bool| if on { 1.0 } else { 0.0 };
    let swaps = swap_after.map_or(-1.0, f64::from);
    let values = [threads as f64, bit(stealing), f64::from(lifespan), bit(coalescing), swaps];
    NAMES.into_iter().zip(values).collect()
}

/// A set of optimisations, as in the publication: `WS+WC+SR+HT`, or `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Set {
    stealing: bool,
    coalescing: bool,
    swapping: bool,
    helping: bool,
}

impl Set {
    fn of(settings: &Settings) -> Self {
        Self {
            stealing: settings.stealing,
            coalescing: settings.coalescing,
            swapping: settings.swap_after.is_some(),
            helping: settings.lifespan > 0,
        }
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            (self.stealing, "WS"),
            (self.coalescing, "WC"),
            (self.swapping, "SR"),
            (self.helping, "HT"),
        ];
        let on: Vec<&str> = all.into_iter().filter(|(on, _)| *on).map(|(_, name)| name).collect();
        f.write_str(&if on.is_empty() { "none".to_owned() } else { on.join("+") })
    }
}

/// The settings that the runs of a case ended with, run by run.
fn settings(results: &Results, which: &Which<'_>) -> Vec<Settings> {
    let columns = NAMES.map(|name| results.values(which, name));
    let runs = columns.iter().map(Vec::len).min().unwrap_or(0);
    let settings = |run: usize| {
        let [threads, stealing, lifespan, coalescing, swaps] =
            columns.each_ref().map(|column| column[run]);
        Settings::baseline(threads as usize)
            .stealing(stealing > 0.0)
            .lifespan(lifespan as u32)
            .coalescing(coalescing > 0.0)
            .swap_after((swaps >= 0.0).then_some(swaps as u32))
    };
    (0..runs).map(settings).collect()
}

/// The value that most of these have, the first of equals, and how many have it.
fn most<T: PartialEq>(values: &[T]) -> Option<(&T, usize)> {
    let count = |value: &T| values.iter().filter(|other| *other == value).count();
    // `max_by_key` returns the last of equals.
    values.iter().rev().map(|value| (value, count(value))).max_by_key(|(_, count)| *count)
}

/// The settings that most runs of a case ended with, and how many runs did.
pub(super) fn usual(results: &Results, which: &Which<'_>) -> Option<String> {
    let all = settings(results, which);
    let (settings, runs) = most(&all)?;
    Some(format!("{settings} ({runs} of {})", all.len()))
}

/// The set that most runs of a case ended with.
pub(super) fn set(results: &Results, which: &Which<'_>) -> Option<Set> {
    let sets: Vec<Set> = settings(results, which).iter().map(Set::of).collect();
    most(&sets).map(|(set, _)| *set)
}

/// How many runs of a case ended with this set, and how many there were.
pub(super) fn runs_with(results: &Results, which: &Which<'_>, wanted: Set) -> (usize, usize) {
    let all = settings(results, which);
    (all.iter().filter(|settings| Set::of(settings) == wanted).count(), all.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Sample;

    /// Catches: a setting that is lost on its way through the measurements, parameters or numbers
    /// of workers that make two sets of one, and runs that are counted twice.
    #[test]
    fn the_sets_of_runs_are_counted() {
        let base = Settings::baseline(2);
        let ends = [
            base.stealing(true).swap_after(Some(32)),
            base.stealing(true).swap_after(Some(0)),
            Settings::baseline(1).coalescing(true).lifespan(100),
            base.stealing(true).swap_after(Some(32)),
        ];
        let mut results = Results::default();
        for (round, end) in ends.into_iter().enumerate() {
            let labels = vec![("what", "tuned".to_owned())];
            results.push(Sample { round, labels, metrics: metrics(end) });
        }
        let which = [("what", "tuned")];
        assert_eq!(settings(&results, &which), ends);
        assert_eq!(
            usual(&results, &which).as_deref(),
            Some("2 threads, stealing, swap 32 (2 of 4)")
        );
        let set = set(&results, &which).unwrap();
        assert_eq!((set.to_string().as_str(), runs_with(&results, &which, set)), ("WS+SR", (3, 4)));
        assert_eq!(Set::of(&ends[2]).to_string(), "WC+HT");
        assert_eq!(Set::of(&base).to_string(), "none");
        assert_eq!(usual(&results, &[("what", "oracle")]), None);
    }
}
