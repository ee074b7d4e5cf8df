//! The figures we want to reach, beside the figures we measured. A miss is information; it fails
//! nothing.

use crate::compare::{AGAIN, Comparison, Series};
use crate::problem::{Bar, Limit, Measure, Row, Runtime, Team};
use crate::statistics::{Summary, ratios};
use serde::Serialize;

/// A bar this close to 1 means: that, or the noise, whichever is larger.
const NARROW: f64 = 0.051;

/// A bar beside what was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Verdict {
    pub(crate) bar: &'static str,
    pub(crate) limit: f64,
    pub(crate) measured: Summary,
    pub(crate) passed: bool,
}

/// The verdicts on the bars of a comparison; bars whose rows have no times are left out.
pub(crate) fn verdicts(comparison: &Comparison) -> Vec<Verdict> {
    let belongs = |bar: &&Bar| bar.case.is_empty() || bar.case == comparison.case.label;
    comparison
        .problem
        .bars
        .iter()
        .filter(belongs)
        .filter_map(|bar| verdict(comparison, bar))
        .collect()
}

fn verdict(comparison: &Comparison, bar: &Bar) -> Option<Verdict> {
    let find = |Row(name, team): Row| comparison.find(name, team);
    let (measured, allowance) = match bar.measure {
        Measure::Ratio(of, by) => (ratios(&find(of)?.ns, &find(by)?.ns)?, noise(comparison)),
        Measure::PerOperation(of) => (per_operation(comparison, find(of)?)?, 0.0),
    };
    Some(verdict_on(bar, measured, allowance))
}

/// Holds `measured` against a bar; a bar within 5 % of 1 grows by `noise` where noise is larger.
pub(crate) fn verdict_on(bar: &Bar, measured: Summary, noise: f64) -> Verdict {
    let (limit, passed) = match bar.limit {
        Limit::AtMost(limit) => {
            let limit = if (limit - 1.0).abs() < NARROW { limit.max(1.0 + noise) } else { limit };
            (limit, measured.median <= limit)
        }
        Limit::AtLeast(limit) => (limit, measured.median >= limit),
    };
    Verdict { bar: bar.what, limit, measured, passed }
}

/// Two series of the same thing, the second divided by the first.
pub(crate) fn same_thing(comparison: &Comparison) -> Option<Summary> {
    ratios(&comparison.find(AGAIN, Team::All)?.ns, &comparison.baseline(Team::All)?.ns)
}

/// The relative difference of two series of the same program: no smaller difference between two
/// rows is significant.
pub(crate) fn noise(comparison: &Comparison) -> f64 {
    same_thing(comparison).map_or(0.0, |ratio| (ratio.median - 1.0).abs())
}

/// Nanoseconds per operation of the problem.
pub(crate) fn per_operation(comparison: &Comparison, series: &Series) -> Option<Summary> {
    let operations = comparison.case.operations.max(1) as f64;
    Summary::of(series.ns.iter().map(|ns| *ns as f64 / operations))
}

/// A row's times divided by Sinew's with the same team, or by Sinew's on one thread for the serial
/// row.
pub(crate) fn against_ours(comparison: &Comparison, series: &Series) -> Option<Summary> {
    ratios(&series.ns, &comparison.baseline(series.team)?.ns)
}

/// The serial times divided by a row's.
pub(crate) fn speed_up(comparison: &Comparison, series: &Series) -> Option<Summary> {
    let serial = comparison.series.iter().find(|row| row.runtime == Runtime::Serial)?;
    ratios(&serial.ns, &series.ns)
}

#[cfg(test)]
mod tests {
    //! Blind to: a bar that was copied wrongly from where it was set.
    use super::*;

    fn bar(limit: Limit) -> Bar {
        Bar { case: "", what: "", measure: Measure::PerOperation(Row("sinew", Team::One)), limit }
    }

    fn measured(median: f64) -> Summary {
        Summary { lower: median, median, upper: median }
    }

    #[test]
    fn a_bar_is_met_on_its_line_and_missed_beyond_it() {
        assert!(verdict_on(&bar(Limit::AtMost(0.5)), measured(0.5), 0.0).passed);
        assert!(!verdict_on(&bar(Limit::AtMost(0.5)), measured(0.51), 0.0).passed);
        assert!(verdict_on(&bar(Limit::AtLeast(1.95)), measured(1.95), 0.0).passed);
        assert!(!verdict_on(&bar(Limit::AtLeast(1.95)), measured(1.94), 0.0).passed);
    }

    #[test]
    fn noise_widens_narrow_bars_only() {
        assert!(verdict_on(&bar(Limit::AtMost(1.0)), measured(1.08), 0.1).passed);
        assert!(!verdict_on(&bar(Limit::AtMost(1.0)), measured(1.12), 0.1).passed);
        assert!(!verdict_on(&bar(Limit::AtMost(1.3)), measured(1.35), 0.1).passed);
    }
}
