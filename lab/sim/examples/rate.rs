//! Measures how many events per second the simulator handles: `cargo run --release -p sinew-sim
//! --example rate -- [WORKERS] [DEPTH] [POLICY]`.

use std::time::Instant;

use sinew_sim::workload::Tree;
use sinew_sim::{Costs, Duration, Idle, Setup, Simulation};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: usize| arguments.get(at).map_or(Ok(usual), |text| text.parse());
    let (workers, depth) = (number(0, 1024)?, number(1, 18)? as u32);
    let victims =
        arguments.get(2).map_or(Ok(sinew_policy::victim::Victims::Random), |text| text.parse())?;
    let costs = Costs { factors: Vec::new(), refill: Vec::new(), ..Costs::usual() };
    for idle in [Idle::Spin, Idle::Park { rounds: 4 }] {
        let tree = Tree::new(depth, Duration::Exponential(1_000_000), 1);
        let setup = Setup { idle, victims, costs: costs.clone(), ..Setup::new(workers) };
        let begin = Instant::now();
        let report = Simulation::new(setup, &tree)?.run()?;
        let seconds = begin.elapsed().as_secs_f64();
        let events = report.counts.events as f64;
        println!(
            "{workers} workers, 2^{depth} leaves, {idle:?}: {events} events in {seconds:.3} s, \
             {:.2} million a second; speed-up {:.1}, trace {:016x}",
            events / seconds / 1e6,
            report.speedup(),
            report.trace
        );
    }
    Ok(())
}
