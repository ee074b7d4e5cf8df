//! Short parallel work between serial stretches, and no work at all: what a pool spends on waiting.
//!
//! Jobs and serial stretches are counted steps, not looks at a clock, so that every run does the
//! same work.

use super::inside;
use crate::answer::mix;
use crate::work::{Scale, Work, work};
use rayon::prelude::*;
use std::thread;
use std::time::Duration;

/// Steps of [`labour`] that take about a microsecond.
const STEPS_PER_US: u64 = 280;

/// Keeps a core busy for about `us` microseconds.
fn labour(us: u64, seed: u64) -> u64 {
    (0..us * STEPS_PER_US).fold(seed, |state, _| mix(state).wrapping_add(1))
}

/// The work between two bursts.
#[derive(Clone, Copy)]
enum Stretch {
    Busy(u64),
    Asleep(u64),
}

impl Stretch {
    fn pass(self, seed: u64) -> u64 {
        match self {
            Self::Busy(us) => labour(us, seed),
            Self::Asleep(us) => {
                thread::sleep(Duration::from_micros(us));
                seed
            }
        }
    }
}

/// A program of bursts.
#[derive(Clone, Copy)]
struct Plan {
    bursts: u64,
    jobs: usize,
    job_us: u64,
    stretch: Stretch,
}

impl Plan {
    /// Runs the bursts, with `burst` to do the jobs of one.
    fn run(self, burst: impl Fn(&mut [u64])) -> u64 {
        let mut state = 0;
        for number in 0..self.bursts {
            let mut jobs = vec![state ^ number; self.jobs];
            burst(&mut jobs);
            let sum = jobs.iter().fold(0, |sum: u64, job| sum.wrapping_add(*job));
            state = self.stretch.pass(sum);
        }
        state
    }

    fn serially(self) -> u64 {
        self.run(|jobs| jobs.iter_mut().for_each(|job| *job = labour(self.job_us, *job)))
    }

    fn in_scopes(self) -> u64 {
        self.run(|jobs| {
            rayon::scope(|scope| {
                for job in jobs {
                    scope.spawn(move |_| *job = labour(self.job_us, *job));
                }
            });
        })
    }

    fn by_iterators(self) -> u64 {
        self.run(|jobs| jobs.par_iter_mut().for_each(|job| *job = labour(self.job_us, *job)))
    }
}

fn few(scale: Scale, stretch: Stretch) -> Plan {
    Plan { bursts: scale.pick(100, 3), jobs: 8, job_us: 1, stretch }
}

pub(super) fn scope(scale: Scale) -> Box<dyn Work> {
    work(few(scale, Stretch::Busy(100)), |plan| plan.serially(), |plan| plan.in_scopes())
}

pub(super) fn iter(scale: Scale) -> Box<dyn Work> {
    work(few(scale, Stretch::Busy(100)), |plan| plan.serially(), |plan| plan.by_iterators())
}

pub(super) fn inside_the_pool(scale: Scale) -> Box<dyn Work> {
    work(
        few(scale, Stretch::Busy(100)),
        |plan| plan.serially(),
        |plan| inside(|| plan.by_iterators()),
    )
}

pub(super) fn sleep(scale: Scale) -> Box<dyn Work> {
    work(few(scale, Stretch::Asleep(200)), |plan| plan.serially(), |plan| plan.in_scopes())
}

pub(super) fn many(scale: Scale) -> Box<dyn Work> {
    let plan = Plan { bursts: scale.pick(40, 2), jobs: 64, job_us: 5, stretch: Stretch::Busy(50) };
    work(plan, |plan| plan.serially(), |plan| plan.by_iterators())
}

/// The main thread sleeps, so whatever processor time the process uses is the pool's.
pub(super) fn idle(scale: Scale) -> Box<dyn Work> {
    work(
        scale.pick(1_000, 50),
        |_| 0u64,
        |ms| {
            thread::sleep(Duration::from_millis(*ms));
            0
        },
    )
}
