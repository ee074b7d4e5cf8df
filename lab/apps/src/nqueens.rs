//! In how many ways n queens stand on an n × n board without attacking each other.
//!
//! Row by row; each place that no earlier queen attacks is a task, down to the last row, without a
//! cutoff. The board is an array of columns that is copied into each task, as in the Cilk and BOTS
//! versions. Bit masks would be faster, but would leave almost no work in a task.

use std::fmt;

use sinew::Worker;

use crate::app::App;
use crate::options::{Error, Numbers, Options};
use crate::problem::{Problem, Solve, Wrong, problem};

/// The number of solutions for boards of 1, 2, 3, … rows (OEIS A000170).
const KNOWN: [u64; 17] = [
    1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712, 365_596, 2_279_184, 14_772_512,
    95_815_104,
];

const MAX: usize = KNOWN.len();

const SIZES: &str = "a board of 1 to 17 rows";

const NUMBERS: Numbers =
    Numbers { app: "nqueens", sizes: SIZES, tiny: 7, small: 10, full: 13, range: 1..=MAX as u64 };

pub(crate) const APP: App = App {
    name: "nqueens",
    about: "ways to place n queens that do not attack each other: small tasks, uneven tree",
    sizes: SIZES,
    demo: "12",
    loops: false,
    reads_files: false,
    has_worklist: false,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let rows = NUMBERS.pick(&options.size)?;
    Ok(problem(Queens { rows: rows as usize }))
}

struct Queens {
    rows: usize,
}

#[derive(PartialEq)]
struct Solutions(u64);

impl fmt::Display for Solutions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} solutions", self.0)
    }
}

/// The columns of the queens placed so far, one a row.
#[derive(Clone, Copy)]
struct Board {
    columns: [u8; MAX],
    placed: usize,
}

impl Board {
    const EMPTY: Self = Self { columns: [0; MAX], placed: 0 };

    /// Whether a queen of the next row may stand in this column.
    fn allows(&self, column: u8) -> bool {
        let placed = self.columns[..self.placed].iter().rev();
        placed.zip(1..).all(|(&other, rows)| other != column && other.abs_diff(column) != rows)
    }

    fn with(mut self, column: u8) -> Self {
        self.columns[self.placed] = column;
        self.placed += 1;
        self
    }
}

impl Queens {
    fn allowed<'a>(&'a self, board: &'a Board) -> impl Iterator<Item = u8> + 'a {
        (0..self.rows as u8).filter(move |&column| board.allows(column))
    }

    fn count(&self, board: &Board) -> u64 {
        if board.placed == self.rows {
            return 1;
        }
        self.allowed(board).map(|column| self.count(&board.with(column))).sum()
    }

    fn count_in(&self, worker: &Worker, board: &Board) -> u64 {
        if board.placed == self.rows {
            return 1;
        }
        let (mut columns, mut found) = ([0; MAX], 0);
        for column in self.allowed(board) {
            columns[found] = column;
            found += 1;
        }
        self.count_each(worker, board, &columns[..found])
    }

    fn count_each(&self, worker: &Worker, board: &Board, columns: &[u8]) -> u64 {
        match columns {
            [] => 0,
            [column] => self.count_in(worker, &board.with(*column)),
            _ => {
                let (left, right) = columns.split_at(columns.len() / 2);
                let (a, b) = worker.join(
                    |w| self.count_each(w, board, left),
                    |w| self.count_each(w, board, right),
                );
                a + b
            }
        }
    }
}

impl Solve for Queens {
    type Input = ();
    type Answer = Solutions;

    fn size(&self) -> String {
        self.rows.to_string()
    }

    fn input(&self) {}

    fn serial(&self, (): ()) -> Solutions {
        Solutions(self.count(&Board::EMPTY))
    }

    fn parallel(&self, worker: &Worker, (): ()) -> Solutions {
        Solutions(self.count_in(worker, &Board::EMPTY))
    }

    fn check(&self, answer: &Solutions) -> Result<(), Wrong> {
        let known = KNOWN[self.rows - 1];
        Wrong::unless(answer.0 == known, || {
            format!("{} queens have {known} solutions, not {}", self.rows, answer.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_serial_version_counts_what_is_known() {
        for (rows, known) in (1..=9).zip(KNOWN) {
            assert_eq!(Queens { rows }.count(&Board::EMPTY), known, "{rows} queens");
        }
    }

    #[test]
    fn a_queen_attacks_its_column_and_both_diagonals() {
        let board = Board::EMPTY.with(3);
        let allowed: Vec<u8> = Queens { rows: 7 }.allowed(&board).collect();
        assert_eq!(allowed, [0, 1, 5, 6]);
        let allowed: Vec<u8> = Queens { rows: 7 }.allowed(&board.with(6)).collect();
        assert_eq!(allowed, [0, 2, 4]);
    }

    #[test]
    fn a_wrong_count_is_noticed() {
        assert!(Queens { rows: 8 }.check(&Solutions(91)).is_err());
    }
}
