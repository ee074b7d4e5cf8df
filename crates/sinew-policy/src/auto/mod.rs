//! The schedule of loops with `Schedule::Auto`.
//!
//! A loop is identified by its call site. Its cost under one schedule says little about another, so
//! the tuner tries several. The first run is *profiled*: its chunks are timed, which gives the mean
//! cost of an iteration and its variation (`profile`). From these follow a few candidates, with
//! suitable chunks. Each runs once, and those close to the best once more. The tuner keeps the best
//! until the loop changes.
//!
//! Loops of less than a millisecond are not tuned: they get equal shares.
//!
//! # States
//!
//! | state | entered | left |
//! |---|---|---|
//! | profiling | at the first run, and after a drift | after one run: to short if it was short, else to trying |
//! | short | after a short run | after two long runs in a row |
//! | trying | after profiling | after one run per candidate, and one more for each near the best |
//! | settled | after trying | after several runs in a row whose cost has drifted |
//!
//! # Invariants
//!
//! - A1: a long loop that does not change is settled after at most [`PROBES`] runs.
//! - A2: each drift that led to a new search doubles the runs that the next drift must last, up to
//!   a limit. So a loop with random costs is settled in nearly all its runs.
//!
//! Source: the phases of iterative autotuners, and the drift rule of multi-armed bandits with
//! restarts. Differences: costs are compared by their minimum, because disturbances only make a run
//! longer; the profiled run does not count, because its caches are cold.
//!
//! # Tests
//!
//! Property tests of A1 and A2 in `tests.rs`; in `lab/sim`, whole loops of every shape against the
//! best of all schedules.

mod profile;

pub use profile::{PARTS, Profile};

use crate::schedule::Schedule;

/// Loops that take less are short.
pub const SHORT_NS: u64 = 1_000_000;
/// A long loop becomes short below this fraction of the limit.
const HYSTERESIS: u64 = 2;
/// Long runs in a row that end the state `short`.
const LONG: u32 = 2;
/// The most schedules that are tried.
pub const CANDIDATES: usize = 4;
/// The most runs of a search: the profiled one, and each candidate twice.
pub const PROBES: usize = 1 + 2 * CANDIDATES;
/// A candidate this much slower than the best is not tried again.
const REJECTED: f64 = 1.15;
/// Equal shares are not tried if the longest would take this much longer than the mean.
const UNEVEN: f64 = 1.25;
/// The time of one chunk of the dynamic schedule: a hundred times the cost of its claim.
const CHUNK_NS: f64 = 10_000.0;
/// The least number of chunks per worker, if there are enough iterations.
const CHUNKS: usize = 16;
/// A cost that has changed by this factor has drifted.
const DRIFT: f64 = 1.25;
/// Runs in a row that a drift must last, at first and at most (A2).
const DRIFT_RUNS: u32 = 3;
const MOST_DRIFT_RUNS: u32 = 96;
/// How fast the expected cost follows the measured one.
const INERTIA: f64 = 0.1;

/// The next run of a loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Choice {
    /// Begin, continue with the schedule of [`prior`] after the first iterations, and time the
    /// chunks.
    Profile,
    /// The loop is short: begin on one worker, and continue with equal shares.
    Short,
    /// Run with this schedule.
    Run(Schedule),
}

/// The schedule of a loop without history, if its first iterations predict `promised_ns` on the
/// workers that exist.
pub fn prior(promised_ns: u64) -> Schedule {
    if promised_ns < SHORT_NS { Schedule::Static } else { Schedule::Stealing }
}

/// The history of one loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuner {
    workers: usize,
    state: State,
    /// Runs that a drift must last.
    drift_runs: u32,
    was_long: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum State {
    Profiling,
    Short { long_runs: u32 },
    Trying { candidates: Vec<Candidate>, next: usize },
    Settled { schedule: Schedule, expected: f64, drifted: u32 },
}

/// A schedule and its measured cost.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    schedule: Schedule,
    /// Nanoseconds per iteration of the whole loop, in the best run.
    cost: f64,
    runs: u32,
}

impl Tuner {
    /// A loop without history, for this many workers.
    pub fn new(workers: usize) -> Self {
        Self {
            workers: workers.max(1),
            state: State::Profiling,
            drift_runs: DRIFT_RUNS,
            was_long: false,
        }
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// The next run.
    pub fn choice(&self) -> Choice {
        match &self.state {
            State::Profiling => Choice::Profile,
            State::Short { .. } => Choice::Short,
            State::Trying { candidates, next } => Choice::Run(candidates[*next].schedule),
            State::Settled { schedule, .. } => Choice::Run(*schedule),
        }
    }

    /// The best schedule so far, for a run that is not measured.
    pub fn best(&self) -> Schedule {
        match &self.state {
            State::Profiling => Schedule::Stealing,
            State::Short { .. } => Schedule::Static,
            State::Trying { candidates, .. } => best(candidates)
                .filter(|best| best.runs > 0)
                .map_or(Schedule::Stealing, |best| best.schedule),
            State::Settled { schedule, .. } => *schedule,
        }
    }

    /// Whether the search is over.
    pub fn is_settled(&self) -> bool {
        matches!(self.state, State::Short { .. } | State::Settled { .. })
    }

    /// Records a run of `items` iterations that followed [`choice`](Self::choice) and took
    /// `elapsed_ns`, with the profile of its chunks if they were timed.
    pub fn record(&mut self, items: usize, elapsed_ns: u64, profile: Option<&Profile>) {
        if items == 0 {
            return;
        }
        let cost = elapsed_ns.max(1) as f64 / items as f64;
        let profiled = match &mut self.state {
            State::Profiling => true,
            State::Short { long_runs } => {
                *long_runs = if elapsed_ns < SHORT_NS { 0 } else { *long_runs + 1 };
                if *long_runs >= LONG {
                    (self.state, self.was_long) = (State::Profiling, true);
                }
                false
            }
            State::Trying { candidates, next } => {
                candidates[*next].tried(cost);
                self.state = after_trial(std::mem::take(candidates), *next);
                false
            }
            State::Settled { expected, drifted, .. } => {
                if !has_drifted(*expected, cost) {
                    *drifted = 0;
                    *expected += INERTIA * (cost - *expected);
                } else {
                    *drifted += 1;
                    if *drifted >= self.drift_runs {
                        self.drift_runs = (2 * self.drift_runs).min(MOST_DRIFT_RUNS);
                        self.state = State::Profiling;
                    }
                }
                false
            }
        };
        if profiled {
            self.begin_trials(items, elapsed_ns, profile);
        }
    }

    /// Chooses the candidates after a profiled run.
    fn begin_trials(&mut self, items: usize, elapsed_ns: u64, profile: Option<&Profile>) {
        let limit = if self.was_long { SHORT_NS / HYSTERESIS } else { SHORT_NS };
        if elapsed_ns < limit {
            (self.state, self.was_long) = (State::Short { long_runs: 0 }, false);
            return;
        }
        self.was_long = true;
        let estimate = || elapsed_ns as f64 * self.workers as f64 / items as f64;
        let mean_ns = profile.and_then(Profile::mean_ns).unwrap_or_else(estimate);
        let unevenness = profile.map_or(1.0, |profile| profile.unevenness(self.workers, items));
        let candidates = candidates(items, self.workers, mean_ns, unevenness);
        self.state = State::Trying { candidates, next: 0 };
    }
}

impl Candidate {
    fn tried(&mut self, cost: f64) {
        self.cost = self.cost.min(cost);
        self.runs += 1;
    }
}

/// Schedules to try, the most promising first. An iteration costs `mean_ns`, and the longest equal
/// share takes `unevenness` times the mean.
fn candidates(items: usize, workers: usize, mean_ns: f64, unevenness: f64) -> Vec<Candidate> {
    let most = (items / (CHUNKS * workers)).max(1);
    // A cost that makes no sense gives the longest chunk, which `most` limits.
    let chunk = ((CHUNK_NS / mean_ns.max(1e-3)) as usize).clamp(1, most);
    let guided = Schedule::Guided { min: (chunk / 4).max(1) };
    let rest = [Schedule::Stealing, guided, Schedule::Dynamic { chunk }];
    let even = (unevenness < UNEVEN).then_some(Schedule::Static);
    let candidate = |schedule| Candidate { schedule, cost: f64::INFINITY, runs: 0 };
    even.into_iter().chain(rest).map(candidate).collect()
}

/// The state after the candidate `last` has run: first all candidates once, then those near the
/// best once more, then settled.
fn after_trial(candidates: Vec<Candidate>, last: usize) -> State {
    let Some(best) = best(&candidates) else { return State::Profiling };
    let round = candidates[last].runs;
    let is_open = |candidate: &Candidate| {
        candidate.runs == 0 || (candidate.runs == 1 && candidate.cost <= REJECTED * best.cost)
    };
    let fewest = candidates
        .iter()
        .filter(|candidate| is_open(candidate))
        .map(|candidate| candidate.runs)
        .min();
    match fewest {
        Some(runs) => {
            // Round robin, so that a disturbance does not hit one candidate twice.
            let wanted =
                |number: &usize| is_open(&candidates[*number]) && candidates[*number].runs == runs;
            let after = if runs < round { last + 1 } else { 0 };
            let next = (after..candidates.len()).chain(0..after).find(wanted).unwrap_or(0);
            State::Trying { candidates, next }
        }
        None => State::Settled { schedule: best.schedule, expected: best.cost, drifted: 0 },
    }
}

/// The cheapest; the first of equals.
fn best(candidates: &[Candidate]) -> Option<Candidate> {
    candidates
        .iter()
        .copied()
        .reduce(|best, other| if other.cost < best.cost { other } else { best })
}

fn has_drifted(expected: f64, cost: f64) -> bool {
    cost > DRIFT * expected || cost * DRIFT < expected
}

#[cfg(test)]
mod tests;
