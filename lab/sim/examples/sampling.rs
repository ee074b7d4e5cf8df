//! The paper's figure: `cargo run --release -p sinew-sim --example sampling -- [RUNS]`.

use sinew_sim::figure::Figure;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runs = std::env::args().nth(1).map_or(Ok(100), |text| text.parse())?;
    println!("workers  samples  time   attempts  steals");
    for point in Figure::paper(runs).compute(|_| true)? {
        let relative = point.relative;
        println!(
            "{:>7}  {:>7}  {:.3}  {:>8.3}  {:>6.3}",
            point.workers, point.samples, relative.time, relative.attempts, relative.steals
        );
    }
    Ok(())
}
