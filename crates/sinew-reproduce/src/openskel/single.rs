//! Figures 5.3 to 5.6, and 5.8: each optimisation alone against the baseline, on more and more cores.
//!
//! Swap-retry retries twice, helpers read 1000 words ahead. Half of the cores have workers then, the other half their helpers.

use sinew_policy::worklist::{Settings, helpers, swap};

use super::applications::{Application, blocks, names};
use super::bench::{Bench, Way};
use super::{OTHER_MACHINE, SHUFFLED, THREADS_ARE_FEW, usual_repeat};
use crate::experiment::{About, Block, Case, Caveat, Experiment, Labels, Need};
use crate::failure::Failure;
use crate::paper::openskel::single;
use crate::report::{Cell, Form, Part, Plot, Series, Table};
use crate::results::Results;
use crate::setting::{Scale, Setting};
use crate::statistics::mean;

/// The experiment.
#[derive(Debug)]
pub(crate) struct Single;

static ABOUT: About = About {
    name: "openskel-single",
    title: "each optimisation of the worklist alone: speed-up and aborts",
    source: "Luís Fabrício Wanderley Góes, \"Automatic Skeleton-Driven Performance Optimizations for Transactional Memory\", Figures 5.3 to 5.6 and 5.8",
    caveats: &[
        THREADS_ARE_FEW,
        Caveat {
            unless: Need::Nothing,
            words: "Figure 5.7, the cache misses that helpers save, needs the processor's counters, which are not read: it is left out.",
        },
        SHUFFLED,
        OTHER_MACHINE,
    ],
};

const SERIAL: &str = "serial";
pub(super) const BASELINE: &str = "baseline";
const HELPERS: &str = "helpers";
pub(super) const OPTIMISATIONS: [&str; 4] = ["stealing", "coalescing", "swap retry", HELPERS];

/// An optimisation on so many cores; none if it cannot be used there.
pub(super) fn settings(optimisation: &str, cores: usize) -> Option<Settings> {
    let all = Settings::baseline(cores);
    match optimisation {
        BASELINE => Some(all),
        "stealing" => Some(all.stealing(true)),
        "coalescing" => Some(all.coalescing(true)),
        "swap retry" => Some(all.swap_after(Some(swap::RETRIES))),
        HELPERS => (cores > 1).then(|| Settings::baseline(cores / 2).lifespan(helpers::LIFESPAN)),
        other => unreachable!("{other} is no optimisation"),
    }
}

fn labels(app: &str, optimisation: &str, cores: usize) -> Labels {
    vec![
        ("application", app.to_owned()),
        ("optimisation", optimisation.to_owned()),
        ("cores", cores.to_string()),
    ]
}

fn all() -> impl Iterator<Item = &'static str> {
    [BASELINE].into_iter().chain(OPTIMISATIONS)
}

impl Experiment for Single {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn usual_repeat(&self, scale: Scale) -> usize {
        usual_repeat(scale)
    }

    fn blocks(&self, setting: &Setting) -> Result<Vec<Block>, Failure> {
        let counts = setting.threads.clone();
        Ok(blocks(setting.scale, move |application| cases(application, &counts)))
    }

    fn report(&self, results: &Results, setting: &Setting) -> Vec<Part> {
        let view = View { results, applications: names(setting.scale), counts: &setting.threads };
        let tables = [Part::Table(view.best()), Part::Table(view.times())];
        let plots = view.applications.iter().flat_map(|app| {
            [
                view.plot(app, "speedup", "speed-up over serial", |optimisation, cores| {
                    view.speed_up(app, optimisation, cores)
                }),
                view.plot(app, "aborts", "aborts / attempts", |optimisation, cores| {
                    view.median(app, optimisation, cores, "abort_ratio")
                }),
            ]
        });
        tables.into_iter().chain(plots.filter(|plot| !plot.is_empty()).map(Part::Plot)).collect()
    }
}

fn cases(Application { name, size }: Application, counts: &[usize]) -> Result<Vec<Case>, Failure> {
    let bench = Bench::listed(name, size, None)?;
    let serial = bench.clone();
    let mut cases = vec![Case::new(labels(name, SERIAL, 1), move || serial.serial())];
    for &cores in counts {
        for optimisation in all() {
            let Some(settings) = settings(optimisation, cores) else { continue };
            let (bench, way) = (bench.clone(), Way::settings(settings, cores));
            cases.push(Case::new(labels(name, optimisation, cores), move || bench.run(&way)));
        }
    }
    Ok(cases)
}

/// What the report reads.
struct View<'a> {
    results: &'a Results,
    applications: Vec<String>,
    counts: &'a [usize],
}

impl View<'_> {
    fn median(&self, app: &str, optimisation: &str, cores: usize, metric: &str) -> Option<f64> {
        let cores = cores.to_string();
        self.results
            .median(&[("application", app), ("optimisation", optimisation), ("cores", &cores)], metric)
    }

    fn ratio(&self, app: &str, of: (&str, usize), to: (&str, usize)) -> Option<f64> {
        let (of_cores, to_cores) = (of.1.to_string(), to.1.to_string());
        let of = [("application", app), ("optimisation", of.0), ("cores", of_cores.as_str())];
        let to = [("application", app), ("optimisation", to.0), ("cores", to_cores.as_str())];
        self.results.ratio(&of, &to, "wall_s")
    }

    fn speed_up(&self, app: &str, optimisation: &str, cores: usize) -> Option<f64> {
        self.ratio(app, (SERIAL, 1), (optimisation, cores))
    }

    /// Over the baseline on as many cores, in per cent.
    fn improvement(&self, app: &str, optimisation: &str, cores: usize) -> Option<f64> {
        Some((self.ratio(app, (BASELINE, cores), (optimisation, cores))? - 1.0) * 100.0)
    }

    /// The number of cores on which it is fastest.
    fn fastest(&self, app: &str, optimisation: &str) -> Option<usize> {
        let times = |&cores: &usize| Some((cores, self.median(app, optimisation, cores, "wall_s")?));
        let times = self.counts.iter().filter_map(times);
        times.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(cores, _)| cores)
    }

    /// The fastest against the fastest, in per cent.
    fn best_improvement(&self, app: &str, optimisation: &str) -> Option<f64> {
        let (ours, baseline) = (self.fastest(app, optimisation)?, self.fastest(app, BASELINE)?);
        Some((self.ratio(app, (BASELINE, baseline), (optimisation, ours))? - 1.0) * 100.0)
    }

    fn best(&self) -> Table {
        let titles = ["application", "optimisation", "cores", "over the best baseline, %", "paper"];
        let title = "Each optimisation on its best number of cores, over the baseline on its best";
        let mut table = Table::new("single", title, &titles);
        for app in &self.applications {
            for optimisation in OPTIMISATIONS {
                table.row(vec![
                    app.as_str().into(),
                    optimisation.into(),
                    self.fastest(app, optimisation).into(),
                    self.best_improvement(app, optimisation).into(),
                    single(app, optimisation).into(),
                ]);
            }
        }
        for optimisation in OPTIMISATIONS {
            let each = self.applications.iter().filter_map(|app| self.best_improvement(app, optimisation));
            let average = mean(&each.collect::<Vec<_>>());
            table.row(vec!["average".into(), optimisation.into(), Cell::Gap, average.into(), Cell::Gap]);
        }
        table
    }

    fn times(&self) -> Table {
        let titles = [
            "application",
            "optimisation",
            "cores",
            "seconds",
            "±",
            "speed-up",
            "over the baseline, %",
            "aborts / attempts",
        ];
        let mut table = Table::new("times", "On each number of cores", &titles);
        for app in &self.applications {
            for (optimisation, &cores) in
                all().flat_map(|name| self.counts.iter().map(move |cores| (name, cores)))
            {
                let count = cores.to_string();
                let which = [
                    ("application", app.as_str()),
                    ("optimisation", optimisation),
                    ("cores", count.as_str()),
                ];
                table.row(vec![
                    app.as_str().into(),
                    optimisation.into(),
                    cores.into(),
                    self.results.median(&which, "wall_s").into(),
                    self.results.spread(&which, "wall_s").into(),
                    self.speed_up(app, optimisation, cores).into(),
                    self.improvement(app, optimisation, cores).filter(|_| optimisation != BASELINE).into(),
                    self.results.median(&which, "abort_ratio").into(),
                ]);
            }
        }
        table
    }

    fn plot(&self, app: &str, what: &str, y: &str, value: impl Fn(&str, usize) -> Option<f64>) -> Plot {
        let counts = self.counts.iter().map(usize::to_string).collect();
        let form = if what == "speedup" { Form::Lines } else { Form::Bars };
        let mut plot =
            Plot::new(&format!("{app}-{what}"), format!("{app}: {y}"), form).axes("cores", y).over(counts);
        for optimisation in all() {
            let values = self.counts.iter().map(|&cores| value(optimisation, cores)).collect();
            plot = plot.with(Series::new(optimisation, values));
        }
        plot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would miss: helpers beside as many workers as there are cores, and an optimisation that is not alone.
    #[test]
    fn half_of_the_cores_have_helpers() {
        assert_eq!(settings(HELPERS, 4).unwrap(), Settings::baseline(2).lifespan(1_000));
        assert_eq!(settings(HELPERS, 1), None);
        assert_eq!(settings("swap retry", 4).unwrap(), Settings::baseline(4).swap_after(Some(2)));
    }

    /// Would miss: an improvement over the baseline on other cores where it is not the best, and one turned round.
    #[test]
    fn the_best_is_held_against_the_best() {
        let wall =
            |optimisation, cores, wall_s| (labels("kmeans", optimisation, cores), vec![("wall_s", wall_s)]);
        let results = Results::of([
            wall(BASELINE, 1, 2.0),
            wall(BASELINE, 2, 3.0),
            wall("stealing", 1, 2.5),
            wall("stealing", 2, 1.0),
        ]);
        let setting = Setting { threads: vec![1, 2], ..Setting::new(Scale::Quick, 2) };
        let parts = Single.report(&results, &setting);
        let [Part::Table(best), Part::Table(times), ..] = &parts[..] else { panic!("{parts:?}") };
        assert_eq!(best.shown(&["kmeans", "stealing"])[2..], ["2", "100", "35 %"]);
        assert_eq!(best.shown(&["average", "stealing"])[3], "100");
        assert_eq!(times.shown(&["kmeans", "stealing", "2"])[6], "200");
    }
}
