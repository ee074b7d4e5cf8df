//! The measurements so far, and the queries of the reports.
//!
//! A report asks for a metric of *a case*, named by some of its labels:
//! `results.median(&[("workload", "fib 43"), ("workers", "2")], "wall_s")`. If several cases match,
//! their values are pooled; if none does, the result is `None`, which becomes a gap in the report.
//!
//! Ratios are taken within rounds: what the machine does meanwhile to the one is done to the other
//! as well.

use crate::statistics;

/// Names and values that tell the cases of an experiment apart; the same names, in the same order,
/// for all of them.
pub type Labels = Vec<(&'static str, String)>;

/// The measurements of one run: names, which end in their unit, and values.
pub type Metrics = Vec<(&'static str, f64)>;

/// Some labels of a case.
pub type Which<'a> = [(&'a str, &'a str)];

/// All labels of a case.
pub(crate) fn all_of(labels: &Labels) -> Vec<(&str, &str)> {
    labels.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

/// All samples of a run, in the order in which they were taken.
#[derive(Debug, Clone, Default)]
pub struct Results {
    samples: Vec<Sample>,
    /// The omitted parts, and the reasons.
    pub left_out: Vec<String>,
    /// Returns that were wrong.
    pub wrong: Vec<String>,
}

/// One run of one case.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Counted from 0.
    pub round: usize,
    /// The case.
    pub labels: Labels,
    /// The measurements.
    pub metrics: Metrics,
}

impl Sample {
    /// Whether it has these labels.
    pub(crate) fn is(&self, which: &Which<'_>) -> bool {
        which.iter().all(|wanted| {
            self.labels.iter().any(|(name, value)| (*name, value.as_str()) == *wanted)
        })
    }

    fn metric(&self, metric: &str) -> Option<f64> {
        self.metrics.iter().find(|(name, _)| *name == metric).map(|(_, value)| *value)
    }
}

impl Results {
    /// Adds a sample.
    pub fn push(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    /// Rounds that have begun.
    pub fn rounds(&self) -> usize {
        self.samples.iter().map(|sample| sample.round + 1).max().unwrap_or(0)
    }

    /// All samples, oldest first.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// A metric in all rounds of a case.
    pub fn values(&self, which: &Which<'_>, metric: &str) -> Vec<f64> {
        let samples = self.samples.iter().filter(|sample| sample.is(which));
        samples.filter_map(|sample| sample.metric(metric)).collect()
    }

    /// The median of a metric over the rounds of a case.
    pub fn median(&self, which: &Which<'_>, metric: &str) -> Option<f64> {
        statistics::median(&self.values(which, metric))
    }

    /// The value of a metric in the last round of a case: for what earlier rounds are a part of.
    pub fn last(&self, which: &Which<'_>, metric: &str) -> Option<f64> {
        self.values(which, metric).last().copied()
    }

    /// Half the distance between the quartiles of a metric; see [`statistics::spread`].
    pub fn spread(&self, which: &Which<'_>, metric: &str) -> Option<f64> {
        statistics::spread(&self.values(which, metric))
    }

    /// The median, over the rounds that both have, of a metric of one case divided by that of
    /// another.
    pub fn ratio(&self, of: &Which<'_>, to: &Which<'_>, metric: &str) -> Option<f64> {
        statistics::median(&self.ratios(of, to, metric))
    }

    /// Half the distance between the quartiles of these ratios.
    pub fn ratio_spread(&self, of: &Which<'_>, to: &Which<'_>, metric: &str) -> Option<f64> {
        statistics::spread(&self.ratios(of, to, metric))
    }

    /// The same ratio of every round.
    pub fn ratios(&self, of: &Which<'_>, to: &Which<'_>, metric: &str) -> Vec<f64> {
        let ratio = |round| {
            let (of, to) = (self.in_round(of, metric, round)?, self.in_round(to, metric, round)?);
            (to != 0.0).then_some(of / to)
        };
        (0..self.rounds()).filter_map(ratio).collect()
    }

    /// Metrics that a case has several times, row by row, in its first round; nothing where it has
    /// not been run.
    pub fn rows<const N: usize>(&self, labels: &Labels, columns: [&str; N]) -> Vec<[f64; N]> {
        let is_first = |sample: &&Sample| sample.round == 0 && sample.labels == *labels;
        let Some(sample) = self.samples.iter().find(is_first) else { return Vec::new() };
        let column = |name: &str| -> Vec<f64> {
            sample
                .metrics
                .iter()
                .filter(|(other, _)| *other == name)
                .map(|(_, value)| *value)
                .collect()
        };
        let columns = columns.map(column);
        (0..columns[0].len()).map(|at| std::array::from_fn(|of| columns[of][at])).collect()
    }

    fn in_round(&self, which: &Which<'_>, metric: &str, round: usize) -> Option<f64> {
        let mut samples =
            self.samples.iter().filter(|sample| sample.round == round && sample.is(which));
        samples.find_map(|sample| sample.metric(metric))
    }
}

#[cfg(test)]
impl Results {
    /// One round of cases.
    pub(crate) fn of(cases: impl IntoIterator<Item = (Labels, Metrics)>) -> Self {
        Self::of_rounds(1, cases)
    }

    /// As many equal rounds of cases.
    pub(crate) fn of_rounds(
        rounds: usize,
        cases: impl IntoIterator<Item = (Labels, Metrics)>,
    ) -> Self {
        let mut results = Self::default();
        for (labels, metrics) in cases {
            for round in 0..rounds {
                results.push(Sample { round, labels: labels.clone(), metrics: metrics.clone() });
            }
        }
        results
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(samples: &[(usize, &str, f64)]) -> Results {
        let mut results = Results::default();
        for &(round, policy, wall) in samples {
            let labels = vec![("app", "fib".to_owned()), ("policy", policy.to_owned())];
            results.push(Sample { round, labels, metrics: vec![("wall_s", wall)] });
        }
        results
    }

    /// Catches: samples of other cases among those of the one asked for.
    #[test]
    fn a_case_is_named_by_some_of_its_labels() {
        let results = results(&[(0, "random", 2.0), (0, "set", 9.0), (1, "random", 4.0)]);
        assert_eq!(results.median(&[("policy", "random")], "wall_s"), Some(3.0));
        assert_eq!(results.median(&[("app", "fib"), ("policy", "set")], "wall_s"), Some(9.0));
        assert_eq!(results.median(&[("app", "uts")], "wall_s"), None);
        assert_eq!(results.median(&[("app", "fib")], "steals"), None);
        assert_eq!(results.last(&[("policy", "random")], "wall_s"), Some(4.0));
        assert_eq!(results.last(&[("policy", "none")], "wall_s"), None);
    }

    /// Catches: a ratio of medians, which a machine that slows down between two rounds would
    /// spoil.
    #[test]
    fn ratios_are_taken_within_rounds() {
        let slower_and_slower =
            [(0, "a", 1.0), (0, "b", 2.0), (1, "b", 200.0), (1, "a", 100.0), (2, "a", 7.0)];
        let results = results(&slower_and_slower);
        assert_eq!(results.ratios(&[("policy", "b")], &[("policy", "a")], "wall_s"), [2.0, 2.0]);
        assert_eq!(results.ratio(&[("policy", "b")], &[("policy", "c")], "wall_s"), None);
    }
}
