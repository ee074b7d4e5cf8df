//! The participants of an operation: which workers are registered, and how many may be.
//!
//! An operation is work that several workers share: a loop, a pipeline, a tree of joins, a
//! worklist. A worker registers before it works on one, and leaves when its [`Registration`] is
//! dropped. The maximum is the lower of the requested number and the pool's limit, and may change
//! at any time. Operations store the requested number themselves, so each call gets the maximum as
//! an argument.
//!
//! | operation | registered | recruited by | beyond the maximum |
//! |---|---|---|---|
//! | plain loop (`loops::driver`) | the caller, and each helper that has claimed a chunk | one task, whose thief offers two more | helpers leave at their next chunk |
//! | controlled loop (`loops::controlled`) | each participant, with a rank | a task for each free rank | ranks beyond the maximum leave between two slices |
//! | joins (`control::joins`) | the caller, and each thief of an arm | the joins | the thief returns the arm unrun |
//! | pipeline (`stream`) | each pipeline task, also before it runs | a task, when another finds more work | tasks leave between two items |
//! | worklist (crate `sinew`) | each worker and helper, with a rank | a task for each free rank | ranks beyond the maximum leave between two units |
//!
//! # Invariants
//!
//! - N1: the count is the number of registrations that are not [`Suspended`], and of participants
//!   that the operation began with.
//! - N2: a rank belongs to one registration at a time.
//! - N3: [`Participants::register_below`] never raises the count above its maximum. A participant
//!   that resumes may.
//!
//! # Orderings
//!
//! The count is `Relaxed`: it publishes nothing. A rank is released by its last owner and acquired
//! by the next.
//!
//! # Cost
//!
//! One locked instruction to register and one to leave; with ranks two more, and a load for each 64
//! lower ranks. No allocation without ranks.

use sinew_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sinew_sync::plant::{Bug, planted};
use std::ops::Range;

/// The ranks of a word.
const BITS: usize = u64::BITS as usize;

/// The participants of one operation. For authors of skeletons.
///
/// ```
/// use sinew_loops::Participants;
///
/// let workers = Participants::with_ranks(3);
/// let [first, second] = [0..2, 0..2].map(|wanted| workers.register_rank(wanted).unwrap());
/// assert_eq!((first.rank(), second.rank(), workers.count()), (0, 1, 2));
/// assert!(workers.register_rank(0..2).is_none());
/// drop(first);
/// assert_eq!(workers.register_rank(0..2).unwrap().rank(), 0);
/// ```
#[derive(Debug)]
pub struct Participants {
    count: AtomicUsize,
    ranks: usize,
    /// A bit for each rank: whether it is taken. Empty if participants have no ranks.
    taken: Box<[AtomicU64]>,
}

impl Participants {
    /// Participants without ranks. `count` of them are counted from the beginning to the end.
    #[inline]
    pub fn new(count: usize) -> Self {
        Self { count: AtomicUsize::new(count), ranks: 0, taken: Box::default() }
    }

    /// Participants with the ranks `0..ranks`, none of which is taken.
    pub fn with_ranks(ranks: usize) -> Self {
        let taken = (0..ranks.div_ceil(BITS)).map(|_| AtomicU64::new(0)).collect();
        Self { count: AtomicUsize::new(0), ranks, taken }
    }

    /// How many are registered.
    #[inline]
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Registers a participant without a rank, whatever the maximum is.
    #[inline]
    pub fn register(&self) -> Registration<'_> {
        self.enter();
        Registration { participants: self, rank: None }
    }

    /// Registers a participant without a rank if fewer than `maximum` are registered (N3).
    pub fn register_below(&self, maximum: usize) -> Option<Registration<'_>> {
        let one_more = |count| (count < maximum).then_some(count + 1);
        self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        Some(Registration { participants: self, rank: None })
    }

    /// Registers a participant with the lowest free rank in `wanted`, if there is one (N2).
    pub fn register_rank(&self, wanted: Range<usize>) -> Option<Registration<'_>> {
        let mut rank = wanted.start;
        while rank < wanted.end.min(self.ranks) {
            let (word, bit) = (&self.taken[rank / BITS], rank % BITS);
            // Relaxed: the read-modify-write decides.
            let free = !word.load(Ordering::Relaxed) >> bit << bit;
            rank = rank - bit + free.trailing_zeros() as usize;
            if free != 0 && rank < wanted.end.min(self.ranks) && self.take(rank) {
                self.enter();
                return Some(Registration { participants: self, rank: Some(rank) });
            }
        }
        None
    }

    /// Whether this call has taken the rank.
    fn take(&self, rank: usize) -> bool {
        let bit = 1 << (rank % BITS);
        // Acquire: pairs with the release in `Registration::drop`.
        self.taken[rank / BITS].fetch_or(bit, Ordering::Acquire) & bit == 0
    }

    /// Whether a participant has this rank. A hint, unless a lock excludes changes.
    ///
    /// # Panics
    ///
    /// If there is no such rank.
    #[track_caller]
    pub fn is_taken(&self, rank: usize) -> bool {
        assert!(rank < self.ranks, "there is no rank {rank}");
        self.taken[rank / BITS].load(Ordering::Relaxed) & (1 << (rank % BITS)) != 0
    }

    #[inline]
    fn enter(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    fn leave(&self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A registered participant, until this is dropped.
#[derive(Debug)]
#[must_use = "the participant leaves when this is dropped"]
pub struct Registration<'p> {
    participants: &'p Participants,
    rank: Option<usize>,
}

impl Registration<'_> {
    /// The participant's rank; 0 if participants have none.
    #[inline]
    pub fn rank(&self) -> usize {
        self.rank.unwrap_or(0)
    }
}

impl Drop for Registration<'_> {
    #[inline]
    fn drop(&mut self) {
        self.participants.leave();
        if let Some(rank) = self.rank {
            // Release: pairs with `take`.
            let others = !(1 << (rank % BITS));
            self.participants.taken[rank / BITS].fetch_and(others, Ordering::Release);
        }
    }
}

/// A participant that waits for another one. It is not counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Suspended<'p>(&'p Participants);

impl<'p> Suspended<'p> {
    /// Suspends a participant that is registered.
    pub(crate) fn new(participants: &'p Participants) -> Self {
        participants.leave();
        Self(participants)
    }
}

impl Drop for Suspended<'_> {
    fn drop(&mut self) {
        if !planted(Bug::ForgottenReturn) {
            self.0.enter();
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Catches: a participant beyond the maximum, and one that stays counted when it has left or
    /// waits.
    #[test]
    fn the_count_follows_arrivals_departures_and_waits() {
        let participants = Participants::new(1);
        assert!(participants.register_below(1).is_none());
        let second = participants.register_below(2).unwrap();
        let third = participants.register();
        assert_eq!((participants.count(), third.rank()), (3, 0));
        let suspended = Suspended::new(&participants);
        assert_eq!(participants.count(), 2);
        drop(suspended);
        drop((second, third));
        assert_eq!(participants.count(), 1);
    }

    /// Catches: a rank with two owners, one that is never taken again, and one that does not exist.
    #[test]
    fn a_rank_has_one_owner_at_a_time() {
        let participants = Participants::with_ranks(3);
        let [first, second] = [0..2, 0..9].map(|wanted| participants.register_rank(wanted));
        assert_eq!([&first, &second].map(|one| one.as_ref().unwrap().rank()), [0, 1]);
        assert!(participants.register_rank(0..2).is_none());
        assert!(participants.register_rank(3..9).is_none());
        drop(first);
        assert!(!participants.is_taken(0) && participants.is_taken(1));
        assert!(participants.register_rank(1..2).is_none());
        assert_eq!(participants.register_rank(0..2).unwrap().rank(), 0);
        assert_eq!((participants.count(), participants.ranks()), (1, 3));
    }

    /// Catches: a rank above the last of its word, one below the wanted ones, and a word that is
    /// not searched, or whose ranks are counted from another word's.
    #[test]
    fn a_free_rank_is_the_lowest_one_in_any_word() {
        const RANKS: usize = 150;
        let participants = Participants::with_ranks(RANKS);
        let register = |wanted| participants.register_rank(wanted);
        let mut all: Vec<_> = (0..RANKS).map(|_| register(0..usize::MAX)).collect();
        let ranks = |all: &[Option<Registration<'_>>]| -> Vec<_> {
            all.iter().flatten().map(Registration::rank).collect()
        };
        assert!(ranks(&all).into_iter().eq(0..RANKS));
        assert!(register(0..usize::MAX).is_none());
        for free in [0, 63, 64, 127, 128, 149] {
            all[free] = None;
            assert!(!participants.is_taken(free));
            for wanted in [0..free, free + 1..RANKS, RANKS..usize::MAX] {
                assert!(register(wanted).is_none());
            }
            let low = free.saturating_sub(free % 7 + 60);
            all[free] = register(low..free + 1);
            assert!(participants.is_taken(free) && ranks(&all).into_iter().eq(0..RANKS));
        }
        assert_eq!(participants.count(), RANKS);
    }
}
