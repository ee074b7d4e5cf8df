//! One rank's part in a bag that survives the loss of other ranks.
//!
//! Stealing is that of `member`. There are no waves: what a rank gives away is a lease, whose
//! result comes back, and the bag ends when the root at rank 0 is finished. The units with which
//! other ranks begin are leases of the root. Which units run again, and which results count, is
//! decided in `sinew_policy::leases`.
//!
//! # The beginning and the end
//!
//! | step | message |
//! |---|---|
//! | a rank can survive losses from now on | it sends `Ready` to rank 0 |
//! | rank 0 has a `Ready` of all that are not lost | it sends `Begin` to all, and units run |
//! | the root is finished | rank 0 sends `End` to all |
//! | a rank has read `End` | it sends `Last` to all, and uses questions and units no more |
//! | rank 0 has a `Last` of all that are not lost | it sends the result and who is lost to all |
//! | a rank has that, and a `Last` of all others | it leaves |
//!
//! # Invariants
//!
//! - S0: no unit runs before all ranks can survive the loss of the rank that runs it.
//! - S1: a rank leaves after it has received all messages of all ranks that are not lost: `Last`
//!   is a rank's last one, that of rank 0 with the result excepted, and messages keep their order.
//!   So none is left for a later call.
//! - S2: all ranks that leave have the same result and leave out the same ranks. A loss that rank 0
//!   has not seen by then ends the job.
//! - S3: no rank waits for a lost one.
//!
//! # Tests
//!
//! `shuttle` loses ranks at any of their uses of the network, and plants a forgotten lease (E1 of
//! `leases`), a result that counts twice (E2) and an end that waits for a lost rank (S3).
//! `tests/losses.rs` runs whole bags.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sinew_policy::leases::{Lease, Works};
use sinew_policy::lifelines::{Lifelines, Members, Rank, Settings};
use sinew_sync::plant::{Bug, planted};

use super::BagCounts;
use super::member::{every_other, next_question};
use super::progress::Progress;
use crate::World;
use crate::wire::{self, Way};
use crate::world::{Call, Purpose, Since};

#[derive(Debug, Serialize, Deserialize)]
enum Message {
    Ready,
    Begin,
    Question {
        lifeline: bool,
    },
    Refusal,
    Units {
        lease: Lease,
        units: Vec<u8>,
        pushed: bool,
    },
    /// The result of a lease.
    Report {
        lease: Lease,
        sum: Vec<u8>,
    },
    /// The receiver need not run a lease any more.
    Drop {
        lease: Lease,
    },
    /// To rank 0: the sender has run so many units.
    Progress(u64),
    End,
    Last,
    Close {
        lost: Vec<Rank>,
        sum: Vec<u8>,
    },
}

pub(super) struct Survivor<'w, U, W, A, M> {
    call: Call<'w>,
    rank: Rank,
    works: Works<U, A, Vec<u8>>,
    lifelines: Lifelines,
    random: fastrand::Rng,
    /// The ranks that this one does not know to be lost.
    known: Members,
    /// Those of which rank 0 has no `Ready`, and those of which the last message has not come.
    unready: Vec<Rank>,
    open: Vec<Rank>,
    begun: bool,
    ended: bool,
    /// The result, at rank 0.
    result: Option<Vec<u8>>,
    /// The lost ranks and the result, from rank 0 at the end.
    closed: Option<(Vec<Rank>, Vec<u8>)>,
    counts: BagCounts,
    progress: Option<Progress<'w>>,
    merge: &'w M,
    way: PhantomData<W>,
}

impl<'w, U, W, A, M> Survivor<'w, U, W, A, M>
where
    W: Way<U>,
    A: Default + Serialize + DeserializeOwned,
    M: Fn(A, A) -> A,
{
    /// Begins the bag on all ranks. Before this returns, a loss ends the job.
    pub(super) fn new(world: &'w World, units: Vec<U>, settings: Settings, merge: &'w M) -> Self {
        let roots = world.all_gather(&W::pack(&units));
        Self::begin(world, units, roots, settings, merge)
    }

    /// As [`new`](Self::new), if `roots` are the units of all ranks.
    pub(super) fn begin(
        world: &'w World,
        units: Vec<U>,
        roots: Vec<Vec<u8>>,
        settings: Settings,
        merge: &'w M,
    ) -> Self {
        let call = world.call("bag").giving_work();
        call.survive();
        let (rank, known) = (world.rank(), call.members());
        let mut lifelines = Lifelines::new(rank, world.size(), settings);
        known.lost().iter().for_each(|lost| lifelines.lost(*lost));
        let mut works = Works::new(!planted(Bug::MergedTwice));
        if rank == 0 {
            works.add_root(units);
            for (other, copy) in known.iter().zip(roots).skip(1) {
                works.lend_root(other, copy);
            }
        } else {
            // Rank 0 lends to the ranks in their order.
            works.accept(0, Lease::from(known.place(rank) - 1), units);
        }
        let others: Vec<Rank> = known.iter().filter(|other| *other != rank).collect();
        let mut survivor = Self {
            call,
            rank,
            works,
            lifelines,
            random: fastrand::Rng::with_seed(u64::from(rank)),
            unready: if rank == 0 { others.clone() } else { Vec::new() },
            open: others,
            begun: false,
            known,
            ended: false,
            result: None,
            closed: None,
            counts: BagCounts::default(),
            progress: None,
            merge,
            way: PhantomData,
        };
        if rank > 0 {
            survivor.send(0, &Message::Ready);
        }
        survivor
    }

    /// Tells rank 0 now and then how many units were run; those of lost ranks stay counted.
    pub(super) fn with_progress(mut self, progress: Option<Progress<'w>>) -> Self {
        self.progress = progress;
        self
    }

    /// Runs until the root is finished. `batch` runs some units, adds to their result and returns
    /// how many.
    pub(super) fn run(
        mut self,
        mut batch: impl FnMut(&mut Vec<U>, &mut A) -> usize,
    ) -> (A, BagCounts) {
        let mut since = Since::now();
        loop {
            let read = self.read_messages();
            self.look_for_begin();
            self.report();
            self.look_for_end();
            if let Some((lost, sum)) = self.closed.take_if(|_| self.open.is_empty()) {
                self.call.agree(&lost);
                return (self.call.unpack(&sum), self.counts);
            }
            if read {
                continue;
            }
            let runs = self.begun && !self.ended;
            if runs {
                self.tell_progress();
            }
            if !runs || self.works.units() == 0 {
                if !runs || !self.ask() {
                    self.call.wait(&mut since);
                }
                continue;
            }
            self.push();
            if let Some((units, sum)) = self.works.current() {
                self.counts.run += batch(units, sum) as u64;
                self.counts.batches += 1;
            }
            since = Since::now();
        }
    }

    /// Whether there was one.
    fn read_messages(&mut self) -> bool {
        let mut any = false;
        loop {
            let message = self.call.poll(None, Purpose::Bag);
            // Before the message: it may be the answer to what this rank knows by then.
            for rank in self.call.losses() {
                any = true;
                self.lose(rank);
            }
            let Some(message) = message else { return any };
            any = true;
            self.counts.received += 1;
            match wire::unpack(&message.bytes) {
                Some(contents) => self.read(message.from, contents),
                None => self.call.refuse(),
            }
        }
    }

    /// Not along the tree of `progress`, which lost ranks would interrupt.
    fn tell_progress(&mut self) {
        let Some(progress) = &mut self.progress else { return };
        match progress.due(self.counts.run) {
            Some(units) if self.rank == 0 => progress.show(units),
            Some(units) => self.send(0, &Message::Progress(units)),
            None => {}
        }
    }

    fn read(&mut self, from: Rank, message: Message) {
        match message {
            Message::Ready => self.unready.retain(|rank| *rank != from),
            Message::Begin => self.begun = true,
            Message::End => self.end(),
            Message::Last => self.open.retain(|rank| *rank != from),
            Message::Close { lost, sum } => {
                // S3: rank 0 may know of a loss before this rank does.
                self.open.retain(|rank| !lost.contains(rank));
                self.closed = Some((lost, sum));
            }
            Message::Progress(units) => {
                self.progress.iter_mut().for_each(|progress| progress.heard(from, units));
            }
            _ if self.ended => {}
            Message::Question { lifeline } => {
                match self.lifelines.requested(from, lifeline, self.works.units()) {
                    0 => self.send(from, &Message::Refusal),
                    share => self.give(from, share, false),
                }
            }
            Message::Refusal => {
                self.counts.refused += 1;
                self.lifelines.refused();
            }
            Message::Units { lease, units, pushed } => {
                let units = self.units_of(&units);
                self.counts.taken += 1;
                self.counts.units_taken += units.len() as u64;
                self.lifelines.fed(from, pushed);
                self.works.accept(from, lease, units);
            }
            Message::Report { lease, sum } => {
                let sum = self.call.unpack(&sum);
                self.works.reported(from, lease, sum, self.merge);
            }
            Message::Drop { lease } => {
                let below = self.works.dropped(from, lease);
                self.drop_below(below);
            }
        }
    }

    fn units_of(&self, bytes: &[u8]) -> Vec<U> {
        W::unpack(bytes).unwrap_or_else(|| self.call.refuse())
    }

    fn lose(&mut self, rank: Rank) {
        if !self.known.lose(rank) {
            return;
        }
        if rank == 0 {
            self.call.world.abort("rank 0 is lost, which has the root of the bag");
        }
        self.counts.lost += 1;
        self.lifelines.lost(rank);
        self.unready.retain(|unready| *unready != rank);
        if !planted(Bug::CountedLoss) {
            self.open.retain(|open| *open != rank);
        }
        let call = &self.call;
        let units_of = |copy: Vec<u8>| {
            let units = W::unpack(&copy).unwrap_or_else(|| call.refuse());
            if planted(Bug::ForgottenLease) { Vec::new() } else { units }
        };
        let below = self.works.lost(rank, units_of);
        self.drop_below(below);
    }

    fn drop_below(&mut self, leases: Vec<(Rank, Lease)>) {
        for (to, lease) in leases {
            self.send(to, &Message::Drop { lease });
        }
    }

    /// Gives units to the ranks that wait for some.
    fn push(&mut self) {
        while let Some((thief, share)) = self.lifelines.push(self.works.units()) {
            self.counts.pushed += 1;
            self.give(thief, share, true);
        }
    }

    fn give(&mut self, thief: Rank, share: usize, pushed: bool) {
        let take = |units: &mut Vec<U>| W::pack(&every_other(units, share));
        let (lease, units) = self.works.give(thief, take);
        self.counts.given += 1;
        self.counts.units_given += share as u64;
        self.send(thief, &Message::Units { lease, units, pushed });
    }

    /// Asks the next rank for units. Whether it did.
    fn ask(&mut self) -> bool {
        let question = next_question(&mut self.lifelines, &mut self.random, &mut self.counts);
        let Some((victim, lifeline)) = question else { return false };
        self.send(victim, &Message::Question { lifeline });
        true
    }

    /// Reports finished works to their givers.
    fn report(&mut self) {
        while self.begun
            && !self.ended
            && let Some((giver, lease, sum)) = self.works.finished()
        {
            self.counts.reported += 1;
            self.send(giver, &Message::Report { lease, sum: wire::pack(&sum) });
        }
    }

    /// The step of rank 0 at the beginning (S0).
    fn look_for_begin(&mut self) {
        if self.rank == 0 && !self.begun && self.unready.is_empty() {
            self.send_to_all(&Message::Begin);
            self.begun = true;
        }
    }

    /// The steps of rank 0 at the end.
    fn look_for_end(&mut self) {
        if self.begun
            && let Some(sum) = self.works.finished_root()
        {
            self.send_to_all(&Message::End);
            self.end();
            self.result = Some(wire::pack(&sum));
        }
        if let Some(sum) = self.result.take_if(|_| self.open.is_empty()) {
            let lost = self.known.lost().to_vec();
            self.send_to_all(&Message::Close { lost: lost.clone(), sum: sum.clone() });
            self.closed = Some((lost, sum));
        }
    }

    fn end(&mut self) {
        self.ended = true;
        self.send_to_all(&Message::Last);
    }

    fn send_to_all(&mut self, message: &Message) {
        let (own, known) = (self.rank, self.known.clone());
        known.iter().filter(|rank| *rank != own).for_each(|rank| self.send(rank, message));
    }

    fn send(&mut self, to: Rank, message: &Message) {
        self.counts.sent += 1;
        self.call.send(to, Purpose::Bag, wire::pack(message));
    }
}
