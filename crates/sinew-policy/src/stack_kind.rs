//! The kinds of task stack.

/// The task stacks of a pool's workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum StackKind {
    /// The owner joins its private tasks without a locked instruction; thieves move the boundary
    /// between private and public tasks.
    #[default]
    Split,
    /// Faxén's two-field stack: a thief can steal every task at any time, and every join executes a
    /// test-and-set. For experiments: a join costs several times as much. With the feature
    /// `experiments`.
    #[cfg(feature = "experiments")]
    TwoField,
}

impl StackKind {
    /// Every kind.
    #[cfg(not(feature = "experiments"))]
    pub const ALL: [Self; 1] = [Self::Split];
    /// Every kind.
    #[cfg(feature = "experiments")]
    pub const ALL: [Self; 2] = [Self::Split, Self::TwoField];

    /// The name by which the kind is printed and parsed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Split => "split",
            #[cfg(feature = "experiments")]
            Self::TwoField => "two-field",
        }
    }
}

crate::named::named!(StackKind, "task stack", experiments: ["two-field"]);
