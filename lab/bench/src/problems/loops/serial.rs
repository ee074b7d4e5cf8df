//! Empty loops without a runtime.

use super::{Each, drive};
use crate::problem::Case;

struct Serial;

impl Each for Serial {
    fn each(&mut self, length: usize, body: impl Fn(usize) + Send + Sync) {
        (0..length).for_each(body);
    }
}

pub(super) fn run(case: &Case) -> u64 {
    drive(case, &mut Serial)
}
