//! The game of life on a torus, a row an item: once with rows written in place, once with a serial
//! source of rows.

use crate::work::{Scale, Work, work};
use rayon::prelude::*;

struct Start {
    side: usize,
    cells: Vec<u8>,
    generations: usize,
}

impl Start {
    fn new(scale: Scale) -> Self {
        let side = scale.pick(256, 32);
        let mut random = fastrand::Rng::with_seed(7);
        let cells = (0..side * side).map(|_| u8::from(random.u8(..) < 80)).collect();
        Self { side, cells, generations: scale.pick(40, 4) }
    }

    /// Lets the generations follow one another; `next` makes one from the one before.
    fn run(&self, next: impl Fn(&[u8], &mut [u8])) -> Vec<u8> {
        let (mut now, mut then) = (self.cells.clone(), vec![0; self.cells.len()]);
        for _ in 0..self.generations {
            next(&now, &mut then);
            std::mem::swap(&mut now, &mut then);
        }
        now
    }
}

/// The next generation of row `y`.
fn row(side: usize, now: &[u8], y: usize, then: &mut [u8]) {
    let line = |y: usize| &now[y * side..(y + 1) * side];
    let lines = [line((y + side - 1) % side), line(y), line((y + 1) % side)];
    let column = |x: usize| lines.iter().map(|line| line[x]).sum::<u8>();
    let (mut before, mut here) = (column(side - 1), column(0));
    for (x, cell) in then.iter_mut().enumerate() {
        let after = column(if x + 1 == side { 0 } else { x + 1 });
        let neighbours = before + here + after - lines[1][x];
        *cell = u8::from(neighbours == 3 || (neighbours == 2 && lines[1][x] == 1));
        (before, here) = (here, after);
    }
}

fn serially(start: &Start) -> Vec<u8> {
    let side = start.side;
    start.run(|now, then| {
        then.chunks_mut(side).enumerate().for_each(|(y, line)| row(side, now, y, line));
    })
}

pub(super) fn by_rows(scale: Scale) -> Box<dyn Work> {
    let parallel = |start: &Start| {
        let side = start.side;
        start.run(|now, then| {
            then.par_chunks_mut(side).enumerate().for_each(|(y, line)| row(side, now, y, line));
        })
    };
    work(Start::new(scale), serially, parallel)
}

pub(super) fn by_bridge(scale: Scale) -> Box<dyn Work> {
    let parallel = |start: &Start| {
        let side = start.side;
        start.run(|now, then| {
            then.chunks_mut(side)
                .enumerate()
                .par_bridge()
                .for_each(|(y, line)| row(side, now, y, line));
        })
    };
    work(Start::new(scale), serially, parallel)
}
