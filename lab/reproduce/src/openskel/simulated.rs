//! Figures of chapters 4 to 7 and Table 4.2 on UMA16, NUMA16 and NUMA32, simulated: worklists with
//! one list, with single optimisations, with the nearest cores, and with the tuner, on more and
//! more cores.
//!
//! Units take as long as on one worker of this machine, by the shortest of some runs. The number of
//! variables that they share is the one under which the simulator has as many aborts on two workers
//! as two workers have here, in the median run. For other programs on the machine make single runs
//! longer, and change their aborts.
//!
//! | of the publication | here |
//! |---|---|
//! | 4.2, 4.3, Table 4.2 | the baseline; the original's transactions are not in the model |
//! | 5.3, 5.4, 5.5, 5.8 | stealing, coalescing, swap retry, and all of these beside each other |
//! | 6.5 | the tuner; of the oracle's combinations only single ones and stealing with swap retry |
//! | 6.6, 6.7 | the tuner with all pairs of thresholds, and its path, on all cores of UMA16 |
//! | 7.4 | compact against scatter, by the distances between workers alone |

use std::rc::Rc;

use sinew_policy::worklist::{Settings, swap};
use sinew_sim::worklist::{Mix, Tuning, Worklist, WorklistReport};
use sinew_sim::{Costs, Duration};
use sinew_topology::{Machine, Mapping, PuId, place};

use super::applications::{Application, applications, blocks};
use super::bench::{Bench, Way};
use super::path;
use super::single::{BASELINE, settings};
use super::thresholds::{BEST, knobs, show, tenths};
use crate::common::machines::{Machines, Names, case, labels};
use crate::experiment::{About, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::openskel::{TABLE_4_2, single};
use crate::report::{Part, Table, cell};
use crate::results::{Metrics, Results};
use crate::setting::{Scale, Setting};
use crate::statistics::{mean, median};
use crate::worklists::Worklists;

const ABOUT: About = About {
    name: "openskel-machines",
    title: "worklists with one list, with single optimisations and with the tuner on UMA16, NUMA16 \
        and NUMA32, simulated",
    publication: super::PUBLICATION,
    place: "Figures 4.2, 4.3, 5.3 to 5.5, 5.8, 6.5 to 6.7 and 7.4, Table 4.2",
    caveats: &[
        Caveat {
            unless: Need::Nothing,
            words: "All units of an application are alike: 10 reads and 2 writes of variables \
                that are equally likely, and times distributed exponentially. Phases, units that \
                add units, and variables that all units want are not in the model.",
        },
        Caveat {
            unless: Need::Nothing,
            words: "The machines differ in the number of cores and in how far a list's lines \
                travel between its users. Their memories have no limit here: the publication has \
                no figure for them.",
        },
        Caveat {
            unless: Need::Nothing,
            words: "Not given: the original versions of Figures 4.2, 4.3 and Table 4.2, since \
                transactions around a program's own queue are not in the model. Nor are helpers \
                (Figures 5.6 and 5.7), as what they save is an input of it. Nor are pages \
                (Figure 7.5), cache misses (Table 4.2), and footprints (Figure 7.1). So Figures \
                5.8, 6.5 and 7.6 are without helpers, and a tuner that tries some meets no gain. \
                Of the oracle of Figures 6.5 and 7.6 most combinations are left out.",
        },
        super::THREADS_ARE_FEW,
    ],
    repeat: [1, 3, 5],
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks(cases), report)
}

const MACHINES: [&str; 3] = ["uma16", "numa16", "numa32"];
pub(super) const NAMES: Names = ["application", "machine", "version", "cores"];

/// One after the other: the baseline, single optimisations, two of them together, the baseline on
/// the nearest cores, and the published tuner.
const VERSIONS: [&str; 7] =
    [BASELINE, "stealing", "coalescing", "swap retry", TOGETHER, COMPACT, TUNED];
const TOGETHER: &str = "stealing + swap retry";
const COMPACT: &str = "compact";
const TUNED: &str = "tuned";

/// Metrics that the publication draws, by its names.
const FIGURES: [(&str, &str); 3] = [
    ("speed_up", "speed-up"),
    ("abort_ratio", "transaction abort ratio"),
    ("transactions", "total number of transactions"),
];

/// The source of a version's settings, and the mapping of its workers.
fn version(name: &str, cores: usize, worklists: Worklists) -> (Tuning, Mapping) {
    let together = Settings::baseline(cores).stealing(true).swap_after(Some(swap::RETRIES));
    match name {
        TOGETHER => (Tuning::Fixed(together), Mapping::Scatter),
        COMPACT => (Tuning::Fixed(Settings::baseline(cores)), Mapping::Compact),
        TUNED => (Tuning::Auto(worklists.knobs), Mapping::Scatter),
        single => {
            let settings = settings(single, cores).unwrap_or(Settings::baseline(cores));
            (Tuning::Fixed(settings), Mapping::Scatter)
        }
    }
}

/// The most units of a simulated run, and of one of those that the variables are fitted by.
const MOST_UNITS: u64 = 50_000;
const FITTED_UNITS: u64 = 5_000;

/// Runs of an application on one worker, and on two.
const RUNS: usize = 5;

pub(super) fn counts(machine: &str, scale: Scale) -> Vec<usize> {
    let most = if machine == "numa32" { 32 } else { 16 };
    let doubled = [1, 2, 4, 8, 16, 32].into_iter().filter(|&cores| cores <= most);
    doubled.filter(|&cores| scale != Scale::Quick || cores == 1 || cores == most).collect()
}

/// The machine and its cores on which the publication looks into the tuner.
const TUNED_ON: (&str, usize) = ("uma16", 16);

/// The name of the version with these thresholds.
fn with_thresholds((alpha, beta): (u32, u32)) -> String {
    format!("tuned, alpha {}, beta {}", show(alpha), show(beta))
}

fn pairs(scale: Scale) -> Vec<(u32, u32)> {
    let tenths = tenths(scale);
    tenths.iter().flat_map(|&alpha| tenths.iter().map(move |&beta| (alpha, beta))).collect()
}

fn cases(Application { name, size }: Application, setting: &Setting) -> Result<Vec<Case>, Failure> {
    let mix = Rc::new(measured(&Bench::listed(name, size, None, setting.worklists)?)?);
    let mut cases = Vec::new();
    let (machine, cores) = TUNED_ON;
    let tree: Machine = machine.parse().map_err(Failure::impossible)?;
    let distance = mean_factor(&tree, &Mapping::Scatter, cores)?;
    for pair in pairs(setting.scale) {
        let (mix, tuning) = (mix.clone(), Tuning::Auto(knobs(setting, pair)));
        let run = move |seed| run(&Mix { seed, ..*mix }, cores, tuning, distance);
        let point = (name, machine, &*with_thresholds(pair), cores);
        cases.push(case(NAMES, point, setting.seed, run));
    }
    for machine in MACHINES {
        let tree: Machine = machine.parse().map_err(Failure::impossible)?;
        for cores in counts(machine, setting.scale) {
            for which in VERSIONS {
                let (tuning, mapping) = version(which, cores, setting.worklists);
                let (mix, distance) = (mix.clone(), mean_factor(&tree, &mapping, cores)?);
                let run = move |seed| run(&Mix { seed, ..*mix }, cores, tuning, distance);
                cases.push(case(NAMES, (name, machine, which, cores), setting.seed, run));
            }
        }
    }
    Ok(cases)
}

/// The units of an application, from some runs on one worker and on two.
fn measured(bench: &Bench) -> Result<Mix, Failure> {
    let run = |workers| bench.run_recorded(&Way::settings(Settings::baseline(workers), workers));
    let alone: Vec<_> = (0..RUNS).map(|_| run(1)).collect::<Result<_, _>>()?;
    let two: Vec<_> = (0..RUNS).map(|_| run(2)).collect::<Result<_, _>>()?;
    let units = alone[0].1.commits.max(1);
    let [alone, two] = [alone, two].map(|runs| runs.into_iter().map(|(metrics, _)| metrics));
    let (wall_s, aborts) = summary(&alone.collect::<Vec<_>>(), &two.collect::<Vec<_>>());
    let unit = wall_s / units as f64 * 1e12;
    let mix = Mix::new(units.min(MOST_UNITS), Duration::Exponential(unit.max(1e3) as u64));
    fitted(mix, aborts)
}

/// The shortest time of the runs on one worker, and the median of the aborts of those on two.
fn summary(alone: &[Metrics], two: &[Metrics]) -> (f64, f64) {
    let all = |runs: &[Metrics], name| -> Vec<f64> {
        let metrics = runs.iter().flatten().filter(|(other, _)| *other == name);
        metrics.map(|(_, value)| *value).collect()
    };
    let wall_s = all(alone, "wall_s").into_iter().min_by(f64::total_cmp);
    (wall_s.unwrap_or_default(), median(&all(two, "abort_ratio")).unwrap_or_default())
}

/// The version whose aborts are fitted: one list for each of two workers, so that no list limits
/// them.
const FITTED: Tuning = Tuning::Fixed(Settings::baseline(2).stealing(true));

/// The same units, on as many variables as give this share of aborts on two workers.
fn fitted(mix: Mix, aborts: f64) -> Result<Mix, Failure> {
    let on = |power: u32| Mix { variables: 1 << power, units: mix.units.min(FITTED_UNITS), ..mix };
    let (mut least, mut most) = (0, 26);
    while least < most {
        let middle = (least + most) / 2;
        let report = simulate(&on(middle), 2, FITTED, 1.0)?;
        if abort_ratio(&report) > aborts { least = middle + 1 } else { most = middle }
    }
    Ok(Mix { units: mix.units, ..on(least) })
}

fn simulate(
    mix: &Mix,
    cores: usize,
    tuning: Tuning,
    distance: f64,
) -> Result<WorklistReport, Failure> {
    let usual = Worklist::new(cores, tuning);
    let farther = |cost: Duration| Duration::Fixed((cost.mean() * distance) as u64);
    let (access, look) = (farther(usual.access), farther(usual.look));
    Worklist { access, look, seed: mix.seed, ..usual }.run(mix).map_err(Failure::impossible)
}

fn abort_ratio(report: &WorklistReport) -> f64 {
    let counts = &report.counts;
    counts.aborts as f64 / (counts.aborts + counts.commits).max(1) as f64
}

fn run(mix: &Mix, cores: usize, tuning: Tuning, distance: f64) -> Result<Metrics, Failure> {
    let report = simulate(mix, cores, tuning, distance)?;
    let metrics = vec![
        ("time_s", report.time as f64 / 1e12),
        ("speed_up", report.speedup()),
        ("abort_ratio", abort_ratio(&report)),
        ("transactions", (report.counts.aborts + report.counts.commits) as f64),
        ("unit_us", mix.unit.mean() / 1e6),
        ("variables", f64::from(mix.variables)),
    ];
    let path = if let Tuning::Auto(_) = tuning { path::rows(&report.path) } else { Vec::new() };
    Ok([metrics, path].concat())
}

/// How many times as long a line travels between two of so many workers, on average, as between the
/// nearest.
fn mean_factor(machine: &Machine, mapping: &Mapping, workers: usize) -> Result<f64, Failure> {
    let places = place(machine, &machine.cpus(), mapping, workers);
    let places: Vec<PuId> = places.map_err(Failure::impossible)?.into_iter().flatten().collect();
    let factors = Costs::usual().factors;
    let factor = |distance: u8| factors[usize::from(distance.max(1) - 1).min(factors.len() - 1)];
    let pairs = places.iter().enumerate().flat_map(|(at, &one)| {
        places[at + 1..].iter().map(move |&other| factor(machine.distance(one, other)))
    });
    let all: Vec<f64> = pairs.collect();
    Ok(crate::statistics::mean(&all).unwrap_or(1.0))
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let view = View { machines: Machines { results, names: NAMES }, scale: setting.scale };
    let mut parts = vec![
        Part::Table(view.best()),
        Part::Table(view.characters()),
        Part::Table(view.thresholds()),
    ];
    for Application { name, .. } in applications(setting.scale) {
        let tuned = labels(NAMES, (name, TUNED_ON.0, TUNED, TUNED_ON.1));
        let title = format!("{name} on {}, simulated", TUNED_ON.0);
        parts.extend(path::plots(results, &tuned, (name, &title)));
        for machine in MACHINES {
            let counts = counts(machine, setting.scale);
            let plot = |of| view.machines.plot((name, machine), &counts, &VERSIONS, of);
            parts.extend(FIGURES.map(|figure| Part::Plot(plot(figure))));
        }
    }
    parts
}

/// The data that the report reads.
struct View<'a> {
    machines: Machines<'a>,
    scale: Scale,
}

impl View<'_> {
    /// The number of cores on which a version is fastest.
    fn scales_to(&self, app: &str, machine: &str, version: &str) -> Option<usize> {
        self.machines.fastest((app, machine, version), &counts(machine, self.scale))
    }

    /// The improvements of Figures 6.5 and 7.6: the fastest against the fastest baseline.
    fn best(&self) -> Table {
        let title = "Each version on its best number of cores, over the baseline on its best";
        let mut table = Table::new("machines", title);
        for Application { name: app, .. } in applications(self.scale) {
            for machine in MACHINES {
                for version in VERSIONS {
                    self.row(&mut table, app, machine, version);
                }
            }
        }
        table
    }

    fn row(&self, table: &mut Table, app: &str, machine: &str, version: &str) {
        let best = |version| Some((app, machine, version, self.scales_to(app, machine, version)?));
        let (base, this) = (best(BASELINE), best(version));
        let of = |metric| self.machines.median(this?, metric);
        let over = base.zip(this).and_then(|(base, this)| self.machines.time_over(base, this));
        let percent = over.map(|over| (over - 1.0) * 100.0).filter(|_| version != BASELINE);
        table.row([
            cell("application", app),
            cell("machine", machine),
            cell("version", version),
            cell("cores", this.map(|(.., cores)| cores)),
            cell("speed-up", of("speed_up")),
            cell("aborts / attempts", of("abort_ratio")),
            cell("transactions", of("transactions")),
            cell("over the best baseline, %", percent),
            cell("paper", single(app, version)),
        ]);
    }

    /// Figure 6.6: the speed of each pair of thresholds over the best one's there, averaged over
    /// the applications.
    fn thresholds(&self) -> Table {
        let (machine, cores) = TUNED_ON;
        let title = format!(
            "Average normalised speed-up of the tuner on {machine} over alpha = beta = 0.1"
        );
        let mut table = Table::new("thresholds", title);
        let over = |pair| {
            let (best, this) = (with_thresholds(BEST), with_thresholds(pair));
            let of = |Application { name, .. }: &Application| {
                let [best, this] = [&best, &this].map(|of| (*name, machine, of.as_str(), cores));
                self.machines.time_over(best, this)
            };
            let all = applications(self.scale);
            mean(&all.iter().filter_map(of).collect::<Vec<_>>())
        };
        for alpha in tenths(self.scale) {
            let speed_up = |beta| cell(format!("beta {}", show(beta)), over((alpha, beta)));
            let cells = tenths(self.scale).into_iter().map(speed_up);
            table.row([cell("alpha", show(alpha))].into_iter().chain(cells));
        }
        table
    }

    /// Table 4.2, of the baseline instead of the original.
    fn characters(&self) -> Table {
        let title = "What applications are like on NUMA32 with one list (Table 4.2)";
        let mut table = Table::new("characters", title);
        for Application { name: app, .. } in applications(self.scale) {
            let paper = TABLE_4_2.iter().find(|row| row.app == app);
            let scales_to = self.scales_to(app, "numa32", BASELINE);
            let of = |metric| self.machines.median((app, "numa32", BASELINE, scales_to?), metric);
            table.row([
                cell("application", app),
                cell("scalable up to, cores", scales_to),
                cell("with stealing", self.scales_to(app, "numa32", "stealing")),
                cell("transaction abort ratio", of("abort_ratio")),
                cell("transaction length, microseconds", of("unit_us")),
                cell("paper: cores", paper.map(|row| row.scales_to)),
                cell("paper: abort ratio", paper.map(|row| row.aborts)),
                cell("paper: length", paper.map(|row| row.length)),
            ]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: variables that are fitted the wrong way round.
    #[test]
    fn the_variables_are_those_that_give_the_measured_aborts() {
        let mix = Mix::new(2_000, Duration::Exponential(10_000_000));
        let [none, many] = [0.0, 0.3].map(|aborts| fitted(mix, aborts).unwrap());
        assert!(many.variables < none.variables, "{many:?}");
        let report = simulate(&many, 2, FITTED, 1.0).unwrap();
        assert!((0.1..=0.35).contains(&abort_ratio(&report)), "{}", abort_ratio(&report));
    }

    /// Catches: a disturbed run whose time or aborts decide.
    #[test]
    fn one_disturbed_run_changes_nothing() {
        let runs =
            |name, values: [f64; 3]| values.map(|value| vec![("commits", 9.0), (name, value)]);
        let (wall_s, aborts) =
            summary(&runs("wall_s", [7.0, 2.0, 90.0]), &runs("abort_ratio", [0.0, 0.9, 0.2]));
        assert_eq!((wall_s, aborts), (2.0, 0.2));
    }

    /// Catches: a list whose lines travel as far on one package as on four, and compact workers
    /// that are as far apart as scattered ones.
    #[test]
    fn lines_travel_farther_on_more_packages() {
        let factor = |machine: &str, mapping, cores| {
            mean_factor(&machine.parse().unwrap(), &mapping, cores).unwrap()
        };
        let scatter = |machine: &str, cores| factor(machine, Mapping::Scatter, cores);
        assert_eq!((scatter("core:4", 4), scatter("uma16", 1)), (1.0, 1.0));
        assert!(scatter("uma16", 16) > scatter("package:1 l2:2 core:2", 4));
        assert!(factor("numa32", Mapping::Compact, 8) < scatter("numa32", 8));
    }

    /// Catches: a version that is another one by its settings or its places.
    #[test]
    fn each_version_differs_from_the_baseline() {
        let of = |name| version(name, 8, Worklists::default());
        let all: Vec<(Tuning, Mapping)> = VERSIONS.map(of).into();
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{}", VERSIONS[at]);
        }
        assert_eq!(all[0], (Tuning::Fixed(Settings::baseline(8)), Mapping::Scatter));
    }

    /// Catches: an application that cannot be measured, a version that is compared with itself, and
    /// a published value beside another one.
    #[test]
    fn a_small_application_is_measured_and_simulated() {
        let setting = Setting::new(Scale::Quick, 2);
        let block = experiment().blocks(&setting).into_iter().find(|block| block.name == "kmeans");
        let cases = (block.unwrap().prepare)().unwrap();
        assert_eq!(cases.len(), 3 * 2 * VERSIONS.len() + 4);
        let run = |mut case: Case| (case.labels.clone(), (case.run)().unwrap());
        let results = Results::of(cases.into_iter().map(run));
        let parts = experiment().report(&results, &setting);
        let [Part::Table(best), Part::Table(characters), Part::Table(thresholds), ..] = &parts[..]
        else {
            panic!("{parts:?}")
        };
        let of = |version| best.shown(&["kmeans", "numa32", version])[7..].to_vec();
        assert_eq!((of(BASELINE)[0].as_str(), of("stealing")[1].as_str()), ("-", "35 %"));
        assert!(VERSIONS[1..].iter().all(|version| of(version)[0] != "-"));
        let row = characters.shown(&["kmeans"]);
        assert!(row[1] != "-" && row[5..] == ["8", "high", "medium"], "{row:?}");
        let shown = thresholds.shown(&["0.1"]);
        assert!(shown[1] == "1" && thresholds.shown(&["0.9"])[2] != "-", "{shown:?}");
        let plot = |name: &str| {
            parts.iter().find_map(|part| match part {
                Part::Plot(plot) if plot.name == name => Some(plot),
                _ => None,
            })
        };
        let path = plot("path-kmeans").expect("the tuner's path");
        assert!(path.marks.len() > 3 && path.made_of.is_some(), "{path:?}");
        let speed_up = plot("speed-up-kmeans-numa32").expect("speed-ups");
        assert_eq!(speed_up.series.len(), VERSIONS.len());
    }
}
