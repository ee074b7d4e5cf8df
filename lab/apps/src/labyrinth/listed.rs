//! The version as a worklist: a unit is a path.

use sinew::worklist::{More, Work};
use sinew_stm::{Tx, TxResult};

use super::Labyrinth;
use super::board::Board;
use super::lee::{Path, Sketch};
use super::paths::Paths;

/// Laying all paths.
struct Laying<'env> {
    labyrinth: &'env Labyrinth,
    board: &'env Board,
}

/// The local value of a worker.
struct Local {
    /// Filled anew by each attempt.
    sketch: Sketch,
    found: Vec<(usize, Option<Path>)>,
}

pub(super) fn solve(labyrinth: &Labyrinth, board: &Board) -> Paths {
    let mut paths = Paths::none(labyrinth.ends.len());
    if labyrinth.order.is_empty() {
        return paths;
    }
    let mut list = labyrinth.lists.list();
    // A list is emptied from its end.
    let order = labyrinth.lists.ordered(labyrinth.order.iter().copied());
    list.extend(order.into_iter().rev());
    let laying = Laying { labyrinth, board };
    let report = labyrinth.lists.run(&mut list, &laying);
    let found = report.locals.into_iter().flat_map(|local| local.found);
    found.for_each(|(at, path)| paths.put(at, path));
    paths
}

impl<'env> Work<'env> for Laying<'env> {
    type Unit = usize;
    /// The number of the path, and the path if one exists.
    type Value = (usize, Option<Path>);
    type Local = Local;

    fn init(&self, _worker: usize) -> Local {
        Local { sketch: Sketch::new(self.labyrinth.maze.shape), found: Vec::new() }
    }

    fn process<'tx>(
        &self,
        tx: &mut Tx<'tx, 'env>,
        at: &usize,
        local: &mut Local,
        _: &mut More<usize>,
    ) -> TxResult<Self::Value> {
        let path = self.board.lay(tx, &mut local.sketch, self.labyrinth.ends[*at])?;
        Ok((*at, path))
    }

    fn fold(&self, local: &mut Local, (at, path): Self::Value) {
        path.iter().for_each(|path| self.board.map.enter(path));
        local.found.push((at, path));
    }
}
