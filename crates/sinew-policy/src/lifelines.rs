//! Stealing between ranks: whom an idle rank asks, who gives what, and when all ranks are idle.
//!
//! Ranks are processes that share nothing. A rank without units asks some ranks at random. If all
//! refuse, it asks its *lifelines*, a few fixed ranks, which remember it when they refuse. Then it
//! is silent until one of them has units again and pushes some. So an idle rank sends a bounded
//! number of messages.
//!
//! Source: Saraswat et al., "Lifeline-based Global Load Balancing", PPoPP 2011; Zhang et al., "GLB:
//! Lifeline-based Global Load Balancing Library in X10", 2014 (arXiv 1312.5691). The end is found
//! by the four counters of Mattern, "Algorithms for Distributed Termination Detection", 1987: two
//! successive waves over all ranks that see the same numbers of sent and of received messages.
//! Differences: a rank answers a wave when it is passive, so no wave finds a busy rank, and the
//! number of waves does not grow with the time that ranks work.
//!
//! # Invariants
//!
//! - G1: along lifelines work reaches every rank from every rank.
//! - G2: a rank that is quiet has asked all its lifelines; each of them remembers it, or has a push
//!   for it on the way.
//! - G3: a rank gives at most half of its units, so it keeps one.
//! - G4: a rank answers each wave once, after all ranks below it in the tree and only while it is
//!   passive: without units, without a question that is not answered.
//! - G5: the end is reported only after two waves in a row with equal sums, as many messages sent
//!   as received.
//! - G6: lost ranks are left out: lifelines are those of the ranks that are there, renumbered from
//!   0, so G1 holds for them.
//!
//! # Cost
//!
//! An idle rank sends at most `tries` questions and one a lifeline, about the logarithm of the
//! number of ranks. A wave is two messages a rank.

use std::collections::VecDeque;

/// The number of a rank, from 0.
pub type Rank = u32;

/// The ranks of a job, of which some are lost. Those that are there have places from 0 on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Members {
    size: u32,
    /// In ascending order.
    lost: Vec<Rank>,
}

impl Members {
    /// All of `size` ranks.
    pub fn all(size: u32) -> Self {
        Self { size, lost: Vec::new() }
    }

    /// `rank` is lost. Whether it was there.
    pub fn lose(&mut self, rank: Rank) -> bool {
        let at = self.lost.binary_search(&rank).err().filter(|_| rank < self.size);
        at.inspect(|at| self.lost.insert(*at, rank)).is_some()
    }

    /// The lost ranks, in ascending order.
    pub fn lost(&self) -> &[Rank] {
        &self.lost
    }

    /// Whether `rank` is there.
    pub fn has(&self, rank: Rank) -> bool {
        rank < self.size && self.lost.binary_search(&rank).is_err()
    }

    /// The number of ranks that are there.
    pub fn count(&self) -> u32 {
        self.size - self.lost.len() as u32
    }

    /// All ranks that are there, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Rank> {
        (0..self.size).filter(|rank| self.has(*rank))
    }

    /// The place of `rank`: how many of those before it are there.
    pub fn place(&self, rank: Rank) -> u32 {
        rank - self.lost.partition_point(|lost| *lost < rank) as u32
    }

    /// The rank at `place`, which is below [`count`](Self::count).
    pub fn at(&self, place: u32) -> Rank {
        self.lost.iter().fold(place, |rank, lost| rank + u32::from(*lost <= rank))
    }

    /// The rank above `rank` in the tree of those that are there.
    pub fn parent(&self, rank: Rank) -> Option<Rank> {
        parent(self.place(rank)).map(|place| self.at(place))
    }

    /// The ranks below `rank` in the tree of those that are there.
    pub fn children(&self, rank: Rank) -> impl Iterator<Item = Rank> {
        children(self.place(rank), self.count()).map(|place| self.at(place))
    }
}

/// How many questions an idle rank asks, and whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Ranks that are asked at random before the lifelines.
    pub tries: u32,
    /// The base of the lifeline graph: 2 makes a hypercube; larger ones make fewer lifelines and
    /// longer ways. Less than 2 counts as 2.
    pub base: u32,
}

impl Default for Settings {
    /// Two tries, and a hypercube.
    fn default() -> Self {
        Self { tries: 2, base: 2 }
    }
}

/// The next step of a rank without units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Asks this rank for units.
    Ask(Rank),
    /// Asks this lifeline, which remembers the question if it refuses.
    AskLifeline(Rank),
    /// Waits: a question is not answered yet.
    Wait,
    /// Nothing, until a push arrives.
    Quiet,
}

/// A rank's part in stealing.
#[derive(Debug, Clone)]
pub struct Lifelines {
    rank: Rank,
    members: Members,
    settings: Settings,
    tried: u32,
    lifelines: Vec<Rank>,
    /// For each lifeline, whether it remembers this rank.
    remembered: Vec<bool>,
    asked: Option<Question>,
    /// The ranks whose questions were refused and remembered, in the order of their questions.
    waiting: VecDeque<Rank>,
}

impl Lifelines {
    /// The part of `rank` among `size` ranks.
    ///
    /// # Panics
    ///
    /// If `rank` is not below `size`.
    #[track_caller]
    pub fn new(rank: Rank, size: u32, settings: Settings) -> Self {
        assert!(rank < size, "rank {rank} is not one of {size}");
        let lifelines = lifelines(rank, size, settings.base);
        let remembered = vec![false; lifelines.len()];
        let (members, waiting) = (Members::all(size), VecDeque::new());
        Self { rank, members, settings, tried: 0, lifelines, remembered, asked: None, waiting }
    }

    /// Another rank is lost: it is not asked any more, has refused what it was asked, and waits for
    /// nothing (G6).
    pub fn lost(&mut self, rank: Rank) {
        if !self.members.lose(rank) {
            return;
        }
        self.waiting.retain(|thief| *thief != rank);
        if self.asked.is_some_and(|asked| asked.victim() == rank) {
            self.asked = None;
        }
        let (place, count) = (self.members.place(self.rank), self.members.count());
        let places = lifelines(place, count, self.settings.base).into_iter();
        let now: Vec<Rank> = places.map(|place| self.members.at(place)).collect();
        let remembers = |rank| {
            let at = self.lifelines.iter().position(|before| before == rank);
            at.is_some_and(|at| self.remembered[at])
        };
        self.remembered = now.iter().map(remembers).collect();
        self.lifelines = now;
    }

    /// The ranks that this one asks last.
    pub fn lifelines(&self) -> &[Rank] {
        &self.lifelines
    }

    /// Whether every question is answered.
    pub fn is_answered(&self) -> bool {
        self.asked.is_none()
    }

    /// The next step of this rank, which has no units; `random` is any number. A question counts
    /// as asked.
    pub fn hungry(&mut self, random: u64) -> Next {
        if self.asked.is_some() {
            return Next::Wait;
        }
        let others = self.members.count() - 1;
        if self.tried < self.settings.tries && others > 0 {
            self.tried += 1;
            let other = (random % u64::from(others)) as u32;
            let place = other + u32::from(other >= self.members.place(self.rank));
            let victim = self.members.at(place);
            self.asked = Some(Question::Random(victim));
            return Next::Ask(victim);
        }
        let Some(at) = self.remembered.iter().position(|remembered| !remembered) else {
            return Next::Quiet;
        };
        self.remembered[at] = true;
        let rank = self.lifelines[at];
        self.asked = Some(Question::Lifeline(rank));
        Next::AskLifeline(rank)
    }

    /// The rank that was asked has no units to give.
    pub fn refused(&mut self) {
        self.asked = None;
    }

    /// Units have come: the answer of the rank that was asked, or a push from `from`.
    pub fn fed(&mut self, from: Rank, pushed: bool) {
        // A lifeline forgets a rank to which it pushes, and never remembers one to which it gives.
        let forgotten = if pushed { Some(from) } else { self.asked.take().and_then(lifeline) };
        if let Some(at) = self.lifelines.iter().position(|rank| Some(*rank) == forgotten) {
            self.remembered[at] = false;
        }
        self.tried = 0;
    }

    /// How many of its `units` this rank gives to `thief`, who asks; none is a refusal.
    pub fn requested(&mut self, thief: Rank, lifeline: bool, units: usize) -> usize {
        let share = units / 2;
        if share == 0 && lifeline {
            self.waiting.push_back(thief);
        }
        share
    }

    /// Whether a rank waits for a push of this one.
    pub fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A rank that waits for a push, and how many of its `units` this rank gives to it: an equal
    /// share. None if no rank waits, or if there are too few units.
    pub fn push(&mut self, units: usize) -> Option<(Rank, usize)> {
        if units < 2 {
            return None;
        }
        let share = (units / (self.waiting.len() + 1)).max(1);
        self.waiting.pop_front().map(|thief| (thief, share))
    }
}

/// A question that is not answered.
#[derive(Debug, Clone, Copy)]
enum Question {
    Random(Rank),
    Lifeline(Rank),
}

impl Question {
    fn victim(self) -> Rank {
        match self {
            Self::Random(rank) | Self::Lifeline(rank) => rank,
        }
    }
}

fn lifeline(question: Question) -> Option<Rank> {
    match question {
        Question::Random(_) => None,
        Question::Lifeline(rank) => Some(rank),
    }
}

/// The ranks that `rank` of `size` asks last. Its number in base `base` has digits; for each there
/// is one lifeline, whose digit is the next one that makes a rank.
fn lifelines(rank: Rank, size: u32, base: u32) -> Vec<Rank> {
    let (rank, size, base) = (u64::from(rank), u64::from(size), u64::from(base.max(2)));
    let mut lifelines = Vec::new();
    let mut place = 1;
    while place < size {
        let digit = rank / place % base;
        let others = (1..base).map(|step| rank - digit * place + (digit + step) % base * place);
        lifelines.extend(others.into_iter().find(|other| *other < size).map(|rank| rank as u32));
        place *= base;
    }
    lifelines
}

/// The rank above `rank` in the tree of all ranks, none for rank 0.
pub fn parent(rank: Rank) -> Option<Rank> {
    rank.checked_sub(1).map(|before| before / 2)
}

/// The ranks below `rank` in the tree of `size` ranks, at most two.
pub fn children(rank: Rank, size: u32) -> impl Iterator<Item = Rank> {
    let first = u64::from(rank) * 2 + 1;
    (first..first + 2).filter(move |child| *child < u64::from(size)).map(|child| child as u32)
}

/// The numbers of messages sent and received, of one rank or of all below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    /// Messages with units that were sent.
    pub sent: u64,
    /// Messages with units that were received.
    pub received: u64,
}

/// The part of a passive rank in the detection of the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Wait,
    /// Sends the sums of its part of the tree to its parent.
    Answer(Rank, Sums),
    /// Starts a wave: sends it to its children. Rank 0 alone.
    Start,
    /// All ranks are passive and no unit is on the way. Rank 0 alone.
    Finished,
}

/// A rank's part in finding the end.
#[derive(Debug, Clone)]
pub struct Waves {
    rank: Rank,
    children: u32,
    /// How many waves with the same sums are enough.
    equal: u32,
    own: Sums,
    /// The children that have not answered the wave that is open, and the sums of the others.
    open: Option<(u32, Sums)>,
    /// Rank 0: the sums of the last wave, and how many waves in a row had them.
    last: Option<(Sums, u32)>,
    started: u64,
}

impl Waves {
    /// The part of `rank` among `size`. The end is found after `equal` waves with the same sums:
    /// two are needed (G5). With one the end is reported too early; a test shows that.
    pub fn new(rank: Rank, size: u32, equal: u32) -> Self {
        let children = children(rank, size).count() as u32;
        let own = Sums::default();
        Self { rank, children, equal, own, open: None, last: None, started: 0 }
    }

    /// A message with units was sent.
    pub fn sent(&mut self) {
        self.own.sent += 1;
    }

    /// A message with units was received.
    pub fn received(&mut self) {
        self.own.received += 1;
    }

    /// This rank's messages with units.
    pub fn own(&self) -> Sums {
        self.own
    }

    /// The waves that this rank has seen.
    pub fn waves(&self) -> u64 {
        self.started
    }

    /// A wave has come from the parent; the caller sends it to the children.
    pub fn opened(&mut self) {
        self.started += 1;
        self.open = Some((self.children, Sums::default()));
    }

    /// A child has answered for its part of the tree.
    ///
    /// # Panics
    ///
    /// If this rank has seen no wave that the child could have answered.
    #[track_caller]
    pub fn answered(&mut self, sums: Sums) {
        let (missing, sum) = self.open.as_mut().expect("a child answers only an open wave");
        *missing = missing.checked_sub(1).expect("each child answers a wave once");
        sum.sent += sums.sent;
        sum.received += sums.received;
    }

    /// The step of this rank, which is passive: it has no units and no question that is not
    /// answered.
    pub fn passive(&mut self) -> Verdict {
        let (missing, mut sums) = match self.open {
            Some((missing, sums)) => (missing, sums),
            None if self.rank == 0 => return self.start(),
            None => return Verdict::Wait,
        };
        if missing > 0 {
            return Verdict::Wait;
        }
        self.open = None;
        sums.sent += self.own.sent;
        sums.received += self.own.received;
        match parent(self.rank) {
            Some(parent) => Verdict::Answer(parent, sums),
            None => self.judge(sums),
        }
    }

    fn start(&mut self) -> Verdict {
        self.opened();
        Verdict::Start
    }

    fn judge(&mut self, sums: Sums) -> Verdict {
        let before = self.last.filter(|(last, _)| *last == sums).map_or(0, |(_, equal)| equal);
        self.last = Some((sums, before + 1));
        if sums.sent == sums.received && before + 1 >= self.equal {
            return Verdict::Finished;
        }
        self.start()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ranks that work can reach from rank 0 along lifelines, in the direction of pushes.
    fn reached(size: u32, base: u32) -> usize {
        let mut seen = vec![false; size as usize];
        let mut next = vec![0];
        while let Some(rank) = next.pop() {
            if !std::mem::replace(&mut seen[rank as usize], true) {
                next.extend(
                    (0..size).filter(|other| lifelines(*other, size, base).contains(&rank)),
                );
            }
        }
        seen.iter().filter(|seen| **seen).count()
    }

    #[test]
    fn work_reaches_every_rank_along_lifelines() {
        for size in 1..70 {
            for base in [2, 3, 5, 64] {
                assert_eq!(reached(size, base), size as usize, "{size} ranks, base {base}");
            }
        }
    }

    #[test]
    fn a_rank_has_a_lifeline_for_each_digit_of_the_number_of_ranks() {
        assert_eq!(lifelines(5, 65_536, 2).len(), 16);
        assert_eq!(lifelines(5, 7, 2), [4, 1]);
        assert_eq!(lifelines(0, 1, 2), []);
        assert_eq!(lifelines(u32::MAX - 1, u32::MAX, 1 << 20).len(), 2);
    }

    #[test]
    fn an_idle_rank_asks_at_random_then_its_lifelines_and_is_then_silent() {
        let mut rank = Lifelines::new(1, 4, Settings::default());
        let mut asked = Vec::new();
        for random in [0, 1, 2, 3, 4] {
            let next = rank.hungry(random);
            if next != Next::Quiet {
                assert_eq!(rank.hungry(random), Next::Wait);
            }
            asked.push(next);
            rank.refused();
        }
        let lifelines = [Next::AskLifeline(0), Next::AskLifeline(3), Next::Quiet];
        assert_eq!(asked[..2], [Next::Ask(0), Next::Ask(2)]);
        assert_eq!(asked[2..], lifelines);
    }

    /// Catches: a thief that asks a lifeline again that remembers it already, so that its number is
    /// in the list twice.
    #[test]
    fn after_a_push_a_rank_asks_only_the_lifeline_that_pushed() {
        let mut rank = Lifelines::new(0, 4, Settings { tries: 0, base: 2 });
        while rank.hungry(0) != Next::Quiet {
            rank.refused();
        }
        rank.fed(2, true);
        assert_eq!(rank.hungry(0), Next::AskLifeline(2));
        rank.fed(2, false);
        assert_eq!(rank.hungry(0), Next::AskLifeline(2));
        rank.refused();
        assert_eq!(rank.hungry(0), Next::Quiet);
    }

    /// Catches: a question to a lost rank, which is never answered; a push to one.
    #[test]
    fn a_lost_rank_is_neither_asked_nor_waited_for_nor_fed() {
        let mut rank = Lifelines::new(0, 4, Settings { tries: 3, base: 2 });
        assert_eq!(rank.requested(1, true, 0), 0);
        assert_eq!(rank.hungry(0), Next::Ask(1));
        rank.lost(1);
        assert_eq!(rank.push(8), None);
        assert_eq!([rank.hungry(0), rank.hungry(1)], [Next::Ask(2), Next::Wait]);
        rank.refused();
        assert_eq!(rank.hungry(1), Next::Ask(3));
        rank.refused();
        assert_eq!(rank.hungry(0), Next::AskLifeline(2));
        rank.refused();
        rank.lost(2);
        assert_eq!(rank.hungry(0), Next::AskLifeline(3), "the only one that is left");
        rank.lost(3);
        assert_eq!(rank.hungry(0), Next::Quiet);
    }

    #[test]
    fn members_without_the_lost_ones_have_a_tree() {
        let mut members = Members::all(9);
        for lost in [5, 2, 7] {
            assert!(members.lose(lost));
            assert!(!members.lose(lost));
        }
        assert_eq!(members.iter().collect::<Vec<_>>(), [0, 1, 3, 4, 6, 8]);
        for (place, rank) in members.iter().enumerate() {
            assert_eq!((members.place(rank), members.at(place as u32)), (place as u32, rank));
            let above = members.parent(rank);
            assert!(above.is_none_or(|above| members.children(above).any(|below| below == rank)));
            assert_eq!(above.is_none(), rank == 0);
        }
    }

    #[test]
    fn a_rank_gives_at_most_half_and_shares_among_all_that_wait() {
        let mut rank = Lifelines::new(0, 8, Settings::default());
        assert_eq!(rank.requested(3, false, 1), 0);
        assert_eq!(rank.push(100), None, "a random question is not remembered");
        for thief in [1, 2, 4] {
            assert_eq!(rank.requested(thief, true, 1), 0);
        }
        assert_eq!(rank.requested(5, true, 9), 4);
        assert_eq!(rank.push(1), None);
        assert_eq!(rank.push(8), Some((1, 2)));
        assert_eq!(rank.push(2), Some((2, 1)));
        assert!(rank.is_waited_for());
        assert_eq!(rank.push(8), Some((4, 4)));
        assert_eq!(rank.push(8), None);
        assert!(!rank.is_waited_for());
    }

    #[test]
    fn the_end_needs_two_waves_with_the_same_sums() {
        let mut root = Waves::new(0, 2, 2);
        assert_eq!(root.passive(), Verdict::Start);
        assert_eq!(root.passive(), Verdict::Wait);
        root.answered(Sums { sent: 3, received: 3 });
        assert_eq!(root.passive(), Verdict::Start);
        root.answered(Sums { sent: 4, received: 4 });
        assert_eq!(root.passive(), Verdict::Start, "other sums than before");
        root.answered(Sums { sent: 4, received: 4 });
        assert_eq!(root.passive(), Verdict::Finished);
        assert_eq!(root.waves(), 3);
    }

    #[test]
    fn a_message_on_the_way_keeps_the_end_away() {
        let mut root = Waves::new(0, 2, 2);
        assert_eq!(root.passive(), Verdict::Start);
        for _ in 0..5 {
            root.answered(Sums { sent: 4, received: 3 });
            assert_eq!(root.passive(), Verdict::Start);
        }
    }

    #[test]
    fn a_rank_answers_after_the_ranks_below_it() {
        let mut rank = Waves::new(1, 5, 2);
        assert_eq!(rank.passive(), Verdict::Wait, "no wave yet");
        rank.sent();
        rank.opened();
        rank.answered(Sums { sent: 1, received: 2 });
        assert_eq!(rank.passive(), Verdict::Wait);
        rank.answered(Sums::default());
        assert_eq!(rank.passive(), Verdict::Answer(0, Sums { sent: 2, received: 2 }));
        assert_eq!(rank.passive(), Verdict::Wait, "once");
    }

    #[test]
    fn the_tree_has_every_rank_once() {
        for size in 1..40 {
            let mut below: Vec<u32> = (0..size).flat_map(|rank| children(rank, size)).collect();
            below.sort_unstable();
            assert_eq!(below, (1..size).collect::<Vec<_>>());
            for child in 1..size {
                assert!(children(parent(child).unwrap(), size).any(|rank| rank == child));
            }
        }
    }
}
