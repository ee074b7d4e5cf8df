//! A worker that takes part in an operation: counted by its control, pinned where the control's
//! mapping says, and reachable for the pool between two items.
//!
//! Participants of controlled loops do the same between two slices (`loops::controlled`).
//!
//! # Invariants
//!
//! - E2: the operations that a worker takes part in nest as its calls do. The pin of the innermost
//!   is the worker's innermost pin (B1 of `affinity`).

use std::cell::Cell;

use sinew_policy::pace::Pace;
use sinew_sync::clock::{TICKS_A_US, ticks};

use super::{Control, Operation, SOME};
use crate::affinity;
use crate::participants::Registration;
use sinew_core::{Worker, WorkerLocal};

/// Time between two checks, in ticks, unless a single item takes longer: as long as a loop's slice.
const SLICE: u64 = 50 * TICKS_A_US;

/// The largest number of items between two readings of the clock.
const UNTIMED: u32 = 64;

/// The innermost operation that a worker takes part in.
static INNERMOST: WorkerLocal<Cell<Innermost>> = WorkerLocal::new(Cell::default);

#[derive(Debug, Clone, Copy, Default)]
struct Innermost {
    /// The control of the operation.
    control: usize,
    rank: usize,
    /// The version of the requests by which the thread is pinned.
    settled: u64,
    /// Whether the worker's innermost pin belongs to this operation.
    is_pinned: bool,
}

/// A worker that takes part in an operation other than a loop, until this is dropped. For authors
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
#[must_use = "the worker takes part until this is dropped"]
pub struct Participant<'c> {
    w: &'c Worker,
    control: Option<&'c Control>,
    /// The operation around this one, if there is a control.
    around: Innermost,
    looks: Looks,
    _registration: Option<Registration<'c>>,
}

impl<'c> Participant<'c> {
    /// The worker takes part from now on with a rank that no other participant of the operation
    /// has meanwhile. Under a control its thread is pinned to the place of that rank, if the
    /// control has a mapping.
    pub fn enter(w: &'c Worker, operation: Option<&Operation<'c>>, rank: usize) -> Self {
        match operation {
            Some(operation) => operation.enter(w, rank, None),
            None => Self {
                w,
                control: None,
                around: Innermost::default(),
                looks: Looks::default(),
                _registration: None,
            },
        }
    }

    /// Looks up between two items, without a lock. Publishes tasks for thieves that have asked,
    /// follows the pool's mapping, and serves a [call](Worker::serve_calls) from outside that
    /// waits. Has the pool read quota and affinity if it follows them. Does so as often as loops do
    /// between two slices, or after each item that took longer. Returns whether it did; the thread
    /// may then run on another processor.
    ///
    /// # Cost
    ///
    /// An addition and a comparison, mostly.
    #[inline]
    pub fn poll(&mut self) -> bool {
        self.poll_after(1)
    }

    /// The same after so many items, which may be up to
    /// [`items_until_poll`](Self::items_until_poll).
    #[inline]
    pub fn poll_after(&mut self, items: u32) -> bool {
        let is_due = self.looks.is_due(items);
        if is_due {
            self.look_cold();
        }
        is_due
    }

    /// How many items may follow each other before the next look around, by the time that the last
    /// ones took: from 1 for long items to 64.
    #[inline]
    pub fn items_until_poll(&self) -> u32 {
        self.looks.left()
    }

    #[cold]
    fn look_cold(&mut self) {
        let now = ticks();
        self.looks.timed(now);
        self.w.safe_point();
        self.w.check_limits_at(now);
        self.w.serve_calls();
    }
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        let Some(control) = self.control else { return };
        if self.w.local(&INNERMOST).replace(self.around).is_pinned {
            affinity::unpin(self.w, control.places());
        }
        control.end_work();
    }
}

impl<'c> Operation<'c> {
    /// The worker takes part from here on, until the result is dropped. Its thread is pinned by the
    /// control's mapping, if that has one, and unpinned in the end. A worker may take part several
    /// times, one after the other or nested; a worker that takes part already need not call this.
    pub fn take_part<'w>(&'w self, w: &'w Worker) -> Participant<'w> {
        self.enter(w, 0, Some(self.participants.register()))
    }

    /// The worker begins to take part.
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
            around: w.local(&INNERMOST).replace(innermost),
            looks: Looks::default(),
            _registration: registration,
        };
        self.follow(w);
        participant
    }

    /// Between two items or steps of a worker that takes part: pins its thread where the control
    /// wants it now. [`join`](Self::join) does so by itself.
    ///
    /// # Cost
    ///
    /// Two loads and a comparison, unless something was requested.
    #[inline]
    pub fn follow(&self, w: &Worker) {
        if w.local(&INNERMOST).get().settled != self.version() {
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
        innermost.settled = version | SOME;
        w.local(&INNERMOST).set(innermost);
        control.mark_followed(version);
    }
}

/// When a participant looks around: the last looks tell after how many items.
#[derive(Debug)]
struct Looks {
    items: u32,
    stride: u32,
    last: u64,
    pace: Pace,
}

impl Default for Looks {
    fn default() -> Self {
        Self { items: 0, stride: 1, last: 0, pace: Pace::default() }
    }
}

impl Looks {
    /// So many items have ended.
    #[inline]
    fn is_due(&mut self, items: u32) -> bool {
        self.items += items;
        self.items >= self.stride
    }

    /// Items until it is due, at least one.
    #[inline]
    fn left(&self) -> u32 {
        self.stride.saturating_sub(self.items).max(1)
    }

    /// The participant looks around at `now`.
    fn timed(&mut self, now: u64) {
        self.pace.record(self.items as usize, now.saturating_sub(self.last), SLICE);
        self.stride = self.pace.slice().min(UNTIMED as usize) as u32;
        (self.items, self.last) = (0, now);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Items of this length between the last two of some looks.
    fn between(looks: &mut Looks, length: u64) -> u32 {
        let mut now = looks.last;
        for _ in 0..20 {
            let mut items = 1;
            now += length;
            while !looks.is_due(1) {
                items += 1;
                now += length;
            }
            looks.timed(now);
            if looks.stride == items {
                return items;
            }
        }
        looks.stride
    }

    /// Catches: a clock that is read after each short item, and a long item that ends without a
    /// look.
    #[test]
    fn long_items_are_followed_by_a_look_and_short_ones_are_not() {
        let mut looks = Looks::default();
        assert_eq!(between(&mut looks, 1), UNTIMED);
        assert_eq!(between(&mut looks, SLICE + 1), 1);
        assert_eq!(between(&mut looks, 1), UNTIMED);
    }
}
