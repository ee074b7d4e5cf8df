//! Who works on a skeleton that is no loop: how many, and where their threads run.
//!
//! A worker *takes part* from when it takes up something of the skeleton until it is done with
//! that: a carrier's stay, a stolen arm with all that comes of it. Carriers count themselves
//! (`stream`). Skeletons that are made of joins go by the [`Course`]'s own join, which looks at the
//! number that is wished before it offers an arm: where enough are at work, both arms are run here.
//! An arm that was offered before and is stolen by one too many is *handed back*, and run by whose
//! it is. So a number that falls is followed as stolen arms end, one that rises at the next join.
//!
//! # Invariants
//!
//! - E1: nobody begins to take part where as many are at work as are wished. Who waits for a stolen
//!   arm is not at work; so there may be more for a moment, when it comes back.
//! - E2: a worker's stays nest, as its calls do: the lodging of the innermost is the worker's
//!   innermost (B1 of `lodging`).
//!
//! # Orderings
//!
//! `Relaxed`: counts that say whether to offer, of which nothing is published.
//!
//! # Cost
//!
//! Some loads for a join, of lines that are written when somebody comes or goes or something is
//! wished; a lock for each that comes.
//!
//! # Not handled
//!
//! A participant too many in the middle of a stolen arm: its frames hold what is to come of that,
//! and cannot be moved.
//!
//! # Tests
//!
//! `control::schedules`, with a planted bug; `tests/pool/course.rs`; the crate `sinew`'s
//! `tests/changes.rs`.

use sinew_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use sinew_sync::lock::Mutex;
use sinew_sync::plant::{Bug, planted};

use super::{Control, Course};
use std::cell::Cell;

use crate::lodging;
use sinew_core::{Worker, WorkerLocal};

/// A version that is not 0, which is none.
const SOME: u64 = 1 << 63;

/// What a course knows of those who take part.
#[derive(Debug)]
pub(super) struct Crew {
    /// The number of threads where none is wished.
    own: usize,
    threads: AtomicUsize,
    /// The version that `threads` is of. The lock makes both one.
    seen: AtomicU64,
    seeing: Mutex<()>,
    /// Participants that do not wait for others.
    pub(super) at_work: AtomicUsize,
}

impl Default for Crew {
    fn default() -> Self {
        Self {
            own: usize::MAX,
            threads: AtomicUsize::new(usize::MAX),
            seen: AtomicU64::new(0),
            seeing: Mutex::default(),
            at_work: AtomicUsize::new(0),
        }
    }
}

impl Crew {
    /// How many may be at work, if not all of the pool.
    fn most(&self, w: &Worker) -> Option<usize> {
        let most = self.threads.load(Ordering::Relaxed).min(w.allowed_workers());
        (most < w.max_workers()).then_some(most)
    }

    fn is_full(&self, w: &Worker) -> bool {
        self.most(w).is_some_and(|most| self.at_work.load(Ordering::Relaxed) >= most)
    }

    /// Counts one more, unless that is one too many (E1).
    fn admits(&self, w: &Worker) -> bool {
        let most = self.most(w).unwrap_or(usize::MAX);
        let one_more = |number| (number < most).then_some(number + 1);
        self.at_work.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    fn comes(&self) {
        self.at_work.fetch_add(1, Ordering::Relaxed);
    }

    fn goes(&self) {
        self.at_work.fetch_sub(1, Ordering::Relaxed);
    }

    /// The number of threads is this by the wishes of that version.
    fn sees(&self, version: u64, threads: Option<usize>) {
        let _seeing = self.seeing.lock();
        if self.seen.load(Ordering::Relaxed) < version | SOME {
            self.threads.store(threads.unwrap_or(self.own), Ordering::Relaxed);
            self.seen.store(version | SOME, Ordering::Relaxed);
        }
    }

    /// Takes up the number of threads, if another one is wished.
    fn catch_up(&self, control: &Control) {
        if self.seen.load(Ordering::Relaxed) != control.version() | SOME {
            let (version, wishes) = control.wishes();
            self.sees(version, wishes.threads);
        }
    }
}

/// A participant that waits for a stolen arm is not at work until this is dropped: when the arm has
/// returned, or when its panic goes on.
struct Away<'c>(&'c Crew);

impl<'c> Away<'c> {
    fn new(crew: &'c Crew) -> Self {
        crew.goes();
        Self(crew)
    }
}

impl Drop for Away<'_> {
    fn drop(&mut self) {
        if !planted(Bug::ForgottenReturn) {
            self.0.comes();
        }
    }
}

/// Which skeleton a worker takes part in, the innermost.
static STAY: WorkerLocal<Cell<Stay>> = WorkerLocal::new(Cell::default);

/// A worker's stay in a skeleton.
#[derive(Debug, Clone, Copy, Default)]
struct Stay {
    /// Whose skeleton it is.
    control: usize,
    /// The version of the wishes that the thread's place is of.
    settled: u64,
    /// Whether the innermost lodging of the worker is this stay's.
    is_lodged: bool,
}

/// A worker that takes part in a skeleton until this is dropped; see [`Course::take_part`].
#[derive(Debug)]
#[must_use = "it lasts until it is dropped"]
pub struct Participant<'w> {
    control: &'w Control,
    crew: &'w Crew,
    w: &'w Worker,
    /// The stay around this one.
    around: Stay,
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        if self.w.local(&STAY).replace(self.around).is_lodged {
            lodging::leave(self.w, self.control.places());
        }
        self.crew.goes();
        self.control.end_work();
    }
}

impl Course<'_> {
    /// The number of threads for [`join`](Self::join) where none is wished.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.crew.own = threads.max(1);
        self.crew.threads = AtomicUsize::new(self.crew.own);
        self
    }

    /// The worker takes part from here on, until the answer is dropped. Its thread goes to where
    /// the control has it, if that says so, and back in the end. One after the other and one within
    /// the other are fine; whoever is in a skeleton anyway need not ask.
    pub fn take_part<'w>(&'w self, w: &'w Worker) -> Participant<'w> {
        self.crew.comes();
        self.stay(w)
    }

    /// The worker, which has been counted, begins its stay.
    fn stay<'w>(&'w self, w: &'w Worker) -> Participant<'w> {
        let Self { control, crew, .. } = self;
        control.begin_work();
        let around =
            w.local(&STAY).replace(Stay { control: control.identity(), ..Stay::default() });
        let participant = Participant { control, crew, w, around };
        self.follow(w);
        participant
    }

    /// Between two items or steps of a worker that takes part: moves its thread to where the
    /// control has it now. [`join`](Self::join) does so by itself.
    ///
    /// # Cost
    ///
    /// Two loads and a comparison, unless something is wished.
    #[inline]
    pub fn follow(&self, w: &Worker) {
        if w.local(&STAY).get().settled != self.version() {
            self.follow_cold(w);
        }
    }

    #[cold]
    fn follow_cold(&self, w: &Worker) {
        let control = self.control;
        let (version, wishes) = control.wishes();
        self.crew.sees(version, wishes.threads);
        let mut stay = w.local(&STAY).get();
        if stay.control != control.identity() {
            return;
        }
        stay.is_lodged =
            lodging::follow(w, control.places(), 0, stay.is_lodged, wishes.pinning.as_ref());
        stay.settled = version | SOME;
        w.local(&STAY).set(stay);
        control.is_followed(version);
    }

    /// [`Worker::join`] of a worker that takes part, for skeletons that are made of joins: no more
    /// workers than wished are at work at once, apart from those at arms that they have stolen
    /// before, and no more than the pool lets work. Whoever steals the second arm takes part.
    /// Before the arms, the worker serves a [call](Worker::serve_calls) from outside that waits.
    ///
    /// # Panics
    ///
    /// If an arm does, as [`Worker::join`].
    ///
    /// # Cost
    ///
    /// Some nanoseconds more than [`Worker::join`].
    pub fn join<A, B, RA, RB>(&self, w: &Worker, a: A, b: B) -> (RA, RB)
    where
        A: for<'w> FnOnce(&'w Worker) -> RA,
        B: for<'w> FnOnce(&'w Worker) -> RB + Send,
        RB: Send,
    {
        self.follow(w);
        w.check_limits();
        if self.crew.is_full(w) {
            // No push looks up here.
            w.safe_point();
            return (a(w), b(w));
        }
        let (is_taken, mut away) = (AtomicBool::new(false), None);
        let first = |w: &Worker| {
            let result = a(w);
            away = is_taken.load(Ordering::Relaxed).then(|| Away::new(&self.crew));
            result
        };
        let second = |w: &Worker, is_stolen: bool| {
            if !is_stolen {
                return Ok(b(w));
            }
            self.crew.catch_up(self.control);
            if !self.crew.admits(w) {
                return Err(b);
            }
            is_taken.store(true, Ordering::Relaxed);
            let _participant = self.stay(w);
            Ok(b(w))
        };
        let (first, second) = w.join_context(first, second);
        drop(away);
        (first, second.unwrap_or_else(|b| b(w)))
    }
}
