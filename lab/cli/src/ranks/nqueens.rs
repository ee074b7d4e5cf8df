//! The ways to place n queens. A unit is a board with queens in its first rows.

use std::fmt;

use sinew_console::Failure;
use sinew_dist::World;
use sinew_dist::bag::{BagCounts, Out};

use super::program::{Program, SHOWN_EVERY, units};

struct Queens(u32);

/// Tiny, small, full, or the number of rows.
pub(super) fn program(size: &str) -> Result<impl Program<Answer = Ways>, Failure> {
    let rows = match size {
        "tiny" => Some(7),
        "small" => Some(10),
        "full" => Some(13),
        other => other.parse().ok().filter(|rows| (1..=17).contains(rows)),
    };
    let wanted = || format!("nqueens has no size `{size}`: use tiny, small, full or 1 to 17 rows");
    rows.map(Queens).ok_or_else(|| Failure::Usage(wanted()))
}

#[derive(PartialEq)]
pub(super) struct Ways(u64);

impl fmt::Display for Ways {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} solutions", self.0)
    }
}

/// Rows with a queen, and the columns that queens attack in the next row: straight, and along both
/// diagonals.
type Board = [u32; 4];

impl Queens {
    /// The boards with a queen more.
    fn next(&self, [rows, columns, left, right]: Board) -> impl Iterator<Item = Board> {
        let all = if rows < self.0 { (1 << self.0) - 1 } else { 0 };
        let mut free = !(columns | left | right) & all;
        std::iter::from_fn(move || {
            let queen = free & free.wrapping_neg();
            free ^= queen;
            let (left, right) = ((left | queen) << 1, (right | queen) >> 1);
            (queen != 0).then_some([rows + 1, columns | queen, left, right])
        })
    }
}

impl Program for Queens {
    type Answer = Ways;

    fn size(&self) -> String {
        self.0.to_string()
    }

    fn serial(&self) -> Ways {
        let (mut boards, mut ways) = (vec![[0; 4]], 0);
        while let Some(board) = boards.pop() {
            ways += u64::from(board[0] == self.0);
            boards.extend(self.next(board));
        }
        Ways(ways)
    }

    fn over(&self, world: &World, see: &dyn Fn(&str)) -> (Ways, Vec<BagCounts>) {
        let roots = (world.rank() == 0).then_some([0; 4]);
        let unit = |board: Board, out: &mut Out<'_, Board>, ways: &mut u64| {
            *ways += u64::from(board[0] == self.0);
            out.extend(self.next(board));
        };
        let bag = world.plain_bag(roots).progress(SHOWN_EVERY, |run| see(&units(run, world)));
        let (ways, counts) = bag.run_counted(unit, |a, b| a + b);
        (Ways(ways), counts)
    }

    /// OEIS A000170.
    fn known(&self) -> Option<Ways> {
        let known = [1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712];
        known.get(self.0 as usize - 1).copied().map(Ways)
    }
}
