//! The activities of a worker, which has exactly one at each moment.

/// A worker's activity at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Activity {
    /// Runs the program's code.
    Application,
    /// Makes a task.
    Spawn,
    /// Publishes tasks while it makes one.
    SpawnQueue,
    /// Pops a task of its own, or finds it stolen.
    Get,
    /// The part of such a pop that synchronises with thieves.
    GetQueue,
    /// Chooses the victim of a successful steal.
    Choice,
    /// Claims another worker's task.
    Claim,
    /// The rest of a successful steal: from the claim to the task, and from the task's end to the
    /// report.
    Steal,
    /// Fails to claim another worker's task.
    FailedClaim,
    /// Searches for work, between two attempts to steal.
    Search,
    /// Runs other scheduler code: polls a joined task, begins and ends waits.
    Wait,
    /// Sleeps without work.
    Parked,
    /// The worker has no thread.
    Away,
}

impl Activity {
    pub(crate) const ALL: [Self; 13] = [
        Self::Application,
        Self::Spawn,
        Self::SpawnQueue,
        Self::Get,
        Self::GetQueue,
        Self::Choice,
        Self::Claim,
        Self::Steal,
        Self::FailedClaim,
        Self::Search,
        Self::Wait,
        Self::Parked,
        Self::Away,
    ];
}

/// The number of kinds of time: each activity outside and inside a join.
pub(crate) const KINDS: usize = 2 * Activity::ALL.len();

/// An activity outside or inside a join, as a number below [`KINDS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind(usize);

impl Kind {
    pub(crate) fn new(activity: Activity, inside: bool) -> Self {
        Self(2 * activity as usize + usize::from(inside))
    }

    /// The kind with this number.
    pub(crate) fn of(number: u64) -> Self {
        Self(usize::try_from(number).unwrap_or(0).min(KINDS - 1))
    }

    pub(crate) fn number(self) -> usize {
        self.0
    }

    pub(crate) fn activity(self) -> Activity {
        Activity::ALL[self.0 / 2]
    }
}
