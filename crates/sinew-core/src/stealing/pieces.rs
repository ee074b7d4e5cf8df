//! Which packages have taken a piece of the running root task, for `Victims::PiecePerPackage`.
//!
//! When a root task arrives from outside, every package but the one where it begins wants a piece,
//! and one sleeper of each is woken to steal one. Any steal from another package counts as that
//! piece.
//!
//! # Orderings
//!
//! Everything here is relaxed: if two workers of one package both steal a piece, the package loses
//! nothing.

use sinew_sync::atomic::{AtomicU32, Ordering};

/// The pieces of the present root task.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// The number of the root task; 0 before the first.
    root: AtomicU32,
    /// For each package, the root task of which it last took a piece.
    served: Box<[AtomicU32]>,
}

impl Pieces {
    pub(crate) fn new(packages: usize) -> Self {
        Self { root: AtomicU32::new(0), served: (0..packages).map(|_| AtomicU32::new(0)).collect() }
    }

    /// A new root task begins, in `package`.
    pub(crate) fn begin(&self, package: usize) {
        self.root.fetch_add(1, Ordering::Relaxed);
        self.serve(package);
    }

    /// Whether `package` still wants its piece.
    pub(crate) fn are_wanted_by(&self, package: usize) -> bool {
        self.served[package].load(Ordering::Relaxed) != self.root.load(Ordering::Relaxed)
    }

    /// Records that `package` has its piece.
    pub(crate) fn serve(&self, package: usize) {
        self.served[package].store(self.root.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}
