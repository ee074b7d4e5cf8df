//! Two versions of the bench program beside each other: what a change gains or costs.
//!
//! Each round runs both programs, in an order that alternates, with the same arguments. A ratio is
//! taken within a round, so a machine that becomes slower slows both.

use crate::command;
use serde_json::Value;
use sinew_console::Table;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Two bench programs, and how to run them.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The bench program of the version before
    before: PathBuf,
    /// The bench program of the version after
    after: PathBuf,
    /// Rounds, each of which runs both programs
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Arguments for both programs [default: --rivals none --rounds 3]
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// The median of each row in one run, by the row's name.
type Figures = BTreeMap<String, f64>;

/// Runs both programs, and prints a row for each figure that both report.
///
/// # Errors
///
/// One line: a program cannot be run, fails, or reports nothing that the other reports.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let usual = ["--rivals", "none", "--rounds", "3"].map(str::to_owned);
    let arguments = if options.arguments.is_empty() { &usual } else { &options.arguments[..] };
    let mut rounds: Vec<[Figures; 2]> = Vec::new();
    for round in 0..options.rounds {
        let one = |program: &Path| figures_of(program, arguments);
        let (before, after) = match round % 2 {
            0 => {
                let before = one(&options.before)?;
                (before, one(&options.after)?)
            }
            _ => {
                let after = one(&options.after)?;
                (one(&options.before)?, after)
            }
        };
        eprintln!("round {} of {}", round + 1, options.rounds);
        rounds.push([before, after]);
    }
    let rows = rows(&rounds);
    if rows.is_empty() {
        return Err("the two programs report no figure in common".to_owned());
    }
    print!("{}", table(&rows));
    Ok(())
}

/// The figures of one run of `program`.
fn figures_of(program: &Path, arguments: &[String]) -> Result<Figures, String> {
    let folder = command::output_folder("versions");
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(fail)?;
    let file = folder.join("report.json");
    let mut bench = Command::new(program);
    bench.args(arguments).arg("--json").arg(&file).stdout(Stdio::null());
    command::run(&mut bench)?;
    let text = std::fs::read_to_string(&file).map_err(fail)?;
    let report: Value = serde_json::from_str(&text)
        .map_err(|error| format!("{} writes no report: {error}", program.display()))?;
    Ok(figures(&report))
}

/// The medians in a report: nanoseconds of compared rows, and the first figure of each measured
/// line.
fn figures(report: &Value) -> Figures {
    let list = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
    let mut all = Figures::new();
    for entry in list(report, "comparisons") {
        for row in list(&entry, "rows") {
            let ns = list(&row, "ns").iter().filter_map(Value::as_f64).collect();
            let names = [&entry["problem"], &entry["case"], &row["name"]];
            let names: Vec<&str> = names.iter().filter_map(|name| name.as_str()).collect();
            let key = format!("{}, threads {}", names.join(", "), row["threads"]);
            all.extend(median(ns).map(|median| (key, median)));
        }
    }
    for measurement in list(report, "measurements") {
        for line in list(&measurement, "lines") {
            let figure = &line["figures"][0];
            let names = [&measurement["name"], &line["what"], &figure[0]];
            let names: Vec<&str> = names.iter().filter_map(|name| name.as_str()).collect();
            all.extend(figure[1].as_f64().map(|value| (names.join(", "), value)));
        }
    }
    all
}

/// A figure of both versions.
#[derive(Debug, PartialEq)]
struct Row {
    name: String,
    before: f64,
    after: f64,
    /// Quartiles of after over before, round by round.
    ratio: [f64; 3],
}

impl Row {
    /// Compares the ratio with 1: a difference counts if three quarters of the rounds show it.
    fn verdict(&self) -> &'static str {
        match self.ratio {
            [lower, _, _] if lower > 1.0 => "more",
            [_, _, upper] if upper < 1.0 => "less",
            _ => "even",
        }
    }
}

/// The rows that every run reports, the greatest ratio first.
fn rows(rounds: &[[Figures; 2]]) -> Vec<Row> {
    let Some([first, _]) = rounds.first() else { return Vec::new() };
    let row = |name: &String| {
        let pairs =
            rounds.iter().map(|[before, after]| Some((*before.get(name)?, *after.get(name)?)));
        let pairs: Vec<(f64, f64)> = pairs.collect::<Option<_>>()?;
        let mut ratios: Vec<f64> = pairs.iter().map(|(before, after)| after / before).collect();
        ratios.retain(|ratio| ratio.is_finite());
        Some(Row {
            name: name.clone(),
            before: median(pairs.iter().map(|pair| pair.0).collect())?,
            after: median(pairs.iter().map(|pair| pair.1).collect())?,
            ratio: quartiles(ratios)?,
        })
    };
    let mut rows: Vec<Row> = first.keys().filter_map(row).collect();
    rows.sort_by(|a, b| b.ratio[1].total_cmp(&a.ratio[1]));
    rows
}

fn median(values: Vec<f64>) -> Option<f64> {
    quartiles(values).map(|[_, median, _]| median)
}

/// Lower quartile, median and upper quartile; `None` without values.
fn quartiles(mut values: Vec<f64>) -> Option<[f64; 3]> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some([last / 4, last / 2, (3 * last).div_ceil(4)].map(|at| values[at]))
}

/// The rows as a table, with a summary below.
fn table(rows: &[Row]) -> String {
    let mut table = Table::new(&["figure", "before", "after", "ratio", "middle half", "after is"]);
    for row in rows {
        let [lower, median, upper] = row.ratio;
        table.row(vec![
            row.name.clone(),
            format!("{:.1}", row.before),
            format!("{:.1}", row.after),
            format!("{median:.3}"),
            format!("{lower:.3}-{upper:.3}"),
            row.verdict().to_owned(),
        ]);
    }
    let count = |verdict: &str| rows.iter().filter(|row| row.verdict() == verdict).count();
    let middle = median(rows.iter().map(|row| row.ratio[1]).collect()).unwrap_or(f64::NAN);
    table.render()
        + &format!(
            "{} figures: {} more, {} even, {} less; median ratio {middle:.3}\n",
            rows.len(),
            count("more"),
            count("even"),
            count("less")
        )
}

#[cfg(test)]
mod tests {
    //! Blind to: what the bench program measures.
    use super::*;
    use serde_json::json;

    fn report(fib: f64, steal: f64) -> Value {
        json!({
            "comparisons": [{"problem": "fib", "case": "30", "rows": [
                {"name": "sinew", "threads": 1, "ns": [fib, 9.0 * fib, fib]},
                {"name": "rayon", "threads": 1, "ns": []},
            ]}],
            "measurements": [{"name": "latency", "lines": [
                {"what": "a steal", "figures": [["median", steal], ["90 %", 1.0]]},
            ]}],
        })
    }

    /// Catches: a row that is left out, and a figure of another row or rank.
    #[test]
    fn a_report_has_a_figure_for_each_row_with_times() {
        let figures = figures(&report(2.0, 7.0));
        let expected = [("fib, 30, sinew, threads 1", 2.0), ("latency, a steal, median", 7.0)];
        assert!(figures.iter().map(|(name, value)| (name.as_str(), *value)).eq(expected));
    }

    /// Catches: a version that became slower and is called even, or the reverse.
    #[test]
    fn a_difference_counts_if_most_rounds_show_it() {
        let round =
            |fib: f64, steal: f64| [report(2.0, 7.0), report(fib, steal)].map(|r| figures(&r));
        let rounds = [round(2.2, 7.1), round(2.3, 6.9), round(2.1, 7.0), round(2.2, 7.2)];
        let rows = rows(&rounds);
        let seen: Vec<(&str, &str)> =
            rows.iter().map(|row| (row.name.as_str(), row.verdict())).collect();
        assert_eq!(
            seen,
            [("fib, 30, sinew, threads 1", "more"), ("latency, a steal, median", "even")]
        );
        assert!((rows[0].ratio[1] - 1.1).abs() < 1e-9, "{rows:?}");
        let text = table(&rows);
        assert!(
            text.ends_with("2 figures: 1 more, 1 even, 0 less; median ratio 1.000\n"),
            "{text}"
        );
        assert!(super::rows(&[]).is_empty());
    }
}
