//! An application, prepared, run serially or in a pool, and checked.

use std::rc::Rc;

use sinew::profile::Profile;
use sinew::{Counters, Pool, Schedule};
use sinew_apps::{Options, Problem, Run, Size, Transactions};

use crate::failure::Failure;

/// The subject of a case. Cheap to clone: the input is shared.
#[derive(Clone)]
pub(crate) struct Subject {
    problem: Rc<dyn Problem>,
}

/// The measurements of one run with a right result.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) wall_s: f64,
    /// Of a parallel run in a pool that profiles.
    pub(crate) profile: Option<Profile>,
    pub(crate) transactions: Transactions,
    counters: Counters,
}

impl Subject {
    /// Makes the input of an application, whose loops have this schedule.
    ///
    /// # Errors
    ///
    /// If there is no such application or size, or not enough memory.
    pub(crate) fn prepare(
        app: &str,
        size: &str,
        schedule: Option<Schedule>,
    ) -> Result<Self, Failure> {
        let size: Size = size.parse().unwrap_or_default();
        Self::prepare_as(app, &Options { size, schedule, ..Options::default() })
    }

    /// The same with all options.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Self::prepare).
    pub(crate) fn prepare_as(app: &str, options: &Options) -> Result<Self, Failure> {
        let found = sinew_apps::find(app);
        let app =
            found.ok_or_else(|| Failure::Impossible(format!("there is no application `{app}`")))?;
        Ok(Self { problem: app.prepare(options).map_err(Failure::impossible)?.into() })
    }

    /// Runs the serial version.
    pub(crate) fn serial(&self) -> Result<Measured, Failure> {
        self.check(self.problem.serial())
    }

    /// Runs the parallel version.
    pub(crate) fn parallel(&self, pool: &Pool) -> Result<Measured, Failure> {
        self.check(self.problem.parallel(pool))
    }

    fn check(&self, run: Run) -> Result<Measured, Failure> {
        self.problem.check(&run.answer).map_err(|wrong| Failure::Wrong(wrong.to_string()))?;
        let Run { wall, counters, profile, transactions, .. } = run;
        Ok(Measured { wall_s: wall.as_secs_f64(), profile, transactions, counters })
    }
}

impl Measured {
    /// Tasks that another worker ran.
    pub(crate) fn steals(&self) -> f64 {
        self.counters.steals() as f64
    }

    /// Pieces of loops that were claimed at once.
    pub(crate) fn chunks(&self) -> f64 {
        self.counters.chunks as f64
    }

    /// Claims that were given back, as a share of the steals.
    pub(crate) fn back_outs(&self) -> f64 {
        self.counters.backed_out as f64 / self.counters.steals().max(1) as f64
    }

    /// Victims that the victim policy chose.
    pub(crate) fn chosen_victims(&self) -> f64 {
        self.counters.chosen_victims as f64
    }

    /// Attempts that brought nothing.
    pub(crate) fn failed_steals(&self) -> f64 {
        self.counters.failed_steals as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: an experiment that names an unknown application.
    #[test]
    fn what_is_not_there_is_named() {
        let message = |app, size| Subject::prepare(app, size, None).err().unwrap().to_string();
        assert!(message("fibb", "tiny").contains("`fibb`"));
        assert!(message("fib", "1000").contains("`1000`"));
    }

    #[test]
    fn serial_and_parallel_runs_are_judged_and_timed() {
        let subject = Subject::prepare("nqueens", "8", None).unwrap();
        let pool = Pool::builder().threads(2).build().unwrap();
        assert!(subject.serial().unwrap().wall_s > 0.0);
        assert!(subject.parallel(&pool).unwrap().wall_s > 0.0);
    }
}
