//! nqueens on Sinew.

use super::Board;
use crate::problem::Form;
use crate::runtimes::sinew::{self, Worker};

pub(super) fn form() -> Form {
    sinew::form("sinew", |pool, case| {
        let board = Board::empty(case.size);
        pool.run(|w| place(w, board, board.free()))
    })
}

fn place(w: &Worker, board: Board, free: u64) -> u64 {
    if board.is_full() {
        return 1;
    }
    if free == 0 {
        return 0;
    }
    let (next, rest) = board.choose(free);
    let others = |w: &Worker| if rest == 0 { 0 } else { place(w, board, rest) };
    let (here, others) = w.join(|w| place(w, next, next.free()), others);
    here + others
}
