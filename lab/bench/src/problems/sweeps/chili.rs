//! Sweeps on chili: halves of halves, down to sixteen rows.

use super::{Sweep, WIDTH};
use crate::problem::Form;
use crate::runtimes::chili::{self, Scope};

/// Rows that are not divided any more.
const GRAIN: usize = 16;

pub(super) fn form() -> Form {
    chili::form("chili", |pool, case| {
        let mut scope = pool.scope();
        Sweep::drive(case, |sweep, data| halve(&mut scope, sweep, 0, data))
    })
}

fn halve(scope: &mut Scope<'_>, sweep: Sweep, first: usize, rows: &mut [u64]) {
    if rows.len() <= GRAIN * WIDTH {
        rows.chunks_mut(WIDTH).enumerate().for_each(|(number, row)| sweep.row(first + number, row));
        return;
    }
    let middle = rows.len() / WIDTH / 2;
    let (low, high) = rows.split_at_mut(middle * WIDTH);
    scope.join(
        |scope| halve(scope, sweep, first, low),
        |scope| halve(scope, sweep, first + middle, high),
    );
}
