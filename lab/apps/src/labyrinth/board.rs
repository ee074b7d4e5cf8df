//! The grid of the laid paths: the owner of each cell, and a map of it to copy from.
//!
//! The authoritative board is a transactional array with a value for each cell. Copying that for
//! each path would read all of it, so there is a *map* beside it, a bit a cell, in which a path is
//! entered once it has committed. The map may be late: a path that was found on an old copy meets
//! taken cells when it is claimed, and is given up. So a cell that is taken in the map is taken for
//! good, and one that is free may not be.
//!
//! # Invariants
//!
//! - A bit of the map is set only for a border, a wall, an end, or a cell whose claim has
//!   committed.
//! - Cells are never given back: a path that the map shows to be impossible remains so.

use sinew_stm::{TArray, Tx, TxResult};
use sinew_sync::atomic::{AtomicU64, Ordering};

use super::lee::{Path, Sketch};
use super::maze::Maze;

/// A bit for each cell, set where it is taken.
#[derive(Debug)]
pub(super) struct Map(Vec<AtomicU64>);

impl Map {
    /// The map of a maze without paths: what is taken are its border, its walls and the ends of all
    /// paths.
    pub(super) fn new(maze: &Maze) -> Self {
        let map =
            Self((0..maze.shape.cells().div_ceil(64)).map(|_| AtomicU64::new(u64::MAX)).collect());
        maze.shape.places().for_each(|place| map.set(maze.shape.cell(place), false));
        let taken = maze.walls.iter().chain(maze.pairs.iter().flatten());
        taken.for_each(|place| map.set(maze.shape.cell(*place), true));
        map
    }

    fn set(&self, cell: u32, taken: bool) {
        let (word, bit) = (&self.0[cell as usize / 64], 1 << (cell % 64));
        // Relaxed: nothing else is read because of a bit, and a late one is allowed.
        if taken {
            word.fetch_or(bit, Ordering::Relaxed)
        } else {
            word.fetch_and(!bit, Ordering::Relaxed)
        };
    }

    pub(super) fn is_taken(&self, cell: u32) -> bool {
        self.0[cell as usize / 64].load(Ordering::Relaxed) >> (cell % 64) & 1 == 1
    }

    /// Enters a path.
    pub(super) fn enter(&self, path: &Path) {
        inner(path).iter().for_each(|cell| self.set(*cell, true));
    }

    /// The bits, 64 in each.
    pub(super) fn words(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|word| word.load(Ordering::Relaxed))
    }
}

/// The cells of a path that it shares with no other: all but its ends, which an input may ask for
/// several times.
pub(super) fn inner(path: &Path) -> &[u32] {
    path.get(1..path.len() - 1).unwrap_or_default()
}

/// The grid while it is being filled.
#[derive(Debug)]
pub(super) struct Board {
    /// The cells that paths have taken.
    taken: TArray<bool>,
    pub(super) map: Map,
}

impl Board {
    pub(super) fn new(maze: &Maze) -> Self {
        Self { taken: TArray::new(maze.shape.cells(), false), map: Map::new(maze) }
    }

    /// Finds a path on a copy, and claims its cells. `None` if no way is left. Once this has
    /// committed, the path has to be [entered](Map::enter) in the map.
    ///
    /// # Errors
    ///
    /// The attempt is lost: a part of the path was taken since the copy was made.
    pub(super) fn lay<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        sketch: &mut Sketch,
        ends: [u32; 2],
    ) -> TxResult<Option<Path>> {
        let mut unmapped: Vec<u32> = Vec::new();
        loop {
            sketch.fill(self.map.words());
            unmapped.iter().for_each(|cell| sketch.take(*cell));
            let Some(path) = sketch.route(ends) else { return Ok(None) };
            let Some(cell) = self.first_taken(tx, inner(&path))? else {
                self.claim(tx, inner(&path))?;
                return Ok(Some(path));
            };
            // With the next attempt comes a copy that has the cell; unless its path belongs to this
            // very transaction, or has only just committed.
            if self.map.is_taken(cell) {
                return tx.restart();
            }
            unmapped.push(cell);
        }
    }

    fn first_taken<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, cells: &[u32]) -> TxResult<Option<u32>> {
        for &cell in cells {
            if self.taken.get(tx, cell as usize)? {
                return Ok(Some(cell));
            }
        }
        Ok(None)
    }

    fn claim<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, cells: &[u32]) -> TxResult<()> {
        cells.iter().try_for_each(|cell| self.taken.set(tx, *cell as usize, true))
    }
}

#[cfg(test)]
mod tests {
    use sinew_stm::{Transaction, atomically};

    use super::*;
    use crate::labyrinth::maze::Shape;

    /// A corridor of three cells' width, and a pair of ends on each of its outer lanes' middles.
    fn maze() -> Maze {
        let shape = Shape::new([7, 3, 1]).unwrap();
        Maze {
            shape,
            walls: Vec::new(),
            pairs: vec![[[0, 1, 0], [6, 1, 0]], [[3, 0, 0], [3, 2, 0]]],
        }
    }

    fn ends(maze: &Maze, pair: usize) -> [u32; 2] {
        maze.pairs[pair].map(|place| maze.shape.cell(place))
    }

    /// Catches: a path that is claimed on an old copy across another.
    #[test]
    fn a_path_across_one_that_was_laid_meanwhile_is_given_up_and_found_anew() {
        let maze = maze();
        let (board, mut sketch) = (Board::new(&maze), Sketch::new(maze.shape));
        let first = atomically(|tx| board.lay(tx, &mut sketch, ends(&maze, 0))).unwrap();
        assert_eq!(first.len(), 7);
        // Committed and not yet entered: known to the array, and no way is left beside it.
        let second = atomically(|tx| board.lay(tx, &mut sketch, ends(&maze, 1)));
        assert_eq!(second, None);
        board.map.enter(&first);
        assert!(inner(&first).iter().all(|cell| board.map.is_taken(*cell)));
        assert_eq!(atomically(|tx| board.lay(tx, &mut sketch, ends(&maze, 1))), None);
    }

    /// Catches: a transaction of two paths that gives way to itself for ever.
    #[test]
    fn two_paths_of_one_transaction_do_not_cross() {
        let mut maze = maze();
        maze.shape = Shape::new([7, 3, 2]).unwrap();
        let (board, mut sketch) = (Board::new(&maze), Sketch::new(maze.shape));
        let both = Transaction::new().attempt(|tx| {
            let first = board.lay(tx, &mut sketch, ends(&maze, 0))?;
            Ok([first, board.lay(tx, &mut sketch, ends(&maze, 1))?].map(Option::unwrap))
        });
        let [first, second] = both.unwrap();
        assert!(
            inner(&first).iter().all(|cell| !inner(&second).contains(cell)),
            "{first:?}, {second:?}"
        );
        assert_eq!((first.len(), second.len()), (7, 5));
    }

    /// Catches: cells of a path that are missing from what is claimed or entered.
    #[test]
    fn a_path_leaves_its_ends_to_others() {
        assert_eq!(inner(&vec![5, 6, 7]), [6]);
        assert!(inner(&vec![5, 6]).is_empty() && inner(&vec![5]).is_empty());
    }
}
