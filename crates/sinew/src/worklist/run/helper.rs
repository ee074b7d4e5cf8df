//! A slot that runs units ahead of a worker, to load their data into a cache that both share.
//!
//! So the helper's thread is pinned as near to its worker's as the mapping allows, and moves with
//! it. A worker with a helper takes one more unit than it runs, and keeps its next units in a ring
//! ([`Lookahead`](sinew_deque::Lookahead)) in which the helper sees them. The helper runs those
//! that the worker has not begun, one after another, in prefetch mode: with real reads, and without
//! effects.
//!
//! | situation | effect |
//! |---|---|
//! | the helper has run all of these units | it waits for the next one |
//! | the worker's attempt aborts | none: what the helper has loaded is of use to the next attempt |
//! | a read of the helper is out of date | its run of the unit ends, or goes on with a later snapshot |
//! | the unit panics in the helper | it takes the next unit |
//! | the worker overtakes the helper | the helper stops at its next access, and takes the next unit |
//!
//! The worker waits for its helper only before it parks a unit or returns it to the list, if the
//! helper is in that unit. A helper stops only at accesses to variables: a run waits for one whose
//! unit computes without any.
//!
//! Source: Góes (see [`worklist`](crate::worklist)), section 5.1.4 and figure 5.2. Differences:
//! there, the shared buffer has one unit, the next, and an abort restarts the helper.

use sinew_deque::lookahead::Reader;
use sinew_loops::HelperPin;
use sinew_sync::atomic::spin_loop;
use sinew_sync::thread::yield_now;

use super::{End, PoolWorker, RunState};
use crate::worklist::team::{InForce, Role};
use crate::worklist::work::{HelperLocal, Run};

/// Polls between two yields of the processor.
const SPINS: u32 = if cfg!(shuttle) { 2 } else { 1_000 };

pub(super) struct Helper<'a, 'r, R: Run> {
    state: &'a RunState<'r, R>,
    w: &'a PoolWorker,
    pin: HelperPin<'a>,
    slot: usize,
    worker: usize,
    /// The units of its worker, unless the one before it still reads them.
    reader: Option<Reader<'a, R::Unit>>,
    /// The number of workers' moves that its pin follows.
    moves: Option<u64>,
    local: HelperLocal<R::Local>,
}

impl<'a, 'r, R: Run> Helper<'a, 'r, R> {
    pub(super) fn new(
        state: &'a RunState<'r, R>,
        w: &'a PoolWorker,
        slot: usize,
        worker: usize,
    ) -> Self {
        let pin = HelperPin::enter(w, state.operation.as_ref());
        let local = HelperLocal { slot, value: None };
        Self { state, w, pin, slot, worker, reader: None, moves: None, local }
    }

    /// Helps until the slot's role changes, or the worker has left.
    pub(super) fn run(mut self) -> End {
        let (mut version, mut spins) = (self.state.version(self.w), 0_u32);
        let mut in_force = self.state.in_force(self.w);
        loop {
            let now = self.state.version(self.w);
            if now != version {
                if RunState::<R>::is_replaced(self.slot, self.w, version, now) {
                    return End::Replaced;
                }
                version = now;
                in_force = self.state.in_force(self.w);
                self.moves = None;
            }
            if in_force.role(self.slot) != Role::Help(self.worker) {
                return End::RoleChanged;
            }
            if self.state.team.is_stopped() || !self.state.team.is_taken(self.worker) {
                return End::Over;
            }
            self.follow_worker(&in_force);
            if !self.run_next(in_force.settings.lifespan) {
                spins = spins.wrapping_add(1);
                back_off(spins);
            }
        }
    }

    /// Pins the thread beside its worker again, if a worker has moved.
    #[inline]
    fn follow_worker(&mut self, in_force: &InForce) {
        let moves = self.state.worker_cpus.moves();
        if self.moves != Some(moves) || self.pin.is_behind() {
            self.moves = Some(moves);
            let workers = self.state.worker_cpus.first(in_force.settings.threads);
            self.pin.pin_beside(self.worker, &workers, in_force.helpers());
        }
    }

    /// Runs the next unit of the worker ahead. Returns whether there was one.
    fn run_next(&mut self, lifespan: u32) -> bool {
        let Self { state, slot, worker, reader, local, .. } = self;
        if reader.is_none() {
            *reader = state.slots[*worker].lookahead.reader();
        }
        let Some(unit) = reader.as_mut().and_then(Reader::claim_next) else { return false };
        let words = state.run.run_ahead(&unit, local, lifespan, &|| unit.is_overtaken());
        let tally = &state.slots[*slot].tally;
        tally.ahead.add(1);
        tally.words_ahead.add(words);
        true
    }
}

fn back_off(spins: u32) {
    if spins.is_multiple_of(SPINS) {
        yield_now();
    } else {
        spin_loop();
    }
}
