//! Fields of numbers: many short sweeps over a small one, and one sweep over rows of very different
//! cost.

use crate::work::{Scale, Work, work};
use rayon::prelude::*;

/// Rows of the plate that are one item.
const BAND: usize = 8;

struct Plate {
    side: usize,
    sweeps: usize,
}

impl Plate {
    fn run(&self, sweep: impl Fn(&[f32], &mut [f32])) -> Vec<f32> {
        let mut now: Vec<f32> =
            (0..self.side * self.side).map(|index| (index % 17) as f32).collect();
        let mut then = now.clone();
        for _ in 0..self.sweeps {
            sweep(&now, &mut then);
            std::mem::swap(&mut now, &mut then);
        }
        now
    }
}

/// One sweep over the band number `index`; the rim of the plate stays as it is.
fn band(side: usize, index: usize, now: &[f32], then: &mut [f32]) {
    for (line, then) in then.chunks_exact_mut(side).enumerate() {
        let y = index * BAND + line;
        if y == 0 || y + 1 == side {
            continue;
        }
        let [above, here, below] = [y - 1, y, y + 1].map(|y| &now[y * side..(y + 1) * side]);
        for x in 1..side - 1 {
            then[x] = 0.25 * (above[x] + below[x] + here[x - 1] + here[x + 1]);
        }
    }
}

pub(super) fn stencil(scale: Scale) -> Box<dyn Work> {
    let serial = |plate: &Plate| {
        let side = plate.side;
        plate.run(|now, then| {
            then.chunks_mut(side * BAND)
                .enumerate()
                .for_each(|(index, rows)| band(side, index, now, rows));
        })
    };
    let parallel = |plate: &Plate| {
        let side = plate.side;
        plate.run(|now, then| {
            then.par_chunks_mut(side * BAND)
                .enumerate()
                .for_each(|(index, rows)| band(side, index, now, rows));
        })
    };
    work(Plate { side: scale.pick(256, 32), sweeps: scale.pick(200, 4) }, serial, parallel)
}

const MOST_STEPS: u32 = 300;

/// Number of steps until the point leaves, or [`MOST_STEPS`].
fn steps(x: f64, y: f64) -> u32 {
    let (mut re, mut im) = (0.0, 0.0);
    for step in 0..MOST_STEPS {
        if re * re + im * im > 4.0 {
            return step;
        }
        (re, im) = (re * re - im * im + x, 2.0 * re * im + y);
    }
    MOST_STEPS
}

fn picture_row(side: usize, row: usize) -> u32 {
    let place = |index: usize| index as f64 / side as f64 * 3.0;
    (0..side).map(|column| steps(place(column) - 2.1, place(row) - 1.5)).sum()
}

pub(super) fn mandelbrot(scale: Scale) -> Box<dyn Work> {
    let serial = |side: &usize| (0..*side).map(|row| picture_row(*side, row)).collect::<Vec<u32>>();
    let parallel =
        |side: &usize| (0..*side).into_par_iter().map(|row| picture_row(*side, row)).collect();
    work(scale.pick(160, 24), serial, parallel)
}
