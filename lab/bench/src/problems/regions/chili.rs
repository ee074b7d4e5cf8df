//! Regions on chili. Its heartbeat of 100 µs decides which of them are shared at all.

use super::series;
use crate::problem::Form;
use crate::runtimes::chili;

pub(super) fn form() -> Form {
    chili::form("chili", |pool, case| {
        let mut scope = pool.scope();
        series(case, |a, b| {
            let (a, b) = scope.join(|_| a.run(), |_| b.run());
            a.wrapping_add(b)
        })
    })
}
