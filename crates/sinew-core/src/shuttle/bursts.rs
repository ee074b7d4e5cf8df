//! Schedules in which a task runs for long stretches while the others do not run, as if the system
//! had preempted them. Uniformly random schedules hardly ever let one thread do a whole job between
//! two steps of another.

use shuttle::scheduler::{RandomScheduler, Schedule, Scheduler, Task, TaskId};

/// Stretches last up to two to this power steps.
const LONGEST: u32 = 9;

/// Draws tasks as [`RandomScheduler`] does, and runs each for a stretch of random length; short
/// stretches are as likely as long ones.
#[derive(Debug)]
pub(super) struct BurstScheduler {
    tasks: RandomScheduler,
    lengths: fastrand::Rng,
    left: u32,
}

impl BurstScheduler {
    pub(super) fn new(schedules: usize) -> Self {
        Self {
            tasks: RandomScheduler::new(schedules),
            lengths: fastrand::Rng::with_seed(0),
            left: 0,
        }
    }
}

impl Scheduler for BurstScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        let schedule = self.tasks.new_execution()?;
        self.lengths = fastrand::Rng::with_seed(self.tasks.next_u64());
        self.left = 0;
        Some(schedule)
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        yields: bool,
    ) -> Option<TaskId> {
        let stays =
            current.filter(|&task| !yields && runnable.iter().any(|other| other.id() == task));
        if let Some(task) = stays.filter(|_| self.left > 0) {
            self.left -= 1;
            return Some(task);
        }
        let longest = self.lengths.u32(0..=LONGEST);
        self.left = self.lengths.u32(0..1 << longest);
        self.tasks.next_task(runnable, current, yields)
    }

    fn next_u64(&mut self) -> u64 {
        self.tasks.next_u64()
    }
}
