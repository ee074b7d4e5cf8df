//! The product of two dense matrices, band of rows by band of rows.
//!
//! One loop packs the right factor, a second one computes the bands; all of them read all of the
//! right factor.

use sinew::prelude::*;

use crate::app::App;
use crate::dense::{BAND, Matrix, TILE, multiply, multiply_band, pack, panels};
use crate::loops::{LoopSchedule, Scheduled};
use crate::memory;
use crate::options::{Error, Numbers, Options};
use crate::problem::{Problem, Solve, Wrong, problem};

const SIZES: &str = "1 to 8192 rows";

const NUMBERS: Numbers =
    Numbers { app: "matmul", sizes: SIZES, tiny: 30, small: 300, full: 1500, range: 1..=8192 };

pub(crate) const APP: App = App {
    name: "matmul",
    about: "the product of two dense matrices: a loop over bands of rows",
    sizes: SIZES,
    demo: "1200",
    loops: true,
    reads_files: false,
    has_worklist: false,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let side = NUMBERS.pick(&options.size)?;
    // Both factors, one of them packed as well, and a result of each version.
    memory::room(APP.name, 5 * side * side * size_of::<f64>() as u64)?;
    let schedule = options.schedule_or(Schedule::Stealing);
    let [a, b] = [1, 2].map(|seed| Matrix::random(side as usize, seed));
    Ok(problem(Matmul { a, b, schedule }))
}

struct Matmul {
    a: Matrix,
    b: Matrix,
    schedule: LoopSchedule,
}

impl Solve for Matmul {
    type Input = ();
    type Answer = Matrix;

    fn size(&self) -> String {
        format!("{0} x {0}", self.a.side)
    }

    fn input(&self) {}

    fn serial(&self, (): ()) -> Matrix {
        multiply(self.a.view(), self.b.view())
    }

    fn parallel(&self, _: &Worker, (): ()) -> Matrix {
        let (a, b) = (self.a.view(), self.b.view());
        let mut packed = vec![[0.0; TILE]; panels(b.side) * b.side];
        packed
            .par_chunks_mut(b.side)
            .enumerate()
            .scheduled(self.schedule)
            .for_each(|(number, panel)| pack(b, number, panel));
        let mut product = Matrix::zero(a.side);
        product
            .elements
            .par_chunks_mut(BAND * a.side)
            .enumerate()
            .scheduled(self.schedule)
            .for_each(|(band, rows)| multiply_band(a, &packed, band, rows));
        product
    }

    fn check(&self, answer: &Matrix) -> Result<(), Wrong> {
        answer.check_product(&self.a, &self.b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::by_definition;

    /// Catches: bands that overlap or leave rows out, sides that are no multiple of a band.
    #[test]
    fn bands_make_up_the_product() {
        let pool = sinew::Pool::builder().threads(2).build().unwrap();
        for side in [1, BAND - 1, BAND, 2 * BAND + 3] {
            let [a, b] = [1, 2].map(|seed| Matrix::random(side, seed));
            let known = by_definition(&a, &b);
            let matmul = Matmul { a, b, schedule: Schedule::Dynamic { chunk: 1 }.into() };
            assert_eq!(pool.run(|worker| matmul.parallel(worker, ())), known);
            assert_eq!(matmul.serial(()), known);
        }
    }
}
