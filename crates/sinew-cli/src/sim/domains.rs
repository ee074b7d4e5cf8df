//! Queues for parts of the machine: a row for each order in which they are served and each way to spread tasks.

use sinew_sim::domains::{Domains, DomainsReport, Homes, Order};

use super::watch::Watch;
use super::{Rows, failed, micros};
use crate::args::SimArgs;
use crate::failure::Failure;

const TITLES: [&str; 7] = ["order", "homes", "time us", "speed-up", "near %", "far %", "pending"];

/// The machine where none is described.
const USUAL: &str = "package:4 core:2";

pub(super) fn rows(name: &str, args: &SimArgs, watch: &Watch) -> Result<Rows, Failure> {
    let tasks = match name.split_once(':') {
        None => 3_600,
        Some((_, text)) => text.parse().ok().filter(|tasks| *tasks <= 100_000_000).ok_or_else(|| {
            Failure::Usage(format!(
                "`{text}` is not a number of tasks up to 100000000: write for example domains:3600"
            ))
        })?,
    };
    let machine = match super::setup::machine(args)? {
        Some(machine) => machine,
        None => USUAL.parse().map_err(Failure::usage)?,
    };
    let domains = Domains { task: args.leaf, seed: args.seed, ..Domains::new(machine, tasks) };
    let workers = args.workers.first().copied().unwrap_or(domains.workers);
    let mut rows = Rows::new(&TITLES);
    for order in Order::ALL {
        for homes in Homes::ALL {
            if watch.has_enough() {
                return Ok(rows);
            }
            let setup = Domains { order, homes, workers, ..domains.clone() };
            rows.rows.push(row(&setup, &setup.run().map_err(failed)?));
        }
    }
    Ok(rows)
}

fn row(setup: &Domains, report: &DomainsReport) -> Vec<String> {
    let all = (report.near + report.far).max(1) as f64;
    vec![
        setup.order.name().to_owned(),
        setup.homes.name().to_owned(),
        format!("{:.3}", micros(report.time)),
        format!("{:.2}", report.work as f64 / report.time.max(1) as f64),
        format!("{:.1}", 100.0 * report.near as f64 / all),
        format!("{:.1}", 100.0 * report.far as f64 / all),
        report.pending.to_string(),
    ]
}
