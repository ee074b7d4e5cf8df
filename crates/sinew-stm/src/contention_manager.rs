//! The choice of a contention manager.

/// The reaction to a record that another transaction has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ContentionManager {
    /// Abort at once, and restart at once. Best if conflicts are rare and attempts short.
    Suicide,
    /// Wait briefly for the lock, then abort, and pause before the next attempt. The pauses are
    /// random and double on average.
    #[default]
    Backoff,
    /// The older transaction waits; the younger one aborts and keeps its age. So the oldest one
    /// gets its locks. Transactions under another manager count as the youngest.
    Age,
}
