//! Figures 5.3 to 5.8: each optimisation alone against the baseline, on more and more cores; the
//! cache misses of helpers where the processor's counters can be read.
//!
//! Swap-retry retries twice, helpers read 1000 words ahead. Half of the cores have workers then,
//! the other half their helpers.

use sinew_policy::worklist::{Settings, helpers, swap};

use super::applications::{Application, blocks};
use super::bench::{Bench, Way};
use super::comparison::Comparison;
use super::{OTHER_MACHINE, THREADS_ARE_FEW};
use crate::experiment::{About, Case, Experiment};
use crate::failure::Failure;
use crate::paper::openskel::single;
use crate::report::{Part, Table, cell};
use crate::results::{Labels, Results};
use crate::setting::Setting;
use crate::statistics::mean;

const ABOUT: About = About {
    name: "openskel-single",
    title: "each optimisation of the worklist alone: speed-up and aborts",
    publication: super::PUBLICATION,
    place: "Figures 5.3 to 5.8",
    caveats: &[THREADS_ARE_FEW, OTHER_MACHINE],
    repeat: super::REPEAT,
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks(cases), report)
}

const SERIAL: &str = "serial";
pub(super) const BASELINE: &str = "baseline";
pub(super) const HELPERS: &str = "helpers";
pub(super) const OPTIMISATIONS: [&str; 4] = ["stealing", "coalescing", "swap retry", HELPERS];

/// An optimisation with this number of cores; `None` if it does not apply there.
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

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let comparison = Comparison::new(results, setting, ["optimisation", "cores"], BASELINE);
    let mut parts = vec![Part::Table(best(&comparison)), Part::Table(times(&comparison))];
    let metrics = [("aborts", "transaction abort ratio", "abort_ratio")];
    parts.extend(comparison.plots(SERIAL, &all().collect::<Vec<_>>(), &metrics));
    parts.extend(comparison.miss_ratios(&[BASELINE, HELPERS]));
    parts
}

fn cases(Application { name, size }: Application, setting: &Setting) -> Result<Vec<Case>, Failure> {
    let bench = Bench::listed(name, size, None, setting.worklists)?;
    let serial = bench.clone();
    let mut cases = vec![Case::new(labels(name, SERIAL, 1), move || serial.serial())];
    for &cores in &setting.threads {
        for optimisation in all() {
            let Some(settings) = settings(optimisation, cores) else { continue };
            let (bench, way) = (bench.clone(), Way::settings(settings, cores));
            cases.push(Case::new(labels(name, optimisation, cores), move || bench.run(&way)));
        }
    }
    Ok(cases)
}

/// The fastest against the fastest, in per cent.
fn best_improvement(comparison: &Comparison<'_>, app: &str, optimisation: &str) -> Option<f64> {
    let fastest = |version| Some((version, comparison.fastest(app, version)?));
    comparison.improvement_over(app, fastest(BASELINE)?, fastest(optimisation)?)
}

fn best(comparison: &Comparison<'_>) -> Table {
    let title = "Each optimisation on its best number of cores, over the baseline on its best";
    let mut table = Table::new("single", title);
    let mut row = |app: &str, optimisation, over: Option<f64>| {
        table.row([
            cell("application", app),
            cell("optimisation", optimisation),
            cell("cores", comparison.fastest(app, optimisation)),
            cell("over the best baseline, %", over),
            cell("paper", single(app, optimisation)),
        ]);
    };
    for app in &comparison.applications {
        for optimisation in OPTIMISATIONS {
            row(app, optimisation, best_improvement(comparison, app, optimisation));
        }
    }
    for optimisation in OPTIMISATIONS {
        let each = comparison
            .applications
            .iter()
            .filter_map(|app| best_improvement(comparison, app, optimisation));
        row("average", optimisation, mean(&each.collect::<Vec<_>>()));
    }
    table
}

fn times(comparison: &Comparison<'_>) -> Table {
    let mut table = Table::new("times", "On each number of cores");
    for app in &comparison.applications {
        for version in
            all().flat_map(|name| comparison.counts.iter().map(move |&cores| (name, cores)))
        {
            let (optimisation, cores) = version;
            table.row([
                cell("application", app),
                cell("optimisation", optimisation),
                cell("cores", cores),
                cell("seconds", comparison.median(app, version, "wall_s")),
                cell("±", comparison.spread(app, version, "wall_s")),
                cell("speed-up", comparison.speed_up(app, (SERIAL, 1), version)),
                cell(
                    "over the baseline, %",
                    comparison.improvement(app, version).filter(|_| optimisation != BASELINE),
                ),
                cell("aborts / attempts", comparison.median(app, version, "abort_ratio")),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Scale;

    /// Catches: helpers beside as many workers as there are cores, and an optimisation that is
    /// not alone.
    #[test]
    fn half_of_the_cores_have_helpers() {
        assert_eq!(settings(HELPERS, 4).unwrap(), Settings::baseline(2).lifespan(1_000));
        assert_eq!(settings(HELPERS, 1), None);
        assert_eq!(settings("swap retry", 4).unwrap(), Settings::baseline(4).swap_after(Some(2)));
    }

    /// Catches: misses that are shown as a count, of other versions than the figure's, or left out
    /// in silence where there are no counters.
    #[test]
    fn cache_misses_are_shown_or_said_to_be_unavailable() {
        let run = |optimisation, misses: Option<f64>| {
            let counts = misses.map(|misses| [("cache_accesses", 200.0), ("cache_misses", misses)]);
            let wall = [("wall_s", 1.0)];
            let metrics = wall.into_iter().chain(counts.into_iter().flatten()).collect();
            (labels("kmeans", optimisation, 2), metrics)
        };
        let setting = Setting { threads: vec![1, 2], ..Setting::new(Scale::Quick, 2) };
        let last = |misses: [Option<f64>; 2]| {
            let [baseline, helped] = misses;
            let results = Results::of([run(BASELINE, baseline), run(HELPERS, helped)]);
            experiment().report(&results, &setting).pop().unwrap()
        };
        let Part::Plot(plot) = last([Some(50.0), Some(10.0)]) else { panic!("no plot") };
        let values: Vec<_> = plot.series.iter().map(|series| series.values[1]).collect();
        assert_eq!(values, [Some(0.25), Some(0.05)]);
        let Part::Words(words) = last([None, None]) else { panic!("no words") };
        assert!(words.starts_with("Cache misses: not available."), "{words}");
    }

    /// Catches: an improvement over the baseline on other cores where it is not the best, and
    /// one turned round.
    #[test]
    fn the_best_is_compared_with_the_best() {
        let wall = |optimisation, cores, wall_s| {
            (labels("kmeans", optimisation, cores), vec![("wall_s", wall_s)])
        };
        let results = Results::of([
            wall(BASELINE, 1, 2.0),
            wall(BASELINE, 2, 3.0),
            wall("stealing", 1, 2.5),
            wall("stealing", 2, 1.0),
        ]);
        let setting = Setting { threads: vec![1, 2], ..Setting::new(Scale::Quick, 2) };
        let parts = experiment().report(&results, &setting);
        let [Part::Table(best), Part::Table(times), ..] = &parts[..] else { panic!("{parts:?}") };
        assert_eq!(best.shown(&["kmeans", "stealing"])[2..], ["2", "100", "35 %"]);
        assert_eq!(best.shown(&["average", "stealing"])[3], "100");
        assert_eq!(times.shown(&["kmeans", "stealing", "2"])[6], "200");
    }
}
