//! The trace of a worker: its activities in order, for a timeline.
//!
//! The buffer is bounded. Adjacent spans of the same kind are merged. When the buffer is full, the
//! resolution becomes coarser, and shorter spans are merged into their neighbours.
//!
//! # Invariants
//!
//! - D1: the spans follow one another without gap or overlap, from the first to the last.
//! - D2: neighbours differ, and none but the last is shorter than the resolution.
//! - D3: there are at most `CAPACITY` of them.
//! - D4: an activity of at least the resolution is shown from its beginning to its end.
//!
//! # Cost
//!
//! An uncontended lock and some stores for each change of activity, if a trace is kept.

use sinew_sync::clock::TICKS_PER_US;
use sinew_sync::lock::Mutex;

use crate::activity::Activity;

/// The maximum number of spans of a worker: 1.5 MiB.
const CAPACITY: usize = 1 << 16;

/// A worker's activity, as a timeline shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Doing {
    /// Runs the program, and pushes and pops tasks.
    Working,
    /// Steals a task.
    Stealing,
    /// Searches for work.
    Searching,
    /// Waits for a task that another worker runs.
    Waiting,
    /// Sleeps.
    Parked,
    /// The worker has no thread.
    Away,
}

impl Doing {
    /// The activity in one word.
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
            Activity::Choice | Activity::Claim | Activity::Steal => Self::Stealing,
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

/// A trace. Its worker writes it, any thread reads it.
#[derive(Debug, Default)]
pub(crate) struct TraceBuffer(Mutex<Buffer<CAPACITY>>);

impl TraceBuffer {
    /// Adds a span that ends now.
    pub(crate) fn record(&self, entry: Entry) {
        self.0.lock().record(entry);
    }

    pub(crate) fn read(&self) -> Vec<Entry> {
        self.0.lock().entries.clone()
    }
}

#[derive(Debug, Default)]
struct Buffer<const CAPACITY: usize> {
    entries: Vec<Entry>,
    /// In ticks; 0 until the buffer is full for the first time.
    resolution: u64,
}

impl<const CAPACITY: usize> Buffer<CAPACITY> {
    fn record(&mut self, entry: Entry) {
        self.put(entry);
        if self.entries.len() > CAPACITY {
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

    /// Merges the last two spans if they have the same kind (D2).
    fn join_last(&mut self) {
        if let [.., before, last] = &mut self.entries[..]
            && before.doing == last.doing
        {
            before.to = last.to;
            self.entries.pop();
        }
    }

    /// Halves the number of spans by a coarser resolution.
    fn coarsen(&mut self) {
        while self.entries.len() > CAPACITY / 2 {
            self.resolution = (2 * self.resolution).max(TICKS_PER_US / 8);
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

    fn trace(spans: &[(usize, u64)]) -> (Buffer<16>, Vec<Entry>) {
        let (mut buffer, mut whole, mut now) = (Buffer::default(), Vec::new(), 5);
        for &(kind, length) in spans {
            let entry = Entry { doing: KINDS[kind], from: now, to: now + length };
            now = entry.to;
            buffer.record(entry);
            whole.push(entry);
        }
        (buffer, whole)
    }

    fn lengths() -> impl Strategy<Value = u64> {
        prop_oneof![4 => 0..300_u64, 1 => 0..100_000_u64]
    }

    proptest! {
        /// Catches: time lost or shown twice, a trace that grows without end, neighbours alike,
        /// a long span that disappears among short ones.
        #[test]
        fn what_takes_long_is_shown_and_all_time_is_somewhere(
            spans in prop::collection::vec((0..4_usize, lengths()), 1..300),
        ) {
            let (buffer, whole) = trace(&spans);
            let shown = &buffer.entries;
            prop_assert!(shown.len() <= 16);
            let (first, last) = (shown[0].from, shown[shown.len() - 1].to);
            prop_assert_eq!((first, last), (5, whole[whole.len() - 1].to));
            for pair in shown.windows(2) {
                prop_assert_eq!(pair[0].to, pair[1].from);
                prop_assert!(pair[0].doing != pair[1].doing);
                prop_assert!(pair[0].length() >= buffer.resolution);
            }
            for long in whole.iter().filter(|entry| entry.length() >= buffer.resolution.max(1)) {
                let covers = |entry: &&Entry| entry.from <= long.from && long.to <= entry.to;
                let found = shown.iter().find(covers).map(|entry| entry.doing);
                prop_assert_eq!(found, Some(long.doing));
            }
        }
    }

    /// Catches: detail thrown away while there is room for it.
    #[test]
    fn nothing_is_lost_while_there_is_room() {
        let (buffer, whole) = trace(&[(0, 1), (1, 1), (0, 1), (2, 1)]);
        assert_eq!(buffer.entries, whole);
    }
}
