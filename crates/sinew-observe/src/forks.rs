//! Open joins and loops, and the lengths of the paths through them.

use crate::paths::Paths;

/// A join, from its fork to its end.
#[derive(Debug)]
pub(crate) struct OpenJoin {
    /// The path to its fork.
    start: Paths,
    /// The path through its first arm.
    first: Paths,
}

impl OpenJoin {
    /// A join that forks at `start`.
    pub(crate) fn new(start: Paths) -> Self {
        Self { start, first: Paths::default() }
    }

    pub(crate) fn start(&self) -> Paths {
        self.start
    }

    /// The first arm ends at `end`.
    pub(crate) fn first_arm_ended(&mut self, end: Paths) {
        self.first = end.beyond(self.start);
    }

    /// The path to the end of the join, with this length of the second arm.
    pub(crate) fn end(&self, second: Paths, burdens: &Paths) -> Paths {
        self.start.plus(self.first.join(second, burdens))
    }
}

/// The pieces of a loop that one worker runs, which could have run in parallel.
#[derive(Debug)]
pub(crate) struct OpenLoop {
    start: Paths,
    longest: Paths,
    total: Paths,
    pieces: u64,
    /// Whether other workers may run pieces of it.
    pub(crate) is_shared: bool,
}

impl OpenLoop {
    /// A loop that begins at `start`.
    pub(crate) fn new(start: Paths, is_shared: bool) -> Self {
        let (longest, total) = Default::default();
        Self { start, longest, total, pieces: 0, is_shared }
    }

    /// A piece ends at `end`. Returns where the next one begins.
    pub(crate) fn piece_ended(&mut self, end: Paths) -> Paths {
        let piece = end.beyond(self.start);
        self.longest = self.longest.max(piece);
        self.total = self.total.plus(piece);
        self.pieces += 1;
        self.start
    }

    /// The path to the end of the loop. `end` is beyond the start if the last piece panicked.
    pub(crate) fn end(&self, end: Paths, burdens: &Paths) -> Paths {
        let pieces = self.longest.tree(self.total, self.pieces, burdens);
        self.start.plus(pieces).plus(end.beyond(self.start))
    }
}
