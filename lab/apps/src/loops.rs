//! The loops of applications: their schedule, and the steps that both versions of some take.

use sinew::iter::LoopOptions;
use sinew::iter::ParIter;
use sinew::{Schedule, over};

/// The schedule of an application's loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopSchedule {
    /// The user asked for it, so it holds.
    Named(Schedule),
    /// The application has it. A schedule that the pool was given or granted takes its place.
    Open(Schedule),
}

impl From<Schedule> for LoopSchedule {
    fn from(schedule: Schedule) -> Self {
        Self::Named(schedule)
    }
}

/// A loop that runs by the schedule of its application.
pub(crate) trait Scheduled: ParIter {
    fn scheduled(self, schedule: LoopSchedule) -> Self {
        match schedule {
            LoopSchedule::Named(schedule) => self.schedule(schedule),
            LoopSchedule::Open(schedule) => self.default_schedule(schedule),
        }
    }
}

impl<P: ParIter> Scheduled for P {}

/// A way to go about a loop: [`Serial`], or a schedule in the current pool.
pub(crate) trait Loops: Copy {
    /// Calls `f` with each item.
    fn each<T: Send>(self, items: &mut [T], f: impl Fn(&mut T) + Sync + Send);

    /// `f` of each number below `length`, in order.
    fn map<R: Send>(self, length: usize, f: impl Fn(usize) -> R + Sync + Send) -> Vec<R>;
}

/// One item after the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Serial;

impl Loops for Serial {
    fn each<T: Send>(self, items: &mut [T], f: impl Fn(&mut T) + Sync + Send) {
        items.iter_mut().for_each(f);
    }

    fn map<R: Send>(self, length: usize, f: impl Fn(usize) -> R + Sync + Send) -> Vec<R> {
        (0..length).map(f).collect()
    }
}

impl Loops for LoopSchedule {
    fn each<T: Send>(self, items: &mut [T], f: impl Fn(&mut T) + Sync + Send) {
        over(items).scheduled(self).for_each(f);
    }

    fn map<R: Send>(self, length: usize, f: impl Fn(usize) -> R + Sync + Send) -> Vec<R> {
        over(0..length).scheduled(self).map(f).collect()
    }
}
