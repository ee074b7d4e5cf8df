//! Running all versions of an application in turn.

use super::inputs::Input;
use super::suite::Suite;
use serde::Serialize;
use sinew::Pool;
use sinew::worklist::{Settings, Tuning, mapping_for};
use sinew_apps::{Maps, Problem, Record, Recorded, Run};

/// The version to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Version {
    Serial,
    ByHand,
    /// The same once more: what is noise here?
    Again,
    Worklist,
    Tuned,
    /// The suite's own program in C, with transactions of TinySTM.
    Suite,
    /// The same without transactions.
    SuiteSerial,
}

/// The versions that run in a pool.
pub(super) const PARALLEL: [Version; 4] =
    [Version::ByHand, Version::Again, Version::Worklist, Version::Tuned];

impl Version {
    pub(crate) fn name(self) -> &'static str {
        [
            "serial",
            "by hand",
            "by hand again",
            "worklist",
            "tuned",
            "suite, TinySTM",
            "suite, serial",
        ][self as usize]
    }

    /// Whether it has no transactions.
    pub(super) fn is_serial(self) -> bool {
        matches!(self, Self::Serial | Self::SuiteSerial)
    }

    /// Whether it is a program of the suite.
    fn is_of_suite(self) -> bool {
        matches!(self, Self::Suite | Self::SuiteSerial)
    }

    /// The serial version with the same structures and compiler.
    pub(super) fn serial(self) -> Self {
        if self.is_of_suite() { Self::SuiteSerial } else { Self::Serial }
    }
}

/// The times of one run.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Sample {
    pub(crate) wall_s: f64,
    /// Sum over all threads.
    pub(super) processor_s: Option<f64>,
    pub(super) abort_ratio: Option<f64>,
    /// The part of the run until the tuner had settled, and its part of the processor time.
    pub(super) settling_share: Option<f64>,
    pub(super) tuning_share: Option<f64>,
}

/// A version with this number of threads, and its runs' times, round by round.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) version: Version,
    pub(super) threads: usize,
    pub(super) samples: Vec<Sample>,
}

/// All runs of an application.
#[derive(Debug)]
pub(super) struct Rounds {
    pub(super) what: String,
    pub(super) series: Vec<Series>,
    pub(super) wrong: Vec<String>,
}

/// An application, prepared for all versions, and the pools for them.
#[allow(missing_debug_implementations, reason = "a problem has none")]
pub(crate) struct Bench {
    listed: Box<dyn Problem>,
    by_hand: Box<dyn Problem>,
    record: Record,
    pools: Vec<(usize, Pool)>,
}

impl Rounds {
    /// This number of rounds with each of the numbers of threads, beside the programs of `suite` if
    /// it has the application.
    ///
    /// # Errors
    ///
    /// No such size, or no such pool. A wrong result is no error here: it is among the
    /// [`wrong`](Self::wrong).
    pub(super) fn run(
        input: &Input,
        threads: &[usize],
        rounds: usize,
        suite: Option<&Suite>,
    ) -> Result<Self, String> {
        let bench = Bench::prepare(input, threads)?;
        let in_suite = suite.filter(|suite| suite.has(input.app, input.size));
        if suite.is_some() && in_suite.is_none() {
            eprintln!("skipped: the suite has no program for {} {}", input.app, input.size);
        }
        let suite = in_suite;
        let serial = [Version::Serial, Version::SuiteSerial].map(|version| (version, 1));
        let parallel = threads.iter().flat_map(|&threads| {
            PARALLEL.into_iter().chain([Version::Suite]).map(move |version| (version, threads))
        });
        let all = serial.into_iter().chain(parallel);
        let all = all.filter(|(version, _)| suite.is_some() || !version.is_of_suite());
        let series = all
            .map(|(version, threads)| Series { version, threads, samples: Vec::new() })
            .collect();
        let maps = match input.maps {
            maps if maps == Maps::default() => String::new(),
            maps => format!(", {maps} maps"),
        };
        let what = bench.listed.size() + &maps;
        let mut all = Self { what, series, wrong: Vec::new() };
        let mut rng = fastrand::Rng::with_seed(1);
        for round in 0..rounds {
            eprintln!("{}: round {} of {rounds}", input.app, round + 1);
            let mut order: Vec<usize> = (0..all.series.len()).collect();
            rng.shuffle(&mut order);
            for at in order {
                let Series { version, threads, .. } = all.series[at];
                let sample = match suite.filter(|_| version.is_of_suite()) {
                    Some(suite) => {
                        suite.run(version, input.app, input.size, threads).map(Sample::wall)
                    }
                    None => bench.measure(version, threads),
                };
                all.add(at, input.app, sample);
            }
        }
        Ok(all)
    }

    fn add(&mut self, at: usize, app: &str, sample: Result<Sample, String>) {
        let Series { version, threads, samples } = &mut self.series[at];
        match sample {
            Ok(sample) => samples.push(sample),
            Err(why) => {
                let name = version.name();
                self.wrong.push(format!("{app}, {name}, {threads} threads: wrong answer: {why}"));
            }
        }
    }
}

impl Bench {
    pub(crate) fn prepare(input: &Input, threads: &[usize]) -> Result<Self, String> {
        let app = sinew_apps::find(input.app).ok_or("no such application")?;
        let options = sinew_apps::Options {
            size: input.size.parse().unwrap_or_default(),
            maps: input.maps,
            ..sinew_apps::Options::default()
        };
        let by_hand = sinew_apps::Options { by_hand: true, ..options.clone() };
        let prepare = |options| app.prepare(options).map_err(|error| error.to_string());
        Ok(Self {
            listed: prepare(&options)?,
            by_hand: prepare(&by_hand)?,
            record: options.record,
            pools: threads
                .iter()
                .map(|&threads| Ok((threads, pool(threads)?)))
                .collect::<Result<_, String>>()?,
        })
    }

    /// Runs a version once, and checks its result.
    fn measure(&self, version: Version, threads: usize) -> Result<Sample, String> {
        let pool = self.pools.iter().find(|(other, _)| *other == threads).map(|(_, pool)| pool);
        self.measure_on(version, pool, threads)
    }

    /// The same on this pool.
    pub(crate) fn measure_on(
        &self,
        version: Version,
        pool: Option<&Pool>,
        threads: usize,
    ) -> Result<Sample, String> {
        let settings = Settings::baseline(threads).stealing(true);
        self.record.retune(match version {
            Version::Worklist => Some(Tuning::Fixed(settings)),
            Version::Tuned => Some(Tuning::Auto),
            _ => None,
        });
        self.record.take();
        let problem = match version {
            Version::ByHand | Version::Again => &self.by_hand,
            _ => &self.listed,
        };
        let run = match pool {
            Some(pool) if version != Version::Serial => problem.parallel(pool),
            _ => problem.serial(),
        };
        problem.check(&run.answer).map_err(|wrong| wrong.to_string())?;
        Ok(Sample::of(&run, &self.record.take(), threads))
    }
}

/// All threads pinned, as the worklist's mapping has them.
pub(crate) fn pool(threads: usize) -> Result<Pool, String> {
    let mapping = mapping_for(sinew_topology::Machine::host());
    let builder = Pool::builder().threads(threads).mapping(mapping).external_slot(false);
    builder.build().map_err(|error| error.to_string())
}

impl Sample {
    /// A run of which only the time is known.
    fn wall(wall_s: f64) -> Self {
        let (processor_s, abort_ratio, settling_share, tuning_share) = (None, None, None, None);
        Self { wall_s, processor_s, abort_ratio, settling_share, tuning_share }
    }

    fn of(run: &Run, recorded: &Recorded, threads: usize) -> Self {
        let cost = recorded.tuning_cost(threads);
        Self {
            wall_s: run.wall.as_secs_f64(),
            processor_s: run.processor.map(|processor| processor.as_secs_f64()),
            abort_ratio: Some(run.transactions.abort_ratio()),
            settling_share: cost.and_then(|cost| cost.settling),
            tuning_share: cost.map(|cost| cost.processor),
        }
    }
}
