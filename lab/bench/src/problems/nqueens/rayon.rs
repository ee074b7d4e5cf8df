//! nqueens on rayon.

use super::Board;
use crate::problem::Form;
use crate::runtimes::rayon;

pub(super) fn form() -> Form {
    rayon::form("rayon", |pool, case| {
        let board = Board::empty(case.size);
        pool.install(|| place(board, board.free()))
    })
}

fn place(board: Board, free: u64) -> u64 {
    if board.is_full() {
        return 1;
    }
    if free == 0 {
        return 0;
    }
    let (next, rest) = board.choose(free);
    let others = || if rest == 0 { 0 } else { place(board, rest) };
    let (here, others) = ::rayon::join(|| place(next, next.free()), others);
    here + others
}
