//! Workers without work: searching, sleeping, and waking up.
//!
//! A worker that runs out of work searches for a while and then sleeps. No worker may sleep for
//! good while there is work that it could run. Owners should not pay for that: they push tasks
//! without a fence and without a read of these counts. The last searcher pays instead. Before it
//! sleeps it sets the reason STEAL_REQUEST in the poll word of every slot, executes a heavy fence,
//! and checks once more. An owner that pushes later sees the request, publishes tasks and wakes a
//! sleeper.
//!
//! # States of a worker
//!
//! | state | entered by | left by |
//! |---|---|---|
//! | working | found a task | out of work → searching, or asleep at once where enough others search |
//! | searching | `try_search`, or woken | `found_work`; `fall_asleep` |
//! | asleep, idle | `fall_asleep` | `wake_one` (the waker counts it as searching again); `wake_up` |
//! | asleep, waiting | `sleep_in_wait` in a blocked join | its task is finished, `wake_one` when no idle worker sleeps; `wake_up` |
//!
//! # Invariants
//!
//! - S1: the counts are changed only together with a worker's own state, by read-modify-write on
//!   one word.
//! - S2: lists and the count of sleepers change together under the lock, so a waker that has read a
//!   count above zero and takes the lock finds a sleeper or knows that another waker was there
//!   first.
//! - S3: when the number of searchers falls to zero while a worker sleeps, either work was found
//!   and one more is woken, or the last searcher executes the handshake of the last check.
//! - S4: a push that finds a steal request wakes a sleeper, or a worker without work is in a timed
//!   park. A worker whose timed park expires without work sets the steal requests again, then
//!   checks for the last time.
//!
//! # Orderings
//!
//! M7: a waker makes work visible, `fence(SeqCst)`, reads the counts ↔ a sleeper is counted,
//! *heavy* (it contains a SeqCst fence), looks for work: either the waker sees the sleeper or the
//! sleeper sees the work. M5 (see `stack`) is the same between a push and a steal request.
//!
//! M9: an owner becomes active, and its first push executes M7's `fence(SeqCst)` and reads the
//! counts ↔ a sleeper is counted, `fence(SeqCst)`, reads who is active: either it sees the owner,
//! and sets its request, or the owner sees the sleeper. So the sleeper needs no request where no
//! owner is active.
//!
//! M11: an owner pushes, takes the lock, sees a timed park and wakes no worker ↔ the parked worker
//! takes the lock to end its timed park, sets its requests, *heavy*, checks: it sees that push. For
//! a later push, either the check sees the push or the owner sees the request (M5). A worker that
//! is woken in a timed park searches, and sees the push as any searcher does.
//!
//! # Putting off
//!
//! A wake-up takes the waker 5 to 10 µs, and a burst of tasks may end before the woken worker
//! starts. `wake_up_cost` measures whether woken workers find work. If they do not, an owner wakes
//! no worker during a timed park: the parked worker checks in less than a millisecond. A wake-up
//! for work from outside, or for one worker, is never omitted.
//!
//! # Cost
//!
//! Nothing for a worker with work. Each change of the lists takes constant time, whatever the
//! number of workers: a list knows the place of each slot in it (`List`).
//!
//! The last check costs a heavy fence, which takes 5 to 10 µs and interrupts every core of the
//! process. So it is delayed: the last searcher sets its requests, checks, and parks for a
//! millisecond, during which it can be woken. If that timed park expires, it executes the fence,
//! checks again, and sleeps. No fence is needed if all other workers sleep already.
//!
//! # Tests
//!
//! `models` below: no task is left while all workers sleep, with and without the delay; four
//! planted bugs. `tests`: a list has the order of one that is searched from its beginning.

use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicU64, Ordering, fence};
use sinew_sync::lock::Mutex;

/// One searcher, in the lower half of the counts.
const SEARCHER: u64 = 1;
/// One sleeper, in the upper half.
const SLEEPER: u64 = 1 << 32;

#[derive(Debug, Clone, Copy)]
struct Counts(u64);

impl Counts {
    fn searching(self) -> u64 {
        self.0 & (SLEEPER - 1)
    }

    fn asleep(self) -> u64 {
        self.0 >> 32
    }
}

/// A list of sleepers. The last is woken first.
#[derive(Debug)]
struct List {
    sleepers: Vec<usize>,
    /// Where each slot is in `sleepers`, or [`NOWHERE`].
    places: Box<[usize]>,
}

/// The place of a slot that is not in a list.
const NOWHERE: usize = usize::MAX;

impl List {
    fn new(slots: usize) -> Self {
        Self { sleepers: Vec::with_capacity(slots), places: (0..slots).map(|_| NOWHERE).collect() }
    }

    fn push(&mut self, slot: usize) {
        self.places[slot] = self.sleepers.len();
        self.sleepers.extend([slot]);
    }

    fn pop(&mut self) -> Option<usize> {
        let slot = self.sleepers.pop()?;
        self.places[slot] = NOWHERE;
        Some(slot)
    }

    /// Puts `slot` last, in exchange with the last one, if it is in the list. A slot that does not
    /// exist is in no list.
    fn put_last(&mut self, slot: usize) -> bool {
        let at = self.places.get(slot).copied().unwrap_or(NOWHERE);
        if at == NOWHERE {
            return false;
        }
        let last = self.sleepers.len() - 1;
        self.sleepers.swap(at, last);
        self.places[self.sleepers[at]] = at;
        self.places[slot] = last;
        true
    }

    fn remove(&mut self, slot: usize) -> bool {
        self.put_last(slot) && self.pop().is_some()
    }
}

/// The kind of a sleeper: without work, or in a blocked join.
#[derive(Debug)]
struct Lists {
    idle: List,
    waiting: List,
    /// How many of the idle ones are in a timed park, after which they check for work.
    in_timed_park: usize,
}

/// The pool's counts and lists of searching and sleeping workers.
#[derive(Debug)]
pub(crate) struct Sleepers {
    counts: CachePadded<AtomicU64>,
    lists: Mutex<Lists>,
}

impl Sleepers {
    /// The workers of `slots` slots, none of which searches or sleeps.
    pub(crate) fn new(slots: usize) -> Self {
        let [idle, waiting] = [slots; 2].map(List::new);
        Self {
            counts: CachePadded::new(AtomicU64::new(0)),
            lists: Mutex::new(Lists { idle, waiting, in_timed_park: 0 }),
        }
    }

    /// Becomes a searcher unless `most` others search already.
    pub(crate) fn try_search(&self, most: usize) -> bool {
        let start =
            |counts| (Counts(counts).searching() < most as u64).then_some(counts + SEARCHER);
        // AcqRel throughout: the counts order the changes of the workers' states (S1).
        self.counts.fetch_update(Ordering::AcqRel, Ordering::Acquire, start).is_ok()
    }

    /// A searcher has found work. Returns whether it should wake one more: no other worker
    /// searches, and one sleeps.
    pub(crate) fn found_work(&self) -> bool {
        let old = Counts(self.counts.fetch_sub(SEARCHER, Ordering::AcqRel));
        old.searching() == 1 && old.asleep() > 0
    }

    /// A searcher goes to sleep. Returns whether it was the last one and must check once more (S3).
    pub(crate) fn fall_asleep(&self, slot: usize) -> bool {
        let mut lists = self.lists.lock();
        lists.idle.push(slot);
        Counts(self.counts.fetch_add(SLEEPER - SEARCHER, Ordering::AcqRel)).searching() == 1
    }

    /// A worker that may not search goes to sleep. Returns false if no worker searches any more:
    /// then it must search.
    pub(crate) fn fall_asleep_unless_needed(&self, slot: usize) -> bool {
        let mut lists = self.lists.lock();
        let sleep = |counts| (Counts(counts).searching() > 0).then_some(counts + SLEEPER);
        let asleep = self.counts.fetch_update(Ordering::AcqRel, Ordering::Acquire, sleep).is_ok();
        if asleep {
            lists.idle.push(slot);
        }
        asleep
    }

    /// A worker in a blocked join goes to sleep; it must check once more.
    pub(crate) fn sleep_in_wait(&self, slot: usize) {
        let mut lists = self.lists.lock();
        lists.waiting.push(slot);
        self.counts.fetch_add(SLEEPER, Ordering::AcqRel);
    }

    /// A sleeper wakes up, after `park` returned or because its last check found work. An idle one
    /// counts as searching afterwards; either its waker or this call counts it.
    pub(crate) fn wake_up(&self, slot: usize) {
        let mut lists = self.lists.lock();
        if lists.idle.remove(slot) {
            self.counts.fetch_add(SEARCHER.wrapping_sub(SLEEPER), Ordering::AcqRel);
        } else if lists.waiting.remove(slot) {
            self.counts.fetch_sub(SLEEPER, Ordering::AcqRel);
        }
    }

    /// A worker that sleeps without work begins a timed park.
    pub(crate) fn begin_timed_park(&self) {
        self.lists.lock().in_timed_park += 1;
    }

    /// The timed park has expired, or the worker was woken. If it expired, the worker sets its
    /// requests again before it looks for work (S4).
    pub(crate) fn end_timed_park(&self) {
        self.lists.lock().in_timed_park -= 1;
    }

    /// Whether no worker sleeps; a hint.
    pub(crate) fn all_are_up(&self) -> bool {
        // Relaxed: a hint.
        Counts(self.counts.load(Ordering::Relaxed)).asleep() == 0
    }

    /// Whether no worker searches or sleeps; a hint.
    #[inline]
    pub(crate) fn all_work(&self) -> bool {
        // Relaxed: a hint.
        self.counts.load(Ordering::Relaxed) == 0
    }

    /// Whether a worker searches. Exact for calls queued before the caller's fence (M12 of
    /// `service`).
    pub(crate) fn are_searching(&self) -> bool {
        Counts(self.counts.load(Ordering::Acquire)).searching() > 0
    }

    /// [`wake_one`](Self::wake_one), which takes `slot` if that one sleeps without work.
    pub(crate) fn wake_rather(&self, slot: usize) -> Option<usize> {
        fence(Ordering::SeqCst); // M7
        let counts = Counts(self.counts.load(Ordering::Acquire));
        if counts.asleep() == 0 || counts.searching() > 0 {
            return None;
        }
        self.lists.lock().idle.put_last(slot);
        self.rouse()
    }

    /// There is new work. Picks a sleeper for it, unless a searching worker will find it. The
    /// caller must unpark the returned slot.
    pub(crate) fn wake_one(&self) -> Option<usize> {
        fence(Ordering::SeqCst); // M7
        let counts = Counts(self.counts.load(Ordering::Acquire));
        if counts.asleep() == 0 || counts.searching() > 0 {
            return None;
        }
        self.rouse()
    }

    /// [`wake_one`](Self::wake_one) for an owner that found a steal request when it pushed. During
    /// a timed park no worker is woken, if the owner `may_put_off`.
    pub(crate) fn wake_for_push(&self, may_put_off: bool) -> Option<usize> {
        if may_put_off && self.lists.lock().in_timed_park > 0 {
            return None;
        }
        self.wake_one()
    }

    /// Picks a sleeper whether or not a worker searches; idle ones first, which count as searching
    /// from now on. The caller must unpark it.
    pub(crate) fn rouse(&self) -> Option<usize> {
        let mut lists = self.lists.lock();
        if let Some(slot) = lists.idle.pop() {
            self.counts.fetch_add(SEARCHER.wrapping_sub(SLEEPER), Ordering::AcqRel);
            return Some(slot);
        }
        let slot = lists.waiting.pop()?;
        self.counts.fetch_sub(SLEEPER, Ordering::AcqRel);
        Some(slot)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Catches: a place that is not updated when a slot moves or leaves, a slot that is woken out
    /// of turn, and a search for a slot that does not exist.
    #[test]
    fn a_list_has_the_order_of_one_that_is_searched_from_its_beginning() {
        const SLOTS: usize = 5;
        let mut random = fastrand::Rng::with_seed(22);
        let (mut list, mut searched) = (List::new(SLOTS), Vec::new());
        for _ in 0..10_000 {
            let slot = random.usize(..SLOTS);
            let at = searched.iter().position(|&other| other == slot);
            match (random.usize(..4), at) {
                (0, _) => assert_eq!(list.pop(), searched.pop()),
                (1, Some(at)) => {
                    let last = searched.len() - 1;
                    searched.swap(at, last);
                    assert!(list.put_last(slot));
                }
                (2, Some(at)) => {
                    searched.swap_remove(at);
                    assert!(list.remove(slot));
                }
                (3, None) => {
                    searched.push(slot);
                    list.push(slot);
                }
                (1 | 2, None) => assert!(!list.put_last(slot) && !list.remove(slot)),
                _ => {}
            }
            assert_eq!(list.sleepers, searched);
            assert!(![SLOTS, usize::MAX].into_iter().any(|none| list.put_last(none)));
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use std::sync::Arc;

    use sinew_sync::atomic::{AtomicU32, Ordering, fence as atomic_fence};
    use sinew_sync::fence;
    use sinew_sync::parker::Parker;
    use sinew_sync::plant::{Bug, plant, planted};

    use super::Sleepers;

    /// A pool of two searchers and an owner; work is a number, the steal request at the owner's
    /// slot a flag.
    struct World {
        /// Whether sleepers begin with a timed park, during which the owner does not wake them.
        has_timed_parks: bool,
        sleepers: Sleepers,
        parkers: [Parker; 2],
        work: AtomicU32,
        request: AtomicU32,
        active: AtomicU32,
    }

    impl World {
        /// The owner becomes active: its first push will wake.
        fn activate(&self) {
            self.active.store(1, Ordering::Relaxed);
            if !planted(Bug::NoStartReason) {
                self.request.swap(1, Ordering::AcqRel);
            }
        }

        fn take(&self) -> bool {
            let take = |work: u32| work.checked_sub(1);
            self.work.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).is_ok()
        }

        fn wake(&self) {
            if let Some(slot) = self.sleepers.wake_for_push(self.has_timed_parks) {
                self.parkers[slot].unpark();
            }
        }

        /// The owner's push: no fence but the light one, and a read of the request.
        fn push(&self) {
            // One writer that only adds, and thieves that subtract: a read-modify-write here stands
            // for two words in the stack.
            self.work.fetch_add(1, Ordering::Release);
            fence::light();
            if self.request.load(Ordering::Relaxed) != 0
                && self.request.swap(0, Ordering::AcqRel) != 0
            {
                self.wake();
            }
        }

        /// A worker searches until it has found `tasks`, sleeping when it must. Loom reports a
        /// worker that parks for ever as a deadlock.
        fn work(&self, slot: usize, tasks: u32) {
            let mut searching = self.sleepers.try_search(2);
            for _ in 0..tasks {
                while !self.take() {
                    if !searching {
                        searching = self.sleepers.try_search(2);
                        continue;
                    }
                    let last = self.sleepers.fall_asleep(slot);
                    if !(last
                        && (self.last_check(true) || self.has_timed_parks && self.timed_park(slot)))
                    {
                        self.parkers[slot].park();
                    }
                    self.sleepers.wake_up(slot);
                }
                if searching && self.sleepers.found_work() {
                    if let Some(slot) = self.sleepers.rouse() {
                        self.parkers[slot].unpark();
                    }
                }
                searching = false;
            }
        }

        /// Returns whether the worker need not sleep any longer.
        fn timed_park(&self, slot: usize) -> bool {
            self.sleepers.begin_timed_park();
            let woken = self.parkers[slot].park_for(1);
            self.sleepers.end_timed_park();
            woken || self.last_check(!planted(Bug::ForgottenStealRequest))
        }

        fn last_check(&self, leaves_note: bool) -> bool {
            if planted(Bug::NoLastCheck) {
                return false;
            }
            if !planted(Bug::NoSleepFence) {
                atomic_fence(Ordering::SeqCst);
            }
            if leaves_note && self.active.load(Ordering::Relaxed) != 0 {
                // A read-modify-write, as in `TaskStack::set_poll_reason`.
                self.request.swap(1, Ordering::AcqRel);
                if !planted(Bug::NoSleepFence) {
                    fence::heavy();
                }
            }
            self.work.load(Ordering::Acquire) > 0
        }
    }

    fn check(workers: usize, preemptions: usize, has_timed_parks: bool) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(move || {
            let world = Arc::new(World {
                has_timed_parks,
                sleepers: Sleepers::new(2),
                parkers: std::array::from_fn(|_| Parker::new()),
                work: AtomicU32::new(0),
                request: AtomicU32::new(0),
                active: AtomicU32::new(0),
            });
            let threads: Vec<_> = (0..workers)
                .map(|slot| {
                    let world = Arc::clone(&world);
                    loom::thread::spawn(move || world.work(slot, 1))
                })
                .collect();
            world.activate();
            if has_timed_parks {
                // A request that was served, and whose tasks are all taken.
                world.push();
                world.take();
            }
            for _ in 0..workers {
                world.push();
            }
            for thread in threads {
                thread.join().unwrap();
            }
        });
    }

    /// Catches: a push between the last check and the sleep.
    #[test]
    fn loom_nobody_sleeps_beside_work() {
        check(1, 3, false);
    }

    /// Catches: a worker that is forgotten because another one was found searching.
    #[test]
    fn loom_two_workers_share_two_tasks() {
        check(2, 2, false);
    }

    /// Catches: a push during a timed park that no worker sees.
    #[test]
    fn loom_nobody_sleeps_on_beside_work_that_was_left_to_him() {
        check(1, 3, true);
        check(2, 2, true);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn loom_finds_a_timed_park_that_leaves_no_note() {
        plant(&[Bug::ForgottenStealRequest]);
        check(1, 3, true);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn loom_finds_a_searcher_that_does_not_look_again() {
        plant(&[Bug::NoLastCheck]);
        check(1, 3, false);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn loom_finds_an_owner_whose_first_push_does_not_wake() {
        plant(&[Bug::NoStartReason]);
        check(1, 3, false);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn loom_finds_a_last_look_without_its_fence() {
        plant(&[Bug::NoSleepFence]);
        check(1, 3, false);
    }
}
