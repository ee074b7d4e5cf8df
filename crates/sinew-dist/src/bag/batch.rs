//! A batch of units in the pool.
//!
//! The units are dealt to some pieces, more than there are workers. Each piece is a stack: it runs
//! its last unit and pushes what that adds, a limited number of times. Taking the youngest first
//! keeps a tree's stack as short as the tree is deep. The next batch deals the rest of all pieces
//! anew, so no worker is idle for longer than a batch.

use std::time::Instant;

use sinew::Pool;
use sinew::iter::ParIter;
use sinew_policy::pace::Pace;

use super::Out;

/// How long a batch should take at most: this is how long a question waits for its answer.
const MOST_NS: u64 = 1_000_000;

/// Pieces a worker.
const PIECES: usize = 4;

/// The most units that a piece runs in one batch.
const LONGEST: usize = 1 << 16;

pub(super) struct Batches<'b, F, M, A> {
    pool: &'b Pool,
    unit: &'b F,
    merge: &'b M,
    pace: Pace,
    sum: A,
}

/// A part of a batch.
struct Piece<U, A> {
    units: Vec<U>,
    sum: A,
    run: usize,
}

impl<'b, F, M, A: Default + Send> Batches<'b, F, M, A> {
    pub(super) fn new(pool: &'b Pool, unit: &'b F, merge: &'b M) -> Self {
        Self { pool, unit, merge, pace: Pace::up_to(LONGEST), sum: A::default() }
    }

    /// Runs some of `units`, which keeps the rest and what was added. Returns how many.
    pub(super) fn run<U: Send>(&mut self, units: &mut Vec<U>) -> usize
    where
        F: Fn(U, &mut Out<'_, U>, &mut A) + Sync,
        M: Fn(A, A) -> A,
    {
        let (unit, slice) = (self.unit, self.pace.slice());
        let mut pieces = deal(units, PIECES * self.pool.threads());
        let start = Instant::now();
        self.pool.run(|_| sinew::over(&mut pieces).for_each(|piece| piece.run(unit, slice)));
        self.pace.record(slice, start.elapsed().as_nanos() as u64, MOST_NS);
        let mut run = 0;
        for piece in pieces {
            units.extend(piece.units);
            run += piece.run;
            self.sum = (self.merge)(std::mem::take(&mut self.sum), piece.sum);
        }
        run
    }

    /// The accumulator of all batches since the last time.
    pub(super) fn take(&mut self) -> A {
        std::mem::take(&mut self.sum)
    }
}

/// At most `most` pieces of about the same number of units.
fn deal<U, A: Default>(units: &mut Vec<U>, most: usize) -> Vec<Piece<U, A>> {
    let count = units.len().min(most);
    let piece = |_| Piece { units: Vec::new(), sum: A::default(), run: 0 };
    let mut pieces: Vec<_> = (0..count).map(piece).collect();
    for (number, unit) in units.drain(..).enumerate() {
        pieces[number % count].units.push(unit);
    }
    pieces
}

impl<U, A> Piece<U, A> {
    fn run<F: Fn(U, &mut Out<'_, U>, &mut A)>(&mut self, unit: &F, most: usize) {
        while self.run < most
            && let Some(next) = self.units.pop()
        {
            unit(next, &mut Out(&mut self.units), &mut self.sum);
            self.run += 1;
        }
    }
}
