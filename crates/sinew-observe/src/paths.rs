//! Lengths of paths through the program's tasks, at several burdens at once.

use std::cell::Cell;

use sinew_policy::span;

/// The number of burdens at which a profile measures the span.
pub const BURDENS: usize = 3;

/// The default burdens, in ticks of the time-stamp counter: those of Wool's tables, and twice the
/// larger.
pub(crate) const DEFAULT_BURDENS: [u64; BURDENS] = [0, 1_000, 2_000];

/// A path's length at each burden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Paths(pub(crate) [u64; BURDENS]);

impl Paths {
    fn with(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self(std::array::from_fn(|at| f(self.0[at], other.0[at])))
    }

    pub(crate) fn plus(self, more: Self) -> Self {
        self.with(more, u64::saturating_add)
    }

    /// The length beyond `start`.
    pub(crate) fn beyond(self, start: Self) -> Self {
        self.with(start, u64::saturating_sub)
    }

    pub(crate) fn max(self, other: Self) -> Self {
        self.with(other, u64::max)
    }

    pub(crate) fn min(self, other: Self) -> Self {
        self.with(other, u64::min)
    }

    /// The path through a join of this arm and the second one.
    pub(crate) fn join(self, second: Self, burdens: &Self) -> Self {
        Self(std::array::from_fn(|at| span::join(self.0[at], second.0[at], burdens.0[at])))
    }

    /// The path through a loop of `pieces` pieces, of which this is the longest.
    pub(crate) fn tree(self, total: Self, pieces: u64, burdens: &Self) -> Self {
        Self(std::array::from_fn(|at| span::tree(self.0[at], total.0[at], pieces, burdens.0[at])))
    }
}

/// The path from the beginning of the running task to the present. It grows with the worker's work,
/// so only the difference is stored.
#[derive(Debug, Default)]
pub(crate) struct Strand {
    ahead: Cell<[u64; BURDENS]>,
    /// The beginning of the running task, on the path of its scope.
    start: Cell<Paths>,
}

/// A task below the running one.
#[derive(Debug)]
#[must_use]
pub(crate) struct Interrupted {
    path: Paths,
    start: Paths,
}

impl Strand {
    /// Its length, when the worker has done `work` in all.
    #[inline]
    pub(crate) fn path(&self, work: u64) -> Paths {
        Paths(self.ahead.get().map(|ahead| ahead.wrapping_add(work)))
    }

    /// Sets its length.
    #[inline]
    pub(crate) fn set_path(&self, work: u64, path: Paths) {
        self.ahead.set(path.0.map(|path| path.wrapping_sub(work)));
    }

    /// The beginning of the running task.
    pub(crate) fn start(&self) -> Paths {
        self.start.get()
    }

    /// Sets the beginning of the running task.
    pub(crate) fn begin_at(&self, work: u64, start: Paths) {
        self.start.set(start);
        self.set_path(work, start);
    }

    /// Begins another task, with its own path.
    pub(crate) fn interrupt(&self, work: u64) -> Interrupted {
        let interrupted = Interrupted { path: self.path(work), start: self.start.get() };
        self.begin_at(work, Paths::default());
        interrupted
    }

    /// Ends the running task.
    pub(crate) fn resume(&self, work: u64, interrupted: &Interrupted) {
        self.start.set(interrupted.start);
        self.set_path(work, interrupted.path);
    }
}
