//! Measures how long simulating a cluster takes: `cargo run --release -p sinew-sim --example
//! programs -- [MACHINES] [PROGRAMS] [MACHINE]`.

use std::time::Instant;

use sinew_policy::share::Policy;
use sinew_sim::programs::{Cluster, Mix, SECOND};
use sinew_topology::Machine;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: usize| arguments.get(at).map_or(Ok(usual), |text| text.parse());
    let (machines, programs) = (number(0, 1_000)?, number(1, 10_000)?);
    let machine: Machine =
        arguments.get(2).map_or("package:2 l3:2 core:8", String::as_str).parse()?;
    let mix = Mix::random(programs, machines * machine.pus().len(), 1);
    for policy in Policy::ALL.into_iter().filter(|policy| !policy.uses_power()) {
        let begin = Instant::now();
        let report =
            Cluster { policy, script: Mix::script(), ..Cluster::new(machine.clone(), machines) }
                .run(&mix)?;
        println!(
            "{policy}: {} events in {:.2} s; makespan {:.1} s, response {:.2} s, fairness {:.3}, \
             {} cores moved",
            report.events,
            begin.elapsed().as_secs_f64(),
            report.makespan as f64 / SECOND as f64,
            report.mean_response / SECOND as f64,
            report.fairness,
            report.moved
        );
    }
    Ok(())
}
