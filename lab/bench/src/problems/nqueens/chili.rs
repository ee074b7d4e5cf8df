//! nqueens on chili.

use super::Board;
use crate::problem::Form;
use crate::runtimes::chili::{self, Scope};

pub(super) fn form() -> Form {
    chili::form("chili", |pool, case| {
        let board = Board::empty(case.size);
        place(&mut pool.scope(), board, board.free())
    })
}

fn place(scope: &mut Scope<'_>, board: Board, free: u64) -> u64 {
    if board.is_full() {
        return 1;
    }
    if free == 0 {
        return 0;
    }
    let (next, rest) = board.choose(free);
    let others = |scope: &mut Scope<'_>| if rest == 0 { 0 } else { place(scope, board, rest) };
    let (here, others) = scope.join(|scope| place(scope, next, next.free()), others);
    here + others
}
