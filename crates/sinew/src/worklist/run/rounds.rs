//! Runs in rounds: the caller runs a list for a while, looks at what its units have done, gives it
//! more units, and runs it again. Nothing is moved between two rounds: units stay in their lists,
//! waiting units parked, local values in their slots, and the tuner's clock stands still.
//!
//! # Invariants
//!
//! - O1: [`Round::Idle`] is returned only if no unit can run, and no thread has promised a change
//!   for those that wait. Each of these was tried once more (P4 of `parked`).
//! - O2: a round runs at least one unit, if one can run, and each attempt that fails is repeated
//!   until it commits or waits. So rounds of any length come to an end.
//!
//! # Tests
//!
//! `tests/rounds`; `shuttle`.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use sinew_core::{Pool, Worker as PoolWorker};
use sinew_sync::atomic::Ordering;
use sinew_sync::clock::now_ns;

use super::{Outcome, Plan, RunState};
use crate::worklist::parked::WaitState;
use crate::worklist::work::Run;

/// How a round has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// Its time was over, or units wait for a change that a thread has announced.
    More,
    /// No unit can run until others are added. Some may wait.
    Idle,
    /// The control of the list, or the pool, cancels the run. Later rounds run no unit.
    Cancelled,
}

/// A list that runs in rounds: the argument of the function that
/// [`Worklist::run_in_rounds`](crate::worklist::Worklist::run_in_rounds) calls.
pub struct Rounds<'a, U, L>(&'a mut (dyn Drive<U, L> + Send + 'a));

impl<U, L> fmt::Debug for Rounds<'_, U, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rounds").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}

impl<U, L> Rounds<'_, U, L> {
    /// Runs units for about `most`, with all workers that the list uses. A round ends earlier if no
    /// unit is left, and later if a unit takes longer.
    ///
    /// # Panics
    ///
    /// As a unit does, after the other workers have ended their units.
    ///
    /// # Blocking
    ///
    /// For `most` as well if all units wait for a change that another thread has
    /// [announced](crate::worklist::Worklist::keep_alive), or for a deadline.
    ///
    /// # Cost
    ///
    /// A call into the pool, and for each worker a task and up to 20 µs of searching at the end.
    /// When no unit can run, each unit that waits is tried once more.
    pub fn run(&mut self, most: Duration) -> Round {
        self.0.run(most.as_nanos().try_into().unwrap_or(u64::MAX))
    }

    /// Adds units, which run from the next round on.
    pub fn extend(&mut self, units: Vec<U>) {
        self.0.extend(units);
    }

    /// Calls `f` with the [local value](crate::worklist::Work::Local) of each worker that has run
    /// units.
    pub fn each_local(&mut self, mut f: impl FnMut(&mut L)) {
        self.0.each_local(&mut f);
    }

    /// The number of units that wait for a change.
    pub fn waiting(&self) -> usize {
        self.0.waiting()
    }
}

/// A run, whatever its work is.
trait Drive<U, L> {
    fn run(&mut self, most_ns: u64) -> Round;
    fn extend(&mut self, units: Vec<U>);
    fn each_local(&mut self, f: &mut dyn FnMut(&mut L));
    fn waiting(&self) -> usize;
}

struct Driver<'a, 'r, R: Run> {
    pool: &'a Pool,
    state: &'a mut RunState<'r, R>,
    /// Units for the next round.
    added: Vec<R::Unit>,
    /// When the last round ended.
    ended_ns: u64,
}

impl<R: Run> Drive<R::Unit, R::Local> for Driver<'_, '_, R> {
    fn run(&mut self, most_ns: u64) -> Round {
        self.skip_time();
        let (state, added) = (&*self.state, std::mem::take(&mut self.added));
        let round = self.pool.run(|w| {
            if !added.is_empty() {
                state.fill(w, added);
            }
            state.run_round(w, most_ns)
        });
        self.ended_ns = now_ns();
        round
    }

    fn extend(&mut self, mut units: Vec<R::Unit>) {
        self.state.add_items(units.len());
        self.added.append(&mut units);
    }

    fn each_local(&mut self, f: &mut dyn FnMut(&mut R::Local)) {
        self.state.slots.iter().for_each(|slot| slot.local.lock().iter_mut().for_each(&mut *f));
    }

    fn waiting(&self) -> usize {
        self.state.parked.len()
    }
}

impl<R: Run> Driver<'_, '_, R> {
    /// Leaves the time since the last round out of the tuner's.
    fn skip_time(&mut self) {
        if let Some(list_tuner) = self.state.list_tuner {
            list_tuner.lock().skip(now_ns().saturating_sub(self.ended_ns));
        }
    }

    /// Ends the last round, as [`super::run`] ends a run. Units that were added are left.
    fn end(mut self) -> Vec<R::Unit> {
        self.skip_time();
        self.state.team.set_paused(false);
        self.added
    }
}

impl<R: Run> RunState<'_, R> {
    /// Ends the round if its time is over.
    #[inline]
    pub(super) fn check_round(&self) {
        // Relaxed, as all accesses: written between two rounds only.
        let ends_ns = self.round_ends_ns.load(Ordering::Relaxed);
        if ends_ns < u64::MAX && now_ns() >= ends_ns {
            self.team.set_paused(true);
        }
    }

    fn begin_round(&self, ends_ns: u64) {
        self.round_ends_ns.store(ends_ns, Ordering::Relaxed);
        self.team.set_paused(false);
    }

    fn run_round(&self, w: &PoolWorker, most_ns: u64) -> Round {
        let ends_ns = now_ns().saturating_add(most_ns);
        self.begin_round(ends_ns);
        self.run_ready(w);
        if self.is_over() {
            return Round::Cancelled;
        }
        if self.has_ready() {
            return Round::More;
        }
        match self.woken.wait_state() {
            _ if self.parked.len() == 0 => Round::Idle,
            WaitState::Woken => Round::More,
            WaitState::KeptAlive => {
                if !w.yield_local() {
                    self.woken.sleep(ends_ns.saturating_sub(now_ns()));
                }
                Round::More
            }
            // Without an end, which might come before the last unit was tried, in every round.
            WaitState::Stuck => {
                self.begin_round(u64::MAX);
                if self.retry_all(w) { Round::More } else { Round::Idle }
            }
        }
    }
}

/// Runs `units` in the rounds that `drive` requests, and those that it adds.
pub(crate) fn run_in_rounds<R: Run>(
    pool: &Pool,
    run: &R,
    units: Vec<R::Unit>,
    plan: &Plan<'_, R::Unit>,
    drive: impl FnOnce(&mut Rounds<'_, R::Unit, R::Local>),
) -> Outcome<R> {
    let mut state = pool.run(|_| RunState::new(run, units.len(), plan));
    let began = now_ns();
    let mut added = units;
    let report = catch_unwind(AssertUnwindSafe(|| {
        let units = std::mem::take(&mut added);
        let mut driver = Driver { pool, state: &mut state, added: units, ended_ns: began };
        let driven = catch_unwind(AssertUnwindSafe(|| drive(&mut Rounds(&mut driver))));
        added = driver.end();
        super::or_resume(driven);
        let mut report = pool.run(|w| {
            state.is_over();
            state.finish(w)
        });
        report.elapsed = Duration::from_nanos(now_ns() - began);
        state.end();
        (report, state.waiting())
    }));
    if let Some(list_tuner) = plan.list_tuner {
        list_tuner.lock().end(state.counts(), now_ns());
    }
    added.extend(state.into_units());
    (report, added)
}
