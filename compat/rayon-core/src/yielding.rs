//! The outcome of yielding.

/// What came of yielding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A task was run.
    Executed,
    /// There was none.
    Idle,
}

impl Yield {
    pub(crate) fn of(executed: bool) -> Self {
        if executed { Self::Executed } else { Self::Idle }
    }
}
