//! A worker's diary: what it did, from when to when.
//!
//! A sheet says for how long; a diary says in which order, for a timeline. Its room is bounded:
//! neighbouring spans of the same kind are one, and when it is full, spans that are too short to be
//! seen on a timeline of that length are given to their neighbours.
//!
//! # Invariants
//!
//! - D1: the spans follow one another without gap or overlap, from the first note to the last.
//! - D2: neighbours differ, and none but the last is shorter than the resolution.
//! - D3: there are at most `ROOM` of them.
//! - D4: what took at least the resolution is shown as what it was, from its beginning to its end.
//!
//! # Cost
//!
//! An uncontended lock and some stores for each turn of a worker, in pools that keep diaries;
//! nothing in others.

use sinew_sync::clock::TICKS_A_US;
use sinew_sync::lock::Mutex;

use super::activity::Activity;

/// Spans a worker: 1.5 MiB of them.
const ROOM: usize = 1 << 16;

/// What a worker does, as a timeline shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Doing {
    /// Runs the program, makes tasks and takes them back.
    Working,
    /// Carries a task over from another worker.
    Stealing,
    /// Looks for work.
    Searching,
    /// Waits for a task that another worker runs.
    Waiting,
    /// Sleeps.
    Parked,
    /// Nobody is at the seat.
    Away,
}

impl Doing {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Stealing => "stealing",
            Self::Searching => "searching",
            Self::Waiting => "waiting",
            Self::Parked => "parked",
            Self::Away => "away",
        }
    }
}

impl From<Activity> for Doing {
    fn from(activity: Activity) -> Self {
        match activity {
            Activity::Application
            | Activity::Spawn
            | Activity::SpawnQueue
            | Activity::Get
            | Activity::GetQueue => Self::Working,
            Activity::Claim | Activity::Steal => Self::Stealing,
            Activity::FailedClaim | Activity::Search => Self::Searching,
            Activity::Wait => Self::Waiting,
            Activity::Parked => Self::Parked,
            Activity::Away => Self::Away,
        }
    }
}

/// A part of a worker's time, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) doing: Doing,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Entry {
    fn length(&self) -> u64 {
        self.to - self.from
    }
}

/// A diary. Written by its worker, read by anybody.
#[derive(Debug, Default)]
pub(crate) struct Diary(Mutex<Pages<ROOM>>);

impl Diary {
    /// The worker did this until now.
    pub(crate) fn note(&self, entry: Entry) {
        self.0.lock().note(entry);
    }

    pub(crate) fn read(&self) -> Vec<Entry> {
        self.0.lock().entries.clone()
    }
}

#[derive(Debug, Default)]
struct Pages<const ROOM: usize> {
    entries: Vec<Entry>,
    /// In ticks; 0 until the room is full for the first time.
    resolution: u64,
}

impl<const ROOM: usize> Pages<ROOM> {
    fn note(&mut self, entry: Entry) {
        self.put(entry);
        if self.entries.len() > ROOM {
            self.coarsen();
        }
    }

    fn put(&mut self, entry: Entry) {
        match self.entries.last_mut() {
            Some(last) if last.doing == entry.doing => last.to = entry.to,
            Some(last) if last.length() < self.resolution => {
                if entry.length() >= last.length() {
                    last.doing = entry.doing;
                }
                last.to = entry.to;
                self.join_last();
            }
            _ => self.entries.push(entry),
        }
    }

    /// Makes one of the last two if they are alike (D2).
    fn join_last(&mut self) {
        if let [.., before, last] = &mut self.entries[..]
            && before.doing == last.doing
        {
            before.to = last.to;
            self.entries.pop();
        }
    }

    /// Makes room by a coarser resolution.
    fn coarsen(&mut self) {
        while self.entries.len() > ROOM / 2 {
            self.resolution = (2 * self.resolution).max(TICKS_A_US / 8);
            for entry in std::mem::take(&mut self.entries) {
                self.put(entry);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KINDS: [Doing; 4] = [Doing::Working, Doing::Stealing, Doing::Searching, Doing::Parked];

    fn diary(spans: &[(usize, u64)]) -> (Pages<16>, Vec<Entry>) {
        let (mut pages, mut whole, mut now) = (Pages::default(), Vec::new(), 5);
        for &(kind, length) in spans {
            let entry = Entry { doing: KINDS[kind], from: now, to: now + length };
            now = entry.to;
            pages.note(entry);
            whole.push(entry);
        }
        (pages, whole)
    }

    proptest! {
        /// Would miss: time lost or shown twice, a diary that grows without end, neighbours alike,
        /// a long span that disappears among short ones.
        #[test]
        fn what_takes_long_is_shown_and_all_time_is_somewhere(
            spans in prop::collection::vec((0..4_usize, prop_oneof![4 => 0..300_u64, 1 => 0..100_000_u64]), 1..300),
        ) {
            let (pages, whole) = diary(&spans);
            let shown = &pages.entries;
            prop_assert!(shown.len() <= 16);
            prop_assert_eq!((shown[0].from, shown[shown.len() - 1].to), (5, whole[whole.len() - 1].to));
            for pair in shown.windows(2) {
                prop_assert_eq!(pair[0].to, pair[1].from);
                prop_assert!(pair[0].doing != pair[1].doing && pair[0].length() >= pages.resolution);
            }
            for long in whole.iter().filter(|entry| entry.length() >= pages.resolution.max(1)) {
                let covers = |entry: &&Entry| entry.from <= long.from && long.to <= entry.to;
                prop_assert_eq!(shown.iter().find(covers).map(|entry| entry.doing), Some(long.doing));
            }
        }
    }

    /// Would miss: detail thrown away while there is room for it.
    #[test]
    fn nothing_is_lost_while_there_is_room() {
        let (pages, whole) = diary(&[(0, 1), (1, 1), (0, 1), (2, 1)]);
        assert_eq!(pages.entries, whole);
    }
}
