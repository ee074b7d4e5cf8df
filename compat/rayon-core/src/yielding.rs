//! The result of a yield.

/// The result of a yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A task was run.
    Executed,
    /// There was no task.
    Idle,
}

impl Yield {
    pub(crate) fn of(executed: bool) -> Self {
        if executed { Self::Executed } else { Self::Idle }
    }
}
