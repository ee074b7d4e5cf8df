//! Ways to put queens on a board so that none attacks another: nested parallel iterators.

use crate::work::{Scale, Work, work};
use rayon::prelude::*;

/// The last rows are filled serially.
const SERIAL_ROWS: u32 = 5;

/// A board whose upper rows are filled; the sets say which columns of the next row are attacked.
#[derive(Clone, Copy)]
struct Board {
    side: u32,
    row: u32,
    columns: u32,
    falling: u32,
    rising: u32,
}

impl Board {
    fn new(side: u32) -> Self {
        Self { side, row: 0, columns: 0, falling: 0, rising: 0 }
    }

    fn free(&self, column: u32) -> bool {
        (self.columns | self.falling | self.rising) & (1 << column) == 0
    }

    fn with(&self, column: u32) -> Self {
        let queen = 1 << column;
        Self {
            row: self.row + 1,
            columns: self.columns | queen,
            falling: (self.falling | queen) << 1,
            rising: (self.rising | queen) >> 1,
            ..*self
        }
    }
}

fn serially(board: Board) -> u64 {
    if board.row == board.side {
        return 1;
    }
    (0..board.side)
        .filter(|column| board.free(*column))
        .map(|column| serially(board.with(column)))
        .sum()
}

fn in_parallel(board: Board) -> u64 {
    if board.row + SERIAL_ROWS >= board.side {
        return serially(board);
    }
    let columns = (0..board.side).into_par_iter().filter(|column| board.free(*column));
    columns.map(|column| in_parallel(board.with(column))).sum()
}

pub(super) fn program(scale: Scale) -> Box<dyn Work> {
    work(
        scale.pick(10, 7),
        |side| serially(Board::new(*side)),
        |side| in_parallel(Board::new(*side)),
    )
}
