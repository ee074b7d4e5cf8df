//! nqueens without a runtime.

use super::Board;
use crate::problem::Case;

pub(super) fn run(case: &Case) -> u64 {
    let board = Board::empty(case.size);
    place(board, board.free())
}

/// The ways to fill the rows from this one on.
pub(super) fn place(board: Board, free: u64) -> u64 {
    if board.is_full() {
        return 1;
    }
    if free == 0 {
        return 0;
    }
    let (next, rest) = board.choose(free);
    place(next, next.free()) + if rest == 0 { 0 } else { place(board, rest) }
}
