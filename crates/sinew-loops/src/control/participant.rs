//! A participant of an operation other than a loop: its control counts it and pins its thread, and
//! between two items it polls the requests of the pool.
//!
//! Participants of controlled loops do the same between two slices (`loops::controlled`). How many
//! participants an operation may have is in `operation`.
//!
//! # Invariants
//!
//! - E2: the operations of a worker nest as its calls do. The pin of the innermost one is the
//!   worker's innermost pin (B1 of `affinity`).

use std::cell::Cell;

use sinew_policy::pace::Pace;
use sinew_sync::clock::{TICKS_PER_US, ticks};

use super::{Control, Operation, SOME};
use crate::affinity;
use crate::participants::Registration;
use sinew_core::{Worker, WorkerLocal};

/// The time between two polls, in ticks, unless a single item takes longer: that of a loop's slice.
const SLICE: u64 = 50 * TICKS_PER_US;

/// The largest number of items between two polls.
const MAX_ITEMS: usize = 64;

/// The innermost operation of a worker.
static INNERMOST: WorkerLocal<Cell<Innermost>> = WorkerLocal::new(Cell::default);

#[derive(Debug, Clone, Copy, Default)]
struct Innermost {
    /// The identity of its control.
    control: usize,
    rank: usize,
    /// The version of the requests that the thread's pin follows.
    pinned_version: u64,
    /// Whether the worker's innermost pin belongs to this operation.
    is_pinned: bool,
}

/// A worker's participation in an operation other than a loop, until this is dropped. For authors
/// of skeletons.
///
/// ```
/// use sinew_loops::{Control, Operation, Participant};
///
/// let control = Control::new();
/// let operation = Operation::begin(&control, 1_000)?;
/// sinew_core::run(|w| {
///     let mut participant = Participant::enter(w, Some(&operation), 0);
///     assert_eq!(control.snapshot().working, 1);
///     for _ in 0..1_000 {
///         operation.done(w, 1);
///         participant.poll();
///     }
/// });
/// operation.end();
/// # Ok::<(), sinew_core::Cancelled>(())
/// ```
#[derive(Debug)]
#[must_use = "the worker participates until this is dropped"]
pub struct Participant<'c> {
    w: &'c Worker,
    control: Option<&'c Control>,
    /// The enclosing operation, if this one has a control.
    enclosing: Innermost,
    timer: PollTimer,
    _registration: Option<Registration<'c>>,
}

impl<'c> Participant<'c> {
    /// Makes the worker a participant with a rank that no other participant of the operation has
    /// meanwhile. If the control has a mapping, it pins the thread to the place of that rank. It
    /// does not register with the operation; [`Operation::register`] does.
    pub fn enter(w: &'c Worker, operation: Option<&Operation<'c>>, rank: usize) -> Self {
        match operation {
            Some(operation) => operation.enter(w, rank, None),
            None => Self {
                w,
                control: None,
                enclosing: Innermost::default(),
                timer: PollTimer::default(),
                _registration: None,
            },
        }
    }

    /// To be called between two items, without a lock. About every 50 µs, or after each item that
    /// took longer, it publishes tasks for waiting thieves, follows the pool's mapping, quota and
    /// affinity, and serves a waiting [call](Worker::serve_calls) from outside. Returns whether it
    /// did so; the thread may then run on another processor.
    ///
    /// # Cost
    ///
    /// Usually an addition and a comparison.
    #[inline]
    pub fn poll(&mut self) -> bool {
        self.poll_after(1)
    }

    /// As [`poll`](Self::poll), after `items` items: at most
    /// [`items_until_poll`](Self::items_until_poll).
    #[inline]
    pub fn poll_after(&mut self, items: u32) -> bool {
        let is_due = self.timer.count(items);
        if is_due {
            self.poll_cold();
        }
        is_due
    }

    /// How many items may run before the next poll is due, by the time that the last items took:
    /// from 1 for long items to 64 for short ones.
    #[inline]
    pub fn items_until_poll(&self) -> u32 {
        self.timer.left()
    }

    #[cold]
    fn poll_cold(&mut self) {
        let now = ticks();
        self.timer.polled(now);
        self.w.safe_point();
        self.w.check_limits_at(now);
        self.w.serve_calls();
    }
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        let Some(control) = self.control else { return };
        if self.w.local(&INNERMOST).replace(self.enclosing).is_pinned {
            affinity::unpin(self.w, control.places());
        }
        control.end_work();
    }
}

impl<'c> Operation<'c> {
    /// Registers the worker as a participant until the result is dropped. If the control has a
    /// mapping, it pins the thread meanwhile. A worker may be registered several times, in sequence
    /// or nested, but need not be.
    pub fn register<'w>(&'w self, w: &'w Worker) -> Participant<'w> {
        self.enter(w, 0, Some(self.participants.register()))
    }

    /// Makes the worker a participant; see [`Participant::enter`].
    pub(super) fn enter<'w>(
        &self,
        w: &'w Worker,
        rank: usize,
        registration: Option<Registration<'w>>,
    ) -> Participant<'w>
    where
        'c: 'w,
    {
        let control = self.control;
        control.begin_work();
        let innermost = Innermost { control: control.identity(), rank, ..Innermost::default() };
        let participant = Participant {
            w,
            control: Some(control),
            enclosing: w.local(&INNERMOST).replace(innermost),
            timer: PollTimer::default(),
            _registration: registration,
        };
        self.follow(w);
        participant
    }

    /// To be called by a participant between two items or steps: moves its thread if the control's
    /// mapping has changed. [`join`](Self::join) calls it.
    ///
    /// # Cost
    ///
    /// Two loads and a comparison, unless something was requested.
    #[inline]
    pub fn follow(&self, w: &Worker) {
        if w.local(&INNERMOST).get().pinned_version != self.version() {
            self.follow_cold(w);
        }
    }

    #[cold]
    fn follow_cold(&self, w: &Worker) {
        let control = self.control;
        let (version, requests) = control.requests();
        self.set_requested(version, requests.threads);
        let mut innermost = w.local(&INNERMOST).get();
        if innermost.control != control.identity() {
            return;
        }
        let Innermost { rank, is_pinned, .. } = innermost;
        innermost.is_pinned =
            affinity::follow(w, control.places(), rank, is_pinned, requests.pinning.as_ref());
        innermost.pinned_version = version | SOME;
        w.local(&INNERMOST).set(innermost);
        control.mark_followed(version);
    }
}

/// Decides after how many items the next poll is due, by the time between the last polls.
#[derive(Debug)]
struct PollTimer {
    items: u32,
    last: u64,
    pace: Pace,
}

impl Default for PollTimer {
    fn default() -> Self {
        Self { items: 0, last: 0, pace: Pace::up_to(MAX_ITEMS) }
    }
}

impl PollTimer {
    /// `items` more items have ended. Returns whether a poll is due.
    #[inline]
    fn count(&mut self, items: u32) -> bool {
        self.items += items;
        self.items >= self.stride()
    }

    /// Items until a poll is due, at least one.
    #[inline]
    fn left(&self) -> u32 {
        self.stride().saturating_sub(self.items).max(1)
    }

    /// Items between two polls, at most [`MAX_ITEMS`].
    #[inline]
    fn stride(&self) -> u32 {
        self.pace.slice() as u32
    }

    /// A poll takes place at `now`.
    fn polled(&mut self, now: u64) {
        self.pace.record(self.items as usize, now.saturating_sub(self.last), SLICE);
        (self.items, self.last) = (0, now);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// The number of items between two polls, after some polls with items of this length.
    fn between(timer: &mut PollTimer, length: u64) -> u32 {
        let mut now = timer.last;
        for _ in 0..20 {
            let mut items = 1;
            now += length;
            while !timer.count(1) {
                items += 1;
                now += length;
            }
            timer.polled(now);
            if timer.stride() == items {
                return items;
            }
        }
        timer.stride()
    }

    /// Catches: a clock that is read after each short item, and a long item without a poll after
    /// it.
    #[test]
    fn each_long_item_is_followed_by_a_poll_and_short_ones_are_not() {
        let mut timer = PollTimer::default();
        assert_eq!(between(&mut timer, 1), MAX_ITEMS as u32);
        assert_eq!(between(&mut timer, SLICE + 1), 1);
        assert_eq!(between(&mut timer, 1), MAX_ITEMS as u32);
    }
}
