//! The NUMA node for a worker's memory.

/// The preferred NUMA node of one worker's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PreferredNode {
    /// The machine has one node: no choice.
    #[default]
    OnlyNode,
    /// The node on which the worker's thread runs.
    Any,
    /// The node with this number of the operating system.
    Node(usize),
}
