//! The frame of every run of a list: it checks the settings, begins the tuner, and completes the
//! report.

use sinew_core::Pool;
use sinew_policy::tune::Knobs;
use sinew_policy::worklist::{Settings, helpers};
use sinew_sync::lock::Mutex;

use super::Worklist;
use super::error::WorklistError;
use super::run::{self, Outcome, Plan, Rounds, or_resume};
use super::tally::Report;
use super::tuning::{ListTuner, Tuning};
use super::work::Run;

impl<U: Send + Sync> Worklist<U> {
    pub(super) fn execute<R: Run<Unit = U>>(
        &mut self,
        run: &R,
    ) -> Result<Report<R::Local>, WorklistError> {
        sinew_core::run(|worker| self.execute_in(worker, run))
    }

    fn execute_in<R: Run<Unit = U>>(
        &mut self,
        worker: &sinew_core::Worker,
        run: &R,
    ) -> Result<Report<R::Local>, WorklistError> {
        if self.units.is_empty() {
            return Err(WorklistError::Empty);
        }
        self.begin(worker.max_threads(), self.cores(worker))?;
        let units = std::mem::take(&mut self.units);
        let outcome = run::run(worker, run, units, &self.plan(worker.max_threads()));
        self.conclude::<R>(outcome)
    }

    pub(super) fn execute_in_rounds<R: Run<Unit = U>>(
        &mut self,
        pool: &Pool,
        run: &R,
        drive: impl FnOnce(&mut Rounds<'_, U, R::Local>),
    ) -> Result<Report<R::Local>, WorklistError> {
        let (workers, cores) = pool.run(|worker| (worker.max_threads(), self.cores(worker)));
        self.begin(workers, cores)?;
        let units = std::mem::take(&mut self.units);
        let outcome = run::run_in_rounds(pool, run, units, &self.plan(workers), drive);
        self.conclude::<R>(outcome)
    }

    /// The parameters of a run on so many slots.
    fn plan(&self, slots: usize) -> Plan<'_, U> {
        Plan {
            slots,
            order: &self.order,
            settings: &self.settings,
            woken: &self.woken,
            control: self.control.as_ref(),
            list_tuner: self.list_tuner.as_ref(),
            speculative: self.speculative,
        }
    }

    /// Keeps the units that are left, and completes the report.
    fn conclude<R: Run<Unit = U>>(
        &mut self,
        (report, left): Outcome<R>,
    ) -> Result<Report<R::Local>, WorklistError> {
        self.units = left;
        let (mut report, units) = or_resume(report);
        self.list_tuner.iter().for_each(|list_tuner| list_tuner.lock().complete(&mut report));
        match units {
            0 => Ok(report),
            _ => Err(WorklistError::Waiting { units, report: report.without_locals() }),
        }
    }

    /// The number of cores for units when a run begins, by the pool's limit and the control.
    fn cores(&self, worker: &sinew_core::Worker) -> usize {
        let requested = self.requested_threads().unwrap_or(usize::MAX);
        worker.allowed_threads().min(worker.max_threads()).min(requested)
    }

    /// The limit of its control.
    fn requested_threads(&self) -> Option<usize> {
        self.control.as_ref()?.snapshot().threads
    }

    /// Checks the settings, or begins a run of the tuner.
    fn begin(&mut self, workers: usize, cores: usize) -> Result<(), WorklistError> {
        match self.tuning {
            None => self.settings.limit(workers),
            Some(Tuning::Fixed(settings)) => self.check(&settings, workers)?,
            Some(Tuning::Auto) => self.begin_tuning(cores, Knobs::best())?,
            Some(Tuning::AutoWith(knobs)) => self.begin_tuning(cores, knobs)?,
        }
        Ok(())
    }

    fn begin_tuning(&mut self, cores: usize, knobs: Knobs) -> Result<(), WorklistError> {
        if self.list_tuner.is_none() {
            let list_tuner =
                ListTuner::new(cores, knobs, self.speculative).map_err(WorklistError::Knobs)?;
            self.list_tuner = Some(Mutex::new(list_tuner));
        }
        let mut list_tuner = self.list_tuner.as_ref().expect("made above").lock();
        list_tuner.begin(self.units.len(), cores);
        self.settings.set(list_tuner.settings());
        Ok(())
    }

    fn check(&self, settings: &Settings, workers: usize) -> Result<(), WorklistError> {
        let Settings { threads, lifespan, .. } = *settings;
        let requested = self.requested_threads().unwrap_or(usize::MAX);
        match () {
            () if threads == 0 => Err(WorklistError::NoThreads),
            () if threads > workers => Err(WorklistError::TooManyThreads { threads, workers }),
            () if lifespan > 0 && !self.speculative => Err(WorklistError::NotSpeculative),
            () if lifespan > 0 && helpers::helpers(threads.min(requested), workers) == 0 => {
                Err(WorklistError::NoIdleWorkers { threads })
            }
            () => Ok(()),
        }
    }
}
