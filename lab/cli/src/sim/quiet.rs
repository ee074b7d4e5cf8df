//! Undisturbed real runs, and a limit of the search for them.
//!
//! A run is undisturbed if its workers were kept from working for less than a hundredth of its
//! time:
//!
//! | disturbance | source |
//! |---|---|
//! | a worker was ready, but another thread had its core | `schedstat` of that thread, before and after the run |
//! | the host of this virtual machine had a core | `steal` in `/proc/stat`, in hundredths of a second |
//!
//! Other threads of this process are not checked: they sleep, and if one runs, the worker that
//! loses its core reports it. A worker that sleeps or spins for lack of work is not disturbed.
//! Kinds of runs take turns in rounds, so that slow changes affect all of them.
//!
//! # Invariants
//!
//! - Q1: if enough runs of each kind are undisturbed, no other run is used; otherwise the row is
//!   marked and does not count.
//! - Q2: a search for undisturbed runs ends: after [`MOST`] rounds for each wanted run, or after as
//!   many rounds as wanted runs if a kind has no undisturbed run by then.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sinew::Pool;

use crate::contention;

/// The largest share of lost time in an undisturbed run.
const DISTURBED: f64 = 0.01;

/// Least number of undisturbed runs of each kind.
pub(super) const ENOUGH: usize = 5;

/// Rounds per wanted undisturbed run.
const MOST: usize = 4;

/// Milliseconds of a tick of `/proc/stat`.
const TICK_MS: u64 = 10;

/// One application on some workers: means per call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Real {
    /// Seconds.
    pub(super) time: f64,
    pub(super) steals: f64,
    /// Shares of the workers' time: working and scheduling, searching, waiting in joins or parked.
    pub(super) shares: [f64; 3],
}

/// The threads of some pools, whose waiting times are read.
pub(super) struct Threads(Vec<PathBuf>);

impl Threads {
    pub(super) fn of(pools: &[&Pool]) -> Self {
        let threads = pools.iter().flat_map(|pool| pool.broadcast(|_| thread()));
        Self(threads.flatten().collect())
    }

    /// Runs `run`, and returns the total time that its workers were kept from working; `None` if
    /// the system does not report it.
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

/// The folder of the calling thread below `/proc`.
fn thread() -> Option<PathBuf> {
    Some(Path::new("/proc").join(fs::read_link("/proc/thread-self").ok()?))
}

fn stolen_by_host() -> Option<Duration> {
    stolen(&fs::read_to_string("/proc/stat").ok()?)
}

/// The eighth number of the first line: ticks in which the host used this machine's processors
/// otherwise.
fn stolen(stat: &str) -> Option<Duration> {
    let mut words = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    words.nth(7)?.parse().ok().map(|ticks: u64| Duration::from_millis(TICK_MS * ticks))
}

/// The results of the rounds so far, a list for each of `N` kinds of runs.
#[derive(Debug)]
pub(super) struct Rounds<const N: usize> {
    wanted: usize,
    pub(super) done: usize,
    /// Whether lost time is known for each run.
    pub(super) is_known: bool,
    all: [Vec<Real>; N],
    quiet: [Vec<Real>; N],
}

impl<const N: usize> Rounds<N> {
    /// Wants this many undisturbed runs of each kind.
    pub(super) fn new(wanted: usize) -> Self {
        let none = || std::array::from_fn(|_| Vec::new());
        Self { wanted: wanted.max(ENOUGH), done: 0, is_known: true, all: none(), quiet: none() }
    }

    /// Adds a run of each kind, with its lost time as a share of its duration. A run with unknown
    /// lost time counts as undisturbed.
    pub(super) fn add(&mut self, runs: [(Real, Option<f64>); N]) {
        self.done += 1;
        for (kind, (run, lost)) in runs.into_iter().enumerate() {
            self.is_known &= lost.is_some();
            self.all[kind].push(run);
            self.quiet[kind].extend((lost.unwrap_or(0.0) <= DISTURBED).then_some(run));
        }
    }

    /// Number of undisturbed runs of the kind with the fewest.
    pub(super) fn least(&self) -> usize {
        self.quiet.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// Whether there are enough, or the search has reached its limit (Q2).
    pub(super) fn are_over(&self) -> bool {
        let least = self.least();
        let is_vain = least == 0 && self.done >= self.wanted;
        least >= self.wanted || is_vain || self.done >= self.most()
    }

    /// The greatest number of rounds.
    fn most(&self) -> usize {
        self.wanted.saturating_mul(MOST)
    }

    /// Progress of the search, from 0 to 1.
    pub(super) fn share(&self) -> f64 {
        let of = |done: usize, all: usize| done as f64 / all as f64;
        of(self.least(), self.wanted).max(of(self.done, self.most())).min(1.0)
    }

    /// Whether the result counts.
    pub(super) fn count(&self) -> bool {
        self.least() >= ENOUGH
    }

    /// For each kind the run at a quarter of the way from the shortest to the longest: of the
    /// undisturbed ones if there are enough (Q1), of all otherwise.
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

    /// Rounds of two kinds; the second kind has these times and losses.
    fn rounds(wanted: usize, second: &[(f64, f64)]) -> Rounds<2> {
        let mut rounds = Rounds::new(wanted);
        for &(time, lost) in second {
            assert!(!rounds.are_over(), "{rounds:?}");
            rounds.add([(run(1.0), Some(0.0)), (run(time), Some(lost))]);
        }
        rounds
    }

    /// Catches: a disturbed run that decides although enough others were undisturbed.
    #[test]
    fn disturbed_runs_are_left_out() {
        let quiet = [2.0, 2.1, 2.2, 2.3, 2.4].map(|time| (time, 0.001));
        let disturbed = [(0.1, 0.02), (0.2, 0.5), (0.3, 0.011)];
        let rounds = rounds(5, &[&disturbed[..], &quiet].concat());
        assert!(rounds.are_over() && rounds.count());
        assert_eq!((rounds.least(), rounds.done), (5, 8));
        assert_eq!(rounds.quarters(), Some([run(1.0), run(2.1)]));
    }

    /// Catches: a row that counts although one of its kinds was hardly ever undisturbed; a search
    /// that never ends, or ends too early.
    #[test]
    fn a_search_with_too_few_undisturbed_runs_ends_and_does_not_count() {
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

    /// Catches: a number of wanted runs below the least number.
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

    /// Catches: a worker whose waiting time is not found, or read from another thread.
    #[cfg(target_os = "linux")]
    #[test]
    fn each_worker_of_a_pool_is_asked_once() {
        let pool =
            sinew::PoolBuilder::new().threads(2).external_slot(false).build().expect("a pool");
        let watched = Threads::of(&[&pool, &pool]);
        let mut threads = watched.0.clone();
        threads.sort();
        threads.dedup();
        assert_eq!((watched.0.len(), threads.len()), (4, 2), "{threads:?}");
        assert!(!threads.contains(&thread().expect("this thread's place")));
        if watched.lost().is_none() {
            eprintln!("skipped: this system does not say how long threads wait for a core");
            return;
        }
        assert_eq!(watched.watch(|| 7).0, 7);
        assert!(watched.watch(|| ()).1.is_some());
    }
}
