//! Empty loops on chili, which has only joins: halves of halves, down to a sixteenth of the loop.

use super::{Each, drive};
use crate::problem::Form;
use crate::runtimes::chili::{self, Scope};
use std::ops::Range;

pub(super) fn form() -> Form {
    chili::form("chili", |pool, case| drive(case, &mut Halves(pool.scope())))
}

struct Halves<'p>(Scope<'p>);

impl Each for Halves<'_> {
    fn each(&mut self, length: usize, body: impl Fn(usize) + Send + Sync) {
        halve(&mut self.0, 0..length, (length / 16).max(1), &body);
    }
}

fn halve(
    scope: &mut Scope<'_>,
    range: Range<usize>,
    grain: usize,
    body: &(impl Fn(usize) + Send + Sync),
) {
    if range.len() <= grain {
        return range.for_each(body);
    }
    let middle = range.start + range.len() / 2;
    let (low, high) = (range.start..middle, middle..range.end);
    scope.join(|scope| halve(scope, low, grain, body), |scope| halve(scope, high, grain, body));
}
