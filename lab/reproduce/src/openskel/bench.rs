//! An application with a worklist, prepared once and run in many ways.
//!
//! The baseline is as in the publication: one list, threads spread over the machine and pinned,
//! pages where they are touched first.

use std::path::PathBuf;

use sinew::stm::Locking;
use sinew::worklist::{Knobs, Tuning, mapping_for};
use sinew::{Mapping as PoolMapping, Pool};
use sinew_apps::{Options, Record, Recorded};
use sinew_policy::worklist::helpers::helpers;
use sinew_policy::worklist::{Choice, Mapping, Pages, Settings};
use sinew_topology::{CacheCounters, CacheCounts, Machine};

use super::ended;
use crate::common::Subject;
use crate::common::place::mapping as requested;
use crate::failure::Failure;
use crate::results::Metrics;
use crate::worklists::Worklists;

/// The way an application is run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Way {
    /// With settings that stay, in a pool that has the workers and helpers for them and no others.
    Fixed { choice: Choice, cores: usize },
    /// The same at the baseline's places, which the user may choose.
    Plain { settings: Settings, cores: usize },
    /// The tuner, with this many cores.
    Tuned { knobs: Knobs, cores: usize },
    /// The hand-written version, with this many workers.
    ByHand(usize),
    /// The baseline, with this many workers that the system places.
    Floating(usize),
}

/// The baseline's mapping and pages with these settings.
pub(crate) fn plain(settings: Settings) -> Choice {
    Choice { settings, mapping: Mapping::Scatter, pages: Pages::FirstTouch }
}

impl Way {
    /// Settings at the baseline's places.
    pub(crate) fn settings(settings: Settings, cores: usize) -> Self {
        Self::Plain { settings, cores }
    }

    /// The number of workers, and their mapping. Only a mapping that the case is about stays when
    /// the user requests another one.
    fn placed(&self) -> (usize, PoolMapping) {
        let needed = |settings: Settings, cores| {
            settings.threads
                + if settings.lifespan > 0 { helpers(settings.threads, cores) } else { 0 }
        };
        match *self {
            Self::Fixed { choice: Choice { settings, mapping, .. }, cores } => {
                let mapping = match mapping {
                    Mapping::Scatter => PoolMapping::Scatter,
                    Mapping::Compact => PoolMapping::Compact,
                };
                (needed(settings, cores), mapping)
            }
            Self::Plain { settings, cores } => {
                (needed(settings, cores), requested(PoolMapping::Scatter))
            }
            Self::Tuned { cores, .. } => (cores, requested(mapping_for(Machine::host()))),
            Self::ByHand(workers) => (workers, requested(PoolMapping::Scatter)),
            Self::Floating(workers) => (workers, PoolMapping::None),
        }
    }

    fn pool(&self) -> Result<Pool, Failure> {
        let (workers, mapping) = self.placed();
        // An external thread is never pinned, so every slot has a thread of its own.
        let builder = Pool::builder().threads(workers).mapping(mapping).external_slot(false);
        builder.build().map_err(Failure::impossible)
    }

    fn tuning(&self) -> Option<Tuning> {
        match *self {
            Self::Fixed { choice: Choice { settings, .. }, .. } | Self::Plain { settings, .. } => {
                Some(Tuning::Fixed(settings))
            }
            Self::Tuned { knobs, .. } => Some(Tuning::AutoWith(knobs)),
            Self::Floating(workers) => Some(Tuning::Fixed(Settings::baseline(workers))),
            Self::ByHand(_) => None,
        }
    }

    fn pages(&self) -> Option<Pages> {
        match *self {
            Self::Fixed { choice, .. } => Some(choice.pages),
            Self::Plain { .. } | Self::Floating(_) => Some(Pages::FirstTouch),
            Self::Tuned { .. } | Self::ByHand(_) => None,
        }
    }
}

/// The cost of tuning as shares of the time of all lists, if any list was tuned.
pub(crate) fn tuning_cost(
    recorded: &Recorded,
    cores: usize,
) -> impl Iterator<Item = (&'static str, f64)> {
    recorded.tuning_cost(cores).into_iter().flat_map(|cost| {
        let settling = cost.settling.map(|share| ("settling_share", share));
        settling.into_iter().chain([("tuning_share", cost.processor)])
    })
}

/// The options of an application of this size.
fn options(size: &str, worklists: Worklists) -> Options {
    let Worklists { contention, shuffled, .. } = worklists;
    let size = size.parse().unwrap_or_default();
    Options { size, contention: Some(contention), shuffled, ..Options::default() }
}

/// An application and its input. Clones share both.
#[derive(Clone)]
pub(crate) struct Bench {
    subject: Subject,
    record: Record,
}

impl Bench {
    /// Makes the input of the version with a worklist.
    ///
    /// # Errors
    ///
    /// If there is no such application, size or file.
    pub(crate) fn listed(
        app: &str,
        size: &str,
        path: Option<PathBuf>,
        worklists: Worklists,
    ) -> Result<Self, Failure> {
        Self::prepare(app, &Options { path, ..options(size, worklists) })
    }

    /// Makes the input of the version that is written by hand.
    ///
    /// # Errors
    ///
    /// As [`listed`](Self::listed).
    pub(crate) fn by_hand(app: &str, size: &str, worklists: Worklists) -> Result<Self, Failure> {
        Self::prepare(app, &Options { by_hand: true, ..options(size, worklists) })
    }

    fn prepare(app: &str, options: &Options) -> Result<Self, Failure> {
        Ok(Self { record: options.record.clone(), subject: Subject::prepare_as(app, options)? })
    }

    /// Runs the serial version.
    ///
    /// # Errors
    ///
    /// If the result is wrong.
    pub(crate) fn serial(&self) -> Result<Metrics, Failure> {
        Ok(vec![("wall_s", self.subject.serial()?.wall_s)])
    }

    /// Runs the parallel version.
    ///
    /// # Errors
    ///
    /// An impossible pool, or a wrong result.
    pub(crate) fn run(&self, way: &Way) -> Result<Metrics, Failure> {
        Ok(self.run_recorded(way)?.0)
    }

    /// As [`run_recorded`](Self::run_recorded), with a sample of the pages every `attempts`
    /// attempts of each worker.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub(crate) fn run_sampled(
        &self,
        way: &Way,
        attempts: u64,
    ) -> Result<(Metrics, Recorded), Failure> {
        self.record.sample(Some(attempts));
        let measured = self.run_recorded(way);
        self.record.sample(None);
        measured
    }

    /// As [`run`](Self::run), with transactions of this locking.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub(crate) fn run_locking(&self, way: &Way, locking: Locking) -> Result<Metrics, Failure> {
        self.record.lock(Some(locking));
        let measured = self.run(way);
        self.record.lock(None);
        measured
    }

    /// As [`run`](Self::run), with the records of the worklists.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub(crate) fn run_recorded(&self, way: &Way) -> Result<(Metrics, Recorded), Failure> {
        // Opened first: they count for the threads that are started from now on.
        let counters = CacheCounters::open().ok();
        let pool = way.pool()?;
        self.record.retune(way.tuning());
        self.record.place(way.pages());
        self.record.take();
        let before = counters.as_ref().and_then(CacheCounters::counts);
        let measured = self.subject.parallel(&pool)?;
        let after = counters.as_ref().and_then(CacheCounters::counts);
        let (recorded, transactions) = (self.record.take(), measured.transactions);
        let mut metrics = vec![
            ("wall_s", measured.wall_s),
            ("transactions", transactions.attempts() as f64),
            ("abort_ratio", transactions.abort_ratio()),
        ];
        metrics.extend(before.zip(after).into_iter().flat_map(|(before, after)| {
            let CacheCounts { accesses, misses } = after.since(&before);
            [("cache_accesses", accesses as f64), ("cache_misses", misses as f64)]
        }));
        if recorded.runs > 0 {
            metrics.extend([
                ("stalls", recorded.stalls as f64),
                ("steals", recorded.steals as f64),
                ("swaps", recorded.swaps as f64),
                ("coalesced", recorded.coalesced as f64),
                ("words_ahead", recorded.words_ahead as f64),
            ]);
            metrics.extend(tuning_cost(&recorded, way.placed().0));
            metrics.extend(recorded.settings.map(ended::metrics).into_iter().flatten());
        }
        Ok((metrics, recorded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::place::requesting;

    /// Catches: helpers without a worker of the pool, or a pool with workers that the settings
    /// do not use.
    #[test]
    fn a_pool_has_the_workers_that_its_settings_use() {
        let placed = |settings| Way::settings(settings, 4).placed().0;
        assert_eq!(placed(Settings::baseline(2)), 2);
        assert_eq!(placed(Settings::baseline(2).lifespan(10)), 4);
        assert_eq!(placed(Settings::baseline(3).lifespan(10)), 4);
        assert_eq!(placed(Settings::baseline(1).lifespan(10)), 2);
        assert_eq!(Way::Floating(3).placed(), (3, PoolMapping::None));
        assert_eq!(Way::Tuned { knobs: Knobs::default(), cores: 4 }.placed().0, 4);
    }

    /// Catches: a request that is ignored, and one that replaces the mapping which a case is about.
    #[test]
    fn a_requested_mapping_is_that_of_all_cases_but_those_about_mappings() {
        let scatter = plain(Settings::baseline(1));
        let compact = Choice { mapping: Mapping::Compact, ..scatter };
        let of = |way: Way| way.placed().1;
        let settings = || of(Way::settings(Settings::baseline(1), 1));
        assert_eq!(settings(), PoolMapping::Scatter);
        requesting(Some(&PoolMapping::Explicit(vec![0])), || {
            let (tuned, by_hand) =
                (of(Way::Tuned { knobs: Knobs::default(), cores: 1 }), of(Way::ByHand(1)));
            let all = [settings(), tuned, by_hand];
            assert!(
                all.iter().all(|mapping| *mapping == PoolMapping::Explicit(vec![0])),
                "{all:?}"
            );
            let fixed = [scatter, compact].map(|choice| of(Way::Fixed { choice, cores: 1 }));
            assert_eq!(fixed, [PoolMapping::Scatter, PoolMapping::Compact]);
            assert_eq!(of(Way::Floating(1)), PoolMapping::None);
        });
    }

    /// Catches: settings that do not reach the list, and a version by hand that has one.
    #[test]
    fn a_way_reaches_the_worklist() {
        let published = Worklists::default();
        let bench = Bench::listed("kmeans", "tiny", None, published).unwrap();
        let settings = Settings::baseline(2).stealing(true).coalescing(true);
        let (metrics, recorded) = bench.run_recorded(&Way::settings(settings, 2)).unwrap();
        assert_eq!(recorded.settings, Some(settings));
        assert!(recorded.coalesced > 0 && metrics.iter().any(|(name, _)| *name == "stalls"));
        let tuned = bench.run_recorded(&Way::Tuned { knobs: Knobs::default(), cores: 2 }).unwrap();
        assert!(tuned.1.path.is_some());
        let by_hand = Bench::by_hand("kmeans", "tiny", published)
            .unwrap()
            .run_recorded(&Way::ByHand(2))
            .unwrap();
        assert_eq!(by_hand.1.runs, 0);
        assert!(by_hand.0.iter().any(|&(name, value)| name == "transactions" && value > 0.0));
    }

    /// Catches: a share of something else than the run, or of one core's time.
    #[test]
    fn what_tuning_took_is_a_part_of_the_run() {
        use sinew_policy::tune::{Counts, Path, Tuner};
        let (mut tuner, mut path) = (Tuner::new(2, Knobs::default()).unwrap(), Path::new(100));
        (0..40).for_each(|_| {
            path.push(&tuner.epoch(&Counts {
                commits: 10,
                aborts: 0,
                stalls: 9,
                elapsed_ns: 1_000,
            }));
        });
        let epochs = path.settling().unwrap().epochs as f64;
        let mut recorded = Recorded::default();
        assert_eq!(tuning_cost(&recorded, 2).count(), 0);
        recorded.elapsed = std::time::Duration::from_micros(80);
        recorded.tuning = std::time::Duration::from_micros(8);
        recorded.path = Some(path);
        let cost: Vec<(&str, f64)> = tuning_cost(&recorded, 2).collect();
        for ((name, value), (wanted, share)) in
            cost.iter().zip([("settling_share", epochs / 80.0), ("tuning_share", 0.05)])
        {
            assert!(*name == wanted && (value - share).abs() < 1e-12, "{name}: {value}");
        }
    }
}
