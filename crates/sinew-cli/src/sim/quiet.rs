//! Real runs that nothing disturbed, and when to give up looking for them.
//!
//! A run counts if all that kept its workers from working is less than a hundredth of its time:
//!
//! | what | where that is written |
//! |---|---|
//! | a worker was ready, and its core was another's | `schedstat` of that thread, before and after the run |
//! | the host of this virtual machine had a core | `steal` in `/proc/stat`, in hundredths of a second |
//!
//! Of other threads of this process nothing is asked: they sleep, and where one runs all the same,
//! the worker that it takes the core from says so. A worker that sleeps or spins for want of work
//! is not disturbed by that. Kinds of runs take turns in rounds, so that what changes slowly meets
//! all of them.
//!
//! # Invariants
//!
//! - Q1: where enough runs of each kind count, nothing of any other run is used; where not, the row
//!   says so and counts for nothing.
//! - Q2: a search for undisturbed runs ends: after [`MOST`] rounds for each that is wanted, or as
//!   soon as there were as many rounds as runs are wanted and a kind has none.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sinew::Pool;

use crate::contention;

/// A run that was kept from working for a larger share of its time is disturbed.
const DISTURBED: f64 = 0.01;

/// So many undisturbed runs of each kind say what all would.
pub(super) const ENOUGH: usize = 5;

/// Rounds for each undisturbed run that is wanted.
const MOST: usize = 4;

/// Milliseconds of a tick of `/proc/stat`.
const TICK_MS: u64 = 10;

/// One application on some workers: means of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Real {
    /// Seconds.
    pub(super) time: f64,
    pub(super) steals: f64,
    /// Of the workers' time: working and scheduling, searching, waiting in joins or asleep.
    pub(super) shares: [f64; 3],
}

/// The workers of some pools, to ask what kept them from working.
pub(super) struct Crew(Vec<PathBuf>);

impl Crew {
    pub(super) fn of(pools: &[&Pool]) -> Self {
        let threads = pools.iter().flat_map(|pool| pool.broadcast(|_| thread()));
        Self(threads.flatten().collect())
    }

    /// Runs something, and answers for how long its workers were kept from working meanwhile, all
    /// together; nothing where nobody writes that down.
    pub(super) fn watch<T>(&self, run: impl FnOnce() -> T) -> (T, Option<Duration>) {
        let before = self.lost();
        let done = run();
        (done, self.lost().zip(before).map(|(after, before)| after.saturating_sub(before)))
    }

    fn lost(&self) -> Option<Duration> {
        let waited: Option<Duration> =
            self.0.iter().map(|thread| contention::waited_by(thread)).sum();
        let is_told = !self.0.is_empty();
        waited.filter(|_| is_told).map(|waited| waited + stolen_by_host().unwrap_or_default())
    }
}

/// Where the kernel writes about the calling thread.
fn thread() -> Option<PathBuf> {
    Some(Path::new("/proc").join(fs::read_link("/proc/thread-self").ok()?))
}

fn stolen_by_host() -> Option<Duration> {
    stolen(&fs::read_to_string("/proc/stat").ok()?)
}

/// The eighth number of the first line: ticks in which this machine's processors were another
/// one's.
fn stolen(stat: &str) -> Option<Duration> {
    let mut words = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    words.nth(7)?.parse().ok().map(|ticks: u64| Duration::from_millis(TICK_MS * ticks))
}

/// What came of the rounds so far, a list for each of `N` kinds of runs.
#[derive(Debug)]
pub(super) struct Rounds<const N: usize> {
    wanted: usize,
    pub(super) done: usize,
    /// Whether it is known of each run what it lost.
    pub(super) is_known: bool,
    all: [Vec<Real>; N],
    quiet: [Vec<Real>; N],
}

impl<const N: usize> Rounds<N> {
    /// So many undisturbed runs of each kind are wanted.
    pub(super) fn new(wanted: usize) -> Self {
        let none = || std::array::from_fn(|_| Vec::new());
        Self { wanted: wanted.max(ENOUGH), done: 0, is_known: true, all: none(), quiet: none() }
    }

    /// A run of each kind, with what it lost as a share of its time. Where that is not known it
    /// counts: who has no such books has no way to tell.
    pub(super) fn add(&mut self, runs: [(Real, Option<f64>); N]) {
        self.done += 1;
        for (kind, (run, lost)) in runs.into_iter().enumerate() {
            self.is_known &= lost.is_some();
            self.all[kind].push(run);
            self.quiet[kind].extend((lost.unwrap_or(0.0) <= DISTURBED).then_some(run));
        }
    }

    /// How many runs count of the kind that has the fewest.
    pub(super) fn least(&self) -> usize {
        self.quiet.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// Whether there are enough, or never will be (Q2).
    pub(super) fn are_over(&self) -> bool {
        let least = self.least();
        let is_vain = least == 0 && self.done >= self.wanted;
        least >= self.wanted || is_vain || self.done >= self.most()
    }

    /// After so many rounds no other begins.
    fn most(&self) -> usize {
        self.wanted.saturating_mul(MOST)
    }

    /// How far the search is, from 0 to 1.
    pub(super) fn share(&self) -> f64 {
        let of = |done: usize, all: usize| done as f64 / all as f64;
        of(self.least(), self.wanted).max(of(self.done, self.most())).min(1.0)
    }

    /// Whether what they say counts.
    pub(super) fn count(&self) -> bool {
        self.least() >= ENOUGH
    }

    /// Of each kind the run at a quarter of the way from the shortest to the longest: of those that
    /// count, if enough do (Q1), of all otherwise.
    pub(super) fn quarters(&self) -> Option<[Real; N]> {
        let of = if self.count() { &self.quiet } else { &self.all };
        let mut quarters = Vec::with_capacity(N);
        for runs in of {
            let mut runs = runs.clone();
            runs.sort_by(|a, b| a.time.total_cmp(&b.time));
            quarters.push(*runs.get(runs.len() / 4)?);
        }
        quarters.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(time: f64) -> Real {
        Real { time, steals: 0.0, shares: [1.0, 0.0, 0.0] }
    }

    /// Rounds of two kinds, of which the second has these times and losses.
    fn rounds(wanted: usize, second: &[(f64, f64)]) -> Rounds<2> {
        let mut rounds = Rounds::new(wanted);
        for &(time, lost) in second {
            assert!(!rounds.are_over(), "{rounds:?}");
            rounds.add([(run(1.0), Some(0.0)), (run(time), Some(lost))]);
        }
        rounds
    }

    /// Catches: a disturbed run that decides, though enough others were not disturbed.
    #[test]
    fn disturbed_runs_are_left_out() {
        let quiet = [2.0, 2.1, 2.2, 2.3, 2.4].map(|time| (time, 0.001));
        let disturbed = [(0.1, 0.02), (0.2, 0.5), (0.3, 0.011)];
        let rounds = rounds(5, &[&disturbed[..], &quiet].concat());
        assert!(rounds.are_over() && rounds.count());
        assert_eq!((rounds.least(), rounds.done), (5, 8));
        assert_eq!(rounds.quarters(), Some([run(1.0), run(2.1)]));
    }

    /// Catches: a row that counts though one of its kinds was hardly ever undisturbed; a search
    /// that never ends, or ends while there is hope.
    #[test]
    fn who_finds_too_few_undisturbed_runs_gives_up_and_does_not_count() {
        let none = rounds(6, &[(3.0, 0.2); 6]);
        assert!(none.are_over() && !none.count());
        assert_eq!(none.quarters(), Some([run(1.0), run(3.0)]));
        let mut some = rounds(6, &[(3.0, 0.0), (9.0, 0.2)]);
        while !some.are_over() {
            some.add([(run(1.0), Some(0.0)), (run(9.0), Some(0.2))]);
        }
        assert_eq!((some.done, some.least(), some.count()), (6 * MOST, 1, false));
        assert_eq!(some.quarters(), Some([run(1.0), run(9.0)]));
    }

    /// Catches: runs that count by the number that was asked for, however few that are.
    #[test]
    fn no_fewer_runs_than_are_enough_are_wanted() {
        let few = rounds(1, &[(3.0, 0.0); ENOUGH]);
        assert!(few.are_over() && few.count());
        assert_eq!((few.share(), few.is_known), (1.0, true));
        let mut unknown = Rounds::new(1);
        unknown.add([(run(1.0), Some(0.0)), (run(1.0), None)]);
        assert_eq!((unknown.least(), unknown.is_known), (1, false));
        assert_eq!(rounds(10, &[(3.0, 0.0); 4]).share(), 0.4);
    }

    /// Catches: another number of that line.
    #[test]
    fn what_the_host_took_is_the_eighth_number() {
        let stat =
            "cpu  6872749 4291713 1555813 3801472 36131 0 7512 23 9 8\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(stolen(stat), Some(Duration::from_millis(230)));
        assert_eq!(stolen("intr 5"), None);
    }

    /// Catches: a worker whose books are another thread's, or are not found.
    #[cfg(target_os = "linux")]
    #[test]
    fn each_worker_of_a_pool_is_asked_once() {
        let pool =
            sinew::PoolBuilder::new().threads(2).external_slot(false).build().expect("a pool");
        let crew = Crew::of(&[&pool, &pool]);
        let mut threads = crew.0.clone();
        threads.sort();
        threads.dedup();
        assert_eq!((crew.0.len(), threads.len()), (4, 2), "{threads:?}");
        assert!(!threads.contains(&thread().expect("this thread's place")));
        if crew.lost().is_none() {
            eprintln!("skipped: this system does not say how long threads wait for a core");
            return;
        }
        assert_eq!(crew.watch(|| 7).0, 7);
        assert!(crew.watch(|| ()).1.is_some());
    }
}
