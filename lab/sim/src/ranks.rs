//! A bag of tasks over ranks in virtual time, with the policy that `sinew-dist` runs.
//!
//! A rank runs batches of units. It reads its messages between two batches, an idle one at once.
//! A message takes the latency of the network. Whom an idle rank asks, what it gets and when the
//! bag ends is decided by [`sinew_policy::lifelines`].
//!
//! A unit is a subtree with a number of nodes. A unit with more than a grain divides its nodes at
//! random among its children; a smaller one is run as a whole. So the work of a bag is known, while
//! its shape is not.
//!
//! # Not handled
//!
//! The bandwidth of the network, and ranks of different speeds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sinew_policy::lifelines::{Lifelines, Next, Rank, Settings, Sums, Verdict, Waves, children};

use crate::queue::Time;
use crate::random::{NS, mix};

/// A bag, and the ranks that run it. Times are in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct RanksSetup {
    /// The number of ranks, at least 1.
    pub ranks: u32,
    /// Nodes of the whole bag, which begins as one unit at rank 0.
    pub nodes: u64,
    /// The largest number of nodes that is one unit to the end.
    pub grain: u64,
    /// The time of a node on a rank.
    pub node_ns: u64,
    /// How long a batch takes, to the end of its last unit.
    pub batch_ns: u64,
    /// The time from the sending of a message to its arrival.
    pub latency_ns: u64,
    /// The policy's settings.
    pub settings: Settings,
    /// Waves in a row with equal sums that end the bag: 2. One is a mistake that tests look for.
    pub equal_waves: u32,
    /// Runs with the same seed are equal.
    pub seed: u64,
}

impl RanksSetup {
    /// A bag of `nodes` nodes over `ranks` ranks: nodes of a microsecond, at most a hundred in a
    /// unit, batches of a millisecond, messages of two microseconds.
    pub fn new(ranks: u32, nodes: u64) -> Self {
        Self {
            ranks,
            nodes,
            grain: 100,
            node_ns: 1_000,
            batch_ns: 1_000_000,
            latency_ns: 2_000,
            settings: Settings::default(),
            equal_waves: 2,
            seed: 0,
        }
    }
}

/// The events of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RanksReport {
    /// The time at which rank 0 reported the end, in picoseconds.
    pub time: Time,
    /// The nodes that had run by then.
    pub nodes: u64,
    /// The units that had run by then.
    pub units: u64,
    /// The sum of all ranks' work, in picoseconds.
    pub work: Time,
    /// Questions for units.
    pub questions: u64,
    /// Questions that were refused.
    pub refused: u64,
    /// Messages with units.
    pub gifts: u64,
    /// All messages until the end.
    pub messages: u64,
    /// Waves.
    pub waves: u64,
}

impl RanksReport {
    /// The part of all ranks' time that was work.
    pub fn efficiency(&self, ranks: u32) -> f64 {
        self.work as f64 / (self.time as f64 * f64::from(ranks))
    }
}

#[derive(Debug)]
enum Message {
    Question { lifeline: bool },
    Refusal,
    Units { units: Vec<Unit>, pushed: bool },
    Wave,
    Answer(Sums),
}

/// A subtree: its number of nodes, and what its shape follows from.
#[derive(Debug, Clone, Copy)]
struct Unit {
    nodes: u64,
    state: u64,
}

#[derive(Debug)]
enum Event {
    BatchEnd,
    Arrival(Rank, Message),
}

struct Member {
    units: Vec<Unit>,
    lifelines: Lifelines,
    waves: Waves,
    random: fastrand::Rng,
    working: bool,
    inbox: Vec<(Rank, Message)>,
}

/// Runs a bag to its end.
///
/// # Panics
///
/// If there are no ranks.
///
/// # Cost
///
/// An event for each batch and message, and some hashes for each unit.
pub fn run_ranks(setup: RanksSetup) -> RanksReport {
    let mut run = Run::new(setup);
    (0..setup.ranks).for_each(|rank| run.go_on(rank));
    while !run.ended
        && let Some(Reverse((time, _, slot))) = run.queue.pop()
    {
        run.report.time = time;
        let (rank, event) = run.events[slot].take().expect("an event happens once");
        run.free.push(slot);
        run.happens(rank, event);
    }
    run.report.waves = run.members[0].waves.waves();
    run.report
}

struct Run {
    setup: RanksSetup,
    members: Vec<Member>,
    /// Times, numbers in the order of their making, and places in `events`.
    queue: BinaryHeap<Reverse<(Time, u64, usize)>>,
    events: Vec<Option<(Rank, Event)>>,
    free: Vec<usize>,
    made: u64,
    report: RanksReport,
    ended: bool,
}

impl Run {
    fn new(setup: RanksSetup) -> Self {
        let member = |rank| Member {
            units: Vec::new(),
            lifelines: Lifelines::new(rank, setup.ranks, setup.settings),
            waves: Waves::new(rank, setup.ranks, setup.equal_waves),
            random: fastrand::Rng::with_seed(mix(setup.seed ^ u64::from(rank) << 20)),
            working: false,
            inbox: Vec::new(),
        };
        let mut members: Vec<Member> = (0..setup.ranks).map(member).collect();
        members[0].units.push(Unit { nodes: setup.nodes, state: setup.seed });
        Self {
            setup,
            members,
            queue: BinaryHeap::new(),
            events: Vec::new(),
            free: Vec::new(),
            made: 0,
            report: RanksReport::default(),
            ended: false,
        }
    }

    fn after(&mut self, delay: Time, rank: Rank, event: Event) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.events.push(None);
            self.events.len() - 1
        });
        self.events[slot] = Some((rank, event));
        self.made += 1;
        self.queue.push(Reverse((self.report.time + delay, self.made, slot)));
    }

    fn send(&mut self, from: Rank, to: Rank, message: Message) {
        self.report.messages += 1;
        self.after(self.setup.latency_ns * NS, to, Event::Arrival(from, message));
    }

    fn member(&mut self, rank: Rank) -> &mut Member {
        &mut self.members[rank as usize]
    }

    fn happens(&mut self, rank: Rank, event: Event) {
        match event {
            Event::Arrival(from, message) => self.member(rank).inbox.push((from, message)),
            Event::BatchEnd => self.member(rank).working = false,
        }
        if !self.member(rank).working {
            for (from, message) in std::mem::take(&mut self.member(rank).inbox) {
                self.read(rank, from, message);
            }
            self.go_on(rank);
        }
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
            Message::Units { mut units, pushed } => {
                member.waves.received();
                member.lifelines.fed(from, pushed);
                member.units.append(&mut units);
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
        // Every other one, as `sinew-dist` gives them.
        let (mut units, mut kept) = (Vec::with_capacity(share), Vec::new());
        for (at, unit) in member.units.drain(..).enumerate() {
            let list = if at % 2 == 0 && units.len() < share { &mut units } else { &mut kept };
            list.push(unit);
        }
        member.units = kept;
        member.waves.sent();
        self.report.gifts += 1;
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
        let RanksSetup { grain, node_ns, batch_ns, .. } = self.setup;
        let mut took = 0;
        while took < batch_ns
            && let Some(unit) = self.member(rank).units.pop()
        {
            let ran = unit.run(grain, &mut self.members[rank as usize].units);
            self.report.nodes += ran;
            self.report.units += 1;
            took += ran * node_ns;
        }
        self.report.work += took * NS;
        self.member(rank).working = true;
        self.after(took * NS, rank, Event::BatchEnd);
    }
}

impl Unit {
    /// Runs it and adds its children. Returns the number of nodes that ran.
    fn run(self, grain: u64, units: &mut Vec<Self>) -> u64 {
        if self.nodes <= grain.max(1) {
            return self.nodes;
        }
        // The first child gets any part, the second any part of the rest, the third what is left.
        let mut rest = self.nodes - 1;
        for child in 0..3 {
            let state = mix(self.state.wrapping_mul(3).wrapping_add(child));
            let part = ((u128::from(state) * u128::from(rest + 1)) >> 64) as u64;
            let nodes = if child == 2 { rest } else { part };
            if nodes > 0 {
                units.push(Self { nodes, state });
            }
            rest -= nodes;
        }
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_runs_before_the_end() {
        for ranks in [1, 2, 3, 4, 7, 64, 100] {
            for seed in 0..10 {
                let report = run_ranks(RanksSetup { seed, ..RanksSetup::new(ranks, 200_000) });
                assert_eq!(report.nodes, 200_000, "{ranks} ranks, seed {seed}");
                assert_eq!(report.work, 200_000 * 1_000 * NS);
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_run() {
        let setup = RanksSetup { seed: 5, ..RanksSetup::new(100, 300_000) };
        assert_eq!(run_ranks(setup), run_ranks(setup));
        assert_ne!(run_ranks(setup), run_ranks(RanksSetup { seed: 6, ..setup }));
    }

    /// Catches: a simulation in which one wave would be as good as two.
    #[test]
    fn one_wave_ends_some_bags_too_early() {
        let early = |seed| {
            let few = Settings { tries: 0, base: 2 };
            let short =
                RanksSetup { batch_ns: 10_000, latency_ns: 500, ..RanksSetup::new(3, 5_000) };
            let setup = RanksSetup { equal_waves: 1, settings: few, seed, ..short };
            run_ranks(setup).nodes < 5_000
        };
        assert!((0..1_000).any(early));
    }

    /// Catches: idle ranks that go on asking.
    #[test]
    fn idle_ranks_are_silent() {
        // No unit is ever divided, so nobody gets anything.
        let whole = RanksSetup { grain: 1 << 20, ..RanksSetup::new(1_024, 1 << 20) };
        let report = run_ranks(whole);
        assert_eq!(report.gifts, 0);
        assert_eq!(report.questions, 1_024 * (2 + 10));
        assert!(report.efficiency(1_024) < 0.001);
    }
}
