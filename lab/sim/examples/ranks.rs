//! Prints how a bag of tasks behaves at numbers of ranks:
//! `cargo run --release -p sinew-sim --example ranks -- 1,16,256 each=200000,shape=critical`. More
//! bags may follow, each with a table of its own.

use std::time::Instant;

use sinew_sim::NS;
use sinew_sim::ranks::{RanksSetup, run_ranks};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let numbers = words.first().map_or("1,16,256,4096", String::as_str);
    let bags = if words.len() > 1 { &words[1..] } else { &[String::new()] };
    for text in bags {
        let bag: RanksSetup = text.parse()?;
        println!("{text}");
        println!(
            "| ranks | efficiency | messages a unit | failed a unit | failed a rank | time s |"
        );
        println!("|---|---|---|---|---|---|");
        for ranks in numbers.split(',') {
            let setup = bag.scaled(ranks.parse()?).ok_or("at most 2^20 ranks")?;
            let began = Instant::now();
            let report = run_ranks(setup);
            let units = report.units as f64;
            println!(
                "| {ranks} | {:.3} | {:.5} | {:.5} | {:.1} | {:.3} |",
                report.efficiency(&setup),
                report.messages as f64 / units,
                report.refused as f64 / units,
                report.refused as f64 / f64::from(setup.ranks),
                (report.time / NS) as f64 / 1e9,
            );
            eprintln!("{} events in {:.1} s", report.events, began.elapsed().as_secs_f64());
        }
    }
    Ok(())
}
