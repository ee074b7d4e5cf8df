//! One rank's part in a worklist with homes: rounds of its own units, units that come and go, and
//! waves.
//!
//! # States
//!
//! | state | entered | left |
//! |---|---|---|
//! | working | units came; at the beginning | no unit can run |
//! | quiet | a round leaves no unit that can run, and what it sent away is sent | units, or the end |
//!
//! # Invariants
//!
//! - U1: a unit runs on its home, and is sent at most once: when it is added, or at the beginning.
//! - U2: a message with units is counted as sent before it is sent, and as received before its
//!   units run. Only a quiet rank answers a wave: it has no unit that can run, and has sent all
//!   that its units have added. So only a message makes it working again.
//! - U3: a rank that was quiet in two waves in a row, with the same sums over all ranks, has
//!   received nothing in between. If as many messages were received as sent, none is on the way.
//!   So no rank has a unit that can run, and none will come: the list has ended.
//!
//! One wave is not enough. A rank that has answered may receive units and send others to ranks that
//! answer after it; the sums can be equal although it works. The next wave then has other sums.
//!
//! # Tests
//!
//! `shuttle` runs several members under random schedules, and plants a wave too few (U3).
//! `tests/worklist.rs` runs whole lists.

use std::marker::PhantomData;

use sinew::worklist::Round;
use sinew_policy::lifelines::{Rank, Verdict, Waves, children};
use sinew_sync::plant::{Bug, planted};

use super::HomeCounts;
use super::message::{Message, pack_answer, pack_end, pack_units, pack_wave};
use crate::World;
use crate::wire::Way;
use crate::world::{Call, Purpose, Since};

/// The most units of one message: some MiB, far below the longest message of MPI.
const MOST_UNITS: usize = 1 << 16;

/// The list of one rank.
pub(super) trait Local<U> {
    /// Adds units whose home is this rank; `false` if a home is another one.
    fn add(&mut self, units: Vec<U>) -> bool;

    /// Runs units for a while. Appends what they have added for each other rank to its element of
    /// `away`.
    fn round(&mut self, away: &mut [Vec<U>]) -> Round;
}

pub(super) struct Member<'w, U, W> {
    call: Call<'w>,
    waves: Waves,
    counts: HomeCounts,
    /// For each rank the units that are to be sent to it.
    away: Vec<Vec<U>>,
    /// Units may run.
    working: bool,
    ended: bool,
    way: PhantomData<W>,
}

impl<'w, U, W: Way<U>> Member<'w, U, W> {
    /// A member that first sends the units of `away`, one element a rank.
    pub(super) fn new(world: &'w World, away: Vec<Vec<U>>) -> Self {
        let (rank, size) = (world.rank(), world.size());
        let equal_waves = if planted(Bug::OneWave) { 1 } else { 2 };
        Self {
            call: world.call("worklist").giving_work(),
            waves: Waves::new(rank, size, equal_waves),
            counts: HomeCounts::default(),
            away,
            working: true,
            ended: false,
            way: PhantomData,
        }
    }

    /// Runs until no rank has a unit that can run.
    pub(super) fn run(mut self, local: &mut impl Local<U>) -> HomeCounts {
        let mut since = Since::now();
        self.send_away();
        while !self.ended {
            if self.read_messages(local) {
                continue;
            }
            if self.working {
                self.working = local.round(&mut self.away) == Round::More;
                self.counts.rounds += 1;
                self.send_away();
                since = Since::now();
            } else if !self.look_for_end() {
                self.call.wait(&mut since);
            }
        }
        self.counts.waves = self.waves.waves();
        self.counts
    }

    /// Whether there was one.
    fn read_messages(&mut self, local: &mut impl Local<U>) -> bool {
        let mut any = false;
        while let Some(message) = self.call.poll(None, Purpose::Bag) {
            any = true;
            self.counts.received += 1;
            match Message::unpack::<W>(&message.bytes) {
                Some(contents) => self.read(message.from, contents, local),
                None => self.call.refuse(),
            }
        }
        any
    }

    fn read(&mut self, from: Rank, message: Message<U>, local: &mut impl Local<U>) {
        match message {
            Message::Units(units) => {
                self.waves.received();
                self.counts.taken += 1;
                self.counts.units_taken += units.len() as u64;
                self.working = true;
                if !local.add(units) {
                    let why = format!("rank {from} has sent a unit whose home is another rank");
                    self.call.world.abort(&why);
                }
            }
            Message::Wave => {
                self.waves.opened();
                self.send_to_children(pack_wave);
            }
            Message::Answer(sums) => self.waves.answered(sums),
            Message::End => self.end(),
        }
    }

    /// U1, U2. In order of distance, so that not all ranks send to the same one first.
    fn send_away(&mut self) {
        let (own, size) = (self.call.world.rank() as usize, self.away.len());
        for to in (1..size).map(|step| (own + step) % size) {
            let units = std::mem::take(&mut self.away[to]);
            for part in units.chunks(MOST_UNITS) {
                self.waves.sent();
                self.counts.given += 1;
                self.counts.units_given += part.len() as u64;
                self.send(to as Rank, pack_units::<U, W>(part));
            }
        }
    }

    /// Takes part in a wave. Whether anything happened.
    fn look_for_end(&mut self) -> bool {
        match self.waves.passive() {
            Verdict::Wait => return false,
            Verdict::Answer(parent, sums) => self.send(parent, pack_answer(sums)),
            Verdict::Start => self.send_to_children(pack_wave),
            Verdict::Finished => self.end(),
        }
        true
    }

    fn end(&mut self) {
        self.send_to_children(pack_end);
        self.ended = true;
    }

    fn send_to_children(&mut self, pack: fn() -> Vec<u8>) {
        for child in children(self.call.world.rank(), self.call.world.size()) {
            self.send(child, pack());
        }
    }

    fn send(&mut self, to: Rank, bytes: Vec<u8>) {
        self.counts.sent += 1;
        self.call.send(to, Purpose::Bag, bytes);
    }
}
