//! One rank's part in a bag: batches, questions, gifts and waves.
//!
//! # States
//!
//! | state | entered | left |
//! |---|---|---|
//! | working | units came | a batch leaves no units |
//! | asking | a question is sent | its answer |
//! | quiet | all that were asked refused | a push, or the end |
//! | stopped | rank 0 stops the bag | the end |
//!
//! # Invariants
//!
//! - B1: a message with units is counted as sent before it is sent, and as received before its
//!   units run. Only a quiet rank answers a wave. So two equal waves mean that no unit exists.
//! - B2: every question is answered, by units or a refusal, in every state.
//! - B3: a stopped rank keeps the units that it has, and those that still come. It counts as
//!   passive, so the end comes when no unit is on the way. It asks no more questions.
//!
//! # Tests
//!
//! `shuttle` runs several members under random schedules, and plants a wave too few (G5 of
//! `sinew_policy::lifelines`) and a lost push. `tests/bag.rs` runs whole bags.

use std::marker::PhantomData;

use sinew_policy::lifelines::{Lifelines, Next, Rank, Settings, Verdict, Waves, children, parent};
use sinew_sync::plant::{Bug, planted};

use super::BagCounts;
use super::message::Message;
use super::progress::Progress;
use crate::World;
use crate::wire::Way;
use crate::world::{Call, Purpose, Since};

pub(super) struct Member<'w, U, W> {
    call: Call<'w>,
    units: Vec<U>,
    /// The units of a stopped rank (B3).
    rest: Option<Vec<U>>,
    lifelines: Lifelines,
    waves: Waves,
    random: fastrand::Rng,
    counts: BagCounts,
    progress: Option<Progress<'w>>,
    ended: bool,
    way: PhantomData<W>,
}

impl<'w, U, W: Way<U>> Member<'w, U, W> {
    pub(super) fn new(world: &'w World, units: Vec<U>, settings: Settings) -> Self {
        let (rank, size) = (world.rank(), world.size());
        let equal_waves = if planted(Bug::OneWave) { 1 } else { 2 };
        Self {
            call: world.call("bag").giving_work(),
            units,
            rest: None,
            lifelines: Lifelines::new(rank, size, settings),
            waves: Waves::new(rank, size, equal_waves),
            random: fastrand::Rng::with_seed(u64::from(rank)),
            counts: BagCounts::default(),
            progress: None,
            ended: false,
            way: PhantomData,
        }
    }

    /// Tells rank 0 now and then how many units were run.
    pub(super) fn with_progress(mut self, progress: Option<Progress<'w>>) -> Self {
        self.progress = progress;
        self
    }

    /// Runs until no rank has units, or, after `stop` was true on rank 0, none runs any. `batch`
    /// runs some units and returns how many. Returns the units that are left here.
    pub(super) fn run(
        mut self,
        mut stop: impl FnMut() -> bool,
        mut batch: impl FnMut(&mut Vec<U>) -> usize,
    ) -> (BagCounts, Vec<U>) {
        let mut since = Since::now();
        while !self.ended {
            if self.read_messages() {
                continue;
            }
            self.tell_progress();
            if self.rest.is_none() && self.call.world.rank() == 0 && stop() {
                self.stop();
            }
            if self.units.is_empty() {
                if !self.ask() && !self.look_for_end() {
                    self.call.wait(&mut since);
                }
                continue;
            }
            self.push();
            self.counts.run += batch(&mut self.units) as u64;
            self.counts.batches += 1;
            since = Since::now();
        }
        self.counts.waves = self.waves.waves();
        (self.counts, self.rest.unwrap_or_default())
    }

    /// B3.
    fn stop(&mut self) {
        self.send_to_children(&Message::Stop);
        self.rest = Some(std::mem::take(&mut self.units));
    }

    /// Whether there was one.
    fn read_messages(&mut self) -> bool {
        let mut any = false;
        while let Some(message) = self.call.poll(None, Purpose::Bag) {
            any = true;
            self.counts.received += 1;
            match Message::unpack::<W>(&message.bytes) {
                Some(contents) => self.read(message.from, contents),
                None => self.call.refuse(),
            }
        }
        any
    }

    fn read(&mut self, from: Rank, message: Message<U>) {
        match message {
            Message::Question { lifeline } => self.answer(from, lifeline),
            Message::Refusal => {
                self.counts.refused += 1;
                self.lifelines.refused();
            }
            Message::Units { units, pushed } => self.take(from, units, pushed),
            Message::Wave => {
                self.waves.opened();
                self.send_to_children(&Message::Wave);
            }
            Message::Answer(sums) => self.waves.answered(sums),
            Message::End => self.end(),
            Message::Progress(units) => {
                self.progress.iter_mut().for_each(|progress| progress.heard(from, units));
            }
            Message::Stop => self.stop(),
        }
    }

    /// To the rank above; rank 0 shows it.
    fn tell_progress(&mut self) {
        let Some(progress) = &mut self.progress else { return };
        let Some(units) = progress.due(self.counts.run) else { return };
        match parent(self.call.world.rank()) {
            Some(above) => self.send(above, &Message::Progress(units)),
            None => progress.show(units),
        }
    }

    /// B2.
    fn answer(&mut self, thief: Rank, lifeline: bool) {
        match self.lifelines.requested(thief, lifeline, self.units.len()) {
            0 => self.send(thief, &Message::Refusal),
            share => self.give(thief, share, false),
        }
    }

    fn take(&mut self, from: Rank, mut units: Vec<U>, pushed: bool) {
        self.waves.received();
        self.counts.taken += 1;
        self.counts.units_taken += units.len() as u64;
        self.lifelines.fed(from, pushed);
        match &mut self.rest {
            Some(_) if planted(Bug::LostRest) => {}
            Some(rest) => rest.append(&mut units),
            None => self.units.append(&mut units),
        }
    }

    /// Gives units to the ranks that wait for some.
    fn push(&mut self) {
        while let Some((thief, share)) = self.lifelines.push(self.units.len()) {
            self.counts.pushed += 1;
            self.give(thief, share, true);
        }
    }

    fn give(&mut self, thief: Rank, share: usize, pushed: bool) {
        let units = every_other(&mut self.units, share);
        self.waves.sent();
        self.counts.given += 1;
        self.counts.units_given += units.len() as u64;
        if pushed && planted(Bug::LostPush) {
            return;
        }
        self.send(thief, &Message::Units { units, pushed });
    }

    /// Asks the next rank for units. Whether it did.
    fn ask(&mut self) -> bool {
        if self.rest.is_some() {
            return false;
        }
        let question = next_question(&mut self.lifelines, &mut self.random, &mut self.counts);
        let Some((victim, lifeline)) = question else { return false };
        self.send(victim, &Message::Question { lifeline });
        true
    }

    /// Takes part in a wave, if this rank is quiet. Whether anything happened.
    fn look_for_end(&mut self) -> bool {
        if !self.lifelines.is_answered() {
            return false;
        }
        match self.waves.passive() {
            Verdict::Wait => return false,
            Verdict::Answer(parent, sums) => self.send(parent, &Message::Answer(sums)),
            Verdict::Start => self.send_to_children(&Message::Wave),
            Verdict::Finished => self.end(),
        }
        true
    }

    fn end(&mut self) {
        self.send_to_children(&Message::End);
        self.ended = true;
    }

    fn send_to_children(&mut self, message: &Message<U>) {
        for child in children(self.call.world.rank(), self.call.world.size()) {
            self.send(child, message);
        }
    }

    fn send(&mut self, to: Rank, message: &Message<U>) {
        self.counts.sent += 1;
        self.call.send(to, Purpose::Bag, message.pack::<W>());
    }
}

/// The rank that is asked next, if one is, and whether as a lifeline. Counts the question.
pub(super) fn next_question(
    lifelines: &mut Lifelines,
    random: &mut fastrand::Rng,
    counts: &mut BagCounts,
) -> Option<(Rank, bool)> {
    match lifelines.hungry(random.u64(..)) {
        Next::Ask(victim) => {
            counts.random_questions += 1;
            Some((victim, false))
        }
        Next::AskLifeline(victim) => {
            counts.lifeline_questions += 1;
            Some((victim, true))
        }
        Next::Wait | Next::Quiet => None,
    }
}

/// Takes `share` of the units, at most half: every other one from the front, so that large and
/// small ones, old and young ones, are divided.
pub(super) fn every_other<U>(units: &mut Vec<U>, share: usize) -> Vec<U> {
    let (mut given, mut kept) = (Vec::with_capacity(share), Vec::with_capacity(units.len()));
    for (at, unit) in units.drain(..).enumerate() {
        let list = if at % 2 == 0 && given.len() < share { &mut given } else { &mut kept };
        list.push(unit);
    }
    *units = kept;
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_its_length_and_no_unit_is_lost() {
        for length in 2..40_u32 {
            for share in 1..=length as usize / 2 {
                let mut units: Vec<u32> = (0..length).collect();
                let given = every_other(&mut units, share);
                assert_eq!(given.len(), share);
                units.extend(given);
                units.sort_unstable();
                assert!(units.into_iter().eq(0..length));
            }
        }
    }
}
