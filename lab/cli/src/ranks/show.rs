//! The output of a run over ranks.

use std::time::Duration;

use serde::Serialize;
use sinew_console::{Failure, Table};
use sinew_dist::RankReport;
use sinew_dist::bag::BagCounts;

use super::program::Measured;
use crate::measure::{median, seconds};

impl Measured {
    fn serial_s(&self) -> f64 {
        self.serial.as_secs_f64()
    }

    fn parallel_s(&self) -> f64 {
        median(&self.parallel)
    }

    fn speed_up(&self) -> f64 {
        self.serial_s() / self.parallel_s().max(f64::MIN_POSITIVE)
    }

    fn workers(&self) -> usize {
        self.reports.iter().map(|one| one.workers).sum()
    }

    /// A count of the bags of all ranks.
    fn of_bags(&self, count: impl Fn(&BagCounts) -> u64) -> u64 {
        self.bags.iter().map(count).sum()
    }

    /// For each unit of the bag messages, and questions that were refused.
    fn a_unit(&self) -> Option<[f64; 2]> {
        let units = self.of_bags(|one| one.run) as f64;
        let sums = [self.of_bags(|one| one.sent), self.of_bags(|one| one.refused)];
        (units > 0.0).then(|| sums.map(|sum| sum as f64 / units))
    }
}

pub(super) fn text(name: &str, measured: &Measured) -> String {
    let (ranks, workers) = (measured.reports.len(), measured.workers());
    let verdict = if measured.right { "right" } else { "WRONG" };
    let mut lines = vec![
        format!(
            "{name} ({}), ranks: {ranks}, workers: {workers}, runs: {}",
            measured.size,
            measured.parallel.len()
        ),
        format!("  serial    {}", seconds(measured.serial_s())),
        format!("  parallel  {}", seconds(measured.parallel_s())),
        format!("  speed-up  {:.2}", measured.speed_up()),
    ];
    if let Some([messages, refused]) = measured.a_unit() {
        let units = measured.of_bags(|one| one.run);
        lines.push(format!(
            "  units     {units}; for a million of them {:.1} messages, {:.1} failed steals",
            messages * 1e6,
            refused * 1e6
        ));
    }
    lines.push(format!("  answer    {} ({verdict})", measured.answer));
    lines.join("\n") + "\n\n" + &table(measured)
}

/// A line for each rank, over all runs; the counts of the bag are those of the last one.
fn table(measured: &Measured) -> String {
    let mut table = Table::new(&[
        "rank", "machine", "workers", "waited", "lent", "messages", "bytes", "units", "came",
        "refused",
    ]);
    for (at, one) in measured.reports.iter().enumerate() {
        let bag = measured.bags.get(at);
        let count =
            |of: fn(&BagCounts) -> u64| bag.map_or("-".to_owned(), |bag| of(bag).to_string());
        table.row(vec![
            one.rank.to_string(),
            one.machine.clone(),
            one.workers.to_string(),
            seconds(one.waited_s),
            one.lent.to_string(),
            one.traffic.sent.to_string(),
            one.traffic.bytes.to_string(),
            count(|bag| bag.run),
            count(|bag| bag.units_taken),
            count(|bag| bag.refused),
        ]);
    }
    table.render()
}

/// The output of `--json`. Times are in seconds.
#[derive(Serialize)]
struct Report<'a> {
    application: &'a str,
    size: &'a str,
    ranks: usize,
    workers: usize,
    serial_s: [f64; 1],
    parallel_s: Vec<f64>,
    serial_median_s: f64,
    parallel_median_s: f64,
    speed_up: f64,
    messages_a_unit: Option<f64>,
    failed_steals_a_unit: Option<f64>,
    by_rank: Vec<ByRank<'a>>,
    answer: &'a str,
    right: bool,
}

#[derive(Serialize)]
struct ByRank<'a> {
    #[serde(flatten)]
    report: &'a RankReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    bag: Option<&'a BagCounts>,
}

pub(super) fn json(name: &str, measured: &Measured) -> Result<String, Failure> {
    let [messages, refused] = measured.a_unit().map_or([None; 2], |counts| counts.map(Some));
    let by_rank = |(at, report)| ByRank { report, bag: measured.bags.get(at) };
    let report = Report {
        application: name,
        size: &measured.size,
        ranks: measured.reports.len(),
        workers: measured.workers(),
        serial_s: [measured.serial_s()],
        parallel_s: measured.parallel.iter().map(Duration::as_secs_f64).collect(),
        serial_median_s: measured.serial_s(),
        parallel_median_s: measured.parallel_s(),
        speed_up: measured.speed_up(),
        messages_a_unit: messages,
        failed_steals_a_unit: refused,
        by_rank: measured.reports.iter().enumerate().map(by_rank).collect(),
        answer: &measured.answer,
        right: measured.right,
    };
    let json =
        serde_json::to_string_pretty(&report).map_err(|error| Failure::Output(error.into()))?;
    Ok(json + "\n")
}
