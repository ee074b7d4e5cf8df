//! Jobs whose ranks share machines, in each way to divide the cores, and how long decisions take:
//! `cargo run --release -p sinew-sim --example jobs -- [MACHINES] [JOBS] [USED] [SEED]`.

use std::time::Instant;

use sinew_sim::jobs::{Machines, Way, random, run_jobs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: f64| words.get(at).map_or(Ok(usual), |text| text.parse());
    let (machines, count) = (number(0, 1_000.0)? as usize, number(1, 10_000.0)? as usize);
    let (used, seed) = (number(2, 0.7)?, number(3, 1.0)? as u64);
    let jobs = random(count, machines, 16, used, seed);
    println!(
        "| way | makespan s | total s | longest s | slow-down | worst | moved | decisions | ranks \
         | mean µs | longest µs |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for way in Way::ALL {
        let (mut all, mut longest, mut times) = (0.0, 0.0_f64, 0);
        let report = run_jobs(&Machines::new(machines, way), &jobs, &mut |decide| {
            let began = Instant::now();
            decide();
            let micros = began.elapsed().as_secs_f64() * 1e6;
            (all, longest, times) = (all + micros, longest.max(micros), times + 1);
        });
        println!(
            "| {} | {:.0} | {:.0} | {:.0} | {:.2} | {:.1} | {} | {} | {} | {:.0} | {:.0} |",
            way.name(),
            report.makespan,
            report.total,
            report.longest,
            report.mean_slowdown,
            report.worst_slowdown,
            report.moved,
            report.decisions,
            report.most_ranks,
            all / f64::from(times.max(1)),
            longest,
        );
    }
    Ok(())
}
