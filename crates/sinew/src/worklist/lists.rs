//! The lists of units: one common list, and one for each worker.
//!
//! The settings determine which list is preferred. A worker takes from the others when the
//! preferred one is empty, so settings may change at any time.
//!
//! The order of units is that of [`Units`]: [`LocalUnits`] has the units that a worker holds, and
//! `parked` adds those that were woken. The numbers of units are decisions of [`units`]. The
//! simulator has its own lists, in `lab/sim/src/worklist/lists.rs`.
//!
//! If each worker has its own list, the units of a short list are dealt to them when the run
//! begins. The units of a long stack remain in the common list, from which a worker without units
//! takes a portion. So a run of millions begins at once, and a change of the number of workers
//! moves no units. Buckets are always dealt, because units that were added would run before those
//! that wait in the common list.
//!
//! # Priorities
//!
//! Each list publishes the number of its lowest bucket, and all lists share a *hint*: a number that
//! is usually the lowest of these. A worker compares the hint with its own lowest bucket before it
//! takes units. If the hint is lower, the worker looks at all lists. It steals half of the lowest
//! bucket if that is not small, or raises the hint if no bucket is lower than its own. So workers
//! look at each other's lists only when they run out of the lowest bucket.
//!
//! Source: Góes, "Automatic Skeleton-Driven Performance Optimizations for Transactional Memory"
//! (2012), sections 3.2.2 and 5.1.1.
//!
//! # Invariants
//!
//! - L1: a unit is in one list or in one worker's local units.
//! - L2: a list's length, which is read without its lock, is exact whenever the lock is free.
//! - L3: the hint and the published numbers decide only from where a worker takes. Whether a run
//!   ends is decided by lengths.
//!
//! # Orderings
//!
//! All Relaxed. The hint and the numbers publish no unit: units are read under the lock of their
//! list. A worker may raise the hint while another adds a lower bucket. The hint is then too high
//! until the owner of that bucket takes from it; until then only the owner knows of it (L3).
//!
//! # Tests
//!
//! `shuttle`, with a planted bug: `HintDecides` (L3).
//!
//! # Cost
//!
//! An uncontended lock for each access; a load of the length for each list that is skipped. Units
//! move to a worker's local units and to a thief's list as a block. Up to 64 short units move at
//! once, but at most an eighth of the list, because local units cannot be stolen.

use sinew_policy::worklist::units;
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicU64, AtomicUsize, Ordering, spin_loop};
use sinew_sync::lock::{Mutex, MutexGuard};
use sinew_sync::plant::{Bug, planted};

use super::local_units::LocalUnits;
use super::order::Order;
use super::tally::Tally;
use super::units::{NO_BUCKET, Units};

/// Attempts to lock a list before the thread waits in the kernel; accesses are short.
const SPINS: u32 = if cfg!(shuttle) { 2 } else { 128 };

#[derive(Debug)]
struct List<U> {
    units: Mutex<Units<U>>,
    /// Written under the lock only.
    length: AtomicUsize,
    /// The number of its lowest bucket. Written under the lock only.
    lowest: AtomicU64,
}

impl<U> List<U> {
    fn new(units: Units<U>) -> Self {
        let (length, lowest) = (units.len(), units.lowest().unwrap_or(NO_BUCKET));
        Self {
            length: AtomicUsize::new(length),
            lowest: AtomicU64::new(lowest),
            units: Mutex::new(units),
        }
    }

    fn len(&self) -> usize {
        // Relaxed: a hint, except at the end of a run, when `Team` orders it after the stores of
        // all workers.
        self.length.load(Ordering::Relaxed)
    }

    /// The number of its lowest bucket, or [`NO_BUCKET`].
    fn lowest(&self) -> u64 {
        // Relaxed: a hint (L3).
        self.lowest.load(Ordering::Relaxed)
    }

    /// Calls `change` with the units, under the lock.
    fn with<R>(&self, tally: &Tally, change: impl FnOnce(&mut Units<U>) -> R) -> R {
        let mut units = self.units.try_lock().unwrap_or_else(|| self.lock_after_stall(tally));
        let result = change(&mut units);
        // Relaxed: as in `len`.
        self.length.store(units.len(), Ordering::Relaxed);
        if let Some(lowest) = units.lowest() {
            // Relaxed: as in `lowest`.
            self.lowest.store(lowest, Ordering::Relaxed);
        }
        result
    }

    #[cold]
    fn lock_after_stall(&self, tally: &Tally) -> MutexGuard<'_, Units<U>> {
        tally.stalls.add(1);
        for _ in 0..SPINS {
            spin_loop();
            if let Some(units) = self.units.try_lock() {
                return units;
            }
        }
        self.units.lock()
    }
}

/// A worker that accesses the lists, and its parameters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access<'a> {
    pub(super) worker: usize,
    /// Whether the worker prefers its own list to the common one.
    pub(super) stealing: bool,
    /// Whether there is no other worker, so that portions are of no use.
    pub(super) alone: bool,
    /// The maximum number of units that may be taken together.
    pub(super) max_batch: usize,
    pub(super) tally: &'a Tally,
}

/// All lists of a run.
#[derive(Debug)]
pub(super) struct Lists<U> {
    shared: CachePadded<List<U>>,
    own: Box<[CachePadded<List<U>>]>,
    /// Whether units are in buckets with different numbers.
    has_priorities: bool,
    /// Whether long lists are dealt in portions.
    has_portions: bool,
    /// About the number of the lowest bucket of all lists (L3).
    hint: CachePadded<AtomicU64>,
}

impl<U> Lists<U> {
    /// Empty lists for `slots` workers.
    pub(super) fn new(slots: usize, order: &Order<U>) -> Self {
        let list = || CachePadded::new(List::new(Units::new(order)));
        Self {
            shared: list(),
            own: std::iter::repeat_with(list).take(slots).collect(),
            has_priorities: matches!(order, Order::Priority(_)),
            has_portions: order.is_lifo(),
            hint: CachePadded::new(AtomicU64::new(NO_BUCKET)),
        }
    }

    /// Adds the units of a run. If `stealing`, they are dealt to the first `threads` workers,
    /// unless they are many; otherwise they are in the common list.
    ///
    /// # Errors
    ///
    /// As [`Units::extend`].
    pub(super) fn fill(
        &self,
        units: Vec<U>,
        threads: usize,
        stealing: bool,
        tally: &Tally,
    ) -> std::thread::Result<()> {
        let result = self.shared.with(tally, |shared| match shared {
            Units::Stack(stack) if stack.is_empty() => {
                *stack = units;
                Ok(())
            }
            shared => shared.extend(units.into_iter()),
        });
        if stealing {
            self.deal_to(threads, threads == 1, tally);
        }
        result
    }

    /// Deals the units of the common list to the first `threads` workers, unless they are many,
    /// which workers take in portions.
    pub(super) fn deal(&self, threads: usize, tally: &Tally) {
        self.deal_to(threads, false, tally);
    }

    fn deal_to(&self, threads: usize, all: bool, tally: &Tally) {
        if self.has_portions && !all && self.shared.len() > units::AT_ONCE {
            return;
        }
        let left = self.shared.with(tally, Units::take_all);
        for (list, units) in self.own.iter().zip(left.deal(threads.min(self.own.len()))) {
            list.with(tally, |list| list.append(units));
            self.announce(list);
        }
    }

    /// Lowers the hint to the lowest bucket of `list`.
    #[inline]
    fn announce(&self, list: &List<U>) {
        // Relaxed, as all accesses of the hint: it publishes nothing (L3).
        let lowest = list.lowest();
        if self.has_priorities && lowest < self.hint.load(Ordering::Relaxed) {
            self.hint.fetch_min(lowest, Ordering::Relaxed);
        }
    }

    /// Takes half of the lowest bucket of all lists, if it is lower than the preferred list's.
    #[inline]
    fn follow_hint(&self, by: Access<'_>) {
        let preferred = self.preferred(by);
        let hint = self.hint.load(Ordering::Relaxed);
        if preferred.lowest() > hint {
            self.look_for_lower(by, hint);
        } else {
            self.announce(preferred);
        }
    }

    #[cold]
    fn look_for_lower(&self, by: Access<'_>, hint: u64) {
        let preferred = self.preferred(by);
        // Each worker begins at another list.
        let (before, after) = self.own.split_at(by.worker);
        let lists = after.iter().chain(before).chain([&self.shared]);
        let lowest = lists.min_by_key(|list| list.lowest()).unwrap_or(&self.shared);
        if lowest.lowest() >= preferred.lowest() {
            let raised = preferred.lowest();
            // If it was changed meanwhile, the new one may be lower.
            let _ = self.hint.compare_exchange(hint, raised, Ordering::Relaxed, Ordering::Relaxed);
            return;
        }
        // A few units are not worth a steal, unless there are no others.
        let (least, idle) = (2 * units::BATCH, preferred.len() == 0);
        let stolen = lowest.with(by.tally, |list| {
            (idle || list.first_len() >= least).then(|| list.steal()).filter(|s| s.len() > 0)
        });
        if let Some(stolen) = stolen {
            by.tally.steals.add(1);
            by.tally.stolen.add(stolen.len() as u64);
            preferred.with(by.tally, |list| list.append(stolen));
        }
    }

    fn preferred(&self, by: Access<'_>) -> &List<U> {
        if by.stealing { &self.own[by.worker] } else { &self.shared }
    }

    /// Takes at least `wanted` units, if there are so many, from this worker's lists, the preferred
    /// one first, and appends them to its local units. Returns whether there were any.
    pub(super) fn take(
        &self,
        by: Access<'_>,
        wanted: usize,
        local: &mut LocalUnits<'_, U>,
    ) -> bool {
        let other = Access { stealing: !by.stealing, ..by };
        let before = local.len();
        if self.has_priorities && wanted > 0 {
            self.follow_hint(by);
        }
        for from in [by, other] {
            let list = self.preferred(from);
            let missing = wanted.saturating_sub(local.len() - before);
            if missing == 0 || list.len() == 0 {
                continue;
            }
            if self.has_portions && by.stealing && !from.stealing && !by.alone {
                self.take_portion(by, missing, local);
            } else {
                list.with(by.tally, |units| {
                    // Leaves units for others, unless no other worker takes from this list.
                    let several = by.stealing || from.stealing;
                    let (first, most) = (units.first_len(), by.max_batch);
                    let count = match several {
                        true if self.has_portions => units::batch(missing, first, most),
                        true => units::bucket_batch(missing, first, most, by.alone),
                        false => missing,
                    };
                    local.take(units, count);
                });
            }
        }
        local.len() > before
    }

    /// Takes a portion of the common list: `wanted` units as local ones, and the rest into this
    /// worker's own list.
    #[cold]
    fn take_portion(&self, by: Access<'_>, wanted: usize, local: &mut LocalUnits<'_, U>) {
        let mut portion = self.shared.with(by.tally, |left| {
            let count = units::portion(left.len(), self.own.len()).max(wanted);
            left.split_top(count)
        });
        local.take(&mut portion, wanted);
        if portion.len() > 0 {
            self.own[by.worker].with(by.tally, |list| list.append(portion));
        }
    }

    /// Moves half of the units of the first other worker that has any to this worker's own list,
    /// beginning with a random worker.
    pub(super) fn steal(&self, by: Access<'_>, random: usize) -> bool {
        let Access { worker, tally, .. } = by;
        let slots = self.own.len();
        let victims =
            (0..slots).map(|i| (random % slots + i) % slots).filter(|&victim| victim != worker);
        for victim in victims.filter(|&victim| self.own[victim].len() > 0) {
            let stolen = self.own[victim].with(tally, Units::steal);
            if stolen.len() > 0 {
                tally.steals.add(1);
                tally.stolen.add(stolen.len() as u64);
                self.own[worker].with(tally, |list| list.append(stolen));
                return true;
            }
        }
        false
    }

    /// Adds units to the preferred list.
    ///
    /// # Errors
    ///
    /// As [`Units::extend`].
    pub(super) fn add(
        &self,
        by: Access<'_>,
        added: impl Iterator<Item = U>,
    ) -> std::thread::Result<()> {
        let list = self.preferred(by);
        let result = list.with(by.tally, |units| units.extend(added));
        self.announce(list);
        result
    }

    /// Returns local units to the preferred list.
    pub(super) fn put_back(&self, by: Access<'_>, local: &mut LocalUnits<'_, U>) {
        let list = self.preferred(by);
        list.with(by.tally, |units| units.put_back(local.drain()));
        self.announce(list);
    }

    /// Swaps `unit` for one of the preferred list, if it has one.
    pub(super) fn swap(&self, by: Access<'_>, unit: &mut U, random: u64) -> bool {
        let list = self.preferred(by);
        list.len() > 0 && list.with(by.tally, |units| units.swap(unit, random))
    }

    /// Whether any list has units.
    pub(super) fn any(&self) -> bool {
        if self.has_priorities && planted(Bug::HintDecides) {
            return self.hint.load(Ordering::Relaxed) != NO_BUCKET;
        }
        self.shared.len() > 0 || self.own.iter().any(|list| list.len() > 0)
    }

    /// Whether there are units for another worker: more than this worker takes next.
    pub(super) fn has_spare(&self, by: Access<'_>) -> bool {
        self.preferred(by).len() > usize::from(by.stealing) || self.shared.len() > 0
    }

    /// The units that were left.
    pub(super) fn into_units(self) -> impl Iterator<Item = U> {
        let lists = std::iter::once(self.shared).chain(self.own);
        lists.flat_map(|list| list.0.units.into_inner().into_units())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(lists: Lists<u32>) -> Vec<u32> {
        let mut numbers: Vec<u32> = lists.into_units().collect();
        numbers.sort_unstable();
        numbers
    }

    fn filled(units: Vec<u32>, slots: usize, threads: usize, stealing: bool) -> Lists<u32> {
        let lists = Lists::new(slots, &Order::Lifo);
        lists.fill(units, threads, stealing, &Tally::default()).unwrap();
        lists
    }

    fn units(count: u32) -> Vec<u32> {
        (0..count).collect()
    }

    /// Catches: a unit that is lost or doubled between lists (L1), a thief that takes nothing or
    /// all.
    #[test]
    fn no_unit_is_lost_between_lists() {
        let tally = Tally::default();
        let lists = filled(units(101), 3, 2, false);
        let mut local = LocalUnits::new();
        let by = |worker, stealing| Access {
            worker,
            stealing,
            alone: false,
            max_batch: 1,
            tally: &tally,
        };
        assert!(lists.take(by(0, false), 1, &mut local));
        assert_eq!(local.get(0), Some(&100), "a stack");
        lists.deal(2, &tally);
        assert_eq!([lists.own[0].len(), lists.own[1].len(), lists.own[2].len()], [50, 50, 0]);
        assert!(lists.steal(by(2, true), 0));
        assert_eq!([lists.own[0].len(), lists.own[1].len(), lists.own[2].len()], [25, 50, 25]);
        assert!(local.swap_first(|first| lists.swap(by(2, true), first, u64::MAX)));
        lists.put_back(by(1, false), &mut local);
        assert_eq!(lists.shared.len(), 1);
        assert_eq!(numbers(lists), (0..101).collect::<Vec<_>>());
        assert_eq!((tally.steals.get(), tally.stolen.get(), tally.stalls.get()), (1, 25, 0));
    }

    /// The units of `local`, as they would be run.
    fn run(local: &mut LocalUnits<u32>) -> Vec<u32> {
        let mut numbers: Vec<u32> = local.drain().collect();
        numbers.reverse();
        numbers
    }

    /// Catches: units that are not taken any more because the settings changed.
    #[test]
    fn what_is_left_in_the_other_list_is_taken_as_well() {
        let tally = Tally::default();
        let lists = filled(units(4), 2, 2, true);
        let by = |worker, stealing| Access {
            worker,
            stealing,
            alone: false,
            max_batch: 1,
            tally: &tally,
        };
        lists.add(by(0, false), std::iter::once(9)).unwrap();
        let mut local = LocalUnits::new();
        assert!(lists.take(by(0, false), 4, &mut local));
        assert_eq!(run(&mut local), [9, 2, 0]);
        assert!(!lists.take(by(0, false), 1, &mut local) && lists.any());
        assert!(!lists.steal(by(1, true), 0), "a worker does not steal from itself");
        assert!(!filled(Vec::new(), 1, 1, true).any());
    }

    /// Catches: millions that are moved before the first is run, a portion that is not the end of
    /// the list, and one that cannot be stolen from.
    #[test]
    fn a_long_list_is_dealt_in_portions() {
        let (tally, many) = (Tally::default(), 3 * units::AT_ONCE as u32);
        let lists = filled(units(many), 3, 2, true);
        let by =
            |worker| Access { worker, stealing: true, alone: false, max_batch: 1, tally: &tally };
        assert!(lists.own.iter().all(|list| list.len() == 0) && lists.has_spare(by(0)));
        let mut local = LocalUnits::new();
        assert!(lists.take(by(0), 2, &mut local));
        assert_eq!(
            (local.get(0), local.get(1), local.len()),
            (Some(&(many - 1)), Some(&(many - 2)), 2)
        );
        assert_eq!(
            (lists.own[0].len(), lists.shared.len()),
            (units::PORTION - 2, many as usize - units::PORTION)
        );
        assert!(lists.take(by(0), 1, &mut local), "of its own");
        assert_eq!(
            (local.len(), lists.own[0].len()),
            (2 + units::BATCH, units::PORTION - 2 - units::BATCH)
        );
        assert!(lists.steal(by(1), 0));
        lists.put_back(by(0), &mut local);
        let left = lists.own.iter().map(|list| list.len()).sum::<usize>();
        assert_eq!(left, units::PORTION);
        let alone = Access { alone: true, ..by(2) };
        assert!(lists.take(alone, 1, &mut local));
        assert_eq!(
            (local.len(), lists.own[2].len()),
            (units::BATCH, 0),
            "a single worker takes no portion"
        );
        lists.put_back(by(0), &mut local);
        lists.deal(2, &tally);
        assert_eq!(lists.shared.len(), many as usize - units::PORTION - units::BATCH, "still long");
        assert_eq!(numbers(lists), (0..many).collect::<Vec<_>>());
    }

    /// Catches: threads that are dealt to although there is one, whose list costs nothing.
    #[test]
    fn one_worker_is_dealt_everything() {
        let lists = filled(units(2 * units::AT_ONCE as u32), 2, 1, true);
        assert_eq!((lists.own[0].len(), lists.shared.len()), (2 * units::AT_ONCE, 0));
    }

    /// Catches: a stall that is not counted, or one that is counted without contention.
    #[test]
    fn an_access_that_had_to_wait_is_a_stall() {
        let tally = Tally::default();
        let lists = filled(units(2), 1, 1, false);
        std::thread::scope(|s| {
            let held = lists.shared.units.lock();
            let waiting = s.spawn(|| lists.shared.with(&tally, |units| units.len()));
            while tally.stalls.get() == 0 {
                std::thread::yield_now();
            }
            drop(held);
            assert_eq!(waiting.join().unwrap(), 2);
        });
        lists.shared.with(&tally, |_| ());
        assert_eq!(tally.stalls.get(), 1);
    }
}
