//! Computes π as an integral, with the same bits for any number of threads.
//!
//! Shows: `reproducible`, `threads`, `with_state`.

use sinew::prelude::*;

fn main() {
    let steps = 2_000_000_u32;
    let width = 1.0 / f64::from(steps);
    let area = |i: u32| {
        let x = (f64::from(i) + 0.5) * width;
        4.0 / (1.0 + x * x) * width
    };
    let sums = [1, 2, 3, 4]
        .map(|threads| over(0..steps).threads(threads).reproducible().map(area).sum::<f64>());
    println!("{:.12} and bits {:x?}", sums[0], sums.map(f64::to_bits));
    assert!((sums[0] - std::f64::consts::PI).abs() < 1e-9);
    assert!(sums.iter().all(|sum| sum.to_bits() == sums[0].to_bits()));

    // A state for each worker: how the area is distributed over the height of the curve.
    let parts = over(0..steps).with_state(|| [0.0; 4]).for_each(|parts, i| {
        let height = area(i) / width;
        parts[(height - 1e-12) as usize] += area(i);
    });
    let total: f64 = parts.iter().flatten().sum();
    assert!((total - sums[0]).abs() < 1e-9);
}
