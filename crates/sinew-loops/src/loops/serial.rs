//! The serial part at the beginning of a loop.

use std::cell::Cell;
use std::ops::{ControlFlow, Range};

use sinew_core::observer::Pieces;
use sinew_core::{Worker, WorkerLocal};
use sinew_policy::chunk::Schedule;
use sinew_policy::schedule::Mechanism;
use sinew_sync::clock::{TICKS_PER_US, ticks};

use super::auto::Trial;
use super::body::Ranges;
use super::options::Options;

/// The least bound.
const LEAST: u64 = 14 * TICKS_PER_US / 10;

/// A first iteration that takes so many ticks is long by itself.
const LONG: u64 = LEAST / 2;

/// The cut-off of the loops that a worker calls.
static BOUND: WorkerLocal<CutOff> = WorkerLocal::new(CutOff::new);

/// The serial cut-off: loops that are predicted to take at most so many ticks run without helpers.
///
/// The cost of a helper depends on the machine (how long a line takes from core to core) and on
/// the pool (whether its workers are awake), so the bound follows the loops that were offered. It
/// rises if such a loop took longer than predicted for its caller alone, and falls if one just
/// above the bound took less. Each loop just below the bound that runs alone lowers it a little, so
/// that one is offered now and then.
#[derive(Debug)]
struct CutOff(Cell<u64>);

impl CutOff {
    const MOST: u64 = 8 * LEAST;
    /// One loop changes the bound by at most this part.
    const STEP: u64 = 16;
    /// So many loops alone lower the bound by as much as one loop changes it.
    const ALONE: u64 = 64;

    fn new() -> Self {
        Self(Cell::new(LEAST))
    }

    /// Whether a loop of so many ticks should run alone.
    fn is_alone(&self, predicted: u64) -> bool {
        let bound = self.0.get();
        if predicted > bound {
            return false;
        }
        if predicted > bound / 2 {
            self.0.set((bound - bound / (Self::STEP * Self::ALONE)).max(LEAST));
        }
        true
    }

    /// The ticks that a prediction should rest on: readings of the clock count as iterations.
    fn needed(&self) -> u64 {
        self.0.get() / 4
    }

    /// An offered loop took `taken` ticks.
    fn learn(&self, predicted: u64, taken: u64) {
        let bound = self.0.get();
        let step = bound / Self::STEP;
        if predicted < taken && predicted <= Self::MOST {
            self.0.set((bound + step.min(taken - predicted)).min(Self::MOST));
        } else if taken < predicted && predicted <= bound + bound / 4 {
            self.0.set((bound - step.min(predicted - taken)).max(LEAST));
        }
    }
}

/// A loop that is offered after its serial part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offered {
    /// The iterations that are done, at least one.
    pub(super) done: usize,
    /// When the loop began, in ticks.
    began: u64,
    /// How many ticks one worker would take.
    predicted: u64,
}

impl Offered {
    /// The loop has ended.
    pub(super) fn ended(self, w: &Worker) {
        w.local(&BOUND).learn(self.predicted, ticks().saturating_sub(self.began));
    }
}

/// The serial part at the beginning of a loop: the caller runs iterations without an offer while it
/// predicts that the loop ends soon.
///
/// The prediction extrapolates from the iterations so far, except the first, which may have waited
/// for memory. Steps grow from [`second_step`] to half a share: a reading of the clock costs as
/// much as some iterations of such a loop. A loop whose cost jumps delays its offer by one step.
/// While all workers have work, as in nested loops, none would take an offer, and the later steps
/// need no clock. Loops of few iterations are offered at once.
pub(super) struct Serial<'w> {
    w: &'w Worker,
    n: usize,
    /// An eighth of a share.
    chunk: usize,
    /// When the loop began, in ticks.
    began: u64,
    /// How long its first iteration took, in ticks.
    first: u64,
    /// How long the whole loop will take, in ticks.
    predicted: u64,
    pieces: Pieces<'w>,
    /// Iterations that are done when the present range ends; all if the body asked to stop.
    pub(super) done: usize,
    /// The length of the next range.
    next: usize,
    /// Whether all iterations before `done` ran.
    pub(super) ran: bool,
}

impl<'w> Serial<'w> {
    /// The serial part of a loop that has its own schedule, or that of a trial, which begins here.
    #[inline]
    pub(super) fn of(
        w: &'w Worker,
        n: usize,
        options: &Options<'_>,
        participants: usize,
        trial: &mut Option<Trial>,
    ) -> Option<Self> {
        if options.schedule == Schedule::Auto {
            let trial = trial.insert(Trial::begin(options, n, participants));
            return Self::new(w, n, trial.schedule(), participants);
        }
        Self::new(w, n, options.schedule, participants)
    }

    /// The serial part of a loop of several participants, if the loop has one.
    #[inline]
    pub(super) fn new(
        w: &'w Worker,
        n: usize,
        schedule: Schedule,
        participants: usize,
    ) -> Option<Self> {
        let chunk = n / (8 * participants);
        let has_one = chunk > 0 && Mechanism::of(schedule) == Mechanism::Ranges;
        has_one.then(|| {
            let (began, pieces) = (ticks(), w.pieces(false));
            Self { w, n, chunk, began, first: 0, predicted: 0, pieces, done: 0, next: 1, ran: true }
        })
    }

    #[inline]
    pub(super) fn begin(&mut self) -> Range<usize> {
        self.w.count_chunk();
        // Not `(done + next).min(n)`: the sum may overflow.
        let range = self.done..self.done + self.next.min(self.n - self.done);
        self.done = range.end;
        range
    }

    /// The loop, which is offered now.
    pub(super) fn offered(&self) -> Offered {
        Offered { done: self.done, began: self.began, predicted: self.predicted }
    }

    /// Sets the length of the next range. False if the loop should be offered. Not inlined: it is
    /// the larger part of what each loop would add to a program, and reads the clock.
    #[inline(never)]
    fn predict(&mut self) -> bool {
        if self.next > self.chunk && self.w.all_have_work() {
            return true;
        }
        let elapsed = ticks().saturating_sub(self.began);
        if self.done == 1 {
            self.first = elapsed;
            self.predicted = elapsed.saturating_mul(self.n as u64);
            self.next = second_step(self.chunk, elapsed);
            // The time of a single iteration predicts nothing, unless it is long.
            return elapsed <= LONG;
        }
        let (done, taken) = (self.done as u64 - 1, elapsed.saturating_sub(self.first));
        let others = taken.saturating_mul(self.n as u64 - 1) / done;
        self.predicted = self.first.saturating_add(others);
        self.next = 4 * self.chunk;
        let bound = self.w.local(&BOUND);
        if bound.is_alone(self.predicted) {
            return true;
        }
        let missing = bound.needed().saturating_sub(taken);
        self.next = self.next.min((done.saturating_mul(missing) / taken.max(1)) as usize);
        self.next > 0
    }
}

impl Ranges for Serial<'_> {
    #[inline]
    fn next(&mut self, flow: ControlFlow<()>) -> Option<Range<usize>> {
        if flow.is_break() {
            (self.done, self.ran) = (self.n, false);
            return None;
        }
        self.pieces.ended();
        (self.done < self.n && self.predict()).then(|| self.begin())
    }
}

/// How many iterations follow the first, which took `elapsed` ticks, before the next prediction:
/// at most `chunk`. Nobody else gets these iterations, so they are few if they take long; the first
/// one may have waited for memory, so it counts for a quarter of its time.
fn second_step(chunk: usize, elapsed: u64) -> usize {
    const TICKS: u64 = 4 * LONG;
    /// With so many the clock's own time is a small part of the next measurement.
    const MOST: u64 = 64;
    let fitting = TICKS / elapsed.clamp(TICKS / MOST, TICKS);
    chunk.min(fitting as usize)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Catches: a bound that does not follow what helpers cost, or that follows one loop or loops
    /// that say nothing about it.
    #[test]
    fn the_bound_follows_the_loops_near_it() {
        let (bound, cost) = (CutOff::new(), 3 * LEAST);
        // Two workers halve a loop, and a helper costs as much as a loop of `cost` gains.
        let offer = |predicted: u64| bound.learn(predicted, predicted / 2 + cost / 2);
        offer(2 * LEAST);
        assert_eq!(bound.0.get(), LEAST + LEAST / CutOff::STEP);
        for _ in 0..100 {
            (LEAST..6 * LEAST).step_by(40).filter(|&ticks| !bound.is_alone(ticks)).for_each(offer);
        }
        let learned = bound.0.get();
        assert!((cost * 3 / 4..cost * 5 / 4).contains(&learned), "{learned}, not {cost}");
        bound.learn(CutOff::MOST + 1, u64::MAX);
        bound.learn(2 * learned, 0);
        assert_eq!(bound.0.get(), learned);
    }

    /// Catches: a program with loops of one length that are never offered again after some losses,
    /// or too often.
    #[test]
    fn a_loop_that_runs_alone_is_offered_now_and_then() {
        let bound = CutOff::new();
        let ticks = 2 * LEAST;
        let offered = (0..100_000).filter(|_| {
            let is_offered = !bound.is_alone(ticks);
            if is_offered {
                bound.learn(ticks, 3 * ticks);
            }
            is_offered
        });
        let offered = offered.count();
        assert!((100_000 / 80..100_000 / 50).contains(&offered), "{offered}");
        (0..10_000).for_each(|_| bound.learn(2 * LEAST, u64::MAX));
        assert_eq!(bound.0.get(), CutOff::MOST);
        (0..10_000).for_each(|_| bound.learn(bound.0.get(), 0));
        assert_eq!(bound.0.get(), LEAST);
    }

    /// Catches: a step that takes a part of the loop whatever its iterations take, in which heavy
    /// iterations behind the first light one run serially.
    #[test]
    fn the_second_step_is_short_in_long_loops_and_shorter_if_the_first_iteration_is_long() {
        let long = usize::MAX / 16;
        assert_eq!(second_step(long, 0), 64);
        assert_eq!(second_step(4, 0), 4);
        assert_eq!(second_step(long, LONG / 2), 8);
        assert_eq!(second_step(4, LONG / 2), 4);
        assert_eq!(second_step(long, LONG), 4);
        assert_eq!(second_step(long, u64::MAX), 1);
    }
}
