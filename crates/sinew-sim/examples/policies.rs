//! The tables of `docs/simulation.md`: `cargo run --release -p sinew-sim --example policies -- sizes [MOST]`, and `… -- machines`.

use sinew_policy::victim::Victims;
use sinew_sim::workload::{Series, Tree};
use sinew_sim::{Costs, Duration, Setup, Simulation, Stack};

/// Rules of every kind.
const POLICIES: [&str; 11] = [
    "random",
    "set:12,4",
    "sample:2",
    "sample:sqrt",
    "sample-set:2,12,4",
    "nearest",
    "nearest-random:4",
    "distance",
    "dealt",
    "most-loaded:5",
    "sorted:5,machine,stay",
];

/// Rules that look at everybody now and then are not run on more workers than this.
const LOOKS: usize = 4_096;

/// Runs of which the mean is taken.
const SEEDS: u64 = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("machines") => machines(),
        _ => sizes(arguments.get(1).map_or(Ok(65_536), |text| text.parse())?),
    }
}

/// Efficiency by number of workers: 16 leaves of 10 us a worker.
fn sizes(most: usize) -> Result<(), Box<dyn std::error::Error>> {
    let sizes: Vec<usize> =
        (2..=8).map(|power| 1 << (2 * power)).filter(|&workers| workers <= most).collect();
    heading("policy", sizes.iter().map(usize::to_string));
    for name in POLICIES {
        let victims: Victims = name.parse()?;
        let mut row = vec![name.to_owned()];
        for &workers in &sizes {
            let looks = name.starts_with("most") || name.starts_with("sorted");
            row.push(if looks && workers > LOOKS { "-".to_owned() } else { efficiency(workers, victims)? });
        }
        println!("| {} |", row.join(" | "));
    }
    Ok(())
}

fn efficiency(workers: usize, victims: Victims) -> Result<String, Box<dyn std::error::Error>> {
    let text = match workers {
        0..=64 => format!("l3:{} core:8", workers.div_ceil(8)),
        _ => format!("package:{} l3:8 core:8", workers.div_ceil(64)),
    };
    let machine = sinew_sim::machine(&text)?;
    let seeds = if workers > LOOKS { 1 } else { SEEDS };
    let mut sum = 0.0;
    for seed in 0..seeds {
        let tree = Tree::new(workers.ilog2() + 4, Duration::Exponential(10_000_000), seed);
        let setup = Setup { machine: Some(machine.clone()), victims, seed, ..Setup::new(workers) };
        sum += Simulation::new(setup, &tree)?.run()?.speedup() / workers as f64;
    }
    Ok(format!("{:.2}", sum / seeds as f64))
}

/// Time on the thesis' machines against random victims: regions of 256 leaves of 5 us with 5 us of serial work between.
fn machines() -> Result<(), Box<dyn std::error::Error>> {
    let names = ["dunnington", "termi", "sandman"];
    heading("policy", names.iter().flat_map(|name| [(*name).to_owned(), format!("{name}, free")]));
    let base = row("random", &names)?;
    for name in POLICIES.into_iter().chain(["most-loaded:1", "sorted:10,package,restart"]) {
        let times = row(name, &names)?;
        let cells: Vec<String> =
            times.iter().zip(&base).map(|(time, base)| format!("{:.3}", time / base)).collect();
        println!("| {name} | {} |", cells.join(" | "));
    }
    Ok(())
}

/// Times with costs, and with none, on each machine.
fn row(name: &str, machines: &[&str]) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let victims: Victims = name.parse()?;
    let mut times = Vec::new();
    for machine in machines {
        let machine = sinew_sim::machine(machine)?;
        for (costs, stack) in [(Costs::usual(), Stack::USUAL), (Costs::ZERO, Stack::Open)] {
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
