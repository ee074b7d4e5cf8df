//! Regions on fork_union: a loop over the two pieces.

use super::series;
use crate::problem::Form;
use crate::runtimes::fork_union;
use sinew_sync::atomic::{AtomicU64, Ordering};

pub(super) fn form() -> Form {
    fork_union::form("fork_union", |pool, case| {
        series(case, |a, b| {
            let (pieces, sum) = ([a, b], AtomicU64::new(0));
            // Relaxed: the end of the loop publishes the sum.
            let body = |i: usize| sum.fetch_add(pieces[i].run(), Ordering::Relaxed);
            drop(pool.for_n(2, |prong| {
                body(prong.task_index);
            }));
            sum.into_inner()
        })
    })
}
