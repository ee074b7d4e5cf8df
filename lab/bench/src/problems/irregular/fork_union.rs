//! An irregular loop on fork_union, with its dynamic schedule.

use super::Load;
use crate::problem::Form;
use crate::runtimes::fork_union;
use sinew_sync::atomic::{AtomicU64, Ordering};

pub(super) fn form() -> Form {
    fork_union::form("fork_union", |pool, case| {
        let (load, sum) = (Load::of(case), AtomicU64::new(0));
        // Relaxed: the end of the loop publishes the sum.
        let body = |i: u64| sum.fetch_add(load.run(i), Ordering::Relaxed);
        let length = usize::try_from(load.length).expect("a length that fits into memory");
        drop(pool.for_n_dynamic(length, |prong| {
            body(prong.task_index as u64);
        }));
        sum.into_inner()
    })
}
