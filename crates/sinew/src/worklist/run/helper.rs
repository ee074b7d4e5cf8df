//! A slot that helps a worker; see [`ahead`](crate::worklist::ahead).

use sinew_loops::HelperPin;
use sinew_sync::atomic::spin_loop;
use sinew_sync::thread::yield_now;

use super::{End, PoolWorker, RunState};
use crate::worklist::team::{InForce, Role};
use crate::worklist::work::Run;

/// Looks for a unit before the processor is offered to others: a worker takes longer for one than a
/// look.
const LOOKS: u32 = if cfg!(shuttle) { 2 } else { 1_000 };

pub(super) struct Helper<'a, 'r, R: Run> {
    state: &'a RunState<'r, R>,
    w: &'a PoolWorker,
    part: HelperPin<'a>,
    slot: usize,
    worker: usize,
    /// The moves of workers that its place is of.
    moves: Option<u64>,
}

impl<'a, 'r, R: Run> Helper<'a, 'r, R> {
    pub(super) fn new(
        state: &'a RunState<'r, R>,
        w: &'a PoolWorker,
        slot: usize,
        worker: usize,
    ) -> Self {
        let part = HelperPin::enter(w, state.operation.as_ref());
        Self { state, w, part, slot, worker, moves: None }
    }

    /// Helps until the settings want something else, or the worker is gone.
    pub(super) fn run(mut self) -> End {
        let (mut version, mut seen, mut looks) = (self.state.version(self.w), 0, 0_u32);
        let mut in_force = self.state.in_force(self.w);
        let ahead = &self.state.slots[self.worker].ahead;
        loop {
            let now = self.state.version(self.w);
            if now != version {
                if RunState::<R>::is_relieved(self.slot, self.w, version, now) {
                    return End::Relieved;
                }
                version = now;
                in_force = self.state.in_force(self.w);
                self.moves = None;
            }
            if in_force.role(self.slot) != Role::Help(self.worker) {
                return End::Moved;
            }
            if self.state.team.is_stopped() || !self.state.team.is_taken(self.worker) {
                return End::Over;
            }
            self.sit(&in_force);
            let ticket = ahead.ticket();
            if ticket == seen {
                looks = looks.wrapping_add(1);
                rest(looks);
                continue;
            }
            seen = ticket;
            self.run_ahead(ticket, in_force.settings.lifespan);
        }
    }

    /// Has the thread sit beside its worker, wherever that is now.
    #[inline]
    fn sit(&mut self, in_force: &InForce) {
        let moves = self.state.sites.moves();
        if self.moves != Some(moves) || self.part.is_behind() {
            self.moves = Some(moves);
            let workers = self.state.sites.of(in_force.settings.threads);
            self.part.pin_beside(self.worker, &workers, in_force.helpers());
        }
    }

    fn run_ahead(&self, ticket: u64, lifespan: u32) {
        let ahead = &self.state.slots[self.worker].ahead;
        if let Some(unit) = ahead.unit() {
            let words = self.state.run.run_ahead(&unit, lifespan, &|| ahead.ticket() != ticket);
            let tally = &self.state.slots[self.slot].tally;
            tally.ahead.add(1);
            tally.words_ahead.add(words);
        }
    }
}

fn rest(looks: u32) {
    if looks.is_multiple_of(LOOKS) {
        yield_now();
    } else {
        spin_loop();
    }
}
