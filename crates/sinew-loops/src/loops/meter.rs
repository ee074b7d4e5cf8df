//! Measures how each thread of a loop spends its time.
//!
//! For each thread: how long it participated; how much of that it spent in the loop's function,
//! waiting for others, and in the loop's own code; and how many tasks it did. A task is one
//! application of the function to one item.
//!
//! Source: the statistics of Jenkins, "Design and Analysis of a Plastic Parallel Programming
//! System", section 5.1. Differences: the time of a slice of tasks is measured, since that of
//! single tasks cost 3.5 % there; the participant that changes the loop blocks the others, not a
//! main thread.
//!
//! # Invariants
//!
//! - S1: the time of a thread in the loop is the sum of work, overhead and blocked time.
//! - S2: the tasks of all threads are the finished items; a slice in which the function panicked
//!   counts as overhead, with no tasks.
//!
//! # Cost
//!
//! Two readings of the time-stamp counter for a slice; a padded cache line for a worker.
//!
//! # Tests
//!
//! `controlled::tests`: S1 and S2 for whole loops.

#[cfg(feature = "csv")]
use std::io;
#[cfg(feature = "csv")]
use std::path::Path;
use std::time::Duration;

use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::clock::{now_ns, start_measuring, ticks, ticks_per_ns};

/// The measured times of the threads of one loop: see [`Options::meter`](super::Options::meter).
#[derive(Debug)]
pub struct Meter {
    began_ns: u64,
    totals: Box<[CachePadded<Totals>]>,
}

/// The sums of one worker, in ticks unless the name has a unit.
#[derive(Debug, Default)]
struct Totals {
    run: AtomicU64,
    work: AtomicU64,
    blocked_ns: AtomicU64,
    tasks: AtomicU64,
}

impl Meter {
    /// A meter for one loop on a pool of `workers`. The loop's time begins now.
    pub fn new(workers: usize) -> Self {
        start_measuring();
        Self { began_ns: now_ns(), totals: (0..workers).map(|_| CachePadded::default()).collect() }
    }

    /// The measurements, once the loop has ended.
    ///
    /// # Cost
    ///
    /// The first reading in a process takes up to a millisecond, to measure the rate of ticks.
    pub fn read(&self) -> LoopMetrics {
        let wall = Duration::from_nanos(now_ns() - self.began_ns);
        let ticks_per_ns = ticks_per_ns();
        let totals = self.totals.iter().enumerate();
        let threads =
            totals.filter_map(|(worker, totals)| totals.read(worker, ticks_per_ns)).collect();
        LoopMetrics { wall, threads }
    }

    /// Measures a participant from now on.
    pub(super) fn stopwatch(&self, worker: usize) -> Stopwatch<'_> {
        let began = ticks();
        Stopwatch { totals: &self.totals[worker], began, working_since: began, work: 0, tasks: 0 }
    }
}

impl Totals {
    fn read(&self, worker: usize, ticks_per_ns: f64) -> Option<ThreadMetrics> {
        // Relaxed: the end of the loop, for which the caller has waited, orders them.
        let load = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let time = |ticks: u64| Duration::from_nanos((ticks as f64 / ticks_per_ns) as u64);
        let (run, work) = (time(load(&self.run)), time(load(&self.work)));
        let blocked = Duration::from_nanos(load(&self.blocked_ns)).min(run.saturating_sub(work));
        let overhead = run.saturating_sub(work + blocked);
        let tasks = load(&self.tasks);
        (!run.is_zero()).then_some(ThreadMetrics { worker, run, work, overhead, blocked, tasks })
    }
}

/// Measures one participant.
pub(super) struct Stopwatch<'m> {
    totals: &'m Totals,
    began: u64,
    working_since: u64,
    work: u64,
    tasks: u64,
}

impl Stopwatch<'_> {
    /// The loop's function is about to be called.
    #[inline]
    pub(super) fn start_work(&mut self) {
        self.working_since = ticks();
    }

    /// The function has returned after `tasks` items; 0 if it was not called.
    #[inline]
    pub(super) fn end_work(&mut self, tasks: usize) {
        if tasks > 0 {
            self.work += ticks().saturating_sub(self.working_since);
            self.tasks += tasks as u64;
        }
    }

    pub(super) fn record(self, blocked_ns: u64) {
        let run = ticks().saturating_sub(self.began);
        let Totals { run: all_run, work, blocked_ns: all_blocked, tasks } = self.totals;
        for (all, mine) in
            [(all_run, run), (work, self.work), (all_blocked, blocked_ns), (tasks, self.tasks)]
        {
            // Relaxed: as in `read`.
            all.fetch_add(mine, Ordering::Relaxed);
        }
    }
}

/// The measured times of the threads of a loop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoopMetrics {
    /// From the loop's beginning to its end.
    pub wall: Duration,
    /// The threads that participated, by the number of their worker.
    pub threads: Vec<ThreadMetrics>,
}

/// The measured times of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadMetrics {
    /// The number of its worker.
    pub worker: usize,
    /// How long it participated: the sum of `work`, `overhead` and `blocked`.
    pub run: Duration,
    /// The time in the loop's function.
    pub work: Duration,
    /// The time in the loop's own code.
    pub overhead: Duration,
    /// The time that it waited for a participant that changed the loop or finished its range.
    pub blocked: Duration,
    /// The number of items to which it applied the function.
    pub tasks: u64,
}

impl LoopMetrics {
    /// The tasks of all threads.
    pub fn tasks(&self) -> u64 {
        self.threads.iter().map(|thread| thread.tasks).sum()
    }

    /// Writes a line of titles and a line for each thread, with times in milliseconds, to a file of
    /// comma-separated values, which is replaced if it exists. With the feature `csv`.
    ///
    /// # Errors
    ///
    /// If the file cannot be written; the message names it.
    #[cfg(feature = "csv")]
    pub fn write_csv(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        self.try_write_csv(path).map_err(|error| {
            let why = format!("cannot write the metrics to `{}`: {error}", path.display());
            io::Error::new(error.kind(), why)
        })
    }

    #[cfg(feature = "csv")]
    fn try_write_csv(&self, path: &Path) -> io::Result<()> {
        let mut file = csv::Writer::from_path(path)?;
        file.write_record(["thread", "run_ms", "work_ms", "overhead_ms", "blocked_ms", "tasks"])?;
        for ThreadMetrics { worker, run, work, overhead, blocked, tasks } in &self.threads {
            let [run, work, overhead, blocked] = [run, work, overhead, blocked]
                .map(|time| format!("{:.6}", time.as_secs_f64() * 1e3));
            let (worker, tasks) = (worker.to_string(), tasks.to_string());
            file.write_record([worker, run, work, overhead, blocked, tasks])?;
        }
        file.flush()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn metrics() -> LoopMetrics {
        let [run, work, overhead, blocked] =
            [4_000_000, 2_500_000, 1_000_000, 500_000].map(Duration::from_nanos);
        let thread = ThreadMetrics { worker: 3, run, work, overhead, blocked, tasks: 17 };
        LoopMetrics { wall: run, threads: vec![thread] }
    }

    /// Catches: a column under a wrong title, or in a wrong unit.
    #[test]
    fn a_file_has_a_line_for_each_thread_in_milliseconds() {
        let text = "thread,run_ms,work_ms,overhead_ms,blocked_ms,tasks\n\
                    3,4.000000,2.500000,1.000000,0.500000,17\n";
        let path = std::env::temp_dir().join(format!("sinew-metrics-{}.csv", std::process::id()));
        metrics().write_csv(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        std::fs::remove_file(&path).unwrap();
    }

    /// Catches: an error that does not say which file it is about.
    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let error = metrics().write_csv("/no/such/folder/metrics.csv").unwrap_err().to_string();
        assert!(error.contains("/no/such/folder/metrics.csv"), "{error}");
    }

    /// Catches: a thread that is listed but did not participate; more blocked time than there was.
    #[test]
    fn times_add_up_and_other_threads_are_left_out() {
        let meter = Meter::new(3);
        let mut stopwatch = meter.stopwatch(1);
        stopwatch.start_work();
        std::hint::black_box((0..1_000).sum::<u64>());
        stopwatch.end_work(5);
        stopwatch.end_work(0);
        stopwatch.record(u64::MAX / 2);
        let metrics = meter.read();
        let [thread] = metrics.threads[..] else { panic!("{metrics:?}") };
        assert_eq!((thread.worker, thread.tasks, metrics.tasks()), (1, 5, 5));
        assert_eq!(thread.run, thread.work + thread.overhead + thread.blocked);
    }
}
