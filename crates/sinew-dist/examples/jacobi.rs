//! Jacobi's method on a plate with a hot edge, over ranks: equal to a serial program, bit by bit.
//!
//! ```text
//! cargo run --release -p sinew-dist --example jacobi -- 1000 --threads 4
//! ```

mod ranks;
mod result;

use std::time::Instant;

use sinew::Edge;
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

fn heat(world: &World, side: usize) {
    let mut plate = world.grid([side, side]).init(|[row, _]| start(row));
    plate.edges([Edge::Keep; 2]);
    world.barrier();
    let (before, begin) = (world.traffic().bytes, Instant::now());
    plate.star_sweeps::<1, _>(SWEEPS, |t| 0.25 * (t[[-1, 0]] + t[[1, 0]] + t[[0, -1]] + t[[0, 1]]));
    let (bytes, took) = (world.traffic().bytes - before, begin.elapsed().as_secs_f64());
    let counts = plate.halo_counts();
    let own = (bytes, counts.elements, counts.messages, took);
    let join = |a: (u64, u64, u64, f64), b: (u64, u64, u64, f64)| {
        (a.0 + b.0, a.1 + b.1, a.2 + b.2, a.3.max(b.3))
    };
    let (bytes, elements, messages, took) = world.all_reduce(own, join);
    let plate = plate.gather();
    if world.rank() > 0 {
        return;
    }
    assert!(plate == serial(side), "another plate than one thread has");
    let number = result::number(plate.iter().map(|element| element.to_bits()));
    let ranks = world.size();
    println!("{SWEEPS} sweeps of {side} x {side}: result {number:016x}; {ranks} ranks");
    println!("{:.3} ms a sweep; {messages} messages, {bytes} bytes", 1e3 * took / SWEEPS as f64);
    if elements > 0 {
        println!("{} bytes for each halo element", bytes as f64 / elements as f64);
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
