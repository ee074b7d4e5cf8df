//! The table of an application.

use super::figures::{Average, Bar, Entry, Row};
use super::rounds::Version;
use crate::output::say;
use crate::statistics::Summary;
use crate::table::duration_of;

/// Prints an application's table and bars.
pub(super) fn print(entry: &Entry) {
    say!("\n{}: {}", entry.app, entry.what);
    say!(
        "  {:<15}{:>8}{:>11}{:>8}{:>11}{:>11}{:>24}{:>8}",
        "",
        "threads",
        "median",
        "spread",
        "processor",
        "÷ serial",
        "÷ by hand (middle half)",
        "aborts"
    );
    entry.rows.iter().for_each(print_row);
    entry.bars.iter().for_each(print_bar);
    entry.wrong.iter().for_each(|wrong| say!("  WRONG ANSWER  {wrong}"));
}

fn print_row(row: &Row) {
    let missing = || "-".to_owned();
    let seconds =
        |value: Option<f64>| value.map_or_else(missing, |seconds| duration_of(seconds * 1e9));
    let spread = row.wall.map_or_else(missing, |wall| format!("{:.0} %", wall.spread() * 100.0));
    let of_serial = row.of_serial.map_or_else(missing, |ratio| format!("{:.2}", ratio.median));
    let of_by_hand = row.of_by_hand.map_or_else(missing, ratio_text);
    let parallel = row.version != Version::Serial;
    let aborts = row.abort_ratio.filter(|_| parallel);
    say!(
        "  {:<15}{:>8}{:>11}{spread:>8}{:>11}{of_serial:>11}{of_by_hand:>24}{:>8}",
        row.version.name(),
        row.threads,
        seconds(row.wall.map(|wall| wall.median)),
        seconds(row.processor_s),
        aborts.map_or_else(missing, |share| format!("{:.1} %", share * 100.0)),
    );
}

fn ratio_text(ratio: Summary) -> String {
    format!("{:.3} ({:.3} to {:.3})", ratio.median, ratio.lower, ratio.upper)
}

fn print_bar(bar: &Bar) {
    let mark = if bar.passed { "PASS" } else { "MISS" };
    say!("  {mark}  {}: {:.4} (bar {:.4})", bar.what, bar.measured, bar.limit);
}

/// Prints what applications have in common.
pub(super) fn print_averages(averages: &[Average]) {
    say!("\nmean over the applications of the time beside transactions by hand");
    for Average { version, threads, of_by_hand } in averages {
        say!("  {:<15}{threads:>8}  {of_by_hand:.3}", version.name());
    }
}
