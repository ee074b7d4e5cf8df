//! One run of a loop: the workers' claims in order of time.

use sinew_policy::chunk::Schedule;

use super::memory::Lesson;
use super::source::{Claim, Source};
use super::{Loop, LoopReport};
use crate::costs::times;
use crate::engine::Progress;
use crate::queue::{Queue, Time};
use crate::random::mix;
use crate::report::Violation;
use crate::trace::{Step, Trace};
use crate::workload::IterationCosts;

/// Number of chunks between two calls of `goes_on`.
const BETWEEN_CHECKS: u64 = 1 << 14;

/// The work of one participant, and its time.
#[derive(Debug, Clone, Copy, Default)]
struct Participation {
    items: usize,
    arrival: Time,
    end: Time,
}

/// A running loop.
pub(super) struct Run<'c> {
    setup: &'c Loop,
    costs: &'c IterationCosts,
    source: Source,
    lesson: Lesson,
    queue: Queue,
    chance: fastrand::Rng,
    report: LoopReport,
    participations: Vec<Participation>,
    claimed: usize,
    /// Hashes of the chunks' starts minus hashes of their ends. For adjacent chunks all cancel out
    /// but the first and the last.
    ends: u64,
    trace: Trace,
}

impl<'c> Run<'c> {
    pub(super) fn new(setup: &'c Loop, costs: &'c IterationCosts, lesson: Lesson) -> Self {
        let mut run = Self {
            setup,
            costs,
            source: Source::new(setup, costs.len(), &lesson),
            lesson,
            queue: Queue::new(setup.workers),
            chance: fastrand::Rng::with_seed(mix(setup.seed)),
            report: nothing(setup.schedule),
            participations: vec![Participation::default(); setup.workers],
            claimed: 0,
            ends: 0,
            trace: Trace::new(setup.seed),
        };
        let mut arrival = 0;
        for worker in 0..setup.workers {
            run.queue.set(worker, arrival);
            run.participations[worker].arrival = arrival;
            arrival += setup.steal.draw(run.chance.u64(..));
        }
        run
    }

    pub(super) fn run(
        mut self,
        mut goes_on: impl FnMut(&Progress) -> bool,
    ) -> Result<(LoopReport, Lesson), Violation> {
        let n = self.costs.len();
        while let Some(worker) = self.queue.next() {
            match self.source.claim(self.setup, n, worker) {
                Some(claim) => self.work(worker, &claim),
                None => self.queue.clear(worker),
            }
            if self.report.chunks.is_multiple_of(BETWEEN_CHECKS) && !goes_on(&self.progress()) {
                break;
            }
        }
        self.close()
    }

    fn progress(&self) -> Progress {
        let share = self.claimed as f64 / self.costs.len().max(1) as f64;
        Progress::new(self.queue.now(), self.report.chunks, self.claimed as u64, Some(share))
    }

    fn work(&mut self, worker: usize, Claim { chunk, theft }: &Claim) {
        let (n, workers) = (self.costs.len(), self.setup.workers);
        let iterations = self.source.iterations(chunk);
        let work = self.costs.of(&iterations);
        let mut time = times(work, self.setup.slowness(worker));
        self.lesson.was_run(&iterations, n, time);
        time += self.setup.claim.draw(self.chance.u64(..));
        self.trace.add(self.queue.now(), worker, Step::Works, iterations.start as u64);
        if let Some(theft) = theft {
            time += self.setup.steal.draw(self.chance.u64(..));
            self.report.steals += 1;
            self.trace.add(self.queue.now(), worker, Step::Steals, theft.len() as u64);
            self.lesson.was_stolen(self.source.iterations(theft), worker, n, workers);
        }
        let end = self.queue.now() + time;
        self.queue.set(worker, end);
        let participation = &mut self.participations[worker];
        (participation.items, participation.end) = (participation.items + chunk.len(), end);
        self.claimed += chunk.len();
        self.ends =
            self.ends.wrapping_add(mix(chunk.start as u64)).wrapping_sub(mix(chunk.end as u64));
        self.report.work += work;
        self.report.chunks += 1;
        self.report.longest_chunk = self.report.longest_chunk.max(work);
    }

    fn close(mut self) -> Result<(LoopReport, Lesson), Violation> {
        let n = self.costs.len();
        self.report.trace = self.trace.hash();
        // In a stopped loop a worker with a pending event has not found the source empty.
        self.report.is_whole = self.queue.next().is_none();
        if self.queue.backwards() > 0 {
            return Err(Violation::TimeRanBackwards(self.queue.backwards()));
        }
        if !self.report.is_whole {
            self.report.time = self.queue.now();
            return Ok((self.report, self.lesson));
        }
        if self.claimed != n || self.ends != mix(0).wrapping_sub(mix(n as u64)) {
            return Err(Violation::NotOnceEach { created: n as u64, run: self.claimed as u64 });
        }
        if self.report.work != self.costs.total() {
            return Err(Violation::WorkNotConserved {
                had: self.costs.total(),
                done: self.report.work,
            });
        }
        self.report.time =
            self.participations.iter().map(|participation| participation.end).max().unwrap_or(0);
        let bound = self.bound();
        if self.report.time < bound {
            return Err(Violation::OutOfBounds { time: self.report.time, bound });
        }
        for (worker, participation) in self.participations.iter().enumerate() {
            self.lesson.record_work(
                worker,
                participation.items,
                participation.end.saturating_sub(participation.arrival),
                n,
            );
        }
        Ok((self.report, self.lesson))
    }

    /// The lower bound of L2.
    fn bound(&self) -> Time {
        let (total, longest) = (self.costs.total(), self.costs.longest());
        if self.setup.slow.is_empty() {
            return longest.max(total.div_ceil(self.setup.workers as u64));
        }
        let slowness = || (0..self.setup.workers).map(|worker| self.setup.slowness(worker));
        let speed: f64 = slowness().map(f64::recip).sum();
        let least = slowness().fold(f64::INFINITY, f64::min);
        // A chunk's time is rounded down.
        let even = ((total as f64 / speed) as Time).saturating_sub(self.report.chunks + 1);
        even.max(times(longest, least).saturating_sub(1))
    }
}

fn nothing(ran: Schedule) -> LoopReport {
    LoopReport {
        time: 0,
        work: 0,
        chunks: 0,
        longest_chunk: 0,
        steals: 0,
        ran,
        trace: 0,
        is_whole: false,
    }
}
