//! How the shuttle tests of all crates explore schedules.

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, MaxSteps, Runner};

/// Schedules for each test: the variable `SINEW_SHUTTLE_ITERATIONS`, or 500.
pub fn schedules() -> usize {
    let schedules = std::env::var("SINEW_SHUTTLE_ITERATIONS").ok();
    schedules.and_then(|text| text.parse().ok()).unwrap_or(500)
}

/// The settings for programs that run a pool.
pub fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = 1 << 19;
    // Thousands are usual. A program that reaches this spins.
    config.max_steps = MaxSteps::FailAfter(300_000);
    config
}

/// Runs `program` under [`schedules`]: half of them at random, half with `depth - 1` long pauses
/// (PCT).
///
/// # Panics
///
/// If `program` does; the checker prints the schedule.
pub fn explore(program: fn(), depth: usize) {
    let half = schedules().div_ceil(2);
    Runner::new(RandomScheduler::new(half), config()).run(program);
    Runner::new(PctScheduler::new(depth, half), config()).run(program);
}
