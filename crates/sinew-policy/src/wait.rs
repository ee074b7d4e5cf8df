//! The wait policies: what a worker runs while it waits for tasks that others run.

/// The tasks that a worker runs while it waits, in a join or at the end of a scope, for tasks that
/// other workers run.
///
/// The waiting worker runs a task on its own stack. If the waiting task holds a lock that this task
/// needs, both block for ever. Programs that hold locks across joins, scopes or loops need
/// [`Descendants`](Self::Descendants) or [`Block`](Self::Block), and must not take such locks in a
/// broadcast: any wait may run a deeper part of a broadcast, as no other worker can run it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Wait {
    /// Help the thief of the joined task, then run deeper tasks and parts of broadcasts only, then
    /// park.
    #[default]
    Leapfrog,
    /// Help the thief, then run any task, then park. The stack can grow with the number of tasks.
    Any,
    /// Run only tasks that are parts of the awaited one, and deeper parts of broadcasts, then park.
    /// During a call into another pool the worker runs nothing, so pools that call back into each
    /// other need another policy.
    Descendants,
    /// Help the thief; if the thief waits, help the thief of its awaited task, and so on; then
    /// park. For experiments.
    Transitive,
    /// Run only the own scope's tasks and deeper parts of broadcasts, and park. A worker that waits
    /// for another pool runs anything.
    Block,
}

impl Wait {
    /// Every policy.
    pub const ALL: [Self; 5] =
        [Self::Leapfrog, Self::Any, Self::Descendants, Self::Transitive, Self::Block];

    /// Whether programs may hold locks while they wait in joins and scopes.
    pub const fn allows_locks(self) -> bool {
        matches!(self, Self::Descendants | Self::Block)
    }

    /// The name by which the policy is printed and parsed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Leapfrog => "leapfrog",
            Self::Any => "any",
            Self::Descendants => "descendants",
            Self::Transitive => "transitive",
            Self::Block => "block",
        }
    }
}

crate::named::named!(Wait, "wait policy");
