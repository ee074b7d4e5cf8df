//! Which packages have had a piece of what runs, for `Victims::Dealt`.
//!
//! When something comes from outside, every package but the one where it begins wants a piece, and
//! one sleeper of each is woken to fetch it. Whoever steals from another package has fetched it,
//! whatever it is.
//!
//! # Orderings
//!
//! Everything here is relaxed: two workers of one package that both go for a piece cost the package
//! nothing.

use sinew_sync::atomic::{AtomicU32, Ordering};

use crate::inner::Inner;

/// The pieces of the present root task.
#[derive(Debug)]
pub(super) struct Pieces {
    /// The number of the root task; 0 before the first.
    root: AtomicU32,
    /// For each package, of which root it last had a piece.
    served: Box<[AtomicU32]>,
}

impl Pieces {
    pub(super) fn new(packages: usize) -> Self {
        Self { root: AtomicU32::new(0), served: (0..packages).map(|_| AtomicU32::new(0)).collect() }
    }

    /// Whether `package` has yet to get its piece.
    pub(super) fn are_wanted_by(&self, package: usize) -> bool {
        self.served[package].load(Ordering::Relaxed) != self.root.load(Ordering::Relaxed)
    }

    /// `package` has its piece.
    pub(super) fn serve(&self, package: usize) {
        self.served[package].store(self.root.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl Inner {
    /// A new root task begins at `seat`.
    #[cold]
    pub(super) fn deal_cold(&self, seat: usize) {
        let home = self.stealing.packages.of(seat);
        self.stealing.pieces.root.fetch_add(1, Ordering::Relaxed);
        self.stealing.pieces.serve(home);
        if self.is_of_another_process() {
            return;
        }
        for package in (0..self.stealing.packages.count()).filter(|&package| package != home) {
            let mut members =
                self.seats.iter().filter(|seat| self.stealing.packages.of(seat.index()) == package);
            // Relaxed: a hint. Without a sleeper there is somebody awake who will come.
            let sleeper = members.rfind(|seat| !seat.active.load(Ordering::Relaxed));
            if let Some(sleeper) = sleeper.filter(|seat| !seat.is_surplus()) {
                sleeper.parker.unpark();
            }
        }
    }
}
