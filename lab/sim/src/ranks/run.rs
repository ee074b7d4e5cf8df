//! The events of a run.
//!
//! # States
//!
//! | state of a rank | entered | left |
//! |---|---|---|
//! | working | it has units | at the end of a batch, to read messages |
//! | idle | no units, all messages read | a message |
//! | gone | it stops for ever | never |
//!
//! Batches of a working rank are run when their results are asked for: at a message, or when its
//! units end. That time is known, because the nodes below its units are. Only if a rank waits for a
//! push, every batch has an event.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sinew_policy::lifelines::{Lifelines, Next, Rank, Sums, Verdict, Waves, children};

use super::network::Links;
use super::unit::Unit;
use super::{RanksReport, RanksSetup, Slow, Stop};
use crate::engine::Progress;
use crate::queue::Time;
use crate::random::{NS, mix};

#[derive(Debug)]
enum Message {
    Question { lifeline: bool },
    Refusal,
    Units { units: Vec<Unit>, pushed: bool },
    Wave,
    Answer(Sums),
}

#[derive(Debug)]
enum Event {
    Arrival(Rank, Message),
    /// The end of a batch, if it has this number.
    BatchEnd,
    Stops(Option<Time>),
    Silence,
}

struct Member {
    units: Vec<Unit>,
    /// Nodes of `units`.
    nodes: u64,
    lifelines: Lifelines,
    waves: Waves,
    random: fastrand::Rng,
    /// The time of a node.
    node: Time,
    /// The end of the batch that runs, if one does.
    until: Option<Time>,
    /// The number of the event of its batch end; an older one says nothing.
    due: u64,
    inbox: Vec<(Rank, Message)>,
    is_gone: bool,
}

/// Number of events between two calls of `goes_on`.
const BETWEEN_CHECKS: u64 = 4_096;

pub(super) fn run(
    setup: RanksSetup,
    mut goes_on: impl FnMut(&Progress) -> bool,
) -> Option<RanksReport> {
    let mut run = Run::new(setup);
    (0..setup.ranks).for_each(|rank| run.go_on(rank));
    while !run.is_over()
        && let Some(Reverse((time, number, slot))) = run.queue.pop()
    {
        run.report.time = time;
        run.report.events += 1;
        let (rank, event) = run.events[slot].take().expect("an event happens once");
        run.free.push(slot);
        run.happens(rank, number, event);
        let is_check = run.report.events.is_multiple_of(BETWEEN_CHECKS);
        if is_check && !goes_on(&run.progress()) {
            return None;
        }
    }
    Some(run.close())
}

struct Run {
    setup: RanksSetup,
    members: Vec<Member>,
    links: Links,
    /// Times, numbers in the order of their making, and places in `events`.
    queue: BinaryHeap<Reverse<(Time, u64, usize)>>,
    events: Vec<Option<(Rank, Event)>>,
    free: Vec<usize>,
    made: u64,
    /// The end of the last batch.
    worked: Time,
    report: RanksReport,
    ended: bool,
}

impl Run {
    fn new(setup: RanksSetup) -> Self {
        let mut run = Self {
            setup,
            members: (0..setup.ranks).map(|rank| Member::new(rank, &setup)).collect(),
            links: Links::new(setup.network, setup.ranks),
            queue: BinaryHeap::new(),
            events: Vec::new(),
            free: Vec::new(),
            made: 0,
            worked: 0,
            report: RanksReport::default(),
            ended: false,
        };
        run.members[0].add(setup.shape.roots(setup.nodes, setup.grain, setup.seed));
        if let Some(Stop { rank, at_ns, for_ns }) = setup.stop {
            run.at(at_ns * NS, rank, Event::Stops(for_ns.map(|time| time * NS)));
        }
        run
    }

    fn is_over(&self) -> bool {
        self.ended || self.setup.ends_with_last_unit && self.report.nodes == self.setup.nodes
    }

    fn progress(&self) -> Progress {
        let RanksReport { time, events, nodes, .. } = self.report;
        Progress::new(time, events, nodes, Some(nodes as f64 / self.setup.nodes.max(1) as f64))
    }

    fn close(mut self) -> RanksReport {
        let now = self.report.time;
        (0..self.setup.ranks).for_each(|rank| self.catch_up(rank, now));
        self.report.waves = self.members[0].waves.waves();
        if self.setup.ends_with_last_unit {
            self.report.time = self.worked;
        }
        self.report
    }

    fn at(&mut self, time: Time, rank: Rank, event: Event) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.events.push(None);
            self.events.len() - 1
        });
        self.events[slot] = Some((rank, event));
        self.made += 1;
        self.queue.push(Reverse((time, self.made, slot)));
    }

    fn send(&mut self, from: Rank, to: Rank, message: Message) {
        let units = if let Message::Units { units, .. } = &message { units.len() } else { 0 };
        let bytes = self.setup.network.bytes(units);
        self.report.messages += 1;
        self.report.gift_bytes += if units > 0 { bytes } else { 0 };
        let arrival = self.links.arrival(self.report.time, from, to, bytes);
        self.at(arrival, to, Event::Arrival(from, message));
    }

    fn member(&mut self, rank: Rank) -> &mut Member {
        &mut self.members[rank as usize]
    }

    fn happens(&mut self, rank: Rank, number: u64, event: Event) {
        let now = self.report.time;
        match event {
            Event::Stops(time) => return self.stop(rank, time),
            Event::Silence => {
                self.report.lost = Some(rank);
                return self.ended = true;
            }
            _ if self.member(rank).is_gone => return,
            Event::BatchEnd if self.member(rank).due != number => return,
            Event::BatchEnd => {
                self.catch_up(rank, now);
                let until = self.member(rank).until.take();
                debug_assert_eq!(until, Some(now), "R3: a batch ends at its event");
            }
            Event::Arrival(from, message) => {
                self.member(rank).inbox.push((from, message));
                if self.member(rank).until.is_some() {
                    self.catch_up(rank, now);
                    return self.wake(rank);
                }
            }
        }
        for (from, message) in std::mem::take(&mut self.member(rank).inbox) {
            self.read(rank, from, message);
        }
        self.go_on(rank);
    }

    /// Runs the batches of a working rank up to the one that ends at `now` or later.
    fn catch_up(&mut self, rank: Rank, now: Time) {
        let member = &self.members[rank as usize];
        if member.is_gone {
            return;
        }
        while let member = &self.members[rank as usize]
            && member.until.is_some_and(|until| until < now)
            && !member.units.is_empty()
        {
            self.batch(rank);
        }
    }

    /// Makes the event of a working rank: after this batch if there is something to read or to
    /// push then, otherwise after its last one (R3).
    fn wake(&mut self, rank: Rank) {
        let member = self.member(rank);
        let until = member.until.expect("a rank that works");
        let is_needed = !member.inbox.is_empty() || member.lifelines.is_waited_for();
        let time = if is_needed { until } else { until + member.nodes * member.node };
        self.at(time, rank, Event::BatchEnd);
        self.members[rank as usize].due = self.made;
    }

    fn stop(&mut self, rank: Rank, time: Option<Time>) {
        let now = self.report.time;
        self.catch_up(rank, now);
        let Some(time) = time else {
            self.member(rank).is_gone = true;
            return self.at(now + Stop::SILENCE_NS * NS, rank, Event::Silence);
        };
        let until = self.member(rank).until.unwrap_or(now) + time;
        self.member(rank).until = Some(until);
        self.wake(rank);
    }

    fn read(&mut self, rank: Rank, from: Rank, message: Message) {
        let member = self.member(rank);
        match message {
            Message::Question { lifeline } => {
                match member.lifelines.requested(from, lifeline, member.units.len()) {
                    0 => self.send(rank, from, Message::Refusal),
                    share => self.give(rank, from, share, false),
                }
            }
            Message::Refusal => {
                member.lifelines.refused();
                self.report.refused += 1;
            }
            Message::Units { units, pushed } => {
                member.waves.received();
                member.lifelines.fed(from, pushed);
                member.add(units);
            }
            Message::Wave => {
                member.waves.opened();
                self.send_to_children(rank);
            }
            Message::Answer(sums) => member.waves.answered(sums),
        }
    }

    fn give(&mut self, rank: Rank, thief: Rank, share: usize, pushed: bool) {
        let member = self.member(rank);
        let units = member.take(share);
        member.waves.sent();
        self.report.gifts += 1;
        self.report.moved += units.len() as u64;
        self.send(rank, thief, Message::Units { units, pushed });
    }

    fn send_to_children(&mut self, rank: Rank) {
        for child in children(rank, self.setup.ranks) {
            self.send(rank, child, Message::Wave);
        }
    }

    /// The step of a rank that has read its messages.
    fn go_on(&mut self, rank: Rank) {
        loop {
            let member = self.member(rank);
            if !member.units.is_empty() {
                return self.work(rank);
            }
            let random = member.random.u64(..);
            match member.lifelines.hungry(random) {
                Next::Ask(victim) => self.ask(rank, victim, false),
                Next::AskLifeline(victim) => self.ask(rank, victim, true),
                Next::Wait => return,
                Next::Quiet => match member.waves.passive() {
                    Verdict::Wait => return,
                    Verdict::Answer(above, sums) => self.send(rank, above, Message::Answer(sums)),
                    Verdict::Start => self.send_to_children(rank),
                    Verdict::Finished => return self.ended = true,
                },
            }
        }
    }

    fn ask(&mut self, rank: Rank, victim: Rank, lifeline: bool) {
        self.report.questions += 1;
        self.send(rank, victim, Message::Question { lifeline });
    }

    fn work(&mut self, rank: Rank) {
        while let Some((thief, share)) = {
            let member = self.member(rank);
            member.lifelines.push(member.units.len())
        } {
            self.give(rank, thief, share, true);
        }
        let now = self.report.time;
        self.member(rank).until = Some(now);
        self.batch(rank);
        self.wake(rank);
    }

    /// Runs a batch after the one before.
    fn batch(&mut self, rank: Rank) {
        let RanksSetup { grain, batch_ns, shape, .. } = self.setup;
        let member = &mut self.members[rank as usize];
        let mut took = 0;
        while took < batch_ns * NS
            && let Some(unit) = member.units.pop()
        {
            let ran = unit.run(shape, grain, &mut member.units);
            self.report.nodes += ran;
            self.report.units += 1;
            member.nodes -= ran;
            took += ran * member.node;
        }
        let until = member.until.expect("a rank that works") + took;
        member.until = Some(until);
        self.report.work += took;
        self.worked = self.worked.max(until);
    }
}

impl Member {
    fn new(rank: Rank, setup: &RanksSetup) -> Self {
        let is_slow = |slow: &Slow| rank.is_multiple_of(slow.every.max(1));
        let percent = setup.slow.filter(is_slow).map_or(100, |slow| slow.percent.max(1));
        Self {
            units: Vec::new(),
            nodes: 0,
            lifelines: Lifelines::new(rank, setup.ranks, setup.settings),
            waves: Waves::new(rank, setup.ranks, setup.equal_waves),
            random: fastrand::Rng::with_seed(mix(setup.seed ^ u64::from(rank) << 20)),
            node: setup.node_ns * NS * percent / 100,
            until: None,
            due: 0,
            inbox: Vec::new(),
            is_gone: false,
        }
    }

    fn add(&mut self, mut units: Vec<Unit>) {
        self.nodes += units.iter().map(|unit| unit.nodes).sum::<u64>();
        self.units.append(&mut units);
    }

    /// Takes every other one from the front, as `sinew-dist` gives them.
    fn take(&mut self, share: usize) -> Vec<Unit> {
        let (mut given, mut kept) = (Vec::with_capacity(share), 0);
        for at in 0..self.units.len() {
            let unit = self.units[at];
            if at % 2 == 0 && given.len() < share {
                self.nodes -= unit.nodes;
                given.push(unit);
            } else {
                self.units[kept] = unit;
                kept += 1;
            }
        }
        self.units.truncate(kept);
        given
    }
}
