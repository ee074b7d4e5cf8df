//! matmul on rayon.

use super::{Matrices, Rows};
use crate::problem::{Form, measured};
use crate::runtimes::rayon;

pub(super) fn form() -> Form {
    rayon::form("rayon", |pool, case| {
        let mut matrices = Matrices::new(case);
        measured(|| pool.install(|| multiply(matrices.rows())));
        matrices.sum()
    })
}

fn multiply(rows: Rows<'_>) {
    if rows.is_small() {
        return rows.multiply();
    }
    let (upper, lower) = rows.split();
    ::rayon::join(|| multiply(upper), || multiply(lower));
}
