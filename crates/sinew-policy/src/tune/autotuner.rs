//! One type for both tuners: the published one (`tuner`) and the one by throughput (`climber`).
//!
//! # Tests
//!
//! Both methods through the same calls.

use super::climber::Climber;
use super::{Counts, KnobError, Knobs, Method, State, Step, Tuner, epochs};
use crate::worklist::Settings;

/// A tuner of the transactional worklist, by either [`Method`].
///
/// ```
/// use sinew_policy::tune::{Autotuner, Counts, Knobs, Method};
///
/// // Commits rarely abort, but two threads are slower than one.
/// let crowded = |threads: usize| {
///     let commits = 100 / threads as u64;
///     Counts { commits, elapsed_ns: 1_000, ..Counts::default() }
/// };
/// let tuned = |method| {
///     let mut tuner = Autotuner::new(2, Knobs { method, ..Knobs::default() })?;
///     for _ in 0..100 {
///         tuner.epoch(&crowded(tuner.settings().threads));
///     }
///     Ok::<_, sinew_policy::tune::KnobError>(tuner.settings().threads)
/// };
/// assert_eq!((tuned(Method::Published)?, tuned(Method::Throughput)?), (2, 1));
/// # Ok::<(), sinew_policy::tune::KnobError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Autotuner(Machine);

#[derive(Debug, Clone, PartialEq)]
enum Machine {
    /// With the commits of its epochs.
    Published(Tuner, u64),
    Throughput(Climber),
}

impl Autotuner {
    /// A tuner for runs on `cores` cores (0 counts as 1); it begins with all of them. Call
    /// [`begin`](Self::begin) for each run.
    ///
    /// # Errors
    ///
    /// [`KnobError`], as in [`Knobs::check`].
    pub fn new(cores: usize, knobs: Knobs) -> Result<Self, KnobError> {
        Ok(Self(match knobs.method {
            Method::Published => Machine::Published(Tuner::new(cores, knobs)?, u64::MAX),
            Method::Throughput => Machine::Throughput(Climber::new(cores.max(1), knobs.check()?)),
        }))
    }

    /// This tuner for a list without helpers: it neither tries them nor turns them on.
    #[must_use]
    pub fn without_helpers(self) -> Self {
        Self(match self.0 {
            Machine::Published(tuner, length) => {
                Machine::Published(tuner.without_helpers(), length)
            }
            Machine::Throughput(tuner) => Machine::Throughput(tuner.without_helpers()),
        })
    }

    /// Starts a run over `units` initial units on `cores` cores (0 counts as 1). Keeps the results
    /// of earlier runs.
    pub fn begin(&mut self, units: usize, cores: usize) {
        self.set_cores(cores);
        match &mut self.0 {
            Machine::Published(_, length) => *length = epochs::length(units, cores),
            Machine::Throughput(tuner) => tuner.begin(units, cores.max(1)),
        }
    }

    /// The commits of the current epoch; `u64::MAX` if tuning would gain nothing, and before the
    /// first run.
    pub fn epoch_length(&self) -> u64 {
        match &self.0 {
            Machine::Published(_, length) => *length,
            Machine::Throughput(tuner) => tuner.epoch_length(),
        }
    }

    /// The setting that is tuned in the current epoch.
    pub fn state(&self) -> State {
        match &self.0 {
            Machine::Published(tuner, _) => tuner.state(),
            Machine::Throughput(tuner) => tuner.state(),
        }
    }

    /// The settings for the current epoch.
    pub fn settings(&self) -> Settings {
        match &self.0 {
            Machine::Published(tuner, _) => tuner.settings(),
            Machine::Throughput(tuner) => tuner.settings(),
        }
    }

    /// Whether all settings but swap-retry are decided.
    pub fn is_settled(&self) -> bool {
        self.state() == State::SwapRetry
    }

    /// Ends an epoch: decides by its counts, and returns its record. Then
    /// [`settings`](Self::settings) are those for the next.
    pub fn epoch(&mut self, counts: &Counts) -> Step {
        match &mut self.0 {
            Machine::Published(tuner, _) => tuner.epoch(counts),
            Machine::Throughput(tuner) => tuner.epoch(counts),
        }
    }

    /// Sets the number of cores (0 counts as 1), for example after other programs came or went. The
    /// threads are never more. With enough cores again, they return to the best number found.
    pub fn set_cores(&mut self, cores: usize) {
        match &mut self.0 {
            Machine::Published(tuner, _) => tuner.set_cores(cores),
            Machine::Throughput(tuner) => tuner.set_cores(cores.max(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a tuner of the other method, knobs that are not checked, and 0 cores that count as
    /// an impossible machine.
    #[test]
    fn a_tuner_is_of_the_requested_method() {
        for (method, stealing) in [(Method::Published, false), (Method::Throughput, true)] {
            let knobs = Knobs { method, ..Knobs::default() };
            let mut tuner = Autotuner::new(0, knobs).unwrap();
            assert_eq!(tuner.settings(), Settings::baseline(1).stealing(stealing));
            tuner.set_cores(0);
            assert_eq!(
                (tuner.settings().threads, tuner.state(), tuner.is_settled()),
                (1, State::Start, false)
            );
            assert!(Autotuner::new(1, Knobs { alpha: -1.0, ..knobs }).is_err());
        }
    }

    /// Catches: epochs for helpers, and a path with helpers, on a list without them.
    #[test]
    fn no_epoch_is_for_helpers_where_there_are_none() {
        for method in [Method::Published, Method::Throughput] {
            let has_helpers = |tuner: Autotuner| {
                let mut tuner = tuner;
                // Threads that obstruct each other, until one is left.
                let crowded = |threads: usize| Counts {
                    commits: 100 / threads as u64,
                    aborts: if threads > 1 { 100 } else { 0 },
                    elapsed_ns: 1_000,
                    ..Counts::default()
                };
                let counts =
                    std::iter::repeat_with(|| tuner.epoch(&crowded(tuner.settings().threads)));
                counts
                    .take(200)
                    .any(|step| step.state == State::Helpers || step.settings.lifespan > 0)
            };
            let tuner = Autotuner::new(2, Knobs { method, ..Knobs::default() }).unwrap();
            assert!(has_helpers(tuner.clone()));
            assert!(!has_helpers(tuner.without_helpers()));
        }
    }

    /// Catches: a length of the other method, or of another run, and epochs before the first list.
    #[test]
    fn epochs_are_as_long_as_the_method_has_them() {
        for (method, lengths) in
            [(Method::Published, [500, 1]), (Method::Throughput, [500, u64::MAX])]
        {
            let mut tuner = Autotuner::new(2, Knobs { method, ..Knobs::default() }).unwrap();
            assert_eq!(tuner.epoch_length(), u64::MAX);
            for (units, length) in [1_000_000, 9].into_iter().zip(lengths) {
                tuner.begin(units, 2);
                assert_eq!(tuner.epoch_length(), length);
            }
        }
    }
}
