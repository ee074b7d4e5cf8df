//! A picture of the Mandelbrot set over ranks. Its rows are uneven: those in the middle cost most.
//! After each frame rows move to the ranks that had less to do. Equal to a serial program.
//!
//! ```text
//! cargo run --release -p sinew-dist --example mandelbrot -- 400 --threads 4
//! ```

mod ranks;
mod result;

use std::time::Instant;

use sinew_dist::World;

const FRAMES: usize = 6;

const LIMIT: u16 = 1_000;

fn main() {
    let (ranks, side) = ranks::arguments("300");
    let side = side.parse().ok().filter(|side| (1..=10_000).contains(side));
    let side = side.unwrap_or_else(|| ranks::usage("a side from 1 to 10000"));
    ranks::run(ranks, |world| paint(world, side));
}

/// The iterations after which the points of a row leave the disc. Each frame shows a smaller part.
fn row(row: usize, side: usize, frame: usize) -> Vec<u16> {
    let size = (0..frame).fold(3.0, |size, _| size * 0.9);
    let along = |at: usize| (at as f64 + 0.5) / side as f64 - 0.5;
    let point = |column: usize| {
        let (x, y) = (-0.6 + size * along(column), 0.2 + size * along(row));
        let (mut a, mut b, mut count) = (0.0, 0.0, 0);
        while a * a + b * b <= 4.0 && count < LIMIT {
            (a, b) = (a * a - b * b + x, 2.0 * a * b + y);
            count += 1;
        }
        count
    };
    (0..side).map(point).collect()
}

fn paint(world: &World, side: usize) {
    let mut rows = world.block(side).init(|row| row);
    let (mut loads, mut image) = (Vec::new(), Vec::new());
    world.barrier();
    let begin = Instant::now();
    for frame in 0..FRAMES {
        let painted = rows.map(|at| row(*at, side, frame)).serde();
        // The cost of a row is the number of its iterations, whatever else the machine does.
        let own: u64 = painted.own().iter().flatten().map(|count| u64::from(*count)).sum();
        let all = world.all_gather(&own);
        let mean = all.iter().sum::<u64>() as f64 / f64::from(world.size());
        loads.push(all.into_iter().max().unwrap_or(0) as f64 / mean);
        rows = rows.rebalance_by(own);
        if frame + 1 == FRAMES {
            image = painted.gather();
        }
    }
    let took = begin.elapsed().as_secs_f64();
    if world.rank() == 0 {
        let serial = (0..side).map(|at| row(at, side, FRAMES - 1));
        assert!(image.iter().cloned().eq(serial), "another picture than one thread has");
        let number = result::number(image.iter().flatten().map(|count| u64::from(*count)));
        let loads: Vec<String> = loads.iter().map(|load| format!("{load:.2}")).collect();
        println!("{side} x {side}: result {number:016x}; {} ranks", world.size());
        let frame = 1e3 * took / FRAMES as f64;
        println!(
            "{frame:.1} ms a frame; the largest load of a rank by the mean, frame by frame: {}",
            loads.join(" ")
        );
    }
}
