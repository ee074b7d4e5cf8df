//! The tables of `docs/simulation.md`: `cargo run --release -p sinew-sim --example policies --
//! sizes [LEAST [MOST [SECONDS [POLICY …]]]]`, and `… -- machines`.
//!
//! The first mode prints each result and its time to standard error, because it runs for a while.
//! No run begins after the given number of seconds; a missing result is printed as `-`.

use std::time::Instant;

use sinew_policy::victim::Victims;
use sinew_sim::workload::{Serial, Series, Tree};
use sinew_sim::{Costs, Duration, Setup, Simulation, Stack};
use sinew_topology::Machine;

/// Rules of every kind, run first.
const POLICIES: [&str; 12] = [
    "random",
    "set:12,4",
    "sample:2",
    "sample:sqrt",
    "sample-set:2,12,4",
    "nearest",
    "nearest-random:4",
    "distance",
    "piece-per-package",
    "cats:200",
    "most-loaded:5",
    "sorted:5,machine,stay",
];

/// The other rules of the thesis.
const THESIS: [&str; 8] = [
    "most-loaded:1",
    "sorted:5,machine,restart",
    "sorted:5,package,stay",
    "sorted:5,package,restart",
    "sorted:10,machine,stay",
    "sorted:10,machine,restart",
    "sorted:10,package,stay",
    "sorted:10,package,restart",
];

const SIZES: [usize; 9] = [2, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536];

/// Number of runs whose mean is taken, and the largest number of workers for which it is; larger
/// pools run once.
const SEEDS: u64 = 3;
const SEVERAL: usize = 1_024;

/// A run stops after this many events; the printed value is then a bound.
const MOST_EVENTS: u64 = 256 << 20;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: usize| arguments.get(at).map_or(Ok(usual), |text| text.parse());
    match arguments.first().map(String::as_str) {
        Some("machines") => machines(),
        _ => {
            let policies = policies(arguments.get(4..).unwrap_or_default())?;
            sizes(&policies, number(1, 2)?, number(2, 65_536)?, number(3, usize::MAX)? as f64)
        }
    }
}

/// The named policies, or all of them, in the order in which they run.
fn policies(names: &[String]) -> Result<Vec<Victims>, Failure> {
    if !names.is_empty() {
        return Ok(names.iter().map(|name| name.parse()).collect::<Result<_, _>>()?);
    }
    let first: Result<Vec<Victims>, _> = POLICIES.iter().map(|name| name.parse()).collect();
    let mut all = first?;
    let others: Vec<Victims> =
        Victims::all().iter().copied().filter(|victims| !all.contains(victims)).collect();
    all.extend(others);
    Ok(all)
}

/// Efficiency by number of workers under every policy, with 16 leaves of 10 us per worker.
fn sizes(policies: &[Victims], least: usize, most: usize, seconds: f64) -> Result<(), Failure> {
    let begin = Instant::now();
    let sizes: Vec<usize> =
        SIZES.into_iter().filter(|workers| (least..=most).contains(workers)).collect();
    let mut rows: Vec<Vec<String>> =
        policies.iter().map(|victims| vec![format!("`{victims}`")]).collect();
    for &workers in &sizes {
        for (row, &victims) in rows.iter_mut().zip(policies) {
            let since = begin.elapsed().as_secs_f64();
            let cell = if since > seconds { "-".to_owned() } else { efficiency(workers, victims)? };
            let took = begin.elapsed().as_secs_f64() - since;
            eprintln!("{workers} workers, {victims}: {cell} in {took:.1} s");
            row.push(cell);
        }
    }
    heading("policy", sizes.iter().map(usize::to_string));
    rows.iter().for_each(|row| println!("| {} |", row.join(" | ")));
    println!("\n{:.0} s in all", begin.elapsed().as_secs_f64());
    Ok(())
}

fn efficiency(workers: usize, victims: Victims) -> Result<String, Failure> {
    let text = match workers {
        0..=64 => format!("l3:{} core:8", workers.div_ceil(8)),
        _ => format!("package:{} l3:8 core:8", workers.div_ceil(64)),
    };
    let machine: Machine = text.parse()?;
    let seeds = if workers > SEVERAL { 1 } else { SEEDS };
    let (mut sum, mut is_whole) = (0.0, true);
    for seed in 0..seeds {
        let tree = Tree::new(workers.ilog2() + 4, Duration::Exponential(10_000_000), seed);
        let setup = Setup { machine: Some(machine.clone()), victims, seed, ..Setup::new(workers) };
        let run = Simulation::new(setup, &tree)?;
        let report = run.run_while(|progress| progress.events < MOST_EVENTS)?;
        // The unfinished work takes at least its share.
        let work = Serial::of(&tree).work;
        let rest = (work - report.work) as f64 / workers as f64;
        sum += work as f64 / (report.time as f64 + rest) / workers as f64;
        is_whole &= report.is_whole;
    }
    let mean = sum / seeds as f64;
    Ok(if is_whole {
        format!("{mean:.2}")
    } else {
        format!("< {:.2}", (mean * 100.0).ceil() / 100.0)
    })
}

/// Time relative to random victims on the machines of the thesis: regions of 256 leaves of 5 us,
/// separated by 5 us of serial work.
fn machines() -> Result<(), Failure> {
    let names = ["dunnington", "termi", "sandman"];
    heading("policy", names.iter().flat_map(|name| [(*name).to_owned(), format!("{name}, free")]));
    let base = row("random", &names)?;
    for name in POLICIES.into_iter().chain(THESIS) {
        let times = row(name, &names)?;
        let cells: Vec<String> =
            times.iter().zip(&base).map(|(time, base)| format!("{:.3}", time / base)).collect();
        println!("| {name} | {} |", cells.join(" | "));
    }
    Ok(())
}

/// Times on each machine, with costs and without.
fn row(name: &str, machines: &[&str]) -> Result<Vec<f64>, Failure> {
    let victims: Victims = name.parse()?;
    let mut times = Vec::new();
    for machine in machines {
        let machine: Machine = machine.parse()?;
        for (costs, stack) in [(Costs::usual(), Stack::default()), (Costs::ZERO, Stack::Open)] {
            let mut sum = 0.0;
            for seed in 0..5 {
                let leaf = Duration::Exponential(5_000_000);
                let series = Series::new(Tree::new(8, leaf, seed), 20, Duration::ns(5_000));
                let workers = machine.pus().len();
                let costs = costs.clone();
                let setup = Setup {
                    machine: Some(machine.clone()),
                    victims,
                    costs,
                    stack,
                    seed,
                    ..Setup::new(workers)
                };
                sum += Simulation::new(setup, &series)?.run()?.time as f64;
            }
            times.push(sum);
        }
    }
    Ok(times)
}

fn heading(first: &str, titles: impl Iterator<Item = String>) {
    let titles: Vec<String> = titles.collect();
    println!("| {first} | {} |", titles.join(" | "));
    println!("|---|{}", "---|".repeat(titles.len()));
}
