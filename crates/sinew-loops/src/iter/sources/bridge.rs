//! Chains over sequential iterators.
//!
//! The iterator is under a lock. A participant takes a batch of items under it, and processes them
//! without it. Each participant paces itself: its batches begin with one item, and double while
//! they take less time than [`TARGET_TICKS`], so expensive items are balanced one by one, and cheap
//! ones need few locks and few readings of the clock.
//!
//! Items that come one by one and are cheap take less time than the lock takes from one core to
//! another. A participant that mostly finds the lock taken, and whose items are that cheap, leaves
//! it to the others for a few times the time that it has competed.
//!
//! A batch has no more items than the iterator promises (the lower bound of its `size_hint`), or
//! one. So a participant does not wait for an item, for example from a channel, while it has
//! another one in hand.
//!
//! # Positions
//!
//! There are more positions than items. A range has at most as many items as positions; a short
//! one, as the loop driver claims it, ends after some time. The rest of its positions have no item.
//!
//! # Invariants
//!
//! - B1: a participant has processed or dropped all that it took before it returns.
//! - B2: the iterator is not called after it has returned `None` or has panicked.
//! - B3: a thread that is in a call of the iterator does not wait for the lock. If the iterator
//!   waits for parallel work of its own, the thread may begin to help the loop. It then ends the
//!   loop for the others (`is_left`), and processes the rest when it has returned to the first
//!   call.
//!
//! # Orderings
//!
//! All accesses are `Relaxed`. The lock publishes the iterator. `holder` is compared with the value
//! that the same thread has stored. `is_left` is stored and loaded by the thread that needs it.

use std::fmt;
use std::ops::{ControlFlow, Range};

use sinew_policy::chunk::Schedule;
use sinew_policy::pace::Pace;
use sinew_sync::atomic::{AtomicBool, AtomicUsize, Ordering, spin_loop};
use sinew_sync::clock::{TICKS_PER_US, ticks};
use sinew_sync::lock::{Mutex, MutexGuard};

use crate::iter::{Positions, Uncontrolled};
use crate::loops::{Options, Site};

/// Sequential iterators that a chain can be made of.
///
/// Items come in any order. The iterator runs on any worker of the current pool, but not on two at
/// once, and under a lock. So it should not wait for parallel work in the same pool, whose threads
/// may wait for the lock.
///
/// ```
/// use sinew_loops::iter::*;
///
/// let (sender, receiver) = std::sync::mpsc::channel();
/// (0..100).for_each(|i| sender.send(i).unwrap());
/// drop(sender);
/// assert_eq!(receiver.into_iter().par_bridge().map(|i| i * 2).sum::<i32>(), 9900);
/// ```
///
/// # Cost
///
/// A lock for a batch of items. A batch is one item unless `size_hint` promises more.
pub trait ParallelBridge: Sized {
    /// A chain over the items.
    fn par_bridge(self) -> IterBridge<Self>;
}

impl<I: Iterator<Item: Send> + Send> ParallelBridge for I {
    #[track_caller]
    fn par_bridge(self) -> IterBridge<Self> {
        let options = Options { site: Some(Site::caller()), ..Options::default() };
        IterBridge {
            state: Mutex::new(State { iterator: self, has_ended: false }),
            holder: AtomicUsize::new(0),
            is_left: AtomicBool::new(false),
            options: scheduled(options),
        }
    }
}

/// More positions than any iterator has items; a few such numbers can be added.
const POSITIONS: usize = 1 << (usize::BITS - 2);
/// The positions of a claim, and the most items of a batch.
const CHUNK: usize = 1024;
/// The most bytes of a batch.
const BATCH_BYTES: usize = 64 * 1024;
/// The intended time of a batch.
const TARGET_TICKS: u64 = 16 * TICKS_PER_US;
/// An item that takes less time, with its part of the waiting, is not worth a lock that is passed
/// from core to core.
const CHEAP_TICKS: u64 = TICKS_PER_US;
/// How many times as long as it has competed for the lock a participant leaves it alone: some 0.1
/// ms at most.
const AWAY: u64 = 8;
/// The time after which a participant returns to the loop driver.
const TURN_TICKS: u64 = 50 * TICKS_PER_US;

/// The chain of [`ParallelBridge::par_bridge`]. A schedule has no effect on it.
pub struct IterBridge<I> {
    state: Mutex<State<I>>,
    /// The [thread](this_thread) that is in a call of the iterator.
    holder: AtomicUsize,
    /// Whether a thread has ended the loop without having ended the iterator (B3).
    is_left: AtomicBool,
    options: Options<'static>,
}

struct State<I> {
    iterator: I,
    has_ended: bool,
}

impl<I> fmt::Debug for IterBridge<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IterBridge").finish_non_exhaustive()
    }
}

/// The options, with the schedule that suits batches: claims of one length, in order.
fn scheduled(options: Options<'_>) -> Options<'_> {
    Options { schedule: Schedule::Dynamic { chunk: CHUNK }, open: false, ..options }
}

/// A number of the calling thread, other than 0.
fn this_thread() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

/// The result of a request for items.
enum Taken<T> {
    /// An item; the batch is empty.
    Item(T),
    /// A batch; there may be more.
    Batch,
    /// A batch, or nothing: the iterator has ended.
    Last,
    /// Nothing, because a call of the iterator waits for this thread (B3).
    Nested,
}

impl<I: Iterator> IterBridge<I> {
    /// The most items of a batch.
    const MOST: usize = match size_of::<I::Item>() {
        0 => CHUNK,
        size if BATCH_BYTES / size > CHUNK => CHUNK,
        size if size > BATCH_BYTES => 1,
        size => BATCH_BYTES / size,
    };

    /// Takes at most `most` items, at least 1. Several are put into an empty batch. Counts in
    /// `waits` if it has to wait for the lock.
    #[inline]
    fn take(&self, batch: &mut Vec<I::Item>, most: usize, waits: &mut usize) -> Taken<I::Item> {
        let free = self.state.try_lock();
        let Some(mut state) = free.or_else(|| self.wait_cold(waits)) else {
            return Taken::Nested;
        };
        if state.has_ended {
            return Taken::Last;
        }
        self.holder.store(this_thread(), Ordering::Relaxed);
        // Stays if the iterator panics (B2).
        state.has_ended = true;
        let number = state.iterator.size_hint().0.clamp(1, most);
        let taken = if number == 1 {
            state.iterator.next().map_or(Taken::Last, Taken::Item)
        } else {
            batch.extend(state.iterator.by_ref().take(number));
            if batch.len() < number { Taken::Last } else { Taken::Batch }
        };
        state.has_ended = matches!(taken, Taken::Last);
        self.holder.store(0, Ordering::Relaxed);
        taken
    }

    /// Waits for the lock, which was not free, and counts it in `waits`. `None` if this thread has
    /// the lock itself, in a call of the iterator (B3).
    #[cold]
    fn wait_cold(&self, waits: &mut usize) -> Option<MutexGuard<'_, State<I>>> {
        // Relaxed: see the orderings.
        if self.holder.load(Ordering::Relaxed) == this_thread() {
            self.is_left.store(true, Ordering::Relaxed);
            return None;
        }
        *waits += 1;
        Some(self.state.lock())
    }
}

// SAFETY: each call of the iterator is under the lock, and each item goes to one participant. Items
// of a sequential iterator have no positions, so any order keeps C2 as far as it can.
unsafe impl<I: Iterator<Item: Send> + Send> Positions for IterBridge<I> {
    type Item = I::Item;
    type Mode = Uncontrolled;

    #[inline]
    fn num_positions(&self) -> usize {
        POSITIONS
    }

    #[inline]
    fn options(&self) -> Options<'_> {
        self.options
    }

    fn change_options(&mut self, change: impl FnOnce(&mut Options<'_>)) {
        change(&mut self.options);
        self.options = scheduled(self.options);
    }

    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(I::Item) -> ControlFlow<()>,
    {
        let (mut left, mut batch) = (positions.len(), Vec::new());
        let mut pace = Pace::up_to(Self::MOST);
        // The items since the clock was read, and how often the lock was not free.
        let (mut since, mut waits, mut read_at) = (0, 0, ticks());
        let ends = (left <= CHUNK).then(|| read_at + TURN_TICKS);
        while left > 0 {
            let number = match self.take(&mut batch, left.min(pace.slice() - since), &mut waits) {
                Taken::Item(item) => {
                    sink(item)?;
                    1
                }
                Taken::Batch => {
                    let number = batch.len();
                    batch.drain(..).try_for_each(&mut sink)?;
                    number
                }
                Taken::Last | Taken::Nested => {
                    batch.drain(..).try_for_each(&mut sink)?;
                    return ControlFlow::Break(());
                }
            };
            // Relaxed: see the orderings. If it is left, no other range will be requested (B3).
            left = if self.is_left.load(Ordering::Relaxed) { usize::MAX } else { left - number };
            since += number;
            if since == pace.slice() {
                let now = ticks();
                let elapsed = now.saturating_sub(read_at);
                pace.record(since, elapsed, TARGET_TICKS);
                if left != usize::MAX && ends.is_some_and(|ends| now > ends) {
                    break;
                }
                read_at = if waits > since / 2 { leave_alone(now, elapsed, since) } else { now };
                (since, waits) = (0, 0);
            }
        }
        ControlFlow::Continue(())
    }
}

/// Leaves the lock to the other participants for a while if items are so cheap that passing the
/// lock from core to core takes longer. `since` items have taken `elapsed` ticks until `now`.
/// Returns the new time.
fn leave_alone(mut now: u64, elapsed: u64, since: usize) -> u64 {
    if elapsed < CHEAP_TICKS.saturating_mul(since as u64) {
        let ends = now + AWAY * elapsed.min(TARGET_TICKS);
        while now < ends {
            spin_loop();
            now = ticks();
        }
    }
    now
}
