//! Which schedule a loop is run with that leaves the choice.
//!
//! A loop is known by where it is called, and what it cost under one schedule says little about
//! another; so the choice is made by trying. The first run is *looked at*: its chunks are timed,
//! and say what an iteration costs and how evenly the costs lie. That leaves a few schedules worth
//! trying, with chunks that fit. Each is tried in a run of its own, those that are near the best
//! once more, and the best is kept, until the loop has changed.
//!
//! Loops that are over within a millisecond are not worth all this: they get equal shares.
//!
//! # States
//!
//! | state | entered | left |
//! |---|---|---|
//! | looking | at the first run, and after a drift | after one run: short if it was over soon, else trying |
//! | short | after a run that was over soon | after two runs in a row that were not |
//! | trying | after a look | after each candidate was tried once, and those near the best once more |
//! | settled | after trying | after runs in a row whose cost has drifted |
//!
//! # Invariants
//!
//! - A1: after at most [`PROBES`] runs a loop that is long is settled, if it does not change.
//! - A2: each drift that has led to a new search makes the next one need twice as many runs to be
//!   believed, up to a limit: so a loop whose cost is all noise is settled for nearly all its runs.
//!
//! Source: the phases of iterative autotuners, and the drift rule of multi-armed bandits with
//! restarts. Differences: a cost is compared by its least sample, because what disturbs a run only
//! makes it longer; the run that is looked at does not count, because its caches are cold.
//!
//! # Tests
//!
//! Property tests of A1 and A2 here; in `sinew-sim`, whole loops of every shape against the best of
//! all schedules.

mod profile;

pub use profile::{PARTS, Profile};

use crate::chunk::Schedule;

/// Loops that take less are short.
pub const SHORT_NS: u64 = 1_000_000;
/// A loop that was long is short again below this part of it.
const HYSTERESIS: u64 = 2;
/// Runs in a row that a short loop must be long for.
const LONG: u32 = 2;
/// At most so many schedules are tried.
pub const CANDIDATES: usize = 4;
/// The most runs that a search takes: the look, each candidate twice.
pub const PROBES: usize = 1 + 2 * CANDIDATES;
/// A candidate this much slower than the best is not tried again.
const HOPELESS: f64 = 1.15;
/// Equal shares that would take this much longer than the mean are not tried at all.
const UNEVEN: f64 = 1.25;
/// A chunk of the dynamic schedule takes about so long: a hundred times what its claim costs.
const CHUNK_NS: f64 = 10_000.0;
/// Chunks that each worker gets at least, where there are enough iterations.
const CHUNKS: usize = 16;
/// A cost that has changed by this factor has drifted.
const DRIFT: f64 = 1.25;
/// Runs in a row that a drift must last, at first and at most (A2).
const PATIENCE: u32 = 3;
const MOST_PATIENCE: u32 = 96;
/// How fast the cost that is expected follows the one that is found.
const INERTIA: f64 = 0.1;

/// How the next run of a loop is to be done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Choice {
    /// Begin, and go on as [`prior`] says when the first iterations are done; time the chunks.
    Look,
    /// It is short: begin alone, and go on with equal shares.
    Short,
    /// With this schedule.
    Run(Schedule),
}

/// The schedule of a loop that nobody knows yet, when its first iterations promise that all will
/// take `promised_ns` on the workers there are.
pub fn prior(promised_ns: u64) -> Schedule {
    if promised_ns < SHORT_NS { Schedule::Static } else { Schedule::Stealing }
}

/// What is known about one loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuner {
    workers: usize,
    state: State,
    /// Runs that a drift must last.
    patience: u32,
    was_long: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum State {
    Looking,
    Short { long_runs: u32 },
    Trying { candidates: Vec<Candidate>, next: usize },
    Settled { schedule: Schedule, expected: f64, drifted: u32 },
}

/// A schedule and what it has shown.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    schedule: Schedule,
    /// Nanoseconds for an iteration of the whole loop, in the best run.
    cost: f64,
    runs: u32,
}

impl Tuner {
    /// Nothing is known about a loop for so many workers.
    pub fn new(workers: usize) -> Self {
        Self { workers: workers.max(1), state: State::Looking, patience: PATIENCE, was_long: false }
    }

    /// For how many workers the loop is.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// How the next run is to be done.
    pub fn choice(&self) -> Choice {
        match &self.state {
            State::Looking => Choice::Look,
            State::Short { .. } => Choice::Short,
            State::Trying { candidates, next } => Choice::Run(candidates[*next].schedule),
            State::Settled { schedule, .. } => Choice::Run(*schedule),
        }
    }

    /// The best schedule as far as is known; for a run that nothing can be learned from.
    pub fn best(&self) -> Schedule {
        match &self.state {
            State::Looking => Schedule::Stealing,
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

    /// A run of `items` iterations that was done as [`choice`](Self::choice) said took
    /// `elapsed_ns`, with this profile of its chunks if they were timed.
    pub fn ran(&mut self, items: usize, elapsed_ns: u64, profile: Option<&Profile>) {
        if items == 0 {
            return;
        }
        let cost = elapsed_ns.max(1) as f64 / items as f64;
        let looked = match &mut self.state {
            State::Looking => true,
            State::Short { long_runs } => {
                *long_runs = if elapsed_ns < SHORT_NS { 0 } else { *long_runs + 1 };
                if *long_runs >= LONG {
                    (self.state, self.was_long) = (State::Looking, true);
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
                    if *drifted >= self.patience {
                        self.patience = (2 * self.patience).min(MOST_PATIENCE);
                        self.state = State::Looking;
                    }
                }
                false
            }
        };
        if looked {
            self.look(items, elapsed_ns, profile);
        }
    }

    /// What is to be tried after a run that was looked at.
    fn look(&mut self, items: usize, elapsed_ns: u64, profile: Option<&Profile>) {
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

/// Schedules worth trying, the likeliest first, for a loop whose iterations cost `mean_ns`, and
/// whose longest share would be so much longer than the mean.
fn candidates(items: usize, workers: usize, mean_ns: f64, unevenness: f64) -> Vec<Candidate> {
    let most = (items / (CHUNKS * workers)).max(1);
    // A cost that makes no sense gives the longest chunk, which is cut to `most`.
    let chunk = ((CHUNK_NS / mean_ns.max(1e-3)) as usize).clamp(1, most);
    let tapered = Schedule::Tapered { min: (chunk / 4).max(1) };
    let rest = [Schedule::Stealing, tapered, Schedule::Dynamic { chunk }];
    let even = (unevenness < UNEVEN).then_some(Schedule::Static);
    let candidate = |schedule| Candidate { schedule, cost: f64::INFINITY, runs: 0 };
    even.into_iter().chain(rest).map(candidate).collect()
}

/// Goes on after the candidate `last` has run: once all, then once more those near the best, then
/// no more.
fn after_trial(candidates: Vec<Candidate>, last: usize) -> State {
    let Some(best) = best(&candidates) else { return State::Looking };
    let round = candidates[last].runs;
    let hopeful = |candidate: &Candidate| {
        candidate.runs == 0 || (candidate.runs == 1 && candidate.cost <= HOPELESS * best.cost)
    };
    let fewest = candidates
        .iter()
        .filter(|candidate| hopeful(candidate))
        .map(|candidate| candidate.runs)
        .min();
    match fewest {
        Some(runs) => {
            // Round robin, so that a disturbance does not hit one candidate twice.
            let wanted =
                |number: &usize| hopeful(&candidates[*number]) && candidates[*number].runs == runs;
            let after = if runs < round { last + 1 } else { 0 };
            let next = (after..candidates.len()).chain(0..after).find(wanted).unwrap_or(0);
            State::Trying { candidates, next }
        }
        None => State::Settled { schedule: best.schedule, expected: best.cost, drifted: 0 },
    }
}

/// The cheapest; of equals the first.
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
