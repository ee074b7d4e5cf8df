//! The NUMA node on which a worker's memory should lie.

/// Where the memory of one worker should lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PreferredNode {
    /// The machine has one node: there is nothing to choose.
    #[default]
    OnlyNode,
    /// The node on which the worker's thread happens to run.
    Any,
    /// The node with this number of the system's.
    Node(usize),
}
