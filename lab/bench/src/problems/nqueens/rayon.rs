//! nqueens on rayon.

use super::{Board, rows, serial};
use crate::problem::Form;
use crate::runtimes::rayon;

pub(super) fn form() -> Form {
    rayon::form("rayon", |pool, case| {
        let board = Board::empty(case.size);
        pool.install(|| place(rows(case), board, board.free()))
    })
}

fn place(rows: u64, board: Board, free: u64) -> u64 {
    if rows == 0 {
        return serial::place(board, free);
    }
    if free == 0 {
        return 0;
    }
    let (next, rest) = board.choose(free);
    let others = || if rest == 0 { 0 } else { place(rows, board, rest) };
    let (here, others) = ::rayon::join(|| place(rows - 1, next, next.free()), others);
    here + others
}
