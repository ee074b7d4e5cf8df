//! Paths through the tasks of a scope.
//!
//! A task of a scope begins at its spawner's position on the path of the scope plus one burden. The
//! scope ends with the last of its tasks.
//!
//! # Not handled
//!
//! A task that a stolen arm spawns into a scope counts as if the scope had begun with that arm, so
//! the span lacks the path before the arm. Parts of broadcasts are work, but on no path.
//!
//! # Cost
//!
//! A lock for each task.

use sinew_sync::lock::Mutex;

use crate::paths::Paths;
use crate::recorder::Mark;

/// The paths to the ends of a scope's tasks, and, if the profiler records, their strands.
#[derive(Debug, Default)]
pub(crate) struct ScopePaths {
    ended: Mutex<Ended>,
    strands: Mutex<Vec<usize>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Ended {
    /// The farthest end.
    last: Paths,
    /// All tasks, one after another.
    total: Paths,
}

impl ScopePaths {
    /// A task ends at `end`, which began at `start`.
    pub(crate) fn task_ended(&self, start: Paths, end: Paths) {
        let mut ended = self.ended.lock();
        ended.last = ended.last.max(end);
        ended.total = ended.total.plus(end.beyond(start));
    }

    /// Adds the strand of a task, by its number.
    pub(crate) fn keep(&self, strand: usize) {
        self.strands.lock().push(strand);
    }

    /// Marks that insert the strands of all tasks into the strand of the scope, at its end.
    pub(crate) fn marks(&self) -> Vec<Mark> {
        let strands = std::mem::take(&mut *self.strands.lock());
        if strands.is_empty() {
            return Vec::new();
        }
        let mut marks: Vec<Mark> =
            strands.into_iter().flat_map(|strand| [Mark::Next, Mark::Strand(strand)]).collect();
        marks[0] = Mark::Fork;
        marks.push(Mark::Join);
        marks
    }

    /// The path to the end of the scope whose body ends at `body`: at most as if the body had run
    /// all tasks itself.
    pub(crate) fn end(&self, body: Paths) -> Paths {
        let ended = *self.ended.lock();
        body.max(ended.last.min(body.plus(ended.total)))
    }
}
