//! matmul on chili.

use super::{Matrices, Rows};
use crate::problem::{Form, measured};
use crate::runtimes::chili::{self, Scope};

pub(super) fn form() -> Form {
    chili::form("chili", |pool, case| {
        let mut matrices = Matrices::new(case);
        measured(|| multiply(&mut pool.scope(), matrices.rows()));
        matrices.sum()
    })
}

fn multiply(scope: &mut Scope<'_>, rows: Rows<'_>) {
    if rows.is_small() {
        return rows.multiply();
    }
    let (upper, lower) = rows.split();
    scope.join(|scope| multiply(scope, upper), |scope| multiply(scope, lower));
}
