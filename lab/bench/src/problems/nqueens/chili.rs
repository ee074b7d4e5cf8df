//! nqueens on chili.

use super::{Board, rows, serial};
use crate::problem::Form;
use crate::runtimes::chili::{self, Scope};

pub(super) fn form() -> Form {
    chili::form("chili", |pool, case| {
        let board = Board::empty(case.size);
        place(&mut pool.scope(), rows(case), board, board.free())
    })
}

fn place(scope: &mut Scope<'_>, rows: u64, board: Board, free: u64) -> u64 {
    if rows == 0 {
        return serial::place(board, free);
    }
    if free == 0 {
        return 0;
    }
    let (next, rest) = board.choose(free);
    let others =
        |scope: &mut Scope<'_>| if rest == 0 { 0 } else { place(scope, rows, board, rest) };
    let (here, others) = scope.join(|scope| place(scope, rows - 1, next, next.free()), others);
    here + others
}
