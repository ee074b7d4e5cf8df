//! The version as a worklist: a unit is a path.

use sinew::worklist::{More, Work};
use sinew_stm::{Tx, TxResult};
use sinew_sync::lock::Mutex;

use super::Labyrinth;
use super::board::Board;
use super::lee::{Path, Sketch};
use super::paths::Paths;

/// Laying all paths.
struct Laying<'env> {
    labyrinth: &'env Labyrinth,
    board: &'env Board,
    /// Unused sketches: at most as many as there were workers and helpers at once.
    spare: Mutex<Vec<Sketch>>,
}

pub(super) fn solve(labyrinth: &Labyrinth, board: &Board) -> Paths {
    let mut paths = Paths::none(labyrinth.ends.len());
    if labyrinth.order.is_empty() {
        return paths;
    }
    let mut list = labyrinth.lists.list();
    // A list is emptied from its end.
    list.extend(labyrinth.order.iter().rev().copied());
    let laying = Laying { labyrinth, board, spare: Mutex::default() };
    let report = labyrinth.lists.run(&mut list, &laying);
    report.locals.into_iter().flatten().for_each(|(at, path)| paths.put(at, path));
    paths
}

impl Laying<'_> {
    fn sketch(&self) -> Sketch {
        let spare = self.spare.lock().pop();
        spare.unwrap_or_else(|| Sketch::new(self.labyrinth.maze.shape))
    }
}

impl<'env> Work<'env> for Laying<'env> {
    type Unit = usize;
    /// The number of the path, and the path if one exists.
    type Value = (usize, Option<Path>);
    type Local = Vec<(usize, Option<Path>)>;

    fn init(&self, _worker: usize) -> Self::Local {
        Vec::new()
    }

    fn process<'tx>(
        &self,
        tx: &mut Tx<'tx, 'env>,
        at: &usize,
        _: &mut More<usize>,
    ) -> TxResult<Self::Value> {
        let mut sketch = self.sketch();
        let path = self.board.lay(tx, &mut sketch, self.labyrinth.ends[*at]);
        self.spare.lock().push(sketch);
        Ok((*at, path?))
    }

    fn fold(&self, found: &mut Self::Local, (at, path): Self::Value) {
        path.iter().for_each(|path| self.board.map.enter(path));
        found.push((at, path));
    }
}
