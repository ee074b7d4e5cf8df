//! Jacobi's method on a plate with a hot edge, over ranks: equal to a serial program, bit by bit.
//!
//! ```text
//! cargo run --release -p sinew-dist --example jacobi -- 1000 --threads 4
//! ```

mod ranks;

use sinew::{Edge, Neighbourhood};
use sinew_dist::World;

const SWEEPS: usize = 50;

fn main() {
    let (ranks, side) = ranks::arguments("500");
    let side = side.parse().ok().filter(|side| (3..=10_000).contains(side));
    let side = side.unwrap_or_else(|| ranks::usage("a side from 3 to 10000"));
    ranks::run(ranks, |world| heat(world, side));
}

fn start(row: usize) -> f64 {
    if row == 0 { 100.0 } else { 0.0 }
}

fn mean(around: Neighbourhood<'_, f64, 2, 1>) -> f64 {
    0.25 * (around[[-1, 0]] + around[[1, 0]] + around[[0, -1]] + around[[0, 1]])
}

fn heat(world: &World, side: usize) {
    let mut plate = world.grid([side, side]).init(|[row, _]| start(row));
    plate.edges([Edge::Keep; 2]);
    let before = world.traffic();
    plate.sweeps(SWEEPS, mean);
    let bytes = world.all_reduce(world.traffic().bytes - before.bytes, |a, b| a + b);
    let plate = plate.gather();
    if world.rank() > 0 {
        return;
    }
    assert!(plate == serial(side), "another plate than one thread has");
    let halos = 2 * (world.size() as usize).min(side).saturating_sub(1) * side * SWEEPS;
    println!("{SWEEPS} sweeps of {side} x {side}: as serial; {} ranks", world.size());
    if halos > 0 {
        println!("{} bytes for each halo element", bytes as f64 / halos as f64);
    }
}

fn serial(side: usize) -> Vec<f64> {
    let mut now: Vec<f64> = (0..side * side).map(|at| start(at / side)).collect();
    let mut next = now.clone();
    for _ in 0..SWEEPS {
        for row in 1..side - 1 {
            for at in row * side + 1..(row + 1) * side - 1 {
                next[at] = 0.25 * (now[at - side] + now[at + side] + now[at - 1] + now[at + 1]);
            }
        }
        std::mem::swap(&mut now, &mut next);
    }
    now
}
