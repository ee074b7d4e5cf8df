//! State that one run of a loop leaves for the next, made of the same types of [`sinew_policy`]
//! that the runtime uses.

use std::ops::Range;

use sinew_policy::affinity::{OwnerOrder, Owners, Stolen, worth_keeping};
use sinew_policy::auto::{Choice, Profile, Tuner, prior};
use sinew_policy::chunk::Schedule;
use sinew_policy::schedule::{Feedback, Mechanism};
use sinew_policy::weighted::Speeds;

use super::Loop;
use crate::queue::Time;
use crate::random::NS;
use crate::workload::IterationCosts;

/// The state that a loop keeps between runs: owners of parts, speeds of workers, the best schedule.
#[derive(Debug, Clone, Default)]
pub struct LoopMemory {
    owners: Option<Owners>,
    speeds: Option<Speeds>,
    tuner: Option<(usize, Tuner)>,
}

/// The part of the memory that a run uses and updates.
pub(super) enum Lesson {
    /// Nothing.
    None,
    /// Owners of parts, and ranges that were stolen.
    Parts { owners: Owners, stolen: Vec<Stolen> },
    /// Speeds of workers.
    Speeds(Speeds),
    /// The schedule that the tuner has chosen, and the profile of its chunks.
    Tuned { tuner: Tuner, schedule: Schedule, profile: Option<Box<Profile>> },
}

impl LoopMemory {
    /// The input of the next run. A loop of another length or number of workers starts afresh.
    pub(super) fn lesson(&mut self, setup: &Loop, costs: &IterationCosts) -> Lesson {
        let (n, workers) = (costs.len(), setup.workers);
        match Mechanism::of(setup.schedule) {
            Mechanism::Partition(Feedback::Owners) => {
                let known = self.owners.take().filter(|owners| owners.fits(n, workers));
                Lesson::Parts {
                    owners: known.unwrap_or_else(|| Owners::equal(n, workers)),
                    stolen: Vec::new(),
                }
            }
            Mechanism::Partition(Feedback::Speeds) => {
                let known = self.speeds.take().filter(|speeds| speeds.workers() == workers);
                Lesson::Speeds(known.unwrap_or_else(|| Speeds::new(workers)))
            }
            Mechanism::Tuned => {
                let known = self.tuner.take().filter(|(of, _)| *of == workers);
                tuned(known.map_or_else(|| Tuner::new(workers), |(_, tuner)| tuner), costs, workers)
            }
            Mechanism::Shares
            | Mechanism::Counter(_)
            | Mechanism::Ranges
            | Mechanism::Joins { .. } => Lesson::None,
        }
    }

    /// Stores the results of a run that took `time`.
    pub(super) fn learn(&mut self, lesson: Lesson, n: usize, time: Time) {
        match lesson {
            Lesson::None => {}
            Lesson::Parts { mut owners, stolen } => {
                owners.learn(stolen);
                self.owners = Some(owners);
            }
            Lesson::Speeds(speeds) => self.speeds = Some(speeds),
            Lesson::Tuned { mut tuner, profile, .. } => {
                tuner.record(n, time / NS, profile.as_deref());
                self.tuner = Some((tuner.workers(), tuner));
            }
        }
    }
}

/// The tuner's next step.
fn tuned(tuner: Tuner, costs: &IterationCosts, workers: usize) -> Lesson {
    let (schedule, profile) = match tuner.choice() {
        Choice::Profile => {
            let promised = costs.total() / workers.max(1) as u64 / NS;
            (prior(promised), Some(Box::default()))
        }
        Choice::Short => (Schedule::Static, None),
        Choice::Run(schedule) => (schedule, None),
    };
    Lesson::Tuned { tuner, schedule, profile }
}

impl Lesson {
    /// The schedule to run.
    pub(super) fn schedule(&self, asked: Schedule) -> Schedule {
        match self {
            Self::Tuned { schedule, .. } => *schedule,
            _ => asked,
        }
    }

    /// The deal of iterations to workers.
    pub(super) fn deal(&self, n: usize, workers: usize) -> OwnerOrder {
        match self {
            Self::Parts { owners, .. } => owners.order(),
            Self::Speeds(speeds) => OwnerOrder::in_order(speeds.clone().begins(n).to_vec()),
            Self::None | Self::Tuned { .. } => Owners::equal(n, workers).order(),
        }
    }

    /// Notes that worker `by` stole `range`.
    pub(super) fn was_stolen(&mut self, range: Range<usize>, by: usize, n: usize, workers: usize) {
        if let Self::Parts { stolen, .. } = self
            && range.len() >= worth_keeping(n, workers)
        {
            stolen.push(Stolen { range, by });
        }
    }

    /// Notes the time of a chunk.
    pub(super) fn was_run(&mut self, chunk: &Range<usize>, n: usize, time: Time) {
        if let Self::Tuned { profile: Some(profile), .. } = self {
            profile.add(chunk.start, chunk.len(), n, (time / NS).max(1));
        }
    }

    /// Notes that `worker` ran `items` iterations in `time`.
    pub(super) fn record_work(&mut self, worker: usize, items: usize, time: Time, n: usize) {
        if let Self::Speeds(speeds) = self {
            speeds.learn(worker, items, time / NS, n);
        }
    }
}
