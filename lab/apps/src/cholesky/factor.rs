//! The factorisation A = L Lᵀ by quadrants; only the lower triangle of A is stored, and becomes L
//! in place.
//!
//! With A's quadrants a, c below it and d at its lower right, L has factor(a), c·factor(a)⁻ᵀ and
//! factor(d − c'·c'ᵀ) in their places, c' being the new c. Solving and multiplying fall into
//! quadrants in the same way, down to dense blocks, where plain loops do it. Empty matrices end
//! every recursion. Source: the sparse Cholesky program of the Cilk-5 distribution. Difference: the
//! two products that go into one quadrant are one task, not two with a meeting in between.

use super::tree::{Block, Quadrants, SIDE, Tree};
use crate::fork::Fork;

/// Replaces `a`, whose lower triangle is stored, by its factor L.
///
/// A matrix that is not positive definite gets roots of negative numbers, which are not numbers.
pub(crate) fn factor(fork: &impl Fork, a: &mut Tree) {
    match a {
        Tree::Empty => {}
        Tree::Block(block) => factor_block(block),
        Tree::Quadrants(quadrants) => {
            let [upper, _, corner, lower] = &mut **quadrants;
            if corner.is_empty() {
                fork.fork(|fork| factor(fork, upper), |fork| factor(fork, lower));
            } else {
                factor(fork, upper);
                solve(fork, corner, upper);
                subtract_square(fork, lower, corner);
                factor(fork, lower);
            }
        }
    }
}

/// Makes `b` the solution x of x·lᵀ = b.
fn solve(fork: &impl Fork, b: &mut Tree, l: &Tree) {
    match (b, l) {
        (Tree::Block(b), Tree::Block(l)) => solve_block(b, l),
        (Tree::Quadrants(b), Tree::Quadrants(l)) => {
            let [upper_left, upper_right, lower_left, lower_right] = &mut **b;
            both(
                fork,
                [&*upper_left, upper_right].iter().any(|part| !part.is_empty()),
                |fork| solve_row(fork, upper_left, upper_right, l),
                [&*lower_left, lower_right].iter().any(|part| !part.is_empty()),
                |fork| solve_row(fork, lower_left, lower_right, l),
            );
        }
        // Without a right side there is nothing to solve. A positive definite matrix has no empty
        // diagonal.
        _ => {}
    }
}

fn solve_row(
    fork: &impl Fork,
    left: &mut Tree,
    right: &mut Tree,
    [upper, _, corner, lower]: &Quadrants,
) {
    solve(fork, left, upper);
    subtract(fork, right, left, corner);
    solve(fork, right, lower);
}

/// r − a·bᵀ.
fn subtract(fork: &impl Fork, r: &mut Tree, a: &Tree, b: &Tree) {
    match (a, b) {
        (Tree::Block(a), Tree::Block(b)) => subtract_block(r.block_mut(), a, b),
        (Tree::Quadrants(a), Tree::Quadrants(b)) => subtract_quadrants(fork, r, a, b),
        _ => {}
    }
}

fn subtract_quadrants(fork: &impl Fork, r: &mut Tree, a: &Quadrants, b: &Quadrants) {
    let [upper, lower] = rows(a);
    let [left, right] = rows(b);
    let meets = [meet(upper, left), meet(upper, right), meet(lower, left), meet(lower, right)];
    if !meets.contains(&true) {
        return;
    }
    let [upper_left, upper_right, lower_left, lower_right] = r.quadrants_mut();
    both(
        fork,
        meets[0] || meets[1],
        |fork| {
            both(
                fork,
                meets[0],
                |fork| subtract_rows(fork, upper_left, upper, left),
                meets[1],
                |fork| subtract_rows(fork, upper_right, upper, right),
            );
        },
        meets[2] || meets[3],
        |fork| {
            both(
                fork,
                meets[2],
                |fork| subtract_rows(fork, lower_left, lower, left),
                meets[3],
                |fork| subtract_rows(fork, lower_right, lower, right),
            );
        },
    );
}

/// The lower triangle of r − a·aᵀ.
fn subtract_square(fork: &impl Fork, r: &mut Tree, a: &Tree) {
    match a {
        Tree::Empty => {}
        Tree::Block(a) => subtract_block(r.block_mut(), a, a),
        Tree::Quadrants(a) => {
            let [upper, lower] = rows(a);
            let [upper_left, _, lower_left, lower_right] = r.quadrants_mut();
            fork.fork(
                |fork| upper.iter().for_each(|part| subtract_square(fork, upper_left, part)),
                |fork| {
                    both(
                        fork,
                        meet(lower, upper),
                        |fork| subtract_rows(fork, lower_left, lower, upper),
                        true,
                        |fork| {
                            lower.iter().for_each(|part| subtract_square(fork, lower_right, part));
                        },
                    );
                },
            );
        }
    }
}

type Row<'a> = [&'a Tree; 2];

fn rows([a, b, c, d]: &Quadrants) -> [Row<'_>; 2] {
    [[a, b], [c, d]]
}

/// Whether the product of a row and a transposed row can be anything but empty.
fn meet(a: Row<'_>, b: Row<'_>) -> bool {
    a.iter().zip(b).any(|(a, b)| !a.is_empty() && !b.is_empty())
}

fn subtract_rows(fork: &impl Fork, r: &mut Tree, a: Row<'_>, b: Row<'_>) {
    for (a, b) in a.into_iter().zip(b) {
        subtract(fork, r, a, b);
    }
}

/// Those arms for which there is work: a task only where there are two.
fn both<F: Fork>(
    fork: &F,
    left: bool,
    left_arm: impl FnOnce(&F) + Send,
    right: bool,
    right_arm: impl FnOnce(&F) + Send,
) {
    match (left, right) {
        (true, true) => drop(fork.fork(left_arm, right_arm)),
        (true, false) => left_arm(fork),
        (false, true) => right_arm(fork),
        (false, false) => {}
    }
}

/// The same for one block; above the diagonal there are zeros afterwards.
fn factor_block(a: &mut Block) {
    for column in 0..SIDE {
        let pivot = (a[column][column] - dot(&a[column], &a[column], column)).sqrt();
        a[column][column] = pivot;
        for row in column + 1..SIDE {
            a[row][column] = (a[row][column] - dot(&a[row], &a[column], column)) / pivot;
            a[column][row] = 0.0;
        }
    }
}

fn solve_block(b: &mut Block, l: &Block) {
    for row in b {
        for column in 0..SIDE {
            row[column] = (row[column] - dot(row, &l[column], column)) / l[column][column];
        }
    }
}

/// Of the first `length` elements.
fn dot(a: &[f64; SIDE], b: &[f64; SIDE], length: usize) -> f64 {
    a.iter().zip(b).take(length).map(|(a, b)| a * b).sum()
}

fn subtract_block(r: &mut Block, a: &Block, b: &Block) {
    let mut transposed = [[0.0; SIDE]; SIDE];
    for (row, values) in b.iter().enumerate() {
        for (column, &value) in values.iter().enumerate() {
            transposed[column][row] = value;
        }
    }
    for (r, a) in r.iter_mut().zip(a) {
        for (a, b) in a.iter().zip(&transposed) {
            for (r, b) in r.iter_mut().zip(b) {
                *r -= a * b;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fork::Alone;

    /// Catches: rows and columns mixed up in a block.
    #[test]
    fn a_block_by_hand() {
        let a = [
            [4.0, 0.0, 0.0, 0.0],
            [2.0, 10.0, 0.0, 0.0],
            [-2.0, 5.0, 6.0, 0.0],
            [6.0, 0.0, -4.0, 15.0],
        ];
        let l = [
            [2.0, 0.0, 0.0, 0.0],
            [1.0, 3.0, 0.0, 0.0],
            [-1.0, 2.0, 1.0, 0.0],
            [3.0, -1.0, 1.0, 2.0],
        ];
        let [mut a, l] = [a, l].map(within_unit);
        factor(&Alone, &mut a);
        assert_eq!(a, l);
    }

    /// A block that begins like this one, and goes on like the unit matrix.
    fn within_unit(corner: [[f64; 4]; 4]) -> Tree {
        let mut block: Block = Default::default();
        for (at, row) in block.iter_mut().enumerate() {
            row[at] = 1.0;
        }
        for (row, values) in block.iter_mut().zip(corner) {
            row[..4].copy_from_slice(&values);
        }
        Tree::Block(Box::new(block))
    }
}
