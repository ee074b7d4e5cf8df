//! A seat that helps a worker; see [`ahead`](crate::worklist::ahead).

use sinew_sync::atomic::spin_loop;
use sinew_sync::thread::yield_now;

use super::{Arena, End, Hand};
use crate::worklist::team::Role;
use crate::worklist::work::Run;

/// Looks for a unit before the processor is offered to others: a worker takes longer for one than a look.
const LOOKS: u32 = 1_000;

pub(super) struct Helper<'a, 'r, R: Run> {
    arena: &'a Arena<'r, R>,
    w: &'a Hand,
    seat: usize,
    worker: usize,
}

impl<'a, 'r, R: Run> Helper<'a, 'r, R> {
    pub(super) fn new(arena: &'a Arena<'r, R>, w: &'a Hand, seat: usize, worker: usize) -> Self {
        Self { arena, w, seat, worker }
    }

    /// Helps until the settings want something else, or the worker is gone.
    pub(super) fn run(&self) -> End {
        let (mut version, mut seen, mut looks) = (self.arena.version(self.w), 0, 0_u32);
        let mut terms = self.arena.terms(self.w);
        let ahead = &self.arena.seats[self.worker].ahead;
        loop {
            let now = self.arena.version(self.w);
            if now != version {
                if Arena::<R>::is_relieved(self.seat, self.w, version, now) {
                    return End::Relieved;
                }
                version = now;
                terms = self.arena.terms(self.w);
            }
            if terms.role(self.seat) != Role::Help(self.worker) {
                return End::Moved;
            }
            if self.arena.team.is_stopped() || !self.arena.team.is_taken(self.worker) {
                return End::Over;
            }
            let ticket = ahead.ticket();
            if ticket == seen {
                looks = looks.wrapping_add(1);
                rest(looks);
                continue;
            }
            seen = ticket;
            self.run_ahead(ticket, terms.settings.lifespan);
        }
    }

    fn run_ahead(&self, ticket: u64, lifespan: u32) {
        let ahead = &self.arena.seats[self.worker].ahead;
        if let Some(unit) = ahead.unit() {
            let words = self.arena.run.run_ahead(&unit, lifespan, &|| ahead.ticket() != ticket);
            let tally = &self.arena.seats[self.seat].tally;
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
