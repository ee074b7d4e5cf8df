//! Text tables.

use crate::bars::{Verdict, against_ours, per_operation, same_thing, speed_up};
use crate::compare::{Comparison, Fault, Series};
use crate::output::say;
use crate::statistics::Summary;

use sinew_console::Table;

/// Prints a comparison, and the verdicts on its bars.
pub(crate) fn print(comparison: &Comparison, verdicts: &[Verdict]) {
    let Comparison { problem, case, series } = comparison;
    let rounds = series.iter().map(|row| row.ns.len()).max().unwrap_or(0);
    say!("\n{}: {}, {rounds} rounds", problem.name, case.label);
    let per = format!("per {}", problem.unit);
    let ours = "÷ sinew (middle half)";
    let mut table = Table::new(&["version", "threads", "median", &per, "spread", "speed-up", ours]);
    series.iter().for_each(|row| table.row(cells(comparison, row)));
    say!("{}", table.render().trim_end());
    if let Some(ratio) = same_thing(comparison) {
        say!("  noise: the same thing once more took {} times as long", ratio_text(ratio));
    }
    print_verdicts(verdicts);
}

fn cells(comparison: &Comparison, row: &Series) -> Vec<String> {
    let threads = row.threads.to_string();
    if let Some(fault) = &row.fault {
        let cells = [row.name, &threads, "-", "-", "-", "-", &fault_line(fault)];
        return cells.map(str::to_owned).into();
    }
    let time = Summary::of(row.ns.iter().map(|ns| *ns as f64));
    vec![
        row.name.to_owned(),
        threads,
        duration(time),
        duration(per_operation(comparison, row)),
        or_dash(time, |time| format!("{:.0} %", time.spread() * 100.0)),
        or_dash(speed_up(comparison, row), |ratio| format!("{:.2}", ratio.median)),
        or_dash(against_ours(comparison, row), ratio_text),
    ]
}

/// A figure as text; a dash without it.
pub(crate) fn or_dash<T>(figure: Option<T>, text: impl FnOnce(T) -> String) -> String {
    figure.map_or_else(|| "-".to_owned(), text)
}

/// Prints bars with what was measured.
pub(crate) fn print_verdicts(verdicts: &[Verdict]) {
    for verdict in verdicts {
        let mark = if verdict.passed { "PASS" } else { "MISS" };
        say!("  {mark}  {}: {}", verdict.bar, bar_text(verdict));
    }
}

fn bar_text(verdict: &Verdict) -> String {
    // Times are far from 1, ratios near it.
    let figure =
        |value: f64| if value >= 50.0 { duration_of(value) } else { format!("{value:.2}") };
    let Summary { lower, median, upper } = verdict.measured;
    format!(
        "{} (middle half {} to {}; bar {})",
        figure(median),
        figure(lower),
        figure(upper),
        figure(verdict.limit)
    )
}

/// The error, as text.
pub(crate) fn fault_line(fault: &Fault) -> String {
    match fault {
        Fault::Wrong { answer, expected } => format!("WRONG ANSWER: {answer}, expected {expected}"),
        Fault::Broken(why) => format!("skipped: {why}"),
    }
}

fn ratio_text(ratio: Summary) -> String {
    format!("{:.2} ({:.2} to {:.2})", ratio.median, ratio.lower, ratio.upper)
}

fn duration(time: Option<Summary>) -> String {
    or_dash(time, |time| duration_of(time.median))
}

/// A time with the unit that suits it.
pub(crate) fn duration_of(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.1} ns"),
        ns if ns < 1e6 => format!("{:.2} µs", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_in_the_unit_that_suits_it() {
        let shown = [3.04, 1_500.0, 2_000_000.0, 3e9].map(duration_of);
        assert_eq!(shown, ["3.0 ns", "1.50 µs", "2.00 ms", "3.00 s"]);
    }
}
