//! Paths through the tasks of a scope.
//!
//! A task of a scope begins where its spawner was on the path of the scope, one burden later, and
//! the scope ends where the last of its tasks does.
//!
//! # Not handled
//!
//! A task that a stolen arm spawns into a scope begins, for the profile, at the earliest where that
//! arm began, as if the scope had begun there. The span is too short by the path before. Parts of
//! broadcasts are work, but on no path.
//!
//! # Cost
//!
//! A locked list a task.

use sinew_sync::lock::Mutex;

use crate::paths::Paths;
use crate::recorder::Mark;

/// How far the tasks of a scope have come, and, where the profiler records, their strands.
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
    /// A task has run from `start` to `end`.
    pub(crate) fn note(&self, start: Paths, end: Paths) {
        let mut ended = self.ended.lock();
        ended.last = ended.last.max(end);
        ended.total = ended.total.plus(end.beyond(start));
    }

    /// The strand with this number is that of a task.
    pub(crate) fn keep(&self, strand: usize) {
        self.strands.lock().push(strand);
    }

    /// Its tasks as parts of the strand that spawned them, all begun at its end.
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

    /// The end of the scope whose body has come to `body`: no later than if the body had run all
    /// tasks itself.
    pub(crate) fn end(&self, body: Paths) -> Paths {
        let ended = *self.ended.lock();
        body.max(ended.last.min(body.plus(ended.total)))
    }
}
