//! The same stencils as one would write them by hand: two grids, slices of rows, and the elements
//! at both ends of a row by themselves.
//!
//! A grid of one, two or three dimensions is a list of rows, of each of which two more lie beside
//! it for every dimension but the last.

use crate::runtimes::sinew::{IndexedParIter, ParIter, ParallelSliceMut, Pool, Schedule, over};
use ::sinew::iter::LoopOptions;
use sinew::Edge;

/// Elements of a band, which is what one thread takes at a time.
const BAND: usize = 16_384;

/// A grid and one to write to; `BESIDE` rows lie beside each.
pub(super) struct ByHand<const BESIDE: usize> {
    now: Vec<f64>,
    next: Vec<f64>,
    /// Rows of a layer, and elements of a row.
    rows: usize,
    columns: usize,
    edge: Edge<f64>,
    /// A row of what lies beyond, if that is a constant.
    constants: Vec<f64>,
}

impl<const BESIDE: usize> ByHand<BESIDE> {
    pub(super) fn new(grid: Vec<f64>, shape: &[usize], edge: Edge<f64>) -> Self {
        let columns = shape[shape.len() - 1];
        let rows = if shape.len() > 1 { shape[shape.len() - 2] } else { 1 };
        let constant = if let Edge::Constant(value) = edge { value } else { 0.0 };
        Self {
            next: grid.clone(),
            now: grid,
            rows,
            columns,
            edge,
            constants: vec![constant; columns],
        }
    }

    pub(super) fn grid(&self) -> &[f64] {
        &self.now
    }

    /// Sweeps `sweeps` times on the calling thread. The second grid is filled again, as a caller
    /// with only one grid has to.
    pub(super) fn run(&mut self, sweeps: usize) {
        self.next = self.now.clone();
        for _ in 0..sweeps {
            let mut next = std::mem::take(&mut self.next);
            self.band(0, &mut next);
            self.next = std::mem::replace(&mut self.now, next);
        }
    }

    /// The same on all threads of a pool, which take bands of whole rows, or of a single long one.
    pub(super) fn run_on(&mut self, pool: &Pool, sweeps: usize) {
        self.next = pool.run(|_| over(&self.now).copied().collect());
        let whole_rows = BAND.next_multiple_of(self.columns);
        let band = if BESIDE == 0 { BAND } else { whole_rows };
        for _ in 0..sweeps {
            let mut next = std::mem::take(&mut self.next);
            let bands = next.par_chunks_mut(band).enumerate().schedule(Schedule::Stealing);
            pool.run(|_| bands.for_each(|(number, out)| self.band(number * band, out)));
            self.next = std::mem::replace(&mut self.now, next);
        }
    }

    /// Elements from `first` on, in whole rows or a part of a single one.
    fn band(&self, first: usize, out: &mut [f64]) {
        if BESIDE == 0 {
            return self.row(&self.now, [&[] as &[f64]; BESIDE], first, out);
        }
        for (row, out) in (first / self.columns..).zip(out.chunks_mut(self.columns)) {
            let beside = std::array::from_fn(|number| self.beside(row, number));
            // An empty row stands for one that is not there: the elements are kept.
            if beside.iter().all(|row| !row.is_empty()) {
                self.row(self.row_of(row), beside, 0, out);
            }
        }
    }

    fn row_of(&self, row: usize) -> &[f64] {
        &self.now[row * self.columns..][..self.columns]
    }

    /// Of the rows beside `row` this one: before and behind in the same layer, then in the layers
    /// before and behind.
    fn beside(&self, row: usize, number: usize) -> &[f64] {
        let in_layer = number < 2;
        let (index, length, stride) = if in_layer {
            (row % self.rows, self.rows, 1)
        } else {
            (row / self.rows, self.now.len() / self.columns / self.rows, self.rows)
        };
        let start = row - index * stride;
        let at = |index: usize| self.row_of(start + index * stride);
        match (number.is_multiple_of(2), index) {
            (true, 1..) => at(index - 1),
            (false, _) if index + 1 < length => at(index + 1),
            (before, _) => match self.edge {
                Edge::Periodic => at(if before { length - 1 } else { 0 }),
                Edge::Nearest => at(index),
                Edge::Constant(_) => &self.constants,
                _ => &[],
            },
        }
    }

    /// Elements of a row from `first` on.
    fn row(&self, here: &[f64], beside: [&[f64]; BESIDE], first: usize, out: &mut [f64]) {
        let (last, end) = (here.len() - 1, first + out.len());
        for column in [0, last] {
            if (first..end).contains(&column)
                && let Some((left, right)) = self.ends(here, column)
            {
                out[column - first] =
                    blend(left, right, beside.iter().map(|row| row[column]), BESIDE);
            }
        }
        let (start, end) = (first.max(1), end.min(last));
        middle(here, beside, start..end, &mut out[start - first..end - first]);
    }

    /// The value on both sides of the element at one of the ends.
    fn ends(&self, here: &[f64], column: usize) -> Option<(f64, f64)> {
        let last = here.len() - 1;
        let beyond = |opposite: usize| match self.edge {
            Edge::Periodic => Some(here[opposite]),
            Edge::Nearest => Some(here[column]),
            Edge::Constant(value) => Some(value),
            _ => None,
        };
        if column == 0 {
            Some((beyond(last)?, here[1]))
        } else {
            Some((here[last - 1], beyond(0)?))
        }
    }
}

/// Elements of a row that have others on both sides.
fn middle<const BESIDE: usize>(
    here: &[f64],
    beside: [&[f64]; BESIDE],
    columns: std::ops::Range<usize>,
    out: &mut [f64],
) {
    let n = columns.len();
    let (left, right, out) =
        (&here[columns.start - 1..][..n], &here[columns.start + 1..][..n], &mut out[..n]);
    let beside = beside.map(|row| &row[columns.start..][..n]);
    for k in 0..n {
        out[k] = blend(left[k], right[k], beside.iter().map(|row| row[k]), BESIDE);
    }
}

/// The mean of all that is around an element.
#[inline(always)]
fn blend(left: f64, right: f64, beside: impl Iterator<Item = f64>, number: usize) -> f64 {
    beside.fold(left + right, |sum, cell| sum + cell) * (1.0 / (2 + number) as f64)
}
