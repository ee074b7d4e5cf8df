//! The effect of sampling on time and steals, in the model of the paper that introduced it.
//!
//! N workers run a balanced binary tree of depth log₂ N + 2, so that each runs four leaves on
//! average. A worker with tasks runs them; one without tasks tries to steal. All durations are
//! exponential: an attempt takes as long as a leaf on average, a sample half as long. A thief draws
//! some workers independently, samples each, and goes to the one whose oldest task is nearest the
//! root, even if it saw that it was empty. Workers do not wait or park, there is no topology, and
//! inner tasks take no time. Source: K.-F. Faxén and J. Ardelius, "Manycore Work Stealing" (2011),
//! section 4 and Figure 4.
//!
//! # Findings
//!
//! The paper reports a slow-down below 128 workers, almost a third fewer steals at 1,024, and a
//! best sample size of 2.
#![doc = include_str!("figure.md")]

use sinew_policy::victim::{Outcome, VictimPolicy, View};

use crate::costs::Costs;
use crate::engine::Simulation;
use crate::random::Duration;
use crate::report::{Counts, Violation};
use crate::setup::{Idle, Setup, SetupError, Stack, Waiting};
use crate::workload::Tree;

/// The paper's rule: draws `samples` workers independently and chooses the one whose oldest task is
/// nearest the root, or the first one if none has a task. With 0 or 1 samples the victim is random;
/// with 1 the sample is paid for in vain.
///
/// [`sinew_policy::victim::Sample`] is the rule of the runtime: it walks a private permutation, so
/// it samples no worker twice, and can stop at an empty one.
#[derive(Debug, Clone, Copy)]
pub struct Independent {
    /// Number of workers that are sampled.
    pub samples: u32,
}

fn other(view: &dyn View, random: &mut dyn FnMut() -> u64) -> usize {
    let drawn = ((u128::from(random()) * (view.workers() - 1) as u128) >> 64) as usize;
    drawn + usize::from(drawn >= view.me())
}

impl VictimPolicy for Independent {
    fn start(&mut self, _: &dyn View, _: &mut dyn FnMut() -> u64) {}

    fn next(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) -> Option<usize> {
        if view.workers() < 2 {
            return None;
        }
        let mut best = other(view, random);
        if self.samples == 0 {
            return Some(best);
        }
        let mut nearest = view.oldest_depth(best);
        for _ in 1..self.samples {
            let worker = other(view, random);
            let depth = view.oldest_depth(worker);
            if depth.is_some_and(|depth| nearest.is_none_or(|nearest| depth < nearest)) {
                (best, nearest) = (worker, depth);
            }
        }
        Some(best)
    }

    fn outcome(&mut self, _: usize, _: Outcome) {}
}

/// The parameters of the figure.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Numbers of workers.
    pub workers: Vec<usize>,
    /// Sample sizes, besides 0.
    pub samples: Vec<u32>,
    /// Number of runs whose mean is taken.
    pub runs: u64,
    /// Random seed. Runs with the same number have the same leaves for every sample size.
    pub seed: u64,
    /// Mean duration of an attempt and of a leaf.
    pub steal: Duration,
    /// Mean duration of a sample.
    pub sample: Duration,
}

impl Figure {
    /// The paper's parameters: 2 to 1,024 workers, sample sizes 1, 2, 4 and 8, a sample half as
    /// long as a steal.
    pub fn paper(runs: u64) -> Self {
        Self {
            workers: (1..=10).map(|power| 1 << power).collect(),
            samples: vec![1, 2, 4, 8],
            runs,
            seed: 0,
            steal: Duration::Exponential(1_000_000),
            sample: Duration::Exponential(500_000),
        }
    }
}

/// One point: the means of all runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Number of workers.
    pub workers: usize,
    /// Sample size.
    pub samples: u32,
    /// In picoseconds.
    pub time: f64,
    /// Attempts, successful or not.
    pub attempts: f64,
    /// Successful ones.
    pub steals: f64,
    /// The three values relative to no sampling.
    pub relative: Relative,
}

/// See [`Point::relative`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relative {
    /// Time; below 1 sampling pays.
    pub time: f64,
    /// Attempts.
    pub attempts: f64,
    /// Steals.
    pub steals: f64,
}

/// Progress of the computation.
struct Work<'g> {
    done: f64,
    all: f64,
    goes_on: &'g mut dyn FnMut(f64) -> bool,
}

impl Work<'_> {
    fn goes_on(&mut self) -> bool {
        (self.goes_on)(self.done / self.all)
    }
}

/// A figure cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FigureError {
    /// An impossible number of workers.
    Setup(SetupError),
    /// An error of the simulator.
    Violation(Violation),
}

impl std::fmt::Display for FigureError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Setup(error) => error.fmt(f),
            Self::Violation(violation) => violation.fmt(f),
        }
    }
}

impl std::error::Error for FigureError {}

impl Figure {
    /// Computes the table: for each number of workers no sampling, then each sample size. `goes_on`
    /// is called now and then with the completed share, from 0 to 1. If it returns false, the
    /// complete points are returned.
    ///
    /// # Errors
    ///
    /// An impossible number of workers, or an error of the simulator.
    ///
    /// # Cost
    ///
    /// About 100 events per worker and run.
    pub fn compute(&self, mut goes_on: impl FnMut(f64) -> bool) -> Result<Vec<Point>, FigureError> {
        let mut points = Vec::new();
        let mut work = Work { done: 0.0, all: self.all_work(), goes_on: &mut goes_on };
        for &workers in &self.workers {
            let Some(base) = self.means(workers, 0, &mut work)? else { break };
            points.push(point(workers, 0, base, base));
            for &samples in &self.samples {
                let Some(means) = self.means(workers, samples, &mut work)? else {
                    return Ok(points);
                };
                points.push(point(workers, samples, means, base));
            }
        }
        Ok(points)
    }

    /// Checks that every number of workers can be simulated.
    ///
    /// # Errors
    ///
    /// The setup error that [`compute`](Self::compute) would return after some of the work.
    pub fn check(&self) -> Result<(), SetupError> {
        self.workers.iter().try_for_each(|&workers| self.setup(workers, self.seed).check())
    }

    /// Time, attempts and steals; `None` if the run was stopped.
    fn means(
        &self,
        workers: usize,
        samples: u32,
        work: &mut Work<'_>,
    ) -> Result<Option<[f64; 3]>, FigureError> {
        let mut sums = [0.0; 3];
        for run in 0..self.runs {
            let seed = self.seed.wrapping_add(run);
            let tree = Tree::new(workers.max(1).ilog2() + 2, self.steal, seed);
            let policy = || Box::new(Independent { samples }) as Box<dyn VictimPolicy>;
            let simulation = Simulation::with_policies(self.setup(workers, seed), &tree, policy)
                .map_err(FigureError::Setup)?;
            let report =
                simulation.run_while(|_| work.goes_on()).map_err(FigureError::Violation)?;
            work.done += workers as f64;
            if !report.is_whole || !work.goes_on() {
                return Ok(None);
            }
            let Counts { attempts, steals, .. } = report.counts;
            for (sum, value) in sums.iter_mut().zip([report.time, attempts, steals]) {
                *sum += value as f64 / self.runs as f64;
            }
        }
        Ok(Some(sums))
    }

    /// The work of all runs, in workers.
    fn all_work(&self) -> f64 {
        let workers: usize = self.workers.iter().sum();
        workers as f64 * (self.samples.len() + 1) as f64 * self.runs as f64
    }

    fn setup(&self, workers: usize, seed: u64) -> Setup {
        let costs = Costs { attempt: self.steal, sample: self.sample, ..Costs::ZERO };
        Setup {
            stack: Stack::Open,
            wait: Waiting::Leave,
            idle: Idle::Spin,
            costs,
            seed,
            ..Setup::new(workers)
        }
    }
}

fn point(workers: usize, samples: u32, means: [f64; 3], base: [f64; 3]) -> Point {
    let [time, attempts, steals] = means;
    let relative = |at: usize| if base[at] == 0.0 { 1.0 } else { means[at] / base[at] };
    let relative = Relative { time: relative(0), attempts: relative(1), steals: relative(2) };
    Point { workers, samples, time, attempts, steals, relative }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: sampling without cost, or without a better victim.
    #[test]
    fn sampling_costs_time_in_small_pools_and_saves_steals_in_large_ones() {
        let figure =
            Figure { workers: vec![8, 512], samples: vec![1, 2], runs: 4, ..Figure::paper(0) };
        let points = figure.compute(|_| true).expect("a figure");
        assert_eq!(
            points.iter().map(|point| (point.workers, point.samples)).collect::<Vec<_>>(),
            [(8, 0), (8, 1), (8, 2), (512, 0), (512, 1), (512, 2)]
        );
        assert!(points[2].relative.time > 1.05, "{points:?}");
        assert!(points[5].relative.steals < 0.9, "{points:?}");
        // One sample slows a thief down; a second one finds a better victim.
        assert!(points[5].relative.attempts < points[4].relative.attempts - 0.2, "{points:?}");
    }

    /// Catches: a stopped figure that returns an incomplete point.
    #[test]
    fn a_stopped_figure_has_whole_points_only() {
        let mut asked = 0;
        let figure = Figure { workers: vec![4, 8], runs: 3, ..Figure::paper(0) };
        let mut shares = Vec::new();
        let points = figure.compute(|share| {
            shares.push(share);
            asked += 1;
            asked < 10
        });
        assert_eq!(points.expect("no violation").len(), 3);
        assert!(
            shares.is_sorted() && shares.last() == Some(&(10.0 * 4.0 / (3.0 * 5.0 * 12.0))),
            "{shares:?}"
        );
    }
}
