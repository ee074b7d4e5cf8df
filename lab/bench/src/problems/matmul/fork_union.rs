//! matmul on fork_union: a flat loop over the rows.

use super::{Matrices, multiply_row};
use crate::problem::{Form, measured};
use crate::runtimes::fork_union;
use std::sync::Mutex;

pub(super) fn form() -> Form {
    fork_union::form("fork_union", |pool, case| {
        let mut matrices = Matrices::new(case);
        let n = matrices.n;
        // Its loops hand out indices only, so a row is reached through an uncontended lock; its
        // cost is negligible beside a row's work.
        let rows: Vec<_> = matrices.c.chunks_mut(n).map(Mutex::new).collect();
        let (a, b) = (&matrices.a, &matrices.b);
        let multiply = |i: usize| {
            let mut row = rows[i].lock().expect("no row panics");
            multiply_row(&a[i * n..(i + 1) * n], b, &mut row);
        };
        measured(|| drop(pool.for_n(n, |prong| multiply(prong.task_index))));
        drop(rows);
        matrices.sum()
    })
}
