//! A slot that runs units ahead of a worker; see [`helper_offer`](crate::worklist::helper_offer).

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
        Self { state, w, pin, slot, worker, moves: None, local }
    }

    /// Helps until the slot's role changes, or the worker has left.
    pub(super) fn run(mut self) -> End {
        let (mut version, mut seen, mut spins) = (self.state.version(self.w), 0, 0_u32);
        let mut in_force = self.state.in_force(self.w);
        let offer = &self.state.slots[self.worker].helper_offer;
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
            let offered = offer.version();
            if offered == seen {
                spins = spins.wrapping_add(1);
                back_off(spins);
                continue;
            }
            seen = offered;
            self.run_ahead(offered, in_force.settings.lifespan);
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

    fn run_ahead(&mut self, offered: u64, lifespan: u32) {
        let offer = &self.state.slots[self.worker].helper_offer;
        if let Some(unit) = offer.unit() {
            let stopped = || offer.version() != offered;
            let words = self.state.run.run_ahead(&unit, &mut self.local, lifespan, &stopped);
            let tally = &self.state.slots[self.slot].tally;
            tally.ahead.add(1);
            tally.words_ahead.add(words);
        }
    }
}

fn back_off(spins: u32) {
    if spins.is_multiple_of(SPINS) {
        yield_now();
    } else {
        spin_loop();
    }
}
