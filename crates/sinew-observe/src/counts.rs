//! The event counters of one worker.

use sinew_sync::counter::Counter;

/// An event that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Count {
    /// Tasks made by the worker.
    Spawned,
    /// Tasks run by the worker that made them.
    Inlined,
    /// Tasks run that another worker made.
    Stolen,
    /// Tasks run that came from outside the pool.
    Injected,
    /// Tasks run that were sent to this worker alone.
    Mailed,
    /// Pops of the worker's own tasks.
    Gets,
    /// Pushes and pops that synchronise with thieves.
    Queues,
    /// Successful attempts to steal.
    Claims,
    /// Failed attempts to steal.
    FailedClaims,
    /// Waits for other threads.
    Waits,
    /// Idle times.
    Searches,
    /// Sleeps.
    Parks,
    /// Calls from outside that have ended.
    Calls,
}

const COUNTS: usize = Count::Calls as usize + 1;

/// Counts of one worker. The worker writes them, any thread reads them.
#[derive(Debug, Default)]
pub(crate) struct WorkerCounts([Counter; COUNTS]);

/// A reading of the counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts([u64; COUNTS]);

impl WorkerCounts {
    /// Counts one event.
    #[inline]
    pub(crate) fn count(&self, what: Count) {
        self.0[what as usize].add(1);
    }

    pub(crate) fn read(&self) -> Counts {
        Counts(std::array::from_fn(|at| self.0[at].get()))
    }
}

impl Counts {
    pub(crate) fn of(&self, what: Count) -> u64 {
        self.0[what as usize]
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at].wrapping_add(other.0[at])))
    }

    pub(crate) fn since(self, earlier: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at].wrapping_sub(earlier.0[at])))
    }
}
