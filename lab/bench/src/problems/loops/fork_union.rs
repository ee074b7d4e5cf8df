//! Empty loops on fork_union, with its static schedule: what it was made for.

use super::{Each, drive};
use crate::problem::Form;
use crate::runtimes::fork_union::{self, ThreadPool};

pub(super) fn form() -> Form {
    fork_union::form("fork_union", |pool, case| drive(case, &mut Static(pool)))
}

struct Static<'p>(&'p mut ThreadPool);

impl Each for Static<'_> {
    fn each(&mut self, length: usize, body: impl Fn(usize) + Send + Sync) {
        drop(self.0.for_n(length, |prong| body(prong.task_index)));
    }
}
