//! The version that is written by hand: workers take pairs from a transactional queue, and lay each
//! path in one transaction.

use sinew::Worker;
use sinew_stm::{TQueue, Transaction, atomically};
use sinew_sync::lock::Mutex;

use super::Labyrinth;
use super::board::Board;
use super::lee::{Path, Sketch};
use super::paths::Paths;

/// The result of a worker: the number of the path, and the path if one exists.
type Found = Vec<(usize, Option<Path>)>;

/// The state that workers share.
struct Team<'p> {
    labyrinth: &'p Labyrinth,
    board: &'p Board,
    /// The paths that no worker has begun.
    queue: TQueue<usize>,
    found: Mutex<Found>,
    how: Transaction,
}

pub(super) fn solve(labyrinth: &Labyrinth, worker: &Worker, board: &Board) -> Paths {
    let queue = TQueue::new();
    let order = labyrinth.lists.ordered(labyrinth.order.iter().copied());
    atomically(|tx| order.iter().try_for_each(|at| queue.push(tx, *at)));
    let how = labyrinth.lists.transaction();
    let team = Team { labyrinth, board, queue, found: Mutex::new(Vec::new()), how };
    worker.scope(|scope| {
        for _ in 0..worker.max_threads() {
            scope.spawn(|_| team.work());
        }
    });
    let mut paths = Paths::none(labyrinth.ends.len());
    team.found.into_inner().into_iter().for_each(|(at, path)| paths.put(at, path));
    paths
}

impl Team<'_> {
    fn work(&self) {
        let mut sketch = Sketch::new(self.labyrinth.maze.shape);
        let mut found = Found::new();
        while let Some(at) = self.how.atomically(|tx| self.queue.pop(tx)) {
            let path = self.lay(&mut sketch, self.labyrinth.ends[at]);
            path.iter().for_each(|path| self.board.map.enter(path));
            found.push((at, path));
        }
        self.found.lock().append(&mut found);
    }

    /// Lays a path in one transaction, which is repeated at once: each repetition follows another's
    /// path, so they are not many.
    fn lay(&self, sketch: &mut Sketch, ends: [u32; 2]) -> Option<Path> {
        loop {
            if let Ok(path) = self.how.attempt(|tx| self.board.lay(tx, sketch, ends)) {
                return path;
            }
        }
    }
}
