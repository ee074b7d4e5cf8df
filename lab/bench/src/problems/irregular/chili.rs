//! An irregular loop on chili: halves of halves, down to one iteration.

use super::Load;
use crate::problem::Form;
use crate::runtimes::chili::{self, Scope};
use std::ops::Range;

pub(super) fn form() -> Form {
    chili::form("chili", |pool, case| {
        let load = Load::of(case);
        halve(&mut pool.scope(), load, 0..load.length)
    })
}

fn halve(scope: &mut Scope<'_>, load: Load, range: Range<u64>) -> u64 {
    if range.end - range.start == 1 {
        return load.run(range.start);
    }
    let middle = range.start.midpoint(range.end);
    let (low, high) = (range.start..middle, middle..range.end);
    let (a, b) = scope.join(|scope| halve(scope, load, low), |scope| halve(scope, load, high));
    a.wrapping_add(b)
}
