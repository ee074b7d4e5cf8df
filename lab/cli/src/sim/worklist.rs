//! Transactional worklists: a row for each number of cores.

use sinew::worklist::Tuning as Asked;
use sinew_console::Failure;
use sinew_sim::worklist::{Mix, Tuning, Worklist, WorklistReport};

use super::args::SimArgs;
use super::rows::{Rows, failed, micros};
use super::watch::Watch;
use super::{prices, setup};

const TITLES: [&str; 12] = [
    "cores", "time us", "speed-up", "commits", "aborts", "stalls", "wasted %", "steals", "swaps",
    "tokens", "settings", "trace",
];

pub(super) fn rows(name: &str, args: &SimArgs, watch: &Watch) -> Result<Rows, Failure> {
    let text = name.split_once(':').map_or("", |(_, text)| text);
    let mix: Mix = text.parse().map_err(Failure::usage)?;
    let mix = Mix { unit: args.leaf, seed: args.seed, ..mix };
    let cores = setup::workers(args)?;
    let lists: Vec<Worklist> = cores.iter().map(|&cores| list(args, cores)).collect();
    // Checked before anything runs.
    lists.iter().try_for_each(|list| list.check(&mix).map_err(Failure::usage))?;
    let mut rows = Rows::new(&TITLES);
    for (at, list) in lists.iter().enumerate() {
        let goes_on = watch.run(at, lists.len(), &format!("{} cores", list.cores));
        let report = list.run_while(&mix, goes_on).map_err(failed)?;
        rows.push(row(list.cores, &report));
        if args.path {
            rows.remarks.push(report.path.to_string());
        }
        if !report.is_whole || watch.has_enough() {
            break;
        }
    }
    Ok(rows)
}

fn list(args: &SimArgs, cores: usize) -> Worklist {
    let list = Worklist { seed: args.seed, ..Worklist::new(cores, tuning(args, cores)) };
    let mut list = if args.free { list.free() } else { list };
    prices::set_worklist(&args.costs, &mut list);
    list
}

/// The requested tuning, or the autotuner.
fn tuning(args: &SimArgs, cores: usize) -> Tuning {
    match args.tune {
        Some(Asked::Fixed(settings)) => {
            let mut settings = settings;
            settings.threads = settings.threads.min(cores);
            Tuning::Fixed(settings)
        }
        Some(Asked::AutoWith(knobs)) => Tuning::Auto(knobs),
        _ => Tuning::Auto(sinew_sim::worklist::Knobs::best()),
    }
}

fn row(cores: usize, report: &WorklistReport) -> Vec<String> {
    let counts = &report.counts;
    let wasted = report.wasted as f64 / (report.time.max(1) as f64 * cores as f64);
    let mut row = vec![
        cores.to_string(),
        format!("{:.3}", micros(report.time)),
        format!("{:.2}", report.speedup()),
        counts.commits.to_string(),
        counts.aborts.to_string(),
        counts.stalls.to_string(),
        format!("{:.1}", 100.0 * wasted),
    ];
    row.extend([report.steals, report.swaps, report.tokens].map(|count| count.to_string()));
    row.push(report.settings.to_string());
    row.push(format!("{:016x}", report.trace));
    row
}
