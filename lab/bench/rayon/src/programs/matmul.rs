//! Matrix products, by quadrants and by rows. The elements are small whole numbers, so every order
//! of additions gives the same sums.

use crate::work::{Scale, Work, work};
use rayon::prelude::*;

/// Side of the blocks that are multiplied serially.
const LEAF: usize = 16;

struct Factors {
    side: usize,
    a: Vec<f64>,
    b: Vec<f64>,
}

impl Factors {
    fn new(scale: Scale) -> Self {
        let side = scale.pick(256, 32);
        let mut random = fastrand::Rng::with_seed(1);
        let mut elements = || (0..side * side).map(|_| f64::from(random.u8(0..16))).collect();
        Self { side, a: elements(), b: elements() }
    }
}

pub(super) fn by_quadrants(scale: Scale) -> Box<dyn Work> {
    let serial = |factors: &Factors| {
        let Factors { side, a, b } = factors;
        let mut c = vec![0.0; a.len()];
        for i in 0..*side {
            for j in 0..*side {
                let products = (0..*side).map(|k| a[place(*side, i, k)] * b[place(*side, k, j)]);
                c[place(*side, i, j)] = products.sum();
            }
        }
        c
    };
    let parallel = |factors: &Factors| {
        let mut c = vec![0.0; factors.a.len()];
        multiply(&factors.a, &factors.b, &mut c);
        c
    };
    work(Factors::new(scale), serial, parallel)
}

/// The index of element (`row`, `column`): a matrix is four quadrants, one after another, and so on
/// down to blocks of [`LEAF`], which are stored by rows. So a quadrant is a slice, and four of them
/// can be written at the same time.
fn place(side: usize, row: usize, column: usize) -> usize {
    if side == LEAF {
        return row * LEAF + column;
    }
    let half = side / 2;
    let quadrant = 2 * (row / half) + column / half;
    quadrant * half * half + place(half, row % half, column % half)
}

/// Adds the product of `a` and `b` to `c`.
fn multiply(a: &[f64], b: &[f64], c: &mut [f64]) {
    if c.len() == LEAF * LEAF {
        return multiply_block(a, b, c);
    }
    let ([a11, a12, a21, a22], [b11, b12, b21, b22]) = (quadrants(a), quadrants(b));
    let (above, below) = c.split_at_mut(c.len() / 2);
    let half = above.len() / 2;
    let ((c11, c12), (c21, c22)) = (above.split_at_mut(half), below.split_at_mut(half));
    // Two products go to each quadrant, one after the other.
    let both = |a: [&[f64]; 2], b: [&[f64]; 2], c: &mut [f64]| {
        multiply(a[0], b[0], c);
        multiply(a[1], b[1], c);
    };
    rayon::join(
        || rayon::join(|| both([a11, a12], [b11, b21], c11), || both([a11, a12], [b12, b22], c12)),
        || rayon::join(|| both([a21, a22], [b11, b21], c21), || both([a21, a22], [b12, b22], c22)),
    );
}

fn quadrants(matrix: &[f64]) -> [&[f64]; 4] {
    let quarter = matrix.len() / 4;
    [0, 1, 2, 3].map(|index| &matrix[index * quarter..(index + 1) * quarter])
}

fn multiply_block(a: &[f64], b: &[f64], c: &mut [f64]) {
    for (a, c) in a.chunks_exact(LEAF).zip(c.chunks_exact_mut(LEAF)) {
        for (a, b) in a.iter().zip(b.chunks_exact(LEAF)) {
            for (c, b) in c.iter_mut().zip(b) {
                *c += a * b;
            }
        }
    }
}

pub(super) fn by_rows(scale: Scale) -> Box<dyn Work> {
    let serial = |factors: &Factors| {
        let mut c = vec![0.0; factors.a.len()];
        c.chunks_mut(factors.side)
            .enumerate()
            .for_each(|(index, row)| one_row(factors, index, row));
        c
    };
    let parallel = |factors: &Factors| {
        let mut c = vec![0.0; factors.a.len()];
        c.par_chunks_mut(factors.side)
            .enumerate()
            .for_each(|(index, row)| one_row(factors, index, row));
        c
    };
    work(Factors::new(scale), serial, parallel)
}

fn one_row(factors: &Factors, index: usize, row: &mut [f64]) {
    let Factors { side, a, b } = factors;
    for (a, b) in a[index * side..].iter().zip(b.chunks_exact(*side)) {
        for (c, b) in row.iter_mut().zip(b) {
            *c += a * b;
        }
    }
}
