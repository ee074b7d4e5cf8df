//! Cholesky factorisation of a sparse positive definite matrix: A = L Lᵀ with a lower triangle L.
//!
//! The matrix is random, with about four elements a row below and on its diagonal that are not 0.
//! Elimination fills L up in unpredictable places. The tree of tasks is as irregular as the matrix;
//! its leaves are products of 4 × 4 blocks of some 10 ns each. Source: the Cilk-5 distribution;
//! sizes after Karl-Filip Faxén and John Ardelius, *Manycore work stealing*, 2011. Difference: the
//! diagonal outweighs each row, so that a random matrix is positive definite for certain.
//!
//! Each repetition works on a copy of the matrix that was made before: on small matrices a copy
//! takes longer than the critical path of the factorisation.

mod factor;
mod tree;

use std::fmt;
use std::hint::black_box;

use sinew::Worker;

use crate::app::App;
use crate::fork::{Alone, Fork};
use crate::memory;
use crate::options::{Error, Options};
use crate::problem::{Problem, Solve, Wrong, problem};
use crate::product::{Product, times};
use factor::factor;
use tree::{Block, Quadrants, SIDE, Tree};

/// Elements a row that are not 0, of the lower triangle.
const ROW: usize = 4;

/// Random vectors with which a residual is estimated.
const PROBES: usize = 4;

const SIZES: &str = "1 to 8000 rows, then `x` repetitions, such as 500x64";

const NUMBERS: Product<2> = Product {
    app: "cholesky",
    sizes: SIZES,
    tiny: [60, 2],
    small: [250, 8],
    full: [2000, 4],
    ranges: [1..=8000, 1..=1 << 32],
    absent: [0, 1],
};

pub(crate) const APP: App = App {
    name: "cholesky",
    about: "Cholesky factor L of a sparse random matrix A = L * transpose(L), in blocks of 4 x 4: \
        nested tasks as irregular as the matrix",
    sizes: SIZES,
    demo: "2000",
    loops: false,
    reads_files: false,
    has_worklist: false,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let [rows, repetitions] = NUMBERS.pick(&options.size)?;
    // Two factors, each at most as large as half a dense matrix, and a copy for each repetition.
    let factors = rows * rows * size_of::<f64>() as u64;
    let copy = ROW as u64 * rows * (size_of::<Block>() + size_of::<Quadrants>()) as u64;
    memory::room(APP.name, factors.saturating_add(copy.saturating_mul(repetitions)))?;
    Ok(problem(Cholesky { matrix: Matrix::random(rows as usize), repetitions }))
}

struct Cholesky {
    matrix: Matrix,
    repetitions: u64,
}

impl Cholesky {
    /// The factor of the last copy, after those of all others.
    fn last(&self, mut copies: Vec<Tree>, fork: &impl Fork) -> Factor {
        let last = copies.pop().expect("there is at least one repetition");
        for copy in copies {
            drop(black_box(self.matrix.factor(fork, copy)));
        }
        self.matrix.factor(fork, last)
    }
}

/// A sparse matrix of which the lower triangle is stored.
#[derive(Debug, Clone, PartialEq)]
struct Matrix {
    rows: usize,
    /// Rows of the tree, a power of two; on the diagonal of the block that crosses the last row
    /// there are ones.
    side: usize,
    tree: Tree,
}

impl Matrix {
    fn random(rows: usize) -> Self {
        let side = rows.next_power_of_two().max(SIDE);
        let mut diagonal = vec![1.0; rows.next_multiple_of(SIDE)];
        let mut tree = Tree::default();
        for (row, column, value) in below_diagonal(rows) {
            tree.set(side, row, column, value);
            diagonal[row] += value;
            diagonal[column] += value;
        }
        for (at, value) in diagonal.into_iter().enumerate() {
            tree.set(side, at, at, value);
        }
        Self { rows, side, tree }
    }

    fn factor(&self, fork: &impl Fork, mut copy: Tree) -> Factor {
        factor(fork, &mut copy);
        Factor(Self { tree: copy, ..*self })
    }

    fn each(&self, mut visit: impl FnMut(usize, usize, f64)) {
        self.tree.each(self.side, &mut visit);
    }
}

/// About `ROW` - 1 elements a row; of several that fall onto the same place the last counts, so
/// there may be a few less.
fn below_diagonal(rows: usize) -> Vec<(usize, usize, f64)> {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut places: Vec<(usize, usize)> = (0..(ROW - 1) * rows)
        .map(|_| (rng.usize(..rows), rng.usize(..rows)))
        .filter(|(a, b)| a != b)
        .map(|(a, b)| (a.max(b), a.min(b)))
        .collect();
    places.sort_unstable();
    places.dedup();
    places.into_iter().map(|(row, column)| (row, column, 0.1 + 0.9 * rng.f64())).collect()
}

/// The lower triangle L.
#[derive(Debug, Clone, PartialEq)]
struct Factor(Matrix);

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut elements, mut trace) = (0_u64, 0.0);
        self.0.each(|row, column, value| {
            elements += 1;
            trace += if row == column { value } else { 0.0 };
        });
        write!(f, "{elements} elements, trace {trace:.6}")
    }
}

impl Factor {
    /// L Lᵀ x.
    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let (mut half, mut whole) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        self.0.each(|row, column, value| half[column] += value * x[row]);
        self.0.each(|row, column, value| whole[row] += value * half[column]);
        whole
    }

    /// Whether all elements above the diagonal are zero, and those on it positive.
    fn is_triangle(&self) -> bool {
        let (mut right, mut positive) = (true, 0);
        self.0.each(|row, column, value| {
            right &= row >= column;
            positive += usize::from(row == column && value > 0.0);
        });
        right && positive == self.0.rows.next_multiple_of(SIDE)
    }
}

impl Matrix {
    /// A x, of the whole matrix: what is below the diagonal is above it, too.
    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; x.len()];
        self.each(|row, column, value| {
            product[row] += value * x[column];
            if row != column {
                product[column] += value * x[row];
            }
        });
        product
    }

    /// ‖A − L Lᵀ‖ relative to ‖A‖: the mean length of both applied to vectors of random signs is
    /// the Frobenius norm.
    fn residual(&self, l: &Factor) -> f64 {
        let mut rng = fastrand::Rng::with_seed(2);
        let (mut wrong, mut all) = (0.0, 0.0);
        for _ in 0..PROBES {
            let signs: Vec<f64> =
                (0..self.side).map(|_| if rng.bool() { 1.0 } else { -1.0 }).collect();
            let (known, found) = (self.apply(&signs), l.apply(&signs));
            wrong += known.iter().zip(&found).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
            all += known.iter().map(|a| a * a).sum::<f64>();
        }
        (wrong / all).sqrt()
    }
}

impl Solve for Cholesky {
    /// A copy of the matrix for each repetition.
    type Input = Vec<Tree>;
    type Answer = Factor;

    fn size(&self) -> String {
        times(&format!("{} rows", self.matrix.rows), self.repetitions)
    }

    fn input(&self) -> Vec<Tree> {
        (0..self.repetitions).map(|_| self.matrix.tree.clone()).collect()
    }

    fn serial(&self, copies: Vec<Tree>) -> Factor {
        self.last(copies, &Alone)
    }

    fn parallel(&self, worker: &Worker, copies: Vec<Tree>) -> Factor {
        self.last(copies, worker)
    }

    /// A triangle whose residual is within the rounding errors of as many operations as there are
    /// rows.
    fn check(&self, answer: &Factor) -> Result<(), Wrong> {
        Wrong::unless(answer.is_triangle(), || {
            "not a lower triangle with a positive diagonal".to_owned()
        })?;
        let residual = self.matrix.residual(answer);
        let bound = f64::EPSILON * (8 + self.matrix.rows) as f64;
        Wrong::unless(residual <= bound, || {
            format!("the residual is {residual:e}, more than {bound:e}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cholesky(rows: usize) -> Cholesky {
        Cholesky { matrix: Matrix::random(rows), repetitions: 1 }
    }

    /// The textbook's three loops.
    fn dense(matrix: &Matrix) -> Vec<Vec<f64>> {
        let mut l = vec![vec![0.0; matrix.side]; matrix.side];
        matrix.each(|row, column, value| l[row][column] = value);
        for column in 0..matrix.rows {
            let sum: f64 = l[column][..column].iter().map(|x| x * x).sum();
            l[column][column] = (l[column][column] - sum).sqrt();
            for row in column + 1..matrix.rows {
                let sum: f64 = (0..column).map(|k| l[row][k] * l[column][k]).sum();
                l[row][column] = (l[row][column] - sum) / l[column][column];
            }
        }
        l
    }

    /// Catches: a product left out where parts of the matrix are empty; sizes that are no
    /// multiple of a block.
    #[test]
    fn factors_of_all_sizes_are_those_of_a_dense_matrix() {
        for rows in (1..20).chain([33, 64, 100, 200]) {
            let cholesky = cholesky(rows);
            let answer = cholesky.serial(cholesky.input());
            cholesky.check(&answer).unwrap();
            let mut known = dense(&cholesky.matrix);
            answer.0.each(|row, column, value| {
                let difference = (known[row][column] - value).abs();
                assert!(difference < 1e-12, "{rows} rows: {difference:e} at {row}, {column}");
                known[row][column] = 0.0;
            });
            assert!(
                known.iter().flatten().all(|rest| rest.abs() < 1e-12),
                "{rows} rows: elements are missing"
            );
        }
    }

    /// Blind to: a matrix that is almost empty or almost full.
    #[test]
    fn a_row_has_about_four_elements() {
        let (mut elements, rows) = (0, 1000);
        Matrix::random(rows).each(|_, _, _| elements += 1);
        assert!((38 * rows..=40 * rows).contains(&(10 * elements)), "{elements}");
    }

    /// Catches: a check that accepts anything; any element off by a millionth counts.
    #[test]
    fn a_wrong_element_is_noticed_wherever_it_is() {
        let cholesky = cholesky(30);
        let right = cholesky.serial(cholesky.input());
        let mut elements = Vec::new();
        right.0.each(|row, column, value| elements.push((row, column, value)));
        let side = right.0.side;
        for (row, column, value) in elements {
            for wrong in [value * (1.0 + 1e-6), 0.0, f64::NAN] {
                let mut answer = right.clone();
                answer.0.tree.set(side, row, column, wrong);
                assert!(cholesky.check(&answer).is_err(), "{wrong} for {value} at {row}, {column}");
            }
        }
        let mut above = right;
        above.0.tree.set(side, 3, 20, 1e-300);
        assert!(cholesky.check(&above).is_err(), "above the diagonal");
    }
}
