//! Nodes of linked containers, by index.
//!
//! Memory of nodes is never moved, nor freed before the container is dropped, and only transactions
//! change a node. So a transaction can follow an index that it has read even if another one has
//! removed or reused the node. Then the node's variables are younger than the snapshot, and the
//! transaction finds that the link to it has changed. (I8.) [`TMap`](super::TMap) follows addresses
//! in the same way.
//!
//! The list of free nodes is not transactional, so two transactions that allocate do not conflict.
//! An attempt that aborts returns the nodes that it took; a commit returns the nodes that it
//! removed.
//!
//! # Invariants
//!
//! - I16: a transaction allocates a node only under a snapshot that includes the commit that freed
//!   the node. Then no link in the transaction's view names the node before the transaction itself
//!   writes such a link.
//!
//! # Why I16 is needed
//!
//! A removal writes the links to a node, not the node's own variables. A transaction with an older
//! snapshot may still see a link to the node. If it took that node for a new entry, it would find
//! its own writes at the old position: a list would become a cycle, a tree would be unsorted. No
//! other check would prevent that, since a transaction does not validate the records that it has
//! locked.
//!
//! # Why it holds
//!
//! The list keeps a time with each free node: the clock as its remover's commit handler read it,
//! which is the version of that commit or later. [`Arena::allocate`] extends the snapshot to that
//! time, as a read of a variable of that version would, and fails if a variable that was read has
//! changed. So the view is a committed state, not older than the removal, with the transaction's
//! own writes on top. In that state no link that can be reached from the container's root names the
//! node: each container's removal writes all of them. The transaction knows only indices that it
//! read from such links, and nodes that it allocated. An attempt that aborts returns its nodes with
//! their times: it never published a link to them.
//!
//! - The snapshot is extended likewise under late locks and in runs ahead, which would find their
//!   own writes as well.
//! - The token's holder needs no extension. Committed versions are not younger than its snapshot
//!   (I4), even if the clock has advanced for commits that gave way; so its snapshot includes the
//!   removal.
//! - A node that was never used is in no snapshot, and has been free from the beginning.
//!
//! # Orderings
//!
//! The remover releases its records and then returns the node under the lock. The allocator takes
//! it under the lock and then reads records. So it sees them as the remover left them, or later.

use crate::engine::{ARENAS, engine};
use crate::tx::Tx;
use crate::tx_error::TxResult;
use sinew_sync::lock::{Mutex, MutexGuard};
use std::sync::OnceLock;

/// Nodes in the first chunk. Each further chunk has twice as many as the one before.
const FIRST: u32 = if cfg!(any(loom, shuttle)) { 4 } else { 8 };

/// Chunks for all indices but [`NONE`].
const CHUNKS: usize = (u32::BITS - FIRST.ilog2()) as usize;

/// The index of no node.
pub(super) const NONE: u32 = u32::MAX;

/// A node that no link names.
#[derive(Debug, Clone, Copy)]
struct Unlinked {
    index: u32,
    /// The version of the commit that freed it, or later.
    since: u64,
}

/// The free nodes.
#[derive(Debug, Default)]
struct Free {
    used_before: Vec<Unlinked>,
    never_used: u32,
}

/// Nodes, by index.
#[derive(Debug)]
pub(super) struct Arena<N> {
    chunks: [OnceLock<Box<[N]>>; CHUNKS],
    free: Mutex<Free>,
}

/// The chunk of a node, and its index in the chunk.
#[inline(always)]
fn place(index: u32) -> (usize, usize) {
    let shifted = u64::from(index) + u64::from(FIRST);
    let level = shifted.ilog2() - FIRST.ilog2();
    (level as usize, usize::try_from(shifted - (u64::from(FIRST) << level)).unwrap_or(usize::MAX))
}

impl<N> Arena<N> {
    pub(super) fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS], free: Mutex::new(Free::default()) }
    }

    /// The node `index`, which this transaction allocated or read from a link.
    #[inline(always)]
    pub(super) fn node(&self, index: u32) -> &N {
        let (chunk, place) = place(index);
        &self.chunks[chunk].get().expect("links name nodes that were allocated")[place]
    }

    /// The index of a node.
    ///
    /// # Cost
    ///
    /// A search of the chunks.
    pub(super) fn index_of(&self, node: &N) -> u32 {
        let address = std::ptr::from_ref(node).addr();
        let mut first = 0;
        for level in 0..CHUNKS {
            let chunk = self.chunks[level].get().map_or(&[][..], |chunk| chunk);
            let range = chunk.as_ptr_range();
            if (range.start.addr()..range.end.addr()).contains(&address) {
                return first + ((address - range.start.addr()) / size_of::<N>()) as u32;
            }
            first += FIRST << level;
        }
        unreachable!("a node of this arena")
    }

    /// A node that no other transaction uses, with values from `make` or from its last user. The
    /// caller sets all of them.
    ///
    /// # Errors
    ///
    /// The attempt is lost: a variable that it has read changed before the node became free.
    ///
    /// # Panics
    ///
    /// If the container has 2³² - 9 nodes.
    pub(super) fn allocate<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        make: impl Fn() -> N,
    ) -> TxResult<(u32, &'tx N)> {
        let free = self.take();
        self.reserve(free.index, make);
        tx.on_abort(move || self.give(free));
        // I16.
        tx.descriptor.catch_up(free.since)?;
        Ok((free.index, self.node(free.index)))
    }

    /// Ensures that node `index` exists. For containers that number their nodes themselves.
    pub(super) fn reserve(&self, index: u32, make: impl Fn() -> N) {
        let (chunk, _) = place(index);
        if self.chunks[chunk].get().is_some() {
            return;
        }
        // Held so that a thread that forks finds no other thread growing a container.
        let _growing = engine().growth.lock();
        self.chunks[chunk].get_or_init(|| (0..(FIRST as usize) << chunk).map(|_| make()).collect());
    }

    /// Returns a node to the free list once `tx` has committed. No link may name it then.
    pub(super) fn release<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, index: u32) {
        tx.on_commit(move || self.give(Unlinked { index, since: engine().clock.now() }));
    }

    /// The lock that is taken before that of the free list, so that a thread that forks can take
    /// it. Few containers share one.
    fn pass(&self) -> MutexGuard<'static, ()> {
        let mixed = ((&raw const *self).addr() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        engine().arenas[(mixed >> 32) as usize % ARENAS].lock()
    }

    fn take(&self) -> Unlinked {
        let _passed = self.pass();
        let mut free = self.free.lock();
        free.used_before.pop().unwrap_or_else(|| {
            let index = free.never_used;
            assert!(index < NONE - FIRST, "a container has at most 2^32 - 9 nodes");
            free.never_used += 1;
            Unlinked { index, since: 0 }
        })
    }

    fn give(&self, node: Unlinked) {
        let _passed = self.pass();
        self.free.lock().used_before.push(node);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::{Arena, NONE};
    use crate::{ContentionManager, Locking, TVar, Transaction, atomically};
    use loom::thread;
    use sinew_sync::plant::{Bug, plant};
    use std::sync::Arc;

    /// One thread removes a node; the other reads the link to it and allocates a node. Both run as
    /// `how`.
    fn removal_against_allocation(how: fn() -> Transaction) {
        let shared = Arc::new((TVar::new(NONE), Arena::new()));
        let (link, nodes) = &*shared;
        atomically(|tx| {
            let (index, node) = nodes.allocate(tx, || TVar::new(0_u64))?;
            node.set(tx, 1)?;
            link.set(tx, index)
        });
        let other = Arc::clone(&shared);
        let remover = thread::spawn(move || {
            how().atomically(|tx| {
                let index = other.0.replace(tx, NONE)?;
                other.1.release(tx, index);
                Ok(())
            });
        });
        how().atomically(|tx| {
            let linked = link.get(tx)?;
            let (index, node) = nodes.allocate(tx, || TVar::new(0))?;
            assert_ne!(linked, index, "not opaque: a node that is linked was allocated");
            node.set(tx, 2)
        });
        remover.join().unwrap();
    }

    /// Takes the token soon, so that a model ends.
    fn early() -> Transaction {
        Transaction::new().manager(ContentionManager::Suicide).max_aborts(1)
    }

    fn late() -> Transaction {
        early().locking(Locking::Commit)
    }

    /// Catches: an allocation that is not ordered after the removal, also by the token's holder.
    #[test]
    fn loom_a_node_is_allocated_after_its_removal() {
        loom::model(|| removal_against_allocation(early));
        loom::model(|| removal_against_allocation(late));
    }

    /// Catches: a model that does not check old snapshots.
    #[test]
    #[should_panic(expected = "not opaque")]
    fn loom_finds_a_node_allocated_under_an_old_snapshot() {
        plant(&[Bug::StaleNode]);
        loom::model(|| removal_against_allocation(early));
    }

    /// Catches: the same under late locks.
    #[test]
    #[should_panic(expected = "not opaque")]
    fn loom_finds_a_node_allocated_late_under_an_old_snapshot() {
        plant(&[Bug::StaleNode]);
        loom::model(|| removal_against_allocation(late));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::place;

    /// Catches: two indices for one node, and indices beyond the end of a chunk.
    #[test]
    fn places_follow_each_other() {
        let mut last = (0, 0);
        assert_eq!(place(0), last);
        for index in 1..10_000 {
            let here = place(index);
            assert!(
                here == (last.0, last.1 + 1)
                    || here == (last.0 + 1, 0) && last.1 + 1 == (super::FIRST as usize) << last.0
            );
            last = here;
        }
        assert_eq!(place(super::NONE - super::FIRST - 1).0, super::CHUNKS - 1);
    }
}
