//! Figures 4.2, 4.3 and 5.3 on UMA16, NUMA16 and NUMA32, simulated: worklists with one list and
//! with stealing, on more and more cores.
//!
//! Units take as long as on one worker of this machine, by the shortest of some runs. The number of
//! variables that they share is the one under which the simulator has as many aborts on two workers
//! as two workers have here, in the median run. For other programs on the machine make single runs
//! longer, and change their aborts.

use std::rc::Rc;

use sinew_policy::worklist::Settings;
use sinew_sim::worklist::{Mix, Tuning, Worklist, WorklistReport};
use sinew_sim::{Costs, Duration};
use sinew_topology::{Machine, Mapping, PuId, place};

use super::applications::{Application, applications, blocks};
use super::bench::{Bench, Way};
use crate::experiment::{About, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::openskel::{TABLE_4_2, single};
use crate::report::{Cell, Form, Part, Plot, Series, Table, cell};
use crate::results::{Labels, Metrics, Results, all_of};
use crate::setting::{Scale, Setting};
use crate::statistics::median;

const ABOUT: About = About {
    name: "openskel-machines",
    title: "worklists with one list and with stealing on UMA16, NUMA16 and NUMA32, simulated",
    publication: super::PUBLICATION,
    place: "Figures 4.2, 4.3 and 5.3, Table 4.2",
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
        super::THREADS_ARE_FEW,
    ],
    repeat: [1, 3, 5],
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks(cases), report)
}

const MACHINES: [&str; 3] = ["uma16", "numa16", "numa32"];
const BASELINE: &str = "baseline";
const STEALING: &str = "stealing";
const VERSIONS: [(&str, bool); 2] = [(BASELINE, false), (STEALING, true)];

/// The most units of a simulated run, and of one of those that the variables are fitted by.
const MOST_UNITS: u64 = 50_000;
const FITTED_UNITS: u64 = 5_000;

/// Runs of an application on one worker, and on two.
const RUNS: usize = 5;

fn counts(machine: &str, scale: Scale) -> Vec<usize> {
    let most = if machine == "numa32" { 32 } else { 16 };
    let doubled = [1, 2, 4, 8, 16, 32].into_iter().filter(|&cores| cores <= most);
    doubled.filter(|&cores| scale != Scale::Quick || cores == 1 || cores == most).collect()
}

fn labels(app: &str, machine: &str, version: &str, cores: usize) -> Labels {
    vec![
        ("application", app.to_owned()),
        ("machine", machine.to_owned()),
        ("version", version.to_owned()),
        ("cores", cores.to_string()),
    ]
}

fn cases(Application { name, size }: Application, setting: &Setting) -> Result<Vec<Case>, Failure> {
    let mix = Rc::new(measured(&Bench::listed(name, size, None, setting.worklists)?)?);
    let mut cases = Vec::new();
    for machine in MACHINES {
        let tree: Machine = machine.parse().map_err(Failure::impossible)?;
        for cores in counts(machine, setting.scale) {
            let distance = mean_factor(&tree, cores)?;
            for (version, stealing) in VERSIONS {
                let (mix, mut seed) = (mix.clone(), setting.seed);
                cases.push(Case::new(labels(name, machine, version, cores), move || {
                    seed = seed.wrapping_add(1);
                    run(&Mix { seed, ..*mix }, cores, stealing, distance)
                }));
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

/// The same units, on as many variables as give this share of aborts on two workers.
fn fitted(mix: Mix, aborts: f64) -> Result<Mix, Failure> {
    let on = |power: u32| Mix { variables: 1 << power, units: mix.units.min(FITTED_UNITS), ..mix };
    let (mut least, mut most) = (0, 26);
    while least < most {
        let middle = (least + most) / 2;
        let report = simulate(&on(middle), 2, true, 1.0)?;
        if abort_ratio(&report) > aborts { least = middle + 1 } else { most = middle }
    }
    Ok(Mix { units: mix.units, ..on(least) })
}

fn simulate(
    mix: &Mix,
    cores: usize,
    stealing: bool,
    distance: f64,
) -> Result<WorklistReport, Failure> {
    let settings = Settings::baseline(cores).stealing(stealing);
    let usual = Worklist::new(cores, Tuning::Fixed(settings));
    let farther = |cost: Duration| Duration::Fixed((cost.mean() * distance) as u64);
    let (access, look) = (farther(usual.access), farther(usual.look));
    Worklist { access, look, seed: mix.seed, ..usual }.run(mix).map_err(Failure::impossible)
}

fn abort_ratio(report: &WorklistReport) -> f64 {
    let counts = &report.counts;
    counts.aborts as f64 / (counts.aborts + counts.commits).max(1) as f64
}

fn run(mix: &Mix, cores: usize, stealing: bool, distance: f64) -> Result<Metrics, Failure> {
    let report = simulate(mix, cores, stealing, distance)?;
    Ok(vec![
        ("time_s", report.time as f64 / 1e12),
        ("speed_up", report.speedup()),
        ("abort_ratio", abort_ratio(&report)),
        ("transactions", (report.counts.aborts + report.counts.commits) as f64),
        ("variables", f64::from(mix.variables)),
    ])
}

/// How many times as long a line travels between two of so many scattered workers, on average, as
/// between the nearest.
fn mean_factor(machine: &Machine, workers: usize) -> Result<f64, Failure> {
    let places = place(machine, &machine.cpus(), &Mapping::Scatter, workers);
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
    let view = View { results, scale: setting.scale };
    let mut parts = vec![Part::Table(view.table()), Part::words(view.verdict())];
    for Application { name, .. } in applications(setting.scale) {
        let figures = [("speed-up", "speed_up"), ("aborts / attempts", "abort_ratio")];
        parts.extend(figures.map(|(what, metric)| Part::Plot(view.plot(name, what, metric))));
    }
    parts
}

/// The data that the report reads.
struct View<'a> {
    results: &'a Results,
    scale: Scale,
}

impl View<'_> {
    fn median(
        &self,
        app: &str,
        machine: &str,
        version: &str,
        cores: usize,
        metric: &str,
    ) -> Option<f64> {
        self.results.median(&all_of(&labels(app, machine, version, cores)), metric)
    }

    fn table(&self) -> Table {
        let mut table = Table::new("machines", "Speed-ups and aborts, simulated");
        for Application { name, .. } in applications(self.scale) {
            for machine in MACHINES {
                for cores in counts(machine, self.scale) {
                    for (version, _) in VERSIONS {
                        table.row(self.row(name, machine, version, cores));
                    }
                }
            }
        }
        table
    }

    fn row(&self, app: &str, machine: &str, version: &str, cores: usize) -> [(String, Cell); 9] {
        let of = |version, metric| self.median(app, machine, version, cores, metric);
        let gain = of(BASELINE, "time_s").zip(of(version, "time_s")).map(|(a, b)| a / b - 1.0);
        let gain = gain.map(|gain| gain * 100.0).filter(|_| version != BASELINE);
        [
            cell("application", app),
            cell("machine", machine),
            cell("cores", cores),
            cell("version", version),
            cell("speed-up", of(version, "speed_up")),
            cell("aborts / attempts", of(version, "abort_ratio")),
            cell("transactions", of(version, "transactions")),
            cell("over baseline, %", gain),
            cell("paper: over baseline", single(app, version).unwrap_or_default()),
        ]
    }

    /// The number of cores on which a version is fastest.
    fn scales_to(&self, app: &str, machine: &str, version: &str) -> Option<usize> {
        let time =
            |cores: usize| Some((cores, self.median(app, machine, version, cores, "time_s")?));
        let all = counts(machine, self.scale).into_iter().filter_map(time);
        all.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(cores, _)| cores)
    }

    /// How far applications scale, beside Table 4.2.
    fn verdict(&self) -> String {
        let beside = |app: &str| {
            let paper = TABLE_4_2.iter().find(|row| row.app == app)?;
            let [baseline, stealing] =
                [BASELINE, STEALING].map(|version| self.scales_to(app, "numa32", version));
            Some(format!(
                "{app} to {} with one list and to {} with stealing ({} published)",
                baseline?, stealing?, paper.scales_to
            ))
        };
        let all: Vec<String> =
            applications(self.scale).iter().filter_map(|app| beside(app.name)).collect();
        match &all[..] {
            [] => "Nothing has been simulated yet.".to_owned(),
            all => format!("On NUMA32 applications scale: {}.", all.join("; ")),
        }
    }

    /// A metric over the cores, a line for each machine and version.
    fn plot(&self, app: &str, what: &str, metric: &str) -> Plot {
        let most = counts("numa32", self.scale);
        let name = format!("{}-{app}", metric.replace('_', "-"));
        let plot = Plot::new(&name, format!("{app}: {what}, simulated"), Form::Lines)
            .axes("cores", what)
            .over(most.iter().map(usize::to_string).collect());
        let lines =
            MACHINES.into_iter().flat_map(|machine| VERSIONS.map(|(way, _)| (machine, way)));
        lines.fold(plot, |plot, (machine, version)| {
            let of = |&cores: &usize| self.median(app, machine, version, cores, metric);
            plot.with(Series::new(format!("{machine}, {version}"), most.iter().map(of).collect()))
        })
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
        let report = simulate(&many, 2, true, 1.0).unwrap();
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

    /// Catches: a list whose lines travel as far on one package as on four.
    #[test]
    fn lines_travel_farther_on_more_packages() {
        let factor = |machine: &str, cores| mean_factor(&machine.parse().unwrap(), cores).unwrap();
        assert_eq!((factor("core:4", 4), factor("uma16", 1)), (1.0, 1.0));
        assert!(factor("uma16", 16) > factor("package:1 l2:2 core:2", 4));
    }

    /// Catches: an application that cannot be measured, and a published value beside another one.
    #[test]
    fn a_small_application_is_measured_and_simulated() {
        let setting = Setting::new(Scale::Quick, 2);
        let block = experiment().blocks(&setting).into_iter().find(|block| block.name == "kmeans");
        let cases = (block.unwrap().prepare)().unwrap();
        assert_eq!(cases.len(), 3 * 2 * 2);
        let run = |mut case: Case| (case.labels.clone(), (case.run)().unwrap());
        let results = Results::of(cases.into_iter().map(run));
        let parts = experiment().report(&results, &setting);
        let [Part::Table(table), Part::Words(words), ..] = &parts[..] else { panic!("{parts:?}") };
        assert_eq!(table.shown(&["kmeans", "numa32", "32", STEALING])[8], "35 %");
        assert!(words.contains("(8 published)"), "{words}");
    }
}
