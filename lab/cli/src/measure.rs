//! Interleaved serial and parallel runs of a problem; each result is checked, and times are
//! medians.

use std::time::{Duration, Instant};

use sinew::profile::Profile;
use sinew::{Counters, Pool};
use sinew_apps::{Answer, Problem, Record, Recorded, Transactions, Wrong};
use sinew_console::unsigned_zero;

use crate::contention;

/// Number and duration of the runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) repeat: usize,
    /// No further repetition begins after this time.
    pub(crate) budget: Duration,
}

/// The next step of a measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stage {
    Serial,
    Parallel,
}

impl Stage {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Parallel => "parallel",
        }
    }
}

/// The results of all runs.
#[derive(Debug)]
pub(crate) struct Measurement {
    pub(crate) serial: Vec<Duration>,
    pub(crate) parallel: Vec<Duration>,
    /// Counters of all parallel runs together.
    pub(crate) counters: Counters,
    /// Profile of all parallel runs together, if the pool profiles.
    pub(crate) profile: Option<Profile>,
    /// Transactions of all parallel runs together.
    pub(crate) transactions: Transactions,
    /// Worklists of all parallel runs together.
    pub(crate) worklists: Recorded,
    pub(crate) workers: usize,
    /// Time that threads waited for a core during parallel runs, if the system reports it.
    pub(crate) waited: Option<Duration>,
    /// A short form of the last parallel run's result.
    pub(crate) answer: String,
    /// The error of the first wrong result.
    pub(crate) verdict: Result<(), Wrong>,
}

/// Runs a problem as planned; its worklists are in `record`. `before` is called before each step
/// with the stage and the repetition.
pub(crate) fn measure(
    problem: &dyn Problem,
    record: &Record,
    pool: &Pool,
    plan: Plan,
    mut before: impl FnMut(Stage, usize),
) -> Measurement {
    let start = Instant::now();
    let mut result = Measurement::new(pool.max_threads());
    for round in 0..plan.repeat.max(1) {
        if round > 0 && start.elapsed() > plan.budget {
            break;
        }
        before(Stage::Serial, round);
        let serial = problem.serial();
        before(Stage::Parallel, round);
        let waited = contention::waited();
        let parallel = problem.parallel(pool);
        result.add_wait(waited, contention::waited(), parallel.wall);
        result.serial.push(serial.wall);
        result.parallel.push(parallel.wall);
        result.counters += parallel.counters;
        result.add_profile(parallel.profile);
        result.transactions += parallel.transactions;
        result.worklists += &record.take();
        result.check(problem, &serial.answer, &parallel.answer);
    }
    result
}

impl Measurement {
    fn new(workers: usize) -> Self {
        Self {
            serial: Vec::new(),
            parallel: Vec::new(),
            counters: Counters::default(),
            profile: None,
            transactions: Transactions::default(),
            worklists: Recorded::default(),
            workers,
            waited: Some(Duration::ZERO),
            answer: String::new(),
            verdict: Ok(()),
        }
    }

    fn add_profile(&mut self, profile: Option<Profile>) {
        match (&mut self.profile, profile) {
            (Some(sum), Some(profile)) => *sum += &profile,
            (sum, profile) => *sum = sum.take().or(profile),
        }
    }

    /// Adds the waiting time of threads in a run that took `wall`. The system adds a wait when it
    /// ends, so a wait that began before the run may be longer than the run; the excess does not
    /// count.
    fn add_wait(&mut self, before: Option<Duration>, after: Option<Duration>, wall: Duration) {
        let most = wall * u32::try_from(self.workers).unwrap_or(u32::MAX);
        let sum = |((sum, before), after): ((Duration, Duration), Duration)| {
            sum + after.saturating_sub(before).min(most)
        };
        self.waited = self.waited.zip(before).zip(after).map(sum);
    }

    fn check(&mut self, problem: &dyn Problem, serial: &Answer, parallel: &Answer) {
        self.answer = parallel.to_string();
        let right = || {
            problem.check(serial).map_err(|wrong| Wrong(format!("serial: {wrong}")))?;
            problem.check(parallel)?;
            problem.agree(serial, parallel)
        };
        if self.verdict.is_ok() {
            self.verdict = right();
        }
    }

    pub(crate) fn serial_s(&self) -> f64 {
        median(&self.serial)
    }

    pub(crate) fn parallel_s(&self) -> f64 {
        median(&self.parallel)
    }

    pub(crate) fn speed_up(&self) -> f64 {
        self.serial_s() / self.parallel_s().max(f64::MIN_POSITIVE)
    }

    /// Mean number of tasks per run that another worker ran.
    pub(crate) fn steals(&self) -> u64 {
        self.a_run(self.counters.steals())
    }

    /// Mean number of chunks of loops per run.
    pub(crate) fn chunks(&self) -> u64 {
        self.a_run(self.counters.chunks)
    }

    fn a_run(&self, count: u64) -> u64 {
        count / (self.parallel.len() as u64).max(1)
    }

    /// The time of all workers in all parallel runs, in seconds.
    pub(crate) fn worker_s(&self) -> f64 {
        let wall: Duration = self.parallel.iter().sum();
        wall.as_secs_f64() * self.workers as f64
    }

    /// How the workers' time divides.
    pub(crate) fn shares(&self) -> Shares {
        let all = (self.worker_s() * 1e9).max(1.0);
        let Counters { searching_ns, parked_ns, blocked_ns, .. } = self.counters;
        Shares::new(searching_ns as f64 / all, (parked_ns + blocked_ns) as f64 / all)
    }
}

/// The share of the workers' time in all these runs that was spent waiting for a core.
pub(crate) fn waiting_share(results: &[Measurement]) -> Option<f64> {
    let waited: Option<Duration> = results.iter().map(|result| result.waited).sum();
    let all: f64 = results.iter().map(Measurement::worker_s).sum();
    Some(waited?.as_secs_f64() / all.max(f64::MIN_POSITIVE))
}

/// Shares of the workers' time; they sum up to 1.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub(crate) struct Shares {
    /// In the application and the runtime, including waits for a core.
    pub(crate) working: f64,
    /// Searching for work.
    pub(crate) searching: f64,
    /// Parked without work, or blocked in a join.
    pub(crate) parked: f64,
}

impl Shares {
    /// Each worker has its own counters, which may run a little ahead of the clock; the sum is
    /// limited to 1.
    fn new(searching: f64, parked: f64) -> Self {
        let idle = (searching + parked).max(1.0);
        let (searching, parked) = (searching / idle, parked / idle);
        Self { working: (1.0 - searching - parked).max(0.0), searching, parked }
    }
}

/// The median, in seconds.
pub(crate) fn median(times: &[Duration]) -> f64 {
    let mut times: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
    times.sort_by(f64::total_cmp);
    match times.len() {
        0 => 0.0,
        n => (times[(n - 1) / 2] + times[n / 2]) / 2.0,
    }
}

/// A time with three digits and a fitting unit.
pub(crate) fn seconds(time: f64) -> String {
    let (value, unit) = match time {
        t if t >= 1.0 => (t, "s"),
        t if t >= 1e-3 => (t * 1e3, "ms"),
        t => (t * 1e6, "us"),
    };
    let digits = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

/// A share in whole per cent.
pub(crate) fn percent(share: f64) -> String {
    unsigned_zero(format!("{:.0} %", share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_both_middles() {
        let times = |ms: &[u64]| ms.iter().map(|&ms| Duration::from_millis(ms)).collect::<Vec<_>>();
        assert_eq!(median(&times(&[3000, 1000, 2000])), 2.0);
        assert_eq!(median(&times(&[1000, 4000, 2000, 3000])), 2.5);
        assert_eq!(median(&[]), 0.0);
    }

    #[test]
    fn times_are_printed_with_three_digits() {
        for (time, text) in [
            (12.345, "12.3 s"),
            (1.0, "1.00 s"),
            (0.1234, "123 ms"),
            (0.009_999, "10.0 ms"),
            (2.5e-6, "2.50 us"),
        ] {
            assert_eq!(seconds(time), text);
        }
    }

    #[test]
    fn shares_sum_up_to_one_even_if_the_books_run_ahead() {
        for (searching, parked) in [(0.0, 0.0), (0.25, 0.5), (0.8, 0.7)] {
            let shares = Shares::new(searching, parked);
            assert!((shares.working + shares.searching + shares.parked - 1.0).abs() < 1e-12);
            assert!(shares.working >= 0.0);
        }
    }

    /// Catches: "-0 % working", the rounded rest after two shares that add up to 1.
    #[test]
    fn workers_that_never_work_have_worked_zero_per_cent() {
        for tenths in 1..200 {
            let shares = Shares::new(f64::from(tenths) / 7.0, f64::from(200 - tenths) / 3.0);
            assert_eq!(percent(shares.working), "0 %");
        }
        assert_eq!([-0.0, -0.001, 0.006].map(percent), ["0 %", "0 %", "1 %"]);
    }

    /// Catches: workers that waited for their cores for longer than they ran.
    #[test]
    fn workers_wait_no_longer_than_they_run() {
        let ms = Duration::from_millis;
        let mut result = Measurement::new(2);
        for (before, after) in [(0, 3), (3, 900)] {
            result.parallel.push(ms(10));
            result.add_wait(Some(ms(before)), Some(ms(after)), ms(10));
        }
        assert_eq!(result.waited, Some(ms(3 + 20)));
        assert!(waiting_share(&[result]).is_some_and(|share| share <= 1.0));
    }
}
