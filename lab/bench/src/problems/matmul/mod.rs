//! The product of two square matrices, by rows: regular work with enough in every piece.
//!
//! The elements are small integers, so every order of addition gives the same sum, and results can
//! be compared.

mod chili;
#[cfg(feature = "fork-union")]
mod fork_union;
mod rayon;
mod serial;
mod sinew;

use crate::problem::{Case, Form, Problem, Scale};

pub(crate) const PROBLEM: Problem = Problem {
    name: "matmul",
    about: "matrix product by rows",
    unit: "product",
    serial: serial::run,
    forms,
    cases,
    warm: |_| sized("warm", 32),
    counted: None,
    in_processes: true,
    bars: &[],
};

fn forms() -> Vec<Form> {
    let mut forms = Vec::from(sinew::forms());
    forms.extend([rayon::form(), chili::form()]);
    #[cfg(feature = "fork-union")]
    forms.push(fork_union::form());
    forms
}

fn cases(scale: Scale) -> Vec<Case> {
    vec![sized(scale.pick("384 × 384", "32 × 32"), scale.pick(384, 32))]
}

pub(crate) fn sized(label: &'static str, size: u64) -> Case {
    Case { label, size, kind: 0, repeats: 1, operations: 1 }
}

/// Rows that a task multiplies without dividing them further.
const GRAIN: usize = 8;

/// The two factors, and the product to be filled.
struct Matrices {
    n: usize,
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
}

impl Matrices {
    fn new(case: &Case) -> Self {
        let n = usize::try_from(case.size).expect("a size that fits into memory");
        let fill = |f: fn(usize, usize) -> usize| {
            (0..n).flat_map(|i| (0..n).map(move |j| f(i, j) as f64)).collect()
        };
        let (a, b) = (fill(|i, j| (i * 7 + j * 3) % 11), fill(|i, j| (i * 5 + j) % 13));
        Self { n, a, b, c: vec![0.0; n * n] }
    }

    /// The rows to be computed.
    fn rows(&mut self) -> Rows<'_> {
        Rows { n: self.n, a: &self.a, b: &self.b, c: &mut self.c }
    }

    /// The sum of the product's elements.
    fn sum(&self) -> u64 {
        self.c.iter().map(|element| *element as u64).sum()
    }
}

/// Some rows of the product, with the rows of the first factor that they need.
struct Rows<'m> {
    n: usize,
    a: &'m [f64],
    b: &'m [f64],
    c: &'m mut [f64],
}

impl Rows<'_> {
    fn is_small(&self) -> bool {
        self.c.len() <= GRAIN * self.n
    }

    /// The upper and the lower half.
    fn split(self) -> (Self, Self) {
        let middle = self.c.len() / self.n / 2 * self.n;
        let (a, lower_a) = self.a.split_at(middle);
        let (c, lower_c) = self.c.split_at_mut(middle);
        (Self { a, c, ..self }, Self { n: self.n, a: lower_a, b: self.b, c: lower_c })
    }

    fn multiply(self) {
        for (a_row, c_row) in self.a.chunks(self.n).zip(self.c.chunks_mut(self.n)) {
            multiply_row(a_row, self.b, c_row);
        }
    }
}

fn multiply_row(a_row: &[f64], b: &[f64], c_row: &mut [f64]) {
    for (a, b_row) in a_row.iter().zip(b.chunks(c_row.len())) {
        for (c, b) in c_row.iter_mut().zip(b_row) {
            *c += a * b;
        }
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: two wrong elements whose sum is right.
    use super::*;

    #[test]
    fn a_small_product_is_the_one_computed_by_hand() {
        let mut matrices = Matrices::new(&sized("", 2));
        matrices.rows().multiply();
        // [0 3; 7 10] × [0 1; 5 6]
        assert_eq!(matrices.c, [15.0, 18.0, 50.0, 67.0]);
    }
}
