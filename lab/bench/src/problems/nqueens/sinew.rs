//! nqueens on Sinew.

use super::{Board, rows, serial};
use crate::problem::Form;
use crate::runtimes::sinew::{self, Worker};

pub(super) fn form() -> Form {
    sinew::form("sinew", |pool, case| {
        let board = Board::empty(case.size);
        pool.run(|w| place(w, rows(case), board, board.free()))
    })
}

fn place(w: &Worker, rows: u64, board: Board, free: u64) -> u64 {
    if rows == 0 {
        return serial::place(board, free);
    }
    if free == 0 {
        return 0;
    }
    let (next, rest) = board.choose(free);
    let others = |w: &Worker| if rest == 0 { 0 } else { place(w, rows, board, rest) };
    let (here, others) = w.join(|w| place(w, rows - 1, next, next.free()), others);
    here + others
}
