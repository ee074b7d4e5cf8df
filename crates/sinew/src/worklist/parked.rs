//! Parked units, which wait for a change: their slots, their wake-ups, and the end of a run in
//! which all units wait.
//!
//! A unit that calls `retry` is *parked*: a slot holds it with the [`Change`] that it waits for, it
//! costs no processor time, and its worker continues with the next unit. The commit that makes the
//! change puts the unit's number on the list of *woken* units. Any worker whose own list is empty
//! moves the woken units to its list, from which others can steal them. So woken units run after
//! those that were ready before, and a unit that waits for the last of many changes is not tried
//! after each of them.
//!
//! A unit that waits with a deadline ([`retry_until`](sinew_stm::Tx::retry_until)) also has an
//! entry in the set of deadlines. Its number counts as woken from the deadline on.
//!
//! # The end of a run whose units all wait
//!
//! When every list is empty and every worker has left, only a thread outside the run can make a
//! change. The run sleeps as long as a thread holds a [`KeepAlive`] of the list, or a unit has a
//! deadline. Otherwise it tries all units once more, and ends if each of them waits again and none
//! was woken.
//!
//! # Invariants
//!
//! - P1: a parked unit is in its slot before its number can enter the list of woken units. So a
//!   worker that takes the number finds the unit.
//! - P2: a number names one unit of one run, so a late number finds no unit, and is harmless. A
//!   unit is taken out of its slot under the lock of the slots, by one worker.
//! - P3: a unit is parked with a change that counts from its attempt on, and that calls the waker
//!   also if it has happened before (W2 of `waiting` in `sinew-stm`). So no commit between the
//!   attempt and the parking is lost.
//! - P4: a run ends with parked units only if each of them was tried, and had to wait, after the
//!   last commit of the run and after the last [`KeepAlive`] was dropped. A missing wake-up is not
//!   enough: an outside thread that changes a marked record removes the mark, and may be
//!   interrupted before it wakes the unit. The next unit that changes this record finds no mark.
//!
//! # Not handled
//!
//! Units that an outside thread wakes while the last workers run long units: they wait for the end
//! of one of these.
//!
//! # Tests
//!
//! `tests/waiting`; `shuttle` with planted bugs: `ForgottenChange` (P3), `EarlySet` (P1),
//! `NoLastRetry` (P4).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::task::{Wake, Waker};

use sinew_stm::Change;
use sinew_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sinew_sync::clock::{now_ns, ns_at};
use sinew_sync::lock::{Condvar, Mutex};
use sinew_sync::plant::{Bug, planted};

/// The waiting units of a run, including those that were woken and not taken yet.
#[derive(Debug)]
pub(super) struct Parked<U> {
    slots: Mutex<BTreeMap<u64, Slot<U>>>,
    woken: Arc<Woken>,
}

#[derive(Debug)]
struct Slot<U> {
    unit: U,
    /// The change that the unit waits for. Its drop removes the unit from the commit's search.
    change: Change,
    /// Its deadline, on the clock of `now_ns`.
    deadline_ns: Option<u64>,
}

impl<U> Parked<U> {
    /// No parked units, of a run of the list with these woken units.
    pub(super) fn new(woken: Arc<Woken>) -> Self {
        woken.change_deadlines(BTreeSet::clear);
        Self { slots: Mutex::new(BTreeMap::new()), woken }
    }

    /// Parks `unit` until `change` happens.
    pub(super) fn park(&self, unit: U, change: Change) {
        let number = self.woken.new_number();
        let waker = Waker::from(Arc::new(UnitWaker { number, woken: Arc::clone(&self.woken) }));
        let deadline_ns = change.deadline().map(|deadline| ns_at(deadline).min(NEVER - 1));
        if planted(Bug::EarlySet) {
            change.notify(waker);
            self.slots.lock().insert(number, Slot { unit, change, deadline_ns });
            return;
        }
        let mut slots = self.slots.lock();
        let slot = slots.entry(number).or_insert(Slot { unit, change, deadline_ns });
        if let Some(deadline_ns) = deadline_ns {
            self.woken.change_deadlines(|deadlines| _ = deadlines.insert((deadline_ns, number)));
        }
        // Under the lock, so that no other unit takes the slot meanwhile. Wakers take the lock of
        // the woken units only.
        slot.change.notify(waker);
    }

    /// Takes all units that were woken.
    pub(super) fn take_woken(&self) -> impl Iterator<Item = U> + use<U> {
        let numbers = self.woken.take();
        let mut slots = self.slots.lock();
        let taken: Vec<(u64, Slot<U>)> =
            numbers.iter().filter_map(|number| Some((*number, slots.remove(number)?))).collect();
        drop(slots);
        if taken.iter().any(|(_, slot)| slot.deadline_ns.is_some()) {
            self.woken.change_deadlines(|deadlines| {
                for (number, slot) in &taken {
                    slot.deadline_ns.map(|deadline_ns| deadlines.remove(&(deadline_ns, *number)));
                }
            });
        }
        taken.into_iter().map(|(_, slot)| slot.unit)
    }

    /// Whether units were woken that no worker has taken.
    pub(super) fn any_woken(&self) -> bool {
        self.woken.any()
    }

    /// Units that wait, and those that were woken.
    pub(super) fn len(&self) -> usize {
        self.slots.lock().len()
    }

    /// Wakes all units, whatever they wait for.
    pub(super) fn wake_all(&self) {
        let numbers: Vec<u64> = self.slots.lock().keys().copied().collect();
        self.woken.add(numbers);
    }

    /// Takes all units.
    pub(super) fn into_units(self) -> impl Iterator<Item = U> {
        self.slots.into_inner().into_values().map(|slot| slot.unit)
    }
}

/// The waker of a parked unit.
#[derive(Debug)]
struct UnitWaker {
    number: u64,
    woken: Arc<Woken>,
}

impl Wake for UnitWaker {
    fn wake(self: Arc<Self>) {
        self.woken.add([self.number]);
    }
}

/// The part that outside threads reach: the numbers of woken units, and the number of
/// [`KeepAlive`]s.
#[derive(Debug)]
pub(super) struct Woken {
    state: Mutex<State>,
    /// Numbers in the state; written under the lock.
    length: AtomicUsize,
    /// The first deadline, or [`NEVER`]; written under the lock.
    first_deadline_ns: AtomicU64,
    /// Notified when a change of the state may end the sleep of a run.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    numbers: Vec<u64>,
    /// The number of the next unit that is parked, in any run of the list.
    next: u64,
    keep_alives: usize,
    /// Deadlines of waiting units, each with the unit's number.
    deadlines: BTreeSet<(u64, u64)>,
}

impl State {
    /// The time until the first deadline.
    fn left_ns(&self) -> Option<u64> {
        let (deadline_ns, _) = self.deadlines.first()?;
        Some(deadline_ns.saturating_sub(now_ns()))
    }
}

/// The first deadline of no unit.
const NEVER: u64 = u64::MAX;

/// The state of a run whose units all wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitState {
    /// Some units were woken.
    Woken,
    /// A thread holds a [`KeepAlive`], and may wake some; or a unit has a deadline.
    KeptAlive,
    /// Neither.
    Stuck,
}

impl Default for Woken {
    fn default() -> Self {
        Self {
            state: Mutex::new(State::default()),
            length: AtomicUsize::new(0),
            first_deadline_ns: AtomicU64::new(NEVER),
            changed: Condvar::new(),
        }
    }
}

impl Woken {
    fn change_deadlines(&self, change: impl FnOnce(&mut BTreeSet<(u64, u64)>)) {
        let mut state = self.state.lock();
        change(&mut state.deadlines);
        self.note_first(&state);
    }

    fn note_first(&self, state: &State) {
        let first = state.deadlines.first().map_or(NEVER, |(deadline_ns, _)| *deadline_ns);
        // Relaxed: as in `any`.
        self.first_deadline_ns.store(first, Ordering::Relaxed);
    }

    fn new_number(&self) -> u64 {
        let mut state = self.state.lock();
        state.next += 1;
        state.next
    }

    fn add(&self, numbers: impl IntoIterator<Item = u64>) {
        let mut state = self.state.lock();
        state.numbers.extend(numbers);
        // Relaxed: as in `any`.
        self.length.store(state.numbers.len(), Ordering::Relaxed);
        drop(state);
        self.changed.notify_all();
    }

    fn take(&self) -> Vec<u64> {
        let mut state = self.state.lock();
        // Relaxed: as in `any`.
        self.length.store(0, Ordering::Relaxed);
        let mut numbers = std::mem::take(&mut state.numbers);
        while state.left_ns() == Some(0) {
            numbers.extend(state.deadlines.pop_first().map(|(_, number)| number));
        }
        self.note_first(&state);
        numbers
    }

    fn any(&self) -> bool {
        // Relaxed: a hint, except at the end of a run, when `Team` orders it after the stores of
        // all workers. `wait_state` reads under the lock what outside threads add.
        self.length.load(Ordering::Relaxed) > 0 || self.is_deadline_over()
    }

    #[inline]
    fn is_deadline_over(&self) -> bool {
        // Relaxed: as in `any`.
        let first = self.first_deadline_ns.load(Ordering::Relaxed);
        first != NEVER && now_ns() >= first
    }

    /// The state, read under one lock: a thread wakes a unit before it drops its [`KeepAlive`], so
    /// a run that no longer sees the latter sees the former.
    pub(super) fn wait_state(&self) -> WaitState {
        wait_state(&self.state.lock())
    }

    /// Sleeps for about `ns` nanoseconds at most, while a thread or a deadline keeps the run alive
    /// and no unit was woken.
    pub(super) fn sleep(&self, ns: u64) {
        let state = self.state.lock();
        if wait_state(&state) != WaitState::KeptAlive {
            return;
        }
        if cfg!(shuttle) {
            // The model checker has no time.
            drop(self.changed.wait(state));
        } else {
            let ns = state.left_ns().map_or(ns, |left_ns| left_ns.min(ns));
            drop(self.changed.wait_for(state, ns));
        }
    }

    pub(super) fn keep_alive(self: &Arc<Self>) -> KeepAlive {
        self.state.lock().keep_alives += 1;
        KeepAlive(Arc::clone(self))
    }
}

fn wait_state(state: &State) -> WaitState {
    match state.left_ns() {
        _ if !state.numbers.is_empty() => WaitState::Woken,
        Some(0) => WaitState::Woken,
        None if state.keep_alives == 0 => WaitState::Stuck,
        _ => WaitState::KeptAlive,
    }
}

/// A promise that a thread will change something that units of a [`Worklist`](super::Worklist) wait
/// for. As long as one exists, a run in which every unit waits sleeps instead of ending with
/// [`WorklistError::Waiting`](super::WorklistError::Waiting). Made by
/// [`Worklist::keep_alive`](super::Worklist::keep_alive).
///
/// Make it before the list is run, move it into the thread, and drop it after the thread's last
/// commit.
#[derive(Debug)]
#[must_use = "a run is kept alive only until this is dropped"]
pub struct KeepAlive(Arc<Woken>);

impl Clone for KeepAlive {
    fn clone(&self) -> Self {
        self.0.keep_alive()
    }
}

impl Drop for KeepAlive {
    fn drop(&mut self) {
        self.0.state.lock().keep_alives -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use sinew_stm::{TVar, Transaction, Unfinished};

    /// The change that a transaction waits for after it has read `var`.
    fn change_of(var: &TVar<u64>) -> Change {
        match Transaction::new().attempt_or_wait(|tx| var.get(tx).and_then(|_| tx.retry::<()>())) {
            Err(Unfinished::Waits(change)) => change,
            other => panic!("{other:?}"),
        }
    }

    /// The units that were woken, in order of their numbers: a change wakes them in any order.
    fn woken(parked: &Parked<u32>) -> Vec<u32> {
        let mut units: Vec<u32> = parked.take_woken().collect();
        units.sort_unstable();
        units
    }

    /// Catches: a change before the parking that is lost, one that wakes others, a unit that is
    /// taken twice, and one that is neither taken nor left.
    #[test]
    fn a_change_wakes_the_units_that_wait_for_it() {
        let vars = [0, 0].map(TVar::new);
        let parked = Parked::new(Arc::default());
        for unit in 0..4 {
            parked.park(unit, change_of(&vars[unit as usize % 2]));
        }
        assert!(!parked.any_woken());
        vars[1].store(1);
        assert!(parked.any_woken());
        assert_eq!((woken(&parked), woken(&parked), parked.len()), (vec![1, 3], vec![], 2));
        let change = change_of(&vars[1]);
        vars[1].store(2);
        parked.park(5, change);
        assert_eq!(woken(&parked), [5]);
        parked.wake_all();
        vars[0].store(1);
        assert_eq!(woken(&parked), [0, 2]);
        assert!(!parked.any_woken() && parked.into_units().next().is_none());
    }

    /// Catches: a run that ends while a thread keeps it alive, or sleeps when none does.
    #[test]
    fn a_run_waits_as_long_as_a_thread_keeps_it_alive() {
        let woken = Arc::new(Woken::default());
        assert_eq!(woken.wait_state(), WaitState::Stuck);
        let first = woken.keep_alive();
        let second = first.clone();
        drop(first);
        assert_eq!(woken.wait_state(), WaitState::KeptAlive);
        woken.add([7]);
        assert_eq!((woken.wait_state(), woken.take()), (WaitState::Woken, vec![7]));
        drop(second);
        assert_eq!(woken.wait_state(), WaitState::Stuck);
    }
}
