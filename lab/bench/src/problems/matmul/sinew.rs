//! matmul on Sinew: recursive halves like the rivals, and a loop over the rows.

use super::{Matrices, Rows, multiply_row};
use crate::problem::{Form, measured};
use crate::runtimes::sinew::{self, IndexedParIter, ParIter, ParallelSliceMut, Worker};

pub(super) fn forms() -> [Form; 2] {
    [
        sinew::form("sinew", |pool, case| {
            let mut matrices = Matrices::new(case);
            measured(|| pool.run(|w| multiply(w, matrices.rows())));
            matrices.sum()
        }),
        sinew::form("sinew over rows", |pool, case| {
            let mut matrices = Matrices::new(case);
            let Matrices { n, a, b, c } = &mut matrices;
            let (a, b, n) = (&*a, &*b, *n);
            let row =
                |(i, c_row): (usize, &mut [f64])| multiply_row(&a[i * n..(i + 1) * n], b, c_row);
            measured(|| pool.run(|_| c.par_chunks_mut(n).enumerate().for_each(row)));
            matrices.sum()
        }),
    ]
}

fn multiply(w: &Worker, rows: Rows<'_>) {
    if rows.is_small() {
        return rows.multiply();
    }
    let (upper, lower) = rows.split();
    w.join(|w| multiply(w, upper), |w| multiply(w, lower));
}
