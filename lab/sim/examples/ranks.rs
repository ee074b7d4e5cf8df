//! Prints how a bag of tasks behaves at numbers of ranks up to one:
//! `cargo run --release -p sinew-sim --example ranks -- 65536 200000 1000 100`. The other numbers
//! are the nodes a rank, of a microsecond each, the most nodes that are one unit, and the
//! microseconds of a batch.

use sinew_sim::ranks::{RanksSetup, run_ranks};

fn main() {
    let numbers = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let numbers: Vec<u64> = numbers.collect::<Result<_, _>>().expect("arguments are numbers");
    let number = |at: usize, default| numbers.get(at).copied().unwrap_or(default);
    let (most, each, grain) = (number(0, 65_536), number(1, 200_000), number(2, 1_000));
    let batch_ns = 1_000 * number(3, 100);
    println!("{each} nodes a rank, at most {grain} a unit, batches of {batch_ns} ns");
    println!(
        "| ranks | efficiency | messages a unit | failed steals a unit | failed steals a rank |"
    );
    println!("|---|---|---|---|---|");
    let mut ranks = 1_u32;
    while u64::from(ranks) <= most {
        let nodes = each * u64::from(ranks);
        let report = run_ranks(RanksSetup { grain, batch_ns, ..RanksSetup::new(ranks, nodes) });
        let units = report.units as f64;
        println!(
            "| {ranks} | {:.3} | {:.4} | {:.4} | {:.1} |",
            report.efficiency(ranks),
            report.messages as f64 / units,
            report.refused as f64 / units,
            report.refused as f64 / f64::from(ranks),
        );
        ranks *= 4;
    }
}
