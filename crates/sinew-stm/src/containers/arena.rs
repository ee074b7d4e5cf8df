//! Nodes of linked containers, by index.
//!
//! Memory of nodes is never given back before the container goes, and a node is only ever changed by transactions. So an index that a
//! transaction has read can be followed without care: if the node has been taken out since, and even if it was used again, its
//! variables are younger than the snapshot, and the transaction finds that the link it came by has changed. (I8.)
//!
//! Free nodes are listed outside of transactions, so allocating conflicts with nobody: an attempt that is given up returns what it took,
//! and what it freed is returned after the commit.

use crate::tx::Tx;
use sinew_sync::lock::Mutex;
use std::sync::OnceLock;

/// Nodes in the first chunk; each further one has twice as many as the one before.
const FIRST: u32 = 64;

/// Chunks for all indices but [`NONE`].
const CHUNKS: usize = 26;

/// The index of no node.
pub(super) const NONE: u32 = u32::MAX;

/// Which indices are free.
#[derive(Debug, Default)]
struct Free {
    used_before: Vec<u32>,
    never_used: u32,
}

/// Nodes, by index.
#[derive(Debug)]
pub(super) struct Arena<N> {
    chunks: [OnceLock<Box<[N]>>; CHUNKS],
    free: Mutex<Free>,
}

/// The chunk and the place in it of a node.
fn place(index: u32) -> (usize, usize) {
    let shifted = u64::from(index) + u64::from(FIRST);
    let level = shifted.ilog2() - FIRST.ilog2();
    (level as usize, usize::try_from(shifted - (u64::from(FIRST) << level)).unwrap_or(usize::MAX))
}

impl<N> Arena<N> {
    pub(super) fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS], free: Mutex::new(Free::default()) }
    }

    /// The node `index`, which was allocated by this transaction or read from a link.
    pub(super) fn node(&self, index: u32) -> &N {
        let (chunk, place) = place(index);
        &self.chunks[chunk].get().expect("links name nodes that were allocated")[place]
    }

    /// A node that nobody else uses, in whatever state: what `make` made, or what its last user left. All of it must be set.
    ///
    /// # Panics
    ///
    /// With 2³² - 65 nodes.
    pub(super) fn allocate<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, make: impl Fn() -> N) -> (u32, &'tx N) {
        let index = self.take();
        self.reserve(index, make);
        tx.on_abort(move || self.give(index));
        (index, self.node(index))
    }

    /// Makes sure that there is a node `index`. For containers that number their nodes themselves.
    pub(super) fn reserve(&self, index: u32, make: impl Fn() -> N) {
        let (chunk, _) = place(index);
        self.chunks[chunk].get_or_init(|| (0..(FIRST as usize) << chunk).map(|_| make()).collect());
    }

    /// Gives back a node that no link names once `tx` has committed.
    pub(super) fn release<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, index: u32) {
        tx.on_commit(move || self.give(index));
    }

    fn take(&self) -> u32 {
        let mut free = self.free.lock();
        free.used_before.pop().unwrap_or_else(|| {
            let index = free.never_used;
            assert!(index < NONE - FIRST, "a container has at most 2^32 - 65 nodes");
            free.never_used += 1;
            index
        })
    }

    fn give(&self, index: u32) {
        self.free.lock().used_before.push(index);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::place;

    /// Would miss: two indices with one place, and places beyond the end of a chunk.
    #[test]
    fn places_follow_each_other() {
        let mut last = (0, 0);
        assert_eq!(place(0), last);
        for index in 1..10_000 {
            let here = place(index);
            assert!(here == (last.0, last.1 + 1) || here == (last.0 + 1, 0) && last.1 + 1 == 64 << last.0);
            last = here;
        }
        assert_eq!(place(super::NONE - 65).0, super::CHUNKS - 1);
    }
}
