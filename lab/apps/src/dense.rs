//! Dense square matrices of whole numbers, and a serial product of them.
//!
//! The elements are small integers, so products and sums are exact in any order. Results can be
//! compared bit by bit, and checked without a tolerance.
//!
//! The product keeps 4 × 4 results in registers while it runs along a row of four and a column of
//! four, the latter packed so that memory is read in order.

use std::fmt;

use crate::problem::Wrong;

/// Rows and columns of a tile that is computed in registers.
pub(crate) const TILE: usize = 4;

/// Rows that are computed together, so that what is read of the right factor serves all of them.
pub(crate) const BAND: usize = 4 * TILE;

/// The largest element of a random matrix.
const LARGEST: i32 = 8;

/// Row by row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Matrix {
    pub(crate) side: usize,
    pub(crate) elements: Vec<f64>,
}

impl Matrix {
    pub(crate) fn zero(side: usize) -> Self {
        Self { side, elements: vec![0.0; side * side] }
    }

    /// The same one for the same seed.
    pub(crate) fn random(side: usize, seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let elements = (0..side * side).map(|_| f64::from(rng.i32(-LARGEST..=LARGEST))).collect();
        Self { side, elements }
    }

    pub(crate) fn view(&self) -> View<'_> {
        View { elements: &self.elements, stride: self.side, side: self.side }
    }

    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let row = |row: &[f64]| row.iter().zip(x).map(|(a, x)| a * x).sum();
        self.elements.chunks(self.side).map(row).collect()
    }

    /// Whether this is `a` times `b`, by the products of both with a random vector: C x and A (B
    /// x). A wrong element shows for certain, several ones all but certainly. Source: Freivalds,
    /// *Probabilistic machines can use less running time*, 1977.
    pub(crate) fn check_product(&self, a: &Self, b: &Self) -> Result<(), Wrong> {
        Wrong::unless(self.side == a.side && self.elements.len() == a.elements.len(), || {
            format!("the product has {} rows, not {}", self.side, a.side)
        })?;
        if let Some(at) = self.elements.iter().position(|element| element.fract() != 0.0) {
            return Err(Wrong(format!(
                "element {at} is {}, not a whole number",
                self.elements[at]
            )));
        }
        let mut rng = fastrand::Rng::with_seed(3);
        let x: Vec<f64> = (0..self.side).map(|_| f64::from(rng.i32(1..=1000))).collect();
        let (known, found) = (a.apply(&b.apply(&x)), self.apply(&x));
        let wrong = known.iter().zip(&found).position(|(known, found)| known != found);
        wrong.map_or(Ok(()), |row| Err(Wrong(format!("row {row} is not that of the product"))))
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trace: f64 = self.elements.iter().step_by(self.side + 1).sum();
        write!(f, "a product with trace {trace}")
    }
}

/// A square part of a matrix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    elements: &'a [f64],
    stride: usize,
    pub(crate) side: usize,
}

impl<'a> View<'a> {
    pub(crate) fn row(&self, row: usize) -> &'a [f64] {
        &self.elements[row * self.stride..][..self.side]
    }

    pub(crate) fn rows(self) -> impl Iterator<Item = &'a [f64]> {
        (0..self.side).map(move |row| self.row(row))
    }

    /// Upper left, upper right, lower left, lower right; of an even side.
    pub(crate) fn quadrants(self) -> [Self; 4] {
        let half = self.side / 2;
        let corners = [0, half, half * self.stride, half * self.stride + half];
        corners.map(|corner| Self {
            elements: &self.elements[corner..],
            stride: self.stride,
            side: half,
        })
    }
}

/// Four columns of a matrix, row by row; where it has no more columns, zeros.
pub(crate) type Panel = [[f64; TILE]];

/// Number of panels of a matrix.
pub(crate) fn panels(side: usize) -> usize {
    side.div_ceil(TILE)
}

/// Copies the columns from `TILE * number` on.
pub(crate) fn pack(matrix: View<'_>, number: usize, panel: &mut Panel) {
    let columns = TILE * number..matrix.side.min(TILE * (number + 1));
    for (packed, row) in panel.iter_mut().zip(matrix.rows()) {
        packed[..columns.len()].copy_from_slice(&row[columns.clone()]);
    }
}

/// Some of the rows of `a` · `packed`: those of band `number`, as many as fit into `out`.
pub(crate) fn multiply_band(a: View<'_>, packed: &Panel, number: usize, out: &mut [f64]) {
    let top = BAND * number;
    for (number, panel) in packed.chunks(a.side).enumerate() {
        for (tops, rows) in (top..).step_by(TILE).zip(out.chunks_mut(TILE * a.side)) {
            // Rows beyond the last are computed from the last, and thrown away.
            let tile =
                multiply_tile([0, 1, 2, 3].map(|row| a.row((tops + row).min(a.side - 1))), panel);
            for (row, sums) in rows.chunks_mut(a.side).zip(&tile) {
                for (place, sum) in row[TILE * number..].iter_mut().zip(sums) {
                    *place = *sum;
                }
            }
        }
    }
}

fn multiply_tile(rows: [&[f64]; TILE], panel: &Panel) -> [[f64; TILE]; TILE] {
    let [first, second, third, fourth] = rows;
    let mut tile = [[0.0; TILE]; TILE];
    for ((((columns, a), b), c), d) in panel.iter().zip(first).zip(second).zip(third).zip(fourth) {
        for (sums, factor) in tile.iter_mut().zip([a, b, c, d]) {
            for (sum, column) in sums.iter_mut().zip(columns) {
                *sum += factor * column;
            }
        }
    }
    tile
}

/// The product of two matrices of the same side, serially.
pub(crate) fn multiply(a: View<'_>, b: View<'_>) -> Matrix {
    let mut packed = vec![[0.0; TILE]; panels(b.side) * b.side];
    for (number, panel) in packed.chunks_mut(b.side).enumerate() {
        pack(b, number, panel);
    }
    let mut product = Matrix::zero(a.side);
    for (number, rows) in product.elements.chunks_mut(BAND * a.side).enumerate() {
        multiply_band(a, &packed, number, rows);
    }
    product
}

/// The definition, for tests.
#[cfg(test)]
pub(crate) fn by_definition(a: &Matrix, b: &Matrix) -> Matrix {
    let side = a.side;
    let element = |at: usize| {
        let (row, column) = (at / side, at % side);
        (0..side).map(|k| a.elements[row * side + k] * b.elements[k * side + column]).sum()
    };
    Matrix { side, elements: (0..side * side).map(element).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: rows or columns lost at the edge, where a tile is only partly filled.
    #[test]
    fn products_of_any_side_follow_the_definition() {
        for side in (1..20).chain([BAND, 2 * BAND + 3]) {
            let (a, b) = (Matrix::random(side, 1), Matrix::random(side, 2));
            let product = multiply(a.view(), b.view());
            assert_eq!(product, by_definition(&a, &b), "{side} rows");
            product.check_product(&a, &b).unwrap();
        }
    }

    /// Catches: a quadrant that begins at the wrong place.
    #[test]
    fn quadrants_are_in_the_order_of_reading() {
        let matrix = Matrix { side: 4, elements: (0..16).map(f64::from).collect() };
        let firsts = matrix.view().quadrants().map(|quadrant| quadrant.row(1).to_vec());
        assert_eq!(firsts, [[4.0, 5.0], [6.0, 7.0], [12.0, 13.0], [14.0, 15.0]]);
    }

    /// Catches: a check that accepts anything, or a product of other matrices.
    #[test]
    fn a_wrong_element_is_noticed_wherever_it_is() {
        let (a, b) = (Matrix::random(9, 1), Matrix::random(9, 2));
        let right = by_definition(&a, &b);
        for at in 0..right.elements.len() {
            for error in [1.0, -1.0, 1e-9, f64::NAN] {
                let mut wrong = right.clone();
                wrong.elements[at] += error;
                assert!(wrong.check_product(&a, &b).is_err(), "{error} at {at}");
            }
        }
        assert!(by_definition(&b, &a).check_product(&a, &b).is_err());
        assert!(Matrix::zero(8).check_product(&a, &b).is_err());
    }
}
