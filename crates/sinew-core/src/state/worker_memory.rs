//! The placement of a worker's own memory, on the node to which its thread is pinned.
//!
//! Owners and thieves access a worker's state at every task, and its owner accesses the task stack
//! at every join. The first touch places a page, and the thread that builds a pool writes all its
//! workers. So on a machine of several nodes each worker has pages of its own, which are placed
//! before they are written (`worker_slots`). A task stack that is reused keeps its pages only if
//! they are on the node of its next owner (`stack/slots`). On a machine of one node no memory is
//! placed.
//!
//! # Not handled
//!
//! Mappings that change: pages stay where the first mapping put them, since a move makes the kernel
//! interrupt every processor. Threads that are not pinned, and external threads: their state is
//! where the builder wrote it, on pages of its own, which the kernel can move; their stack is where
//! they touch it first. Memory of the allocator: parkers, buffers of deques, victim policies, and
//! the two ends of a two-field stack.
//!
//! # Tests
//!
//! `worker_slots` and `stack/slots` test the mechanisms; `cargo xtask numa-guest` tests the
//! placement on a kernel with several nodes.

use sinew_deque::PreferredNode;
use sinew_topology::{CpuAssignment, Machine, PlacementError, memory_nodes, page_nodes};

use crate::state::pool_state::FirstSlot;
use crate::state::worker::Worker;

/// The preferred node of each worker's memory, for workers that are pinned by `cpu_assignment`.
pub(crate) fn preferred_nodes(
    machine: &Machine,
    cpu_assignment: &CpuAssignment,
    first_slot: FirstSlot,
) -> Vec<PreferredNode> {
    let one_node = || vec![PreferredNode::OnlyNode; cpu_assignment.workers()];
    if machine.nodes().len() < 2 {
        return one_node();
    }
    let nodes = memory_nodes();
    if nodes.len() < 2 {
        return one_node();
    }
    let preferred = |(slot, pu)| {
        let pinned = Option::filter(pu, |_| slot > 0 || first_slot == FirstSlot::Thread);
        pinned
            .and_then(|pu| machine.nearest_node(pu, &nodes))
            .map_or(PreferredNode::Any, PreferredNode::Node)
    };
    cpu_assignment.pus().iter().copied().enumerate().map(preferred).collect()
}

/// The NUMA nodes of the pages of a worker's own memory; see [`Worker::page_nodes`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnPages {
    /// The pages of its state, which its owner and thieves use.
    pub state: Vec<Option<usize>>,
    /// The pages of its task stack from the oldest task on; `None` for pages that have not been
    /// touched.
    pub stack: Vec<Option<usize>>,
}

impl Worker {
    /// The nodes of this worker's memory, as the kernel reports them. On a machine of several nodes
    /// the memory of a pinned worker should be on its node, or on the nearest one with memory.
    ///
    /// ```
    /// sinew_core::run(|w| match w.page_nodes() {
    ///     Ok(pages) => assert!(pages.state.iter().all(Option::is_some)),
    ///     Err(error) => println!("{error}"),
    /// });
    /// ```
    ///
    /// # Errors
    ///
    /// [`PlacementError::Unknown`] if the system has more than one node and does not report them.
    ///
    /// # Cost
    ///
    /// Two system calls; some 10 µs.
    pub fn page_nodes(&self) -> Result<OwnPages, PlacementError> {
        Ok(OwnPages {
            state: page_nodes(std::slice::from_ref(self))?,
            stack: self.stack.page_nodes()?,
        })
    }
}
