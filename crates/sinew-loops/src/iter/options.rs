//! The options of the loop that runs a chain.

use sinew_policy::chunk::Schedule;

use super::Positions;
use super::over::{at_least_one, sound};

/// The options of the loop that runs a chain. Their place in the chain has no effect; of two
/// chains that are joined, those of the first count. The options with a lifetime are methods of
/// [`Over`](super::Over).
pub trait LoopOptions: Positions {
    /// The schedule of the loop; [`Schedule::Stealing`] by default.
    ///
    /// It has priority over the pool's schedule and over a granted one. A loop without a schedule,
    /// or with [`Schedule::Auto`] or [`default_schedule`](Self::default_schedule), follows the
    /// pool's.
    ///
    /// # Panics
    ///
    /// If a chunk of the schedule is 0.
    #[track_caller]
    fn schedule(mut self, schedule: Schedule) -> Self {
        let schedule = sound(schedule);
        self.change_options(|options| {
            options.schedule = schedule;
            options.open = schedule == Schedule::Auto;
        });
        self
    }

    /// The default schedule of the loop, which the pool's schedule, or a granted one, replaces.
    ///
    /// # Panics
    ///
    /// If a chunk of the schedule is 0.
    #[track_caller]
    fn default_schedule(mut self, schedule: Schedule) -> Self {
        let schedule = sound(schedule);
        self.change_options(|options| (options.schedule, options.open) = (schedule, true));
        self
    }

    /// The maximum number of workers, the caller included; by default all of the pool.
    ///
    /// # Panics
    ///
    /// If `threads` is 0.
    #[track_caller]
    fn threads(mut self, threads: usize) -> Self {
        let threads = at_least_one(threads);
        self.change_options(|options| options.threads = threads);
        self
    }

    /// Makes `reduce`, `sum`, `min` and the like combine in an order that follows from the number
    /// of positions alone.
    ///
    /// Sums of floating-point numbers are then bitwise identical for any number of threads and any
    /// schedule.
    fn reproducible(mut self) -> Self {
        self.change_options(|options| options.reproducible = true);
        self
    }
}

impl<P: Positions> LoopOptions for P {}
