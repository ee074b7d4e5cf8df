//! The settings of a list, and their changes by the program and the tuner.
//!
//! Workers keep a copy of the settings and compare a version between two batches of units. The
//! worker that finds an epoch complete passes the counts to the tuner. The tuner belongs to the
//! list, and keeps its state from run to run. Its decisions are in `sinew_policy::tune`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sinew_policy::tune::{Autotuner, Counts, Epochs, KnobError, Knobs, Path};
use sinew_policy::worklist::{Pages, Settings, SettingsError};
use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::lock::Mutex;

use super::tally::Report;

/// The maximum number of rows of its path that a tuner keeps, of some MiB.
const ROWS: usize = 10_000;

/// How the settings of a worklist are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Tuning {
    /// These settings, until they are changed.
    Fixed(Settings),
    /// By the autotuner with the best measured results, which maximises throughput.
    Auto,
    /// By the autotuner with these knobs; their default is the published one.
    AutoWith(Knobs),
}

/// A text that is no [`Tuning`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TuningError(SettingsError);

impl fmt::Display for TuningError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, or `auto`, or `published`", self.0)
    }
}

impl std::error::Error for TuningError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl FromStr for Tuning {
    type Err = TuningError;

    /// Reads `auto`, `published` for the published autotuner, or [`Settings`] as they are printed,
    /// which are then fixed.
    ///
    /// ```
    /// use sinew::worklist::{Knobs, Settings, Tuning};
    ///
    /// assert_eq!("auto".parse(), Ok(Tuning::Auto));
    /// assert_eq!("published".parse(), Ok(Tuning::AutoWith(Knobs::default())));
    /// let stealing = Settings::baseline(2).stealing(true);
    /// assert_eq!("2 threads, stealing".parse(), Ok(Tuning::Fixed(stealing)));
    /// let error = "2 threads, steeling".parse::<Tuning>().unwrap_err();
    /// assert!(error.to_string().contains("`steeling`"));
    /// ```
    fn from_str(text: &str) -> Result<Self, TuningError> {
        match text.trim() {
            "auto" => Ok(Self::Auto),
            "published" => Ok(Self::AutoWith(Knobs::default())),
            settings => settings.parse().map(Self::Fixed).map_err(TuningError),
        }
    }
}

/// Changes a worklist's settings while it runs, from any thread.
///
/// The tuner of a tuned list continues to change them.
///
/// ```
/// use sinew::worklist::{Settings, Worklist};
///
/// let mut list: Worklist<u32> = (0..100).collect();
/// let control = list.settings_handle();
/// control.set(Settings::baseline(1).coalescing(true));
/// let report = list.run(|_, _| Ok(()))?;
/// assert_eq!((report.commits, report.coalesced), (100, 50));
/// # Ok::<(), sinew::worklist::WorklistError>(())
/// ```
#[derive(Debug, Clone)]
pub struct SettingsHandle(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    settings: Mutex<Settings>,
    pages: Mutex<Option<Pages>>,
    /// Counts changes.
    version: AtomicU64,
}

impl SettingsHandle {
    pub(super) fn new(settings: Settings) -> Self {
        let (settings, pages, version) =
            (Mutex::new(settings), Mutex::new(None), AtomicU64::new(0));
        Self(Arc::new(Shared { settings, pages, version }))
    }

    /// The settings in force.
    pub fn settings(&self) -> Settings {
        *self.0.settings.lock()
    }

    /// Changes the settings. Each worker follows after its present batch of units, a single one if
    /// it is long. More threads than the pool has workers count as all workers.
    ///
    /// # Panics
    ///
    /// If the settings have 0 threads; those in force do not change.
    #[track_caller]
    pub fn set(&self, settings: Settings) {
        assert!(settings.threads > 0, "a worklist with 0 threads never ends: use at least 1");
        self.put(settings);
    }

    /// [`set`](Self::set) without the check, which a run makes.
    pub(super) fn put(&self, settings: Settings) {
        *self.0.settings.lock() = settings;
        self.raise_version();
    }

    /// The placement of pages, if one was set.
    pub fn pages(&self) -> Option<Pages> {
        *self.0.pages.lock()
    }

    /// Sets the nodes of pages that workers touch first from now on, as
    /// [`Worklist::pages`](super::Worklist::pages) does; workers follow as with [`set`](Self::set).
    /// `None` restores the default rule. Pages that were touched before are not moved.
    ///
    /// ```
    /// use sinew::worklist::{Pages, Worklist};
    ///
    /// let mut list: Worklist<u32> = (0..100).collect();
    /// let control = list.settings_handle();
    /// list.run_plain(|unit, _| if *unit == 50 { control.set_pages(Pages::BindLocal) })?;
    /// assert_eq!(control.pages(), Some(Pages::BindLocal));
    /// # Ok::<(), sinew::worklist::WorklistError>(())
    /// ```
    pub fn set_pages(&self, pages: impl Into<Option<Pages>>) {
        *self.0.pages.lock() = pages.into();
        self.raise_version();
    }

    fn raise_version(&self) {
        // Release: pairs with the load in `version`, though the locks order what has changed
        // anyway.
        self.0.version.fetch_add(1, Ordering::Release);
    }

    /// Limits the number of threads.
    pub(super) fn limit(&self, workers: usize) {
        let mut settings = self.0.settings.lock();
        settings.threads = settings.threads.min(workers);
    }

    #[inline]
    pub(super) fn version(&self) -> u64 {
        self.0.version.load(Ordering::Acquire)
    }
}

/// The tuner of a list, over all its runs.
#[derive(Debug)]
pub(super) struct ListTuner {
    tuner: Autotuner,
    epochs: Epochs,
    path: Path,
    cores: usize,
    /// The totals of the runs before.
    before: Counts,
    began_ns: u64,
    /// The processor time of the tuner in this run.
    pub(super) spent_ns: u64,
}

impl ListTuner {
    /// A tuner for runs on `cores` cores; without helpers if the list is not speculative.
    pub(super) fn new(cores: usize, knobs: Knobs, speculative: bool) -> Result<Self, KnobError> {
        let tuner = Autotuner::new(cores, knobs)?;
        Ok(Self {
            tuner: if speculative { tuner } else { tuner.without_helpers() },
            cores,
            epochs: Epochs::new(1),
            path: Path::new(ROWS),
            before: Counts::default(),
            began_ns: 0,
            spent_ns: 0,
        })
    }

    pub(super) fn settings(&self) -> Settings {
        self.tuner.settings()
    }

    /// Adds the tuner's path and time to a report.
    pub(super) fn complete<L>(&self, report: &mut Report<L>) {
        report.tuning = Duration::from_nanos(self.spent_ns);
        report.path = Some(self.path.clone());
    }

    pub(super) fn is_due(&self, counts: &Counts) -> bool {
        self.epochs.is_due(self.before.commits + counts.commits)
    }

    /// Begins a run of `units` units on `cores` cores.
    pub(super) fn begin(&mut self, units: usize, cores: usize) {
        self.cores = cores;
        self.tuner.begin(units, cores);
        self.epochs.refill(self.tuner.epoch_length(), &self.before);
        self.spent_ns = 0;
    }

    /// Changes the number of cores. Returns whether that changes the settings. The counts since the
    /// last epoch belong to both numbers, and are dropped.
    pub(super) fn set_cores(&mut self, cores: usize, counts: Counts, now_ns: u64) -> bool {
        if cores == self.cores {
            return false;
        }
        let (before, totals) = (self.settings(), self.totals(counts, now_ns));
        self.cores = cores;
        self.tuner.set_cores(cores);
        self.epochs.refill(self.tuner.epoch_length(), &totals);
        self.settings() != before
    }

    /// Starts the clock of a run, after the units were distributed, which is no part of an epoch.
    pub(super) fn start(&mut self, now_ns: u64) {
        self.began_ns = now_ns;
    }

    /// Leaves `ns` nanoseconds out of the time of this run: between two rounds no worker runs.
    pub(super) fn skip(&mut self, ns: u64) {
        self.began_ns += ns;
    }

    /// Ends a run with these totals.
    pub(super) fn end(&mut self, counts: Counts, now_ns: u64) {
        self.before = self.totals(counts, now_ns);
    }

    /// The length of an epoch, in commits of all workers.
    pub(super) fn epoch_length(&self) -> u64 {
        self.epochs.length()
    }

    /// Passes the totals of this run to the tuner. Returns the new settings if an epoch is over and
    /// they change.
    pub(super) fn poll(&mut self, counts: Counts, now_ns: u64) -> Option<Settings> {
        let totals = self.totals(counts, now_ns);
        let epoch = self.epochs.poll(&totals)?;
        let before = self.tuner.settings();
        self.path.push(&self.tuner.epoch(&epoch));
        self.epochs.set_length(self.tuner.epoch_length());
        let after = self.tuner.settings();
        (after != before).then_some(after)
    }

    fn totals(&self, counts: Counts, now_ns: u64) -> Counts {
        let elapsed_ns = now_ns.saturating_sub(self.began_ns);
        self.before.plus(&Counts { elapsed_ns, ..counts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::AssertUnwindSafe;

    /// Catches: a copy of the settings that is never renewed.
    #[test]
    fn a_change_has_a_new_version() {
        let control = SettingsHandle::new(Settings::baseline(2));
        let seen = control.version();
        control.set(Settings::baseline(1));
        assert!(control.version() != seen && control.settings() == Settings::baseline(1));
        let seen = control.version();
        control.set_pages(Pages::Cyclic);
        assert!(control.version() != seen && control.pages() == Some(Pages::Cyclic));
        control.set_pages(None);
        assert_eq!(control.pages(), None);
    }

    /// Catches: a list that never ends, or runs on one thread though none was requested; and
    /// settings that are lost with the refusal.
    #[test]
    fn zero_threads_are_refused() {
        let control = SettingsHandle::new(Settings::baseline(2));
        let payload =
            std::panic::catch_unwind(AssertUnwindSafe(|| control.set(Settings::baseline(0))))
                .unwrap_err();
        let text = payload.downcast_ref::<&str>().unwrap();
        assert!(text.contains("a worklist with 0 threads"), "{text}");
        assert_eq!(control.settings(), Settings::baseline(2));
    }

    /// Catches: a refill that starts the tuner over, takes the time between two runs for a slow
    /// epoch, or counts a run twice.
    #[test]
    fn a_tuner_goes_on_where_it_was_when_the_list_is_filled_again() {
        let mut list_tuner = ListTuner::new(2, Knobs::default(), true).unwrap();
        let counts = |commits| Counts { commits, stalls: commits, ..Counts::default() };
        list_tuner.begin(400, 2);
        list_tuner.start(1_000);
        assert_eq!(list_tuner.epoch_length(), 10);
        assert_eq!(list_tuner.poll(counts(9), 1_500), None);
        assert_eq!(
            list_tuner.poll(counts(10), 2_000),
            None,
            "the first epoch only fills the counters"
        );
        list_tuner.end(counts(10), 2_000);
        list_tuner.begin(400, 2);
        list_tuner.start(900_000);
        let contended = list_tuner.poll(counts(10), 900_500).unwrap();
        assert!(contended.stealing);
        let rows = list_tuner.path.rows();
        assert_eq!(rows.iter().map(|row| row.counts.elapsed_ns).collect::<Vec<_>>(), [1_000, 500]);
    }

    /// Catches: time between two rounds that makes an epoch slow.
    #[test]
    fn time_between_two_rounds_is_left_out() {
        let mut list_tuner = ListTuner::new(2, Knobs::default(), true).unwrap();
        let counts = |commits| Counts { commits, ..Counts::default() };
        list_tuner.begin(400, 2);
        list_tuner.start(1_000);
        list_tuner.poll(counts(10), 2_000);
        list_tuner.skip(50_000);
        list_tuner.poll(counts(20), 52_500);
        let times = list_tuner.path.rows().iter().map(|row| row.counts.elapsed_ns);
        assert_eq!(times.collect::<Vec<_>>(), [1_000, 500]);
    }

    /// Catches: a tuner that continues with the first number of cores, an epoch of two numbers of
    /// cores, and settings that are set though they are the same.
    #[test]
    fn a_tuner_follows_cores_that_come_and_go() {
        for knobs in [Knobs::default(), Knobs::best()] {
            let mut list_tuner = ListTuner::new(4, knobs, true).unwrap();
            let counts = |commits| Counts { commits, ..Counts::default() };
            list_tuner.begin(1_000_000, 4);
            list_tuner.start(0);
            let length = list_tuner.epoch_length();
            assert!(!list_tuner.set_cores(4, counts(length), 1_000));
            assert!(list_tuner.is_due(&counts(length)));
            assert!(list_tuner.set_cores(1, counts(length), 1_000));
            assert!(!list_tuner.is_due(&counts(length)), "the epoch begins anew");
            assert_eq!(list_tuner.settings().threads, 1);
            assert!(list_tuner.set_cores(3, counts(length), 1_000));
            assert_eq!(list_tuner.settings().threads, 3);
        }
    }
}
