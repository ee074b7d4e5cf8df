//! What the tables cannot show: latencies, idling, memory, bandwidth. Measured on request, by name.

mod auto;
pub(crate) mod coord;
pub(crate) mod exec;
mod idle;
mod jacobi;
mod latency;
mod memory;
mod pairs;
mod plastic;
mod stencil;
mod stm;
mod victims;
mod worklist;

use crate::bars::Verdict;
use crate::output::say;
use crate::problem::Scale;
use crate::statistics::{Summary, quantile};
use crate::table::duration_of;
use serde::Serialize;

/// A measurement that the command line knows.
pub(crate) struct Measure {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    run: fn(Scale) -> Result<Vec<Line>, String>,
}

/// Every measurement.
pub(crate) const ALL: [Measure; 12] = [
    Measure {
        name: "auto",
        about: "a schedule that is found out, after ten runs, beside every fixed one",
        run: auto::run,
    },
    Measure {
        name: "latency",
        about: "how soon a pushed task is taken, a steal, an empty loop from warm and parked pools",
        run: latency::run,
    },
    Measure {
        name: "coord",
        about: "programs that share this machine, with a table and without; what the table costs",
        run: coord::run,
    },
    Measure {
        name: "exec",
        about: "OpenMP programs beside each other: plain, under exec, and under exec --malleable",
        run: exec::run,
    },
    Measure { name: "idle", about: "processor time of idle pools", run: idle::run },
    Measure {
        name: "jacobi",
        about: "a six-point stencil beside a copy of the same memory, by form, store and block",
        run: jacobi::run,
    },
    Measure { name: "memory", about: "bytes per worker", run: memory::run },
    Measure {
        name: "plastic",
        about: "how soon a running loop follows a change, what it costs that it could, and metrics of its threads",
        run: plastic::run,
    },
    Measure {
        name: "stencil",
        about: "stencils beside loops by hand, by dimension and kind of edge",
        run: stencil::run,
    },
    Measure {
        name: "stm",
        about: "transactions beside locks, on one thread and on two",
        run: stm::run,
    },
    Measure {
        name: "victims",
        about: "a failed attempt to steal, and fib, under each victim policy",
        run: victims::run,
    },
    Measure {
        name: "worklist",
        about: "what the transactional worklist adds to transactions by hand, by setting",
        run: worklist::run,
    },
];

/// What one measurement found.
#[derive(Debug, Serialize)]
pub(crate) struct Measurement {
    name: &'static str,
    lines: Vec<Line>,
}

/// One line of a measurement.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    what: String,
    /// Figures with their names, in order.
    figures: Vec<(&'static str, f64)>,
    unit: Unit,
    bars: Vec<Verdict>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Ns,
    Bytes,
    Number,
}

impl Measure {
    /// Measures and prints.
    ///
    /// # Errors
    ///
    /// One line that says what this machine lacks.
    pub(crate) fn run(&self, scale: Scale) -> Result<Measurement, String> {
        say!("\n{}: {}", self.name, self.about);
        let lines = (self.run)(scale)?;
        for line in &lines {
            line.print();
        }
        Ok(Measurement { name: self.name, lines })
    }
}

impl Line {
    /// Percentiles of `samples` in nanoseconds; `None` if there are none.
    fn percentiles(what: String, samples: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = samples.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let at = |share| quantile(&sorted, share);
        let figures = vec![
            ("median", at(0.5)?),
            ("90 %", at(0.9)?),
            ("99 %", at(0.99)?),
            ("worst", at(1.0)?),
        ];
        Some(Self { what, figures, unit: Unit::Ns, bars: Vec::new() })
    }

    /// A line with one figure.
    fn single(what: String, name: &'static str, value: f64, unit: Unit) -> Self {
        Self { what, figures: vec![(name, value)], unit, bars: Vec::new() }
    }

    /// A line with two figures.
    fn pair(
        what: String,
        first: (&'static str, f64),
        second: (&'static str, f64),
        unit: Unit,
    ) -> Self {
        Self { what, figures: vec![first, second], unit, bars: Vec::new() }
    }

    /// Demands that the figure called `name` is at most `limit`.
    fn at_most(mut self, name: &str, limit: f64, bar: &'static str) -> Self {
        let figure = self.figures.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        self.bars.extend(figure.map(|median| {
            let measured = Summary { lower: median, median, upper: median };
            Verdict { bar, limit, measured, passed: median <= limit }
        }));
        self
    }

    fn print(&self) {
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
    //! What they would miss: figures that are wrong rather than missing.
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

    #[test]
    fn every_measurement_runs_at_tiny_size() {
        for measure in &ALL {
            match measure.run(Scale::Tiny) {
                Ok(measurement) => assert!(!measurement.lines.is_empty(), "{}", measure.name),
                Err(why) => println!("skipped: {why}"),
            }
        }
    }
}
