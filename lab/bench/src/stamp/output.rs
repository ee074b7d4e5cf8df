//! The table of an application.

use super::figures::{Average, Bar, Entry, Row};
use crate::output::say;
use crate::statistics::Summary;
use crate::table::{duration_of, or_dash};

use sinew_console::Table;

/// Prints an application's table and bars.
pub(super) fn print(entry: &Entry) {
    say!("\n{}: {}", entry.app, entry.what);
    let mut table = Table::new(&[
        "version",
        "threads",
        "median",
        "spread",
        "processor",
        "÷ serial",
        "÷ by hand (middle half)",
        "aborts",
    ]);
    entry.rows.iter().for_each(|row| table.row(cells(row)));
    say!("{}", table.render().trim_end());
    entry.bars.iter().for_each(print_bar);
    entry.wrong.iter().for_each(|wrong| say!("  WRONG ANSWER  {wrong}"));
}

fn cells(row: &Row) -> Vec<String> {
    let seconds = |value| or_dash(value, |seconds: f64| duration_of(seconds * 1e9));
    let aborts = row.abort_ratio.filter(|_| !row.version.is_serial());
    vec![
        row.version.name().to_owned(),
        row.threads.to_string(),
        seconds(row.wall.map(|wall| wall.median)),
        or_dash(row.wall, |wall| format!("{:.0} %", wall.spread() * 100.0)),
        seconds(row.processor_s),
        or_dash(row.of_serial, |ratio| format!("{:.2}", ratio.median)),
        or_dash(row.of_by_hand, ratio_text),
        or_dash(aborts, |share| format!("{:.1} %", share * 100.0)),
    ]
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
    let mut table = Table::new(&["version", "threads", "÷ by hand"]);
    for Average { version, threads, of_by_hand } in averages {
        let name = version.name().to_owned();
        table.row(vec![name, threads.to_string(), format!("{of_by_hand:.3}")]);
    }
    say!("{}", table.render().trim_end());
}
