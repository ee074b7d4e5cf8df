//! The product of two dense matrices by Strassen's method: seven products of half the side instead
//! of eight.
//!
//! The seven are tasks, which compute the sums they need themselves; the four quadrants of the
//! result are combined afterwards. Small products are computed as in [`dense`](crate::dense).
//! Source: Strassen, *Gaussian elimination is not optimal*, 1969.
//!
//! # Cost
//!
//! n^2.81 multiplications. Sums are serial within a task, so the span is quadratic in the side.

use sinew::Worker;

use crate::app::App;
use crate::dense::{Matrix, View, multiply};
use crate::fork::{Alone, Fork};
use crate::memory;
use crate::options::{Error, Options, Size};
use crate::problem::{Problem, Solve, Wrong, problem};
use crate::product::{Product, repeat, times};

/// Up to this side a product is computed by one task.
const CUTOFF: usize = 64;

const SIZES: &str = "a power of two from 2 to 8192 rows, then `x` repetitions, such as 256x100";

const NUMBERS: Product<2> = Product {
    app: "strassen",
    sizes: SIZES,
    tiny: [128, 1],
    small: [256, 4],
    full: [256, 1],
    ranges: [2..=8192, 1..=1 << 32],
    absent: [0, 1],
};

pub(crate) const APP: App = App {
    name: "strassen",
    about: "the product of two dense matrices by Strassen's method: a tree of sevens",
    sizes: SIZES,
    demo: "1024",
    loops: false,
    reads_files: false,
    has_worklist: false,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let [side, repetitions] = NUMBERS.pick(&options.size)?;
    if let (false, Size::Exact(given)) = (side.is_power_of_two(), &options.size) {
        return Err(Error::Size { app: APP.name, given: given.clone(), sizes: SIZES });
    }
    // Both factors and results; at each level 7 · 3 quarters of the level above, as far as there
    // are workers for them.
    memory::room(APP.name, 16 * side * side * size_of::<f64>() as u64)?;
    let [a, b] = [1, 2].map(|seed| Matrix::random(side as usize, seed));
    Ok(problem(Strassen { a, b, repetitions }))
}

struct Strassen {
    a: Matrix,
    b: Matrix,
    repetitions: u64,
}

fn product(fork: &impl Fork, a: View<'_>, b: View<'_>) -> Matrix {
    if a.side <= CUTOFF {
        return multiply(a, b);
    }
    let ([a11, a12, a21, a22], [b11, b12, b21, b22]) = (a.quadrants(), b.quadrants());
    let (((m1, m2), (m3, m4)), ((m5, m6), m7)) = fork.fork(
        |fork| {
            fork.fork(
                |fork| {
                    fork.fork(
                        |fork| product(fork, sum(a11, a22).view(), sum(b11, b22).view()),
                        |fork| product(fork, sum(a21, a22).view(), b11),
                    )
                },
                |fork| {
                    fork.fork(
                        |fork| product(fork, a11, difference(b12, b22).view()),
                        |fork| product(fork, a22, difference(b21, b11).view()),
                    )
                },
            )
        },
        |fork| {
            fork.fork(
                |fork| {
                    fork.fork(
                        |fork| product(fork, sum(a11, a12).view(), b22),
                        |fork| product(fork, difference(a21, a11).view(), sum(b11, b12).view()),
                    )
                },
                |fork| product(fork, difference(a12, a22).view(), sum(b21, b22).view()),
            )
        },
    );
    combine(&[m1, m2, m3, m4, m5, m6, m7])
}

fn sum(a: View<'_>, b: View<'_>) -> Matrix {
    element_by_element(a, b, |a, b| a + b)
}

fn difference(a: View<'_>, b: View<'_>) -> Matrix {
    element_by_element(a, b, |a, b| a - b)
}

fn element_by_element(a: View<'_>, b: View<'_>, combine: impl Fn(f64, f64) -> f64) -> Matrix {
    let mut elements = Vec::with_capacity(a.side * a.side);
    for (a, b) in a.rows().zip(b.rows()) {
        elements.extend(a.iter().zip(b).map(|(a, b)| combine(*a, *b)));
    }
    Matrix { side: a.side, elements }
}

/// The result from the seven products.
fn combine(products: &[Matrix; 7]) -> Matrix {
    let half = products[0].side;
    let mut answer = Matrix::zero(2 * half);
    let (upper, lower) = answer.elements.split_at_mut(2 * half * half);
    let rows = upper.chunks_mut(2 * half).zip(lower.chunks_mut(2 * half)).enumerate();
    for (row, (upper, lower)) in rows {
        let m = products.each_ref().map(|product| &product.elements[row * half..][..half]);
        let ((upper_left, upper_right), (lower_left, lower_right)) =
            (upper.split_at_mut(half), lower.split_at_mut(half));
        for at in 0..half {
            let [m1, m2, m3, m4, m5, m6, m7] = m.map(|m| m[at]);
            upper_left[at] = m1 + m4 - m5 + m7;
            upper_right[at] = m3 + m5;
            lower_left[at] = m2 + m4;
            lower_right[at] = m1 - m2 + m3 + m6;
        }
    }
    answer
}

impl Solve for Strassen {
    type Input = ();
    type Answer = Matrix;

    fn size(&self) -> String {
        times(&format!("{0} x {0}", self.a.side), self.repetitions)
    }

    fn input(&self) {}

    fn serial(&self, (): ()) -> Matrix {
        repeat(self.repetitions, || product(&Alone, self.a.view(), self.b.view()))
    }

    fn parallel(&self, worker: &Worker, (): ()) -> Matrix {
        repeat(self.repetitions, || product(worker, self.a.view(), self.b.view()))
    }

    fn check(&self, answer: &Matrix) -> Result<(), Wrong> {
        answer.check_product(&self.a, &self.b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a wrong sign in one of the sums; the plain product has none.
    #[test]
    fn the_method_gives_the_plain_product() {
        for side in [2, CUTOFF, 2 * CUTOFF, 4 * CUTOFF] {
            let [a, b] = [1, 2].map(|seed| Matrix::random(side, seed));
            assert_eq!(
                product(&Alone, a.view(), b.view()),
                multiply(a.view(), b.view()),
                "{side} rows"
            );
        }
    }

    /// Catches: a side that cannot be halved and is taken all the same.
    #[test]
    fn a_side_that_is_no_power_of_two_is_refused() {
        for (given, taken) in [("256", true), ("300", false), ("100x10", false)] {
            let options = Options { size: given.parse().unwrap(), ..Options::default() };
            let message = prepare(&options).err().map(|error| error.to_string());
            assert_eq!(message.is_none(), taken, "{message:?}");
            assert!(
                message.is_none_or(
                    |message| message.contains(given) && message.contains("power of two")
                )
            );
        }
    }
}
