//! Regions without a runtime: one piece after the other.

use super::series;
use crate::problem::Case;

pub(super) fn run(case: &Case) -> u64 {
    // Not inlined into one another, so that the processor does not run two independent chains at
    // once, which no runtime with two pieces on one worker could do either.
    #[inline(never)]
    fn alone(piece: super::Piece) -> u64 {
        piece.run()
    }
    series(case, |a, b| alone(a).wrapping_add(alone(b)))
}
