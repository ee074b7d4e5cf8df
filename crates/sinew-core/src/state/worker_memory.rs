//! Where a worker's own memory belongs: on the node that its thread is pinned to.
//!
//! Owners and thieves touch a worker's state at every task, and its owner the task stack at every
//! join. A page lies where it is touched first, and a pool's workers are written by whoever builds
//! it. So on a machine of several nodes each worker has pages of its own, which are placed before
//! they are written (`worker_slots`), and a task stack that was used before keeps its pages only if
//! they lie on the node of its next owner (`stack/slots`). Where there is one node nothing of this
//! is done.
//!
//! # Not handled
//!
//! Mappings that change: pages stay where the first one put them, since moving them makes the
//! kernel interrupt every processor. Threads that are pinned nowhere, and external threads, have
//! their state where the builder wrote it, on pages which the kernel can move by itself, as nobody
//! else's lie there, and their stack where they touch it first. What lies in the allocator's
//! memory: parkers, buffers of deques, victim policies, and the two ends of a two-field stack.
//!
//! # Tests
//!
//! `worker_slots` and `stack/slots` test the means; `cargo xtask numa-guest` asks a kernel with
//! several nodes.

use sinew_deque::PreferredNode;
use sinew_topology::{CpuAssignment, Machine, PlacementError, memory_nodes, page_nodes};

use crate::state::pool_state::FirstSlot;
use crate::state::worker::Worker;

/// Where the memory of each worker should lie, for workers that are pinned as `cpu_assignment`
/// says.
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
    let home = |(slot, pu)| {
        let pinned = Option::filter(pu, |_| slot > 0 || first_slot == FirstSlot::Thread);
        pinned
            .and_then(|pu| machine.nearest_node(pu, &nodes))
            .map_or(PreferredNode::Any, PreferredNode::Node)
    };
    cpu_assignment.pus().iter().copied().enumerate().map(home).collect()
}

/// On which NUMA nodes a worker's own memory lies, page by page: [`Worker::page_nodes`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnPages {
    /// Its state, which its owner and thieves use.
    pub state: Vec<Option<usize>>,
    /// Its task stack from the oldest task on; `None` for pages that nobody has touched.
    pub stack: Vec<Option<usize>>,
}

impl Worker {
    /// Where the memory of this worker lies, asked of the kernel. On a machine of several nodes
    /// that of a pinned worker is to lie on its node, or on the nearest that has memory.
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
    /// [`PlacementError::Unknown`] where the system does not tell, and has more than one node.
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
