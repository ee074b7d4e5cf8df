//! Locality domains: a row for each number of workers, order of queues and placement of tasks.

use sinew_console::Failure;
use sinew_sim::domains::{Domains, DomainsReport, Order, Placement};

use super::args::SimArgs;
use super::rows::{Rows, failed, micros};
use super::watch::Watch;
use super::{prices, setup};

const TITLES: [&str; 9] =
    ["workers", "order", "placement", "time us", "speed-up", "near %", "far %", "pending", "trace"];

/// The default machine.
const USUAL: &str = "opteron";

pub(super) fn rows(name: &str, args: &SimArgs, watch: &Watch) -> Result<Rows, Failure> {
    let tasks = match name.split_once(':') {
        None => 3_600,
        Some((_, text)) => text.parse().ok().filter(|tasks| *tasks <= 100_000_000).ok_or_else(|| {
            Failure::Usage(format!(
                "`{text}` is not a number of tasks up to 100000000: write for example domains:3600"
            ))
        })?,
    };
    let machine = match setup::machine(args)? {
        Some(machine) => machine,
        None => USUAL.parse().map_err(Failure::usage)?,
    };
    let mut domains = Domains { task: args.leaf, seed: args.seed, ..Domains::new(machine, tasks) };
    if args.free {
        domains = domains.free();
    }
    prices::set_domains(&args.costs, &mut domains);
    let workers =
        if args.workers.is_empty() { vec![domains.workers] } else { args.workers.clone() };
    let scopes = scopes(&domains, &workers);
    // Checked before anything runs.
    scopes.iter().try_for_each(|scope| scope.check().map_err(Failure::usage))?;
    let mut rows = Rows::new(&TITLES);
    for (at, scope) in scopes.iter().enumerate() {
        let title = format!(
            "{} workers, {}, {}",
            scope.workers,
            scope.order.name(),
            scope.placement.name()
        );
        let report = scope.run_while(watch.run(at, scopes.len(), &title)).map_err(failed)?;
        rows.push(row(scope, &report));
        if !report.is_whole || watch.has_enough() {
            break;
        }
    }
    Ok(rows)
}

/// Each order with each placement, for each number of workers.
fn scopes(domains: &Domains, workers: &[usize]) -> Vec<Domains> {
    let of_order = |workers: usize, order: Order| {
        Placement::ALL.map(|placement| Domains { order, placement, workers, ..domains.clone() })
    };
    workers
        .iter()
        .flat_map(|&workers| Order::ALL.into_iter().flat_map(move |order| of_order(workers, order)))
        .collect()
}

fn row(setup: &Domains, report: &DomainsReport) -> Vec<String> {
    let all = (report.near + report.far).max(1) as f64;
    vec![
        setup.workers.to_string(),
        setup.order.name().to_owned(),
        setup.placement.name().to_owned(),
        format!("{:.3}", micros(report.time)),
        format!("{:.2}", report.work as f64 / report.time.max(1) as f64),
        format!("{:.1}", 100.0 * report.near as f64 / all),
        format!("{:.1}", 100.0 * report.far as f64 / all),
        report.pending.to_string(),
        format!("{:016x}", report.trace),
    ]
}
