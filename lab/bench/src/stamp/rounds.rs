//! Running all versions of an application in turn.

use super::inputs::Input;
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
}

/// The versions that run in a pool.
pub(super) const PARALLEL: [Version; 4] =
    [Version::ByHand, Version::Again, Version::Worklist, Version::Tuned];

impl Version {
    pub(crate) fn name(self) -> &'static str {
        ["serial", "by hand", "by hand again", "worklist", "tuned"][self as usize]
    }
}

/// The times of one run.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Sample {
    pub(crate) wall_s: f64,
    /// Sum over all threads.
    pub(super) processor_s: Option<f64>,
    pub(super) abort_ratio: f64,
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
    app: &'static str,
    listed: Box<dyn Problem>,
    by_hand: Box<dyn Problem>,
    record: Record,
    pools: Vec<(usize, Pool)>,
}

impl Rounds {
    /// This number of rounds with each of the numbers of threads.
    ///
    /// # Errors
    ///
    /// No such size, or no such pool. A wrong result is no error here: it is among the
    /// [`wrong`](Self::wrong).
    pub(super) fn run(input: &Input, threads: &[usize], rounds: usize) -> Result<Self, String> {
        let bench = Bench::prepare(input, threads)?;
        let parallel =
            threads.iter().flat_map(|&threads| PARALLEL.map(|version| (version, threads)));
        let all = [(Version::Serial, 1)].into_iter().chain(parallel);
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
            order.into_iter().for_each(|at| all.measure(&bench, at));
        }
        Ok(all)
    }

    fn measure(&mut self, bench: &Bench, at: usize) {
        let Series { version, threads, samples } = &mut self.series[at];
        match bench.measure(*version, *threads) {
            Ok(sample) => samples.push(sample),
            Err(why) => {
                let wrong = format!(
                    "{}, {}, {threads} threads: wrong answer: {why}",
                    bench.app,
                    version.name()
                );
                self.wrong.push(wrong);
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
            app: input.app,
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
    fn of(run: &Run, recorded: &Recorded, threads: usize) -> Self {
        let cost = recorded.tuning_cost(threads);
        Self {
            wall_s: run.wall.as_secs_f64(),
            processor_s: run.processor.map(|processor| processor.as_secs_f64()),
            abort_ratio: run.transactions.abort_ratio(),
            settling_share: cost.and_then(|cost| cost.settling),
            tuning_share: cost.map(|cost| cost.processor),
        }
    }
}
