//! Regions on Sinew: a join each, called from outside the pool or all from inside, and a loop over
//! two pieces.

use super::{Piece, series};
use crate::problem::Form;
use crate::runtimes::sinew::{self, ParIter, Worker, over};

pub(super) fn forms() -> [Form; 3] {
    [
        sinew::form("sinew", |pool, case| series(case, |a, b| pool.run(|w| region(w, a, b)))),
        sinew::form("sinew inside", |pool, case| {
            pool.run(|w| series(case, |a, b| region(w, a, b)))
        }),
        sinew::form("sinew loop", |pool, case| {
            series(case, |a, b| {
                let pieces = [a, b];
                pool.run(|_| over(&pieces).map(|piece| piece.run()).reduce(|| 0, u64::wrapping_add))
            })
        }),
    ]
}

fn region(w: &Worker, a: Piece, b: Piece) -> u64 {
    let (a, b) = w.join(|_| a.run(), |_| b.run());
    a.wrapping_add(b)
}
