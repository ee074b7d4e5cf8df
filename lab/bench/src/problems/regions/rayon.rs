//! Regions on rayon: a join each, called from outside the pool, or all from inside.

use super::{Piece, series};
use crate::problem::Form;
use crate::runtimes::rayon;

pub(super) fn forms() -> [Form; 2] {
    [
        rayon::form("rayon", |pool, case| series(case, |a, b| pool.install(|| region(a, b)))),
        rayon::form("rayon inside", |pool, case| pool.install(|| series(case, region))),
    ]
}

fn region(a: Piece, b: Piece) -> u64 {
    let (a, b) = ::rayon::join(|| a.run(), || b.run());
    a.wrapping_add(b)
}
