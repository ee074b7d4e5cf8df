//! Loops in virtual time, under every schedule.
//!
//! Workers come to a loop one after the other, claim iterations and run them, until there are none. How long a chunk is says the very code of
//! [`sinew_policy::chunk`]; schedules that cut ranges like the arms of a join are trees, and run on the engine.
//!
//! | schedule | what is simulated |
//! |---|---|
//! | `static` | a share a worker, in slices; who is done takes shares that nobody has begun |
//! | `dynamic`, `tapered`, `factoring` | one counter |
//! | `stealing` | worker 0 begins with everything; who runs dry takes the back half of the longest of four ranges |
//! | `affinity`, `weighted` | the same from equal shares: what they are without a memory of an earlier run |
//! | `auto` | `stealing`, with which it begins |
//! | `simple`, `adaptive` | [`Splits`], where nobody waits in joins |
//!
//! # Invariants
//!
//! - L1: each iteration is claimed exactly once.
//! - L2: max(longest iteration, T1/p) ≤ Tp.
//!
//! Both are checked at the end of every run.
//!
//! Not modelled: claims that wait for each other's cache line.

use std::ops::Range;

use sinew_policy::chunk::{Halving, Schedule, Shares, TAPER, factoring, share, slices, tapered};
use sinew_policy::split::Splitter;

use crate::costs::Costs;
use crate::engine::Simulation;
use crate::queue::{Queue, Time};
use crate::random::{Duration, mix};
use crate::report::Violation;
use crate::setup::{Setup, SetupError, Stack, Wait};
use crate::workload::{IterationCosts, RunError, Splits};

/// A thief compares so many ranges.
const LOOK: usize = 4;

/// What a loop's run depends on, besides its iterations.
#[derive(Debug, Clone)]
pub struct Loop {
    /// How many workers come.
    pub workers: usize,
    /// How iterations are shared out.
    pub schedule: Schedule,
    /// What a claim takes.
    pub claim: Duration,
    /// What it takes to get iterations from another worker, besides; and how long after the one before the next worker comes.
    pub steal: Duration,
    /// From which all chance comes.
    pub seed: u64,
}

/// What a loop's run has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopReport {
    /// How long it took.
    pub time: Time,
    /// All iterations together.
    pub work: Time,
    /// How many chunks were run.
    pub chunks: u64,
    /// The longest of them, in time.
    pub longest_chunk: Time,
    /// How often iterations were taken from another worker.
    pub steals: u64,
}

impl Loop {
    /// Runs it over iterations of these costs.
    ///
    /// # Errors
    ///
    /// No worker, a chunk of 0 iterations, or an error of the simulator.
    pub fn run(&self, costs: &IterationCosts) -> Result<LoopReport, RunError> {
        let setup = Setup { seed: self.seed, ..Setup::new(self.workers) };
        setup.check().map_err(RunError::Setup)?;
        self.schedule.check().map_err(|error| RunError::Setup(SetupError::from(error)))?;
        match self.schedule {
            Schedule::Simple { grain } => self.run_tree(setup, costs, Splitter::Simple, grain),
            Schedule::Adaptive { grain } => {
                self.run_tree(setup, costs, Splitter::adaptive(self.workers), grain)
            }
            _ => Course::new(self, costs).run().map_err(RunError::Violation),
        }
    }

    fn run_tree(
        &self,
        setup: Setup,
        costs: &IterationCosts,
        splitter: Splitter,
        grain: usize,
    ) -> Result<LoopReport, RunError> {
        let prices = Costs { spawn: self.claim, attempt: self.steal, ..Costs::ZERO };
        let splits = Splits::new(costs.clone(), splitter, grain);
        let run =
            Simulation::new(Setup { costs: prices, stack: Stack::Open, wait: Wait::Leave, ..setup }, &splits)
                .map_err(RunError::Setup)?;
        let report = run.run().map_err(RunError::Violation)?;
        let counts = report.counts;
        // A leaf for each spawn, and one.
        let (chunks, longest_chunk) = (counts.spawns + 1, report.span);
        Ok(LoopReport { time: report.time, work: report.work, chunks, longest_chunk, steals: counts.steals })
    }
}

/// What is left of a loop, and where.
enum Source {
    /// Shares, with the slices of each that have been taken.
    Static { shares: Shares, taken: Vec<usize> },
    /// One counter.
    Counter { next: usize },
    /// A range a worker.
    Ranges { ranges: Vec<Range<usize>>, sizes: Halving },
}

/// A loop that runs.
struct Course<'c> {
    setup: &'c Loop,
    costs: &'c IterationCosts,
    source: Source,
    queue: Queue,
    chance: fastrand::Rng,
    report: LoopReport,
    claimed: usize,
    /// Hashes of where chunks begin less those of where they end: of chunks that lie end to end all cancel out but the first and the last.
    ends: u64,
    end: Time,
}

impl<'c> Course<'c> {
    fn new(setup: &'c Loop, costs: &'c IterationCosts) -> Self {
        let report = LoopReport { time: 0, work: 0, chunks: 0, longest_chunk: 0, steals: 0 };
        let mut course = Self {
            setup,
            costs,
            source: source(setup, costs.len()),
            queue: Queue::new(setup.workers),
            chance: fastrand::Rng::with_seed(mix(setup.seed)),
            report,
            claimed: 0,
            ends: 0,
            end: 0,
        };
        let mut arrival = 0;
        for worker in 0..setup.workers {
            course.queue.set(worker, arrival);
            arrival += setup.steal.draw(course.chance.u64(..));
        }
        course
    }

    fn run(mut self) -> Result<LoopReport, Violation> {
        while let Some(worker) = self.queue.next() {
            match self.claim(worker) {
                Some((chunk, stolen)) => self.work(worker, chunk, stolen),
                None => self.queue.clear(worker),
            }
        }
        self.close()
    }

    fn work(&mut self, worker: usize, chunk: Range<usize>, stolen: bool) {
        let work = self.costs.of(&chunk);
        let mut time = work + self.setup.claim.draw(self.chance.u64(..));
        if stolen {
            time += self.setup.steal.draw(self.chance.u64(..));
            self.report.steals += 1;
        }
        let end = self.queue.now() + time;
        self.queue.set(worker, end);
        self.end = self.end.max(end);
        self.claimed += chunk.len();
        self.ends = self.ends.wrapping_add(mix(chunk.start as u64)).wrapping_sub(mix(chunk.end as u64));
        self.report.work += work;
        self.report.chunks += 1;
        self.report.longest_chunk = self.report.longest_chunk.max(work);
    }

    /// What the worker runs next, and whether it comes from another one.
    fn claim(&mut self, worker: usize) -> Option<(Range<usize>, bool)> {
        let (n, workers) = (self.costs.len(), self.setup.workers);
        match &mut self.source {
            Source::Static { shares, taken } => slice(shares, taken, worker),
            Source::Counter { next } => {
                let length = chunk(self.setup.schedule, n, n - *next, workers);
                let first = *next;
                *next += length;
                (length > 0).then_some((first..*next, false))
            }
            Source::Ranges { ranges, sizes } => {
                let dry = ranges[worker].is_empty();
                if dry {
                    ranges[worker] = back_half(ranges, sizes, &mut self.chance)?;
                }
                let range = &mut ranges[worker];
                let piece = range.start..range.start + sizes.piece(range.len());
                range.start = piece.end;
                Some((piece, dry))
            }
        }
    }

    fn close(mut self) -> Result<LoopReport, Violation> {
        let n = self.costs.len();
        if self.claimed != n || self.ends != mix(0).wrapping_sub(mix(n as u64)) {
            return Err(Violation::NotOnceEach { created: n as u64, run: self.claimed as u64 });
        }
        if self.report.work != self.costs.total() {
            return Err(Violation::WorkNotConserved { had: self.costs.total(), done: self.report.work });
        }
        self.report.time = self.end;
        let bound = self.costs.longest().max(self.costs.total().div_ceil(self.setup.workers as u64));
        if self.end < bound {
            return Err(Violation::OutOfBounds { time: self.end, bound });
        }
        Ok(self.report)
    }
}

fn source(setup: &Loop, n: usize) -> Source {
    let workers = setup.workers;
    match setup.schedule {
        Schedule::Static => Source::Static { shares: Shares::new(n, workers), taken: vec![0; workers] },
        Schedule::Stealing | Schedule::Auto => {
            let mut ranges = vec![0..0; workers];
            ranges[0] = 0..n;
            Source::Ranges { ranges, sizes: Halving::new(n, workers) }
        }
        Schedule::Affinity | Schedule::Weighted => Source::Ranges {
            ranges: (0..workers).map(|part| share(n, workers, part)).collect(),
            sizes: Halving::new(n, workers),
        },
        _ => Source::Counter { next: 0 },
    }
}

/// The length of the next chunk from one counter.
fn chunk(schedule: Schedule, n: usize, remaining: usize, workers: usize) -> usize {
    match schedule {
        Schedule::Tapered { min } => tapered(remaining, workers, TAPER, min),
        Schedule::Factoring { min } => factoring(n, remaining, workers, min),
        Schedule::Dynamic { chunk } => chunk.min(remaining),
        _ => remaining,
    }
}

/// The next slice of the worker's share, or the first of one that nobody has begun.
fn slice(shares: &Shares, taken: &mut [usize], worker: usize) -> Option<(Range<usize>, bool)> {
    let is_left = |part: usize, taken: usize| taken < slices(shares.get(part).len());
    let part = match is_left(worker, taken[worker]) {
        true => worker,
        // Who has begun one of these goes on with it.
        false => (0..taken.len()).find(|&part| taken[part] == 0 && is_left(part, 0))?,
    };
    let range = shares.get(part);
    // A share that is taken from its owner is taken as a whole.
    let (many, at) = if part == worker { (slices(range.len()), taken[part]) } else { (1, 0) };
    taken[part] = if part == worker { at + 1 } else { usize::MAX };
    let slice = share(range.len(), many, at);
    Some((range.start + slice.start..range.start + slice.end, part != worker))
}

/// The back half of the longest of some ranges, or, where those are empty, of the longest of all.
fn back_half(
    ranges: &mut [Range<usize>],
    sizes: &Halving,
    chance: &mut fastrand::Rng,
) -> Option<Range<usize>> {
    let length = |at: &usize| ranges[*at].len();
    let looked = (0..LOOK).map(|_| ((u128::from(chance.u64(..)) * ranges.len() as u128) >> 64) as usize);
    let longest = looked.max_by_key(length).filter(|at| length(at) > 0);
    let victim = longest.or_else(|| (0..ranges.len()).max_by_key(length).filter(|at| length(at) > 0))?;
    let range = &mut ranges[victim];
    let middle = range.end - sizes.stolen(range.len());
    let back = middle..range.end;
    range.end = middle;
    Some(back)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::NS;
    use crate::workload::Shape;

    fn schedules() -> Vec<Schedule> {
        let texts = [
            "static",
            "dynamic:7",
            "tapered:2",
            "factoring:1",
            "stealing",
            "affinity",
            "weighted",
            "simple:5",
            "adaptive:1",
        ];
        texts.iter().map(|text| text.parse().expect("a schedule")).collect()
    }

    fn free(workers: usize, schedule: Schedule) -> Loop {
        Loop { workers, schedule, claim: Duration::ZERO, steal: Duration::ZERO, seed: 0 }
    }

    fn uniform(n: usize) -> IterationCosts {
        IterationCosts::new(n, Shape::Uniform, Duration::ns(10), 0)
    }

    fn time(workers: usize, schedule: Schedule, n: usize) -> Time {
        free(workers, schedule).run(&uniform(n)).expect("a run").time / NS
    }

    /// Would miss: a schedule that waits, overlaps, or cuts otherwise than its arithmetic says.
    #[test]
    fn equal_iterations_take_what_can_be_computed_by_hand() {
        // The longest of 7 shares of 100 iterations has 15.
        assert_eq!(time(7, Schedule::Static, 100), 150);
        // 20 chunks of 5 for 3 workers: one of them runs 7.
        assert_eq!(time(3, Schedule::Dynamic { chunk: 5 }, 100), 350);
        // Batches of 8 equal chunks, each half of the one before, until 8 single iterations are left.
        assert_eq!(time(8, Schedule::Factoring { min: 1 }, 1_024), 1_280);
        // One worker alone runs everything, however it is cut.
        for schedule in schedules() {
            assert_eq!(time(1, schedule, 100), 1_000, "{schedule}");
        }
        // Equal shares are never stolen from.
        assert_eq!(time(4, Schedule::Affinity, 400), 1_000);
        // 2⁶ pieces of 4 iterations, for 16 workers.
        assert_eq!(time(16, Schedule::Simple { grain: 4 }, 256), 160);
    }

    /// Would miss: a worker that stops while there is something left, and a claim that counts twice.
    #[test]
    fn no_schedule_is_later_than_the_even_share_and_one_chunk() {
        for shape in [Shape::Uniform, Shape::Biased, Shape::Decreasing, Shape::Heavy] {
            for (seed, schedule) in
                (0..40).flat_map(|seed| schedules().into_iter().map(move |schedule| (seed, schedule)))
            {
                let workers = 1 + seed as usize % 9;
                let costs = IterationCosts::new(50 * seed as usize, shape, Duration::Pareto(NS, 1.3), seed);
                let run = Loop { seed, ..free(workers, schedule) }.run(&costs).expect("a run");
                // A share is not given up once it has been begun.
                if schedule != Schedule::Static {
                    let bound = costs.total().div_ceil(workers as u64) + run.longest_chunk;
                    assert!(
                        run.time <= bound,
                        "{schedule}, {workers} workers, seed {seed}: {run:?} beyond {bound}"
                    );
                }
                let dear = Loop {
                    claim: Duration::ns(5),
                    steal: Duration::Exponential(NS * 50),
                    seed,
                    ..free(workers, schedule)
                };
                assert!(dear.run(&costs).expect("a run").time >= costs.total() / workers as u64);
            }
        }
    }

    /// Would miss: an impossible loop that is run.
    #[test]
    fn impossible_loops_are_refused() {
        assert!(free(0, Schedule::Static).run(&uniform(1)).is_err());
        let error = free(1, Schedule::Dynamic { chunk: 0 }).run(&uniform(1)).expect_err("no chunk");
        assert!(error.to_string().contains("dynamic:0"), "{error}");
    }
}
