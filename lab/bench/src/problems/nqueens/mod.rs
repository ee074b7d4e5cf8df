//! Placing n queens that do not attack each other: count the ways, a task for every choice, in all
//! rows or in the first ones.
//!
//! The tree is unbalanced and its nodes are tiny, so this is where a task must be cheap *and* be
//! found.

mod chili;
mod rayon;
mod serial;
mod sinew;

use crate::problem::{Bar, Case, Form, Limit, Measure, Problem, Row, Scale, Team};

pub(crate) const PROBLEM: Problem = Problem {
    name: "nqueens",
    about: "all placements of n queens: an unbalanced tree of tiny tasks, and of tasks of 100 ns",
    unit: "task",
    serial: serial::run,
    forms,
    cases,
    warm: |case| Case { kind: case.kind, ..sized("warm", case.size.min(6)) },
    counted: Some(|| [6, 9].map(|size| sized("counted", size))),
    in_processes: true,
    bars: &BARS,
};

const BARS: [Bar; 2] = [bar("nqueens 11"), bar("nqueens 11, tasks in 5 rows")];

const fn bar(case: &'static str) -> Bar {
    Bar {
        case,
        what: "one worker, at most 1.25 × serial",
        measure: Measure::Ratio(Row("sinew", Team::One), Row("serial", Team::One)),
        limit: Limit::AtMost(1.25),
    }
}

/// The queens that can be placed beside those before them, for boards from 4 × 4 on: a task each.
const TASKS: [u64; 11] =
    [16, 53, 152, 551, 2_056, 8_393, 35_538, 166_925, 856_188, 4_674_889, 27_358_552];

fn forms() -> Vec<Form> {
    vec![sinew::form(), rayon::form(), chili::form()]
}

fn cases(scale: Scale) -> Vec<Case> {
    let (all, some) = scale.pick(
        ("nqueens 11", "nqueens 11, tasks in 5 rows"),
        ("nqueens 7", "nqueens 7, tasks in 3 rows"),
    );
    let (size, rows) = scale.pick((11, 5), (7, 3));
    let board = Board::empty(size);
    let operations = tasks(board, board.free(), rows);
    vec![sized(all, size), Case { label: some, size, kind: rows, repeats: 1, operations }]
}

/// The rows whose queens are tasks.
fn rows(case: &Case) -> u64 {
    if case.kind == 0 { case.size } else { case.kind }
}

/// The queens that can be placed beside those before them, in so many rows.
fn tasks(board: Board, free: u64, rows: u64) -> u64 {
    if rows == 0 || free == 0 {
        return 0;
    }
    let (next, rest) = board.choose(free);
    1 + tasks(next, next.free(), rows - 1) + tasks(board, rest, rows)
}

pub(crate) fn sized(label: &'static str, size: u64) -> Case {
    let tasks = usize::try_from(size).ok().and_then(|size| TASKS.get(size.checked_sub(4)?));
    Case { label, size, kind: 0, repeats: 1, operations: tasks.copied().unwrap_or(1) }
}

/// The queens that stand, as bit sets over the columns of the next row.
#[derive(Clone, Copy)]
struct Board {
    all: u64,
    columns: u64,
    left: u64,
    right: u64,
}

impl Board {
    fn empty(size: u64) -> Self {
        Self { all: (1 << size) - 1, columns: 0, left: 0, right: 0 }
    }

    fn is_full(self) -> bool {
        self.columns == self.all
    }

    /// Columns of the next row that no queen attacks.
    fn free(self) -> u64 {
        self.all & !(self.columns | self.left | self.right)
    }

    /// The board after a queen in the lowest of the `free` columns, and the free columns that
    /// remain.
    fn choose(self, free: u64) -> (Self, u64) {
        let bit = free & free.wrapping_neg();
        let next = Self {
            all: self.all,
            columns: self.columns | bit,
            left: (self.left | bit) << 1,
            right: (self.right | bit) >> 1,
        };
        (next, free ^ bit)
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: nothing of the count; speed is what the table is for.
    use super::*;

    #[test]
    fn the_counts_are_the_published_ones() {
        let count = |size| (PROBLEM.serial)(&sized("", size));
        assert_eq!([4, 5, 6, 7, 8, 9, 10].map(count), [2, 10, 4, 40, 92, 352, 724]);
    }

    /// Catches: a time per task that is that of another number of tasks.
    #[test]
    fn the_tasks_are_the_queens_that_are_placed() {
        for size in 4..10 {
            let board = Board::empty(size);
            let placed = tasks(board, board.free(), size);
            assert_eq!(placed, sized("", size).operations, "{size}");
        }
    }
}
