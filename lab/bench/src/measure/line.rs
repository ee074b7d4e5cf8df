//! One line of a measurement: figures, their unit, and the bars that they have to pass.

use crate::bars::Verdict;
use crate::output::say;
use crate::statistics::{Summary, quantile};
use crate::table::duration_of;
use serde::Serialize;

/// One line of a measurement.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    pub(super) what: String,
    /// Figures with their names, in order.
    pub(super) figures: Vec<(&'static str, f64)>,
    pub(super) unit: Unit,
    pub(super) bars: Vec<Verdict>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Unit {
    Ns,
    Bytes,
    Number,
}

impl Line {
    /// Percentiles of `samples` in nanoseconds; `None` if there are none.
    pub(super) fn percentiles(
        what: String,
        samples: impl IntoIterator<Item = f64>,
    ) -> Option<Self> {
        let samples: Vec<f64> = samples.into_iter().collect();
        let at = |share| quantile(&samples, share);
        let figures = vec![
            ("median", at(0.5)?),
            ("90 %", at(0.9)?),
            ("99 %", at(0.99)?),
            ("worst", at(1.0)?),
        ];
        Some(Self { what, figures, unit: Unit::Ns, bars: Vec::new() })
    }

    /// A line with one figure.
    pub(super) fn single(what: String, name: &'static str, value: f64, unit: Unit) -> Self {
        Self { what, figures: vec![(name, value)], unit, bars: Vec::new() }
    }

    /// A line with two figures.
    pub(super) fn pair(
        what: String,
        first: (&'static str, f64),
        second: (&'static str, f64),
        unit: Unit,
    ) -> Self {
        Self { what, figures: vec![first, second], unit, bars: Vec::new() }
    }

    /// Demands that the figure called `name` is at most `limit`.
    pub(super) fn at_most(mut self, name: &str, limit: f64, bar: &'static str) -> Self {
        let figure = self.figures.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        self.bars.extend(figure.map(|median| {
            let measured = Summary { lower: median, median, upper: median };
            Verdict { bar, limit, measured, passed: median <= limit }
        }));
        self
    }

    pub(super) fn print(&self) {
        let figure =
            |(name, value): &(&str, f64)| format!("  {name} {:>9}", self.unit.show(*value));
        let verdict =
            |bar: &Verdict| format!("  {}: {}", if bar.passed { "PASS" } else { "MISS" }, bar.bar);
        let figures = self.figures.iter().map(figure).chain(self.bars.iter().map(verdict));
        say!("  {:<58}{}", self.what, figures.collect::<String>());
    }
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::Ns => duration_of(value),
            Self::Bytes => format!("{:.1} KiB", value / 1024.0),
            Self::Number if value < 10.0 => format!("{value:.3}"),
            Self::Number => format!("{value:.1}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_a_hundred_and_one_values_are_those_values() {
        let line = Line::percentiles("x".to_owned(), (0..=100).map(f64::from)).expect("values");
        assert_eq!(
            line.figures,
            [("median", 50.0), ("90 %", 90.0), ("99 %", 99.0), ("worst", 100.0)]
        );
        assert!(Line::percentiles("x".to_owned(), []).is_none());
    }

    #[test]
    fn each_bar_looks_at_the_figure_that_it_names() {
        let line = Line::percentiles("x".to_owned(), (0..=100).map(f64::from)).expect("values");
        let line = line.at_most("99 %", 98.0, "").at_most("median", 98.0, "");
        assert_eq!(line.bars.iter().map(|bar| bar.passed).collect::<Vec<_>>(), [false, true]);
    }
}
