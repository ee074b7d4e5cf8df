//! Medians and quartiles: what is left of a series when a shared machine has had its say.

use serde::Serialize;
pub(crate) use sinew_reproduce::statistics::{median, quantile};

/// The middle of a series, and the middle half around it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Summary {
    pub(crate) lower: f64,
    pub(crate) median: f64,
    pub(crate) upper: f64,
}

impl Summary {
    /// Summarises `values`; `None` for an empty series.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().collect();
        let at = |share| quantile(&values, share);
        Some(Self { lower: at(0.25)?, median: at(0.5)?, upper: at(0.75)? })
    }

    /// Width of the middle half, as a share of the median.
    pub(crate) fn spread(&self) -> f64 {
        (self.upper - self.lower) / self.median
    }
}

/// `of` divided by `by`, round by round: what both suffered in the same round cancels out.
pub(crate) fn ratios(of: &[u64], by: &[u64]) -> Option<Summary> {
    Summary::of(of.iter().zip(by).map(|(of, by)| *of as f64 / (*by).max(1) as f64))
}

#[cfg(test)]
mod tests {
    //! Blind to: series with values that are not numbers; times are whole nanoseconds.
    use super::*;

    #[test]
    fn the_median_of_an_even_series_lies_between_its_middle_values() {
        let summary = Summary::of([4.0, 1.0, 3.0, 2.0]).expect("four values");
        assert_eq!(summary.median, 2.5);
        assert_eq!((summary.lower, summary.upper), (1.75, 3.25));
    }

    #[test]
    fn one_outlier_does_not_move_the_median() {
        let summary = Summary::of([10.0, 10.0, 10.0, 10.0, 1e9]).expect("five values");
        assert_eq!((summary.median, summary.spread()), (10.0, 0.0));
    }

    #[test]
    fn an_empty_series_has_no_summary() {
        assert_eq!(Summary::of([]), None);
        assert_eq!(quantile(&[], 0.99), None);
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        // Both slow down threefold in the second round; the ratio does not notice.
        let summary = ratios(&[20, 60], &[10, 30]).expect("two rounds");
        assert_eq!((summary.lower, summary.median, summary.upper), (2.0, 2.0, 2.0));
    }
}
