//! A bag of tasks over ranks: a row for each number of ranks.

use sinew_console::Failure;
use sinew_sim::NS;
use sinew_sim::ranks::{RanksReport, RanksSetup, run_ranks_while};

use super::args::SimArgs;
use super::rows::Rows;
use super::watch::Watch;

const TITLES: [&str; 9] = [
    "ranks",
    "time ms",
    "efficiency",
    "messages a unit",
    "failed a unit",
    "failed a rank",
    "gifts",
    "bytes a gift",
    "waves",
];

pub(super) fn rows(name: &str, args: &SimArgs, watch: &Watch) -> Result<Rows, Failure> {
    let text = name.split_once(':').map_or("", |(_, text)| text);
    let bag: RanksSetup = text.parse().map_err(Failure::usage)?;
    let numbers = if args.workers.is_empty() { vec![2] } else { args.workers.clone() };
    let setup = |&ranks: &usize| {
        let scaled = u32::try_from(ranks).ok().and_then(|ranks| bag.scaled(ranks));
        scaled.map(|setup| RanksSetup { seed: args.seed, ..setup }).ok_or_else(|| {
            Failure::Usage(format!(
                "{ranks} ranks: there are 1 to 1048576, and the one that stops is among them"
            ))
        })
    };
    // Checked before anything runs.
    let setups = numbers.iter().map(setup).collect::<Result<Vec<_>, _>>()?;
    let mut rows = Rows::new(&TITLES);
    for (at, &setup) in setups.iter().enumerate() {
        let goes_on = watch.run(at, setups.len(), &format!("{} ranks", setup.ranks));
        let Some(report) = run_ranks_while(setup, goes_on) else { break };
        rows.push(row(&setup, &report));
        if let Some(rank) = report.lost {
            let nodes = 100.0 * report.nodes as f64 / setup.nodes as f64;
            let line = format!("{} ranks: rank {rank} was lost after {nodes:.0} %", setup.ranks);
            rows.remarks.push(line);
        }
    }
    Ok(rows)
}

fn row(setup: &RanksSetup, report: &RanksReport) -> Vec<String> {
    let units = report.units.max(1) as f64;
    vec![
        setup.ranks.to_string(),
        format!("{:.3}", (report.time / NS) as f64 / 1e6),
        format!("{:.3}", report.efficiency(setup)),
        format!("{:.5}", report.messages as f64 / units),
        format!("{:.5}", report.refused as f64 / units),
        format!("{:.1}", report.refused as f64 / f64::from(setup.ranks)),
        report.gifts.to_string(),
        format!("{:.0}", report.gift_bytes as f64 / report.gifts.max(1) as f64),
        report.waves.to_string(),
    ]
}
