//! Figure 5.6 on UMA16, NUMA16 and NUMA32, simulated: whether spare cores should run helper threads
//! or more workers.
//!
//! A helper hides misses of the cache that it shares with its worker, and costs its worker a cache
//! line there and back for each unit ([`sinew_sim::models::help`], from measurements). A further
//! worker adds conflicts. The map shows, for each share of misses and each number of variables, the
//! best number of workers alone, and the best one of workers that all have a helper.

use sinew_policy::worklist::Settings;
use sinew_policy::worklist::helpers::LIFESPAN;
use sinew_sim::Duration;
use sinew_sim::models::{self, Help};
use sinew_sim::worklist::{Mix, Tuning, Worklist};
use sinew_topology::{Machine, Mapping, PuId, place, place_helpers};

use crate::experiment::{About, Block, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::openskel::HELPERS_WORDS;
use crate::report::{Form, Part, Plot, Series, Table, cell};
use crate::results::{Labels, Metrics, Results, all_of};
use crate::setting::{Scale, Setting};

const ABOUT: About = About {
    name: "openskel-helpers-machine",
    title: "helper threads or more workers on UMA16, NUMA16 and NUMA32, simulated",
    publication: super::PUBLICATION,
    place: "Figure 5.6",
    caveats: &[
        Caveat { unless: Need::Nothing, words: HELPERS_WORDS },
        Caveat {
            unless: Need::Nothing,
            words: "The gain and the cost of a helper were measured on two cores of another \
                machine, by one program. With a shared cache it hides 43 % of the misses, and \
                takes 48 ns for each unit; without one it hides nothing, and takes 360 ns. \
                Another program's helper hid more.",
        },
        Caveat {
            unless: Need::Nothing,
            words: "Units are alike: 10 reads and 2 writes of variables that are equally likely, \
                and times distributed exponentially. A transaction that meets another one aborts \
                and begins again at once (suicide). Not in the model: the room that helpers and \
                workers take in a cache, the limit of the memory, and threads that share a core.",
        },
    ],
    repeat: [1, 3, 5],
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks, report)
}

const MACHINES: [&str; 3] = ["uma16", "numa16", "numa32"];
/// Durations of units without a helper, in nanoseconds.
const UNITS: [u32; 2] = [500, 3_000];
/// Numbers of variables: the fewer, the more conflicts.
const VARIABLES: [u32; 5] = [1 << 16, 1 << 10, 1 << 8, 1 << 6, 1 << 4];
/// Shares of a unit's time that it waits for misses of the last cache, in per cent. That of the
/// program that was measured is 84.
const MISSES: [u32; 4] = [20, 40, 60, 84];
/// Workers without helpers, in the labels of their cases.
const ALONE: &str = "none";

const MANY: u64 = 10_000;
const FEW: u64 = 1_000;

/// The points and runs of a scale.
struct Plan {
    units: &'static [u32],
    variables: &'static [u32],
    misses: &'static [u32],
    /// Number of units in a run.
    many: u64,
}

fn plan(scale: Scale) -> Plan {
    match scale {
        Scale::Quick => Plan {
            units: &UNITS[1..],
            variables: &[VARIABLES[0], VARIABLES[4]],
            misses: &MISSES[3..],
            many: FEW,
        },
        _ => Plan { units: &UNITS, variables: &VARIABLES, misses: &MISSES, many: MANY },
    }
}

fn tree(machine: &str) -> Result<Machine, Failure> {
    machine.parse().map_err(Failure::impossible)
}

/// Numbers of workers: powers of two.
fn counts(most: usize) -> impl Iterator<Item = usize> + Clone {
    (0..).map(|power| 1 << power).take_while(move |&workers| workers <= most)
}

/// One point of the map.
#[derive(Debug, Clone, Copy)]
struct Point {
    machine: &'static str,
    unit: u32,
    variables: u32,
}

impl Point {
    fn labels(self, misses: Option<u32>, workers: usize) -> Labels {
        vec![
            ("machine", self.machine.to_owned()),
            ("unit_ns", self.unit.to_string()),
            ("variables", self.variables.to_string()),
            ("misses_hidden", misses.map_or_else(|| ALONE.to_owned(), |share| share.to_string())),
            ("workers", workers.to_string()),
        ]
    }
}

/// The labels of sixteen workers without helpers and of eight with one each, on UMA16, where there
/// are the most conflicts and misses.
pub(super) fn without_and_with() -> [Labels; 2] {
    let point = Point { machine: MACHINES[0], unit: UNITS[1], variables: VARIABLES[4] };
    [point.labels(None, 16), point.labels(Some(MISSES[3]), 8)]
}

fn points(machine: &'static str, plan: &Plan) -> impl Iterator<Item = Point> {
    let (units, variables) = (plan.units, plan.variables);
    units.iter().flat_map(move |&unit| {
        variables.iter().map(move |&variables| Point { machine, unit, variables })
    })
}

fn blocks(setting: &Setting) -> Vec<Block> {
    let (scale, seed) = (setting.scale, setting.seed);
    MACHINES.map(|machine| Block::new(machine, move || cases(machine, &plan(scale), seed))).into()
}

fn cases(machine: &'static str, plan: &Plan, seed: u64) -> Result<Vec<Case>, Failure> {
    let tree = tree(machine)?;
    let cores = tree.pus().len();
    let mut cases = Vec::new();
    for point in points(machine, plan) {
        let mix = Mix {
            variables: point.variables,
            ..Mix::new(
                plan.many,
                Duration::Exponential(Duration::ns(point.unit.into()).mean() as u64),
            )
        };
        for workers in counts(cores) {
            let settings = Settings::baseline(workers);
            cases.push(case(point.labels(None, workers), list(cores, settings), mix, seed));
        }
        for &misses in plan.misses {
            for workers in counts(cores / 2) {
                let help = help(&tree, workers)?;
                let list = list(cores, Settings::baseline(workers).lifespan(LIFESPAN));
                let memory = help.hidden * f64::from(misses) / 100.0;
                let (list, mix) = (Worklist { exchange: help.line, ..list }, Mix { memory, ..mix });
                cases.push(case(point.labels(Some(misses), workers), list, mix, seed));
            }
        }
    }
    Ok(cases)
}

fn list(cores: usize, settings: Settings) -> Worklist {
    Worklist::new(cores, Tuning::Fixed(settings.stealing(true)))
}

/// The least help of any helper, of so many workers that are spread over the machine.
fn help(machine: &Machine, workers: usize) -> Result<Help, Failure> {
    let places = place(machine, &machine.cpus(), &Mapping::Scatter, workers);
    let workers = places.map_err(Failure::impossible)?;
    let all: Vec<PuId> = machine.pu_ids().collect();
    let helpers = place_helpers(machine, &all, &workers, workers.len());
    let pairs = workers.iter().zip(&helpers).filter_map(|(&a, &b)| a.zip(b));
    let all = pairs.map(|(worker, helper)| models::help(machine, worker, helper));
    Ok(all.min_by(|a, b| a.hidden.total_cmp(&b.hidden)).unwrap_or(models::FAR_AWAY))
}

fn case(labels: Labels, list: Worklist, mix: Mix, mut seed: u64) -> Case {
    Case::new(labels, move || {
        seed = seed.wrapping_add(1);
        run(&Worklist { seed, ..list.clone() }, &Mix { seed, ..mix })
    })
}

fn run(list: &Worklist, mix: &Mix) -> Result<Metrics, Failure> {
    let report = list.run(mix).map_err(Failure::impossible)?;
    let counts = report.counts;
    let attempts = counts.aborts + counts.commits;
    Ok(vec![
        ("time_s", report.time as f64 / 1e12),
        ("speed_up", report.speedup()),
        ("abort_ratio", counts.aborts as f64 / attempts.max(1) as f64),
    ])
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let view = View { results, plan: plan(setting.scale) };
    let mut parts = vec![Part::Table(view.table()), Part::words(view.verdict())];
    parts.extend(view.plots().into_iter().map(Part::Plot));
    parts
}

/// The data that the report reads.
struct View<'a> {
    results: &'a Results,
    plan: Plan,
}

/// The best number of workers, and its speed-up.
type Best = (usize, f64);

impl View<'_> {
    fn median(
        &self,
        point: Point,
        misses: Option<u32>,
        workers: usize,
        metric: &str,
    ) -> Option<f64> {
        self.results.median(&all_of(&point.labels(misses, workers)), metric)
    }

    fn best(&self, point: Point, misses: Option<u32>) -> Option<Best> {
        let cores = tree(point.machine).ok()?.pus().len();
        let speed_up = |workers| Some((workers, self.median(point, misses, workers, "speed_up")?));
        counts(cores).filter_map(speed_up).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// How much faster the best number of workers with helpers is than that without, in per cent.
    fn gain(&self, point: Point, misses: u32) -> Option<f64> {
        let (helped, alone) = (self.best(point, Some(misses))?, self.best(point, None)?);
        Some((helped.1 / alone.1 - 1.0) * 100.0)
    }

    fn table(&self) -> Table {
        let mut table = Table::new("map", "The best number of workers alone and with helpers");
        for machine in MACHINES {
            for point in points(machine, &self.plan) {
                for &misses in self.plan.misses {
                    let (alone, helped) = (self.best(point, None), self.best(point, Some(misses)));
                    let aborts = self.median(point, None, 2, "abort_ratio");
                    table.row([
                        cell("machine", machine),
                        cell("unit, ns", point.unit),
                        cell("variables", point.variables),
                        cell("aborts on 2 workers, %", aborts.map(|share| share * 100.0)),
                        cell("misses, % of a unit", misses),
                        cell("workers alone", alone.map(|best| best.0)),
                        cell("speed-up", alone.map(|best| best.1)),
                        cell("workers with helpers", helped.map(|best| best.0)),
                        cell("their speed-up", helped.map(|best| best.1)),
                        cell("gain, %", self.gain(point, misses)),
                    ]);
                }
            }
        }
        table
    }

    /// Where helpers pay, machine by machine.
    fn verdict(&self) -> String {
        let all: Vec<String> = MACHINES.iter().filter_map(|machine| self.pays(machine)).collect();
        match &all[..] {
            [] => "Nothing has been simulated yet.".to_owned(),
            all => format!(
                "Where workers with helpers beat any number of workers: {}.",
                all.join("; ")
            ),
        }
    }

    fn pays(&self, machine: &'static str) -> Option<String> {
        let gains = points(machine, &self.plan).flat_map(|point| {
            let gain = move |&misses: &u32| Some((point, misses, self.gain(point, misses)?));
            self.plan.misses.iter().filter_map(gain)
        });
        let all: Vec<(Point, u32, f64)> = gains.collect();
        let pay = all.iter().filter(|(_, _, gain)| *gain > 0.0).count();
        let (point, misses, most) = all.iter().max_by(|a, b| a.2.total_cmp(&b.2))?;
        let at = format!(
            "units of {} ns on {} variables, of which {misses} % are misses",
            point.unit, point.variables
        );
        let many = all.len();
        Some(match pay {
            0 => format!("on {machine} at none of {many} points"),
            _ => format!("on {machine} at {pay} of {many} points, at most by {most:.0} % ({at})"),
        })
    }

    /// The gain over the variables, a line for each share of misses.
    fn plots(&self) -> Vec<Plot> {
        let variables = self.plan.variables;
        let pairs = MACHINES
            .iter()
            .flat_map(|&machine| self.plan.units.iter().map(move |&unit| (machine, unit)));
        pairs
            .map(|(machine, unit)| {
                let name = format!("gain-{machine}-{unit}");
                let title = format!("Helpers instead of workers on {machine}, units of {unit} ns");
                let plot = Plot::new(&name, title, Form::Lines)
                    .axes("variables", "gain, %")
                    .over(variables.iter().map(u32::to_string).collect());
                self.plan.misses.iter().fold(plot, |plot, &misses| {
                    let gain =
                        |&variables: &u32| self.gain(Point { machine, unit, variables }, misses);
                    let values = variables.iter().map(gain).collect();
                    plot.with(Series::new(format!("{misses} % misses"), values))
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(machine: &'static str, plan: &Plan) -> Results {
        let run = |mut case: Case| (case.labels.clone(), (case.run)().unwrap());
        Results::of(cases(machine, plan, 1).unwrap().into_iter().map(run))
    }

    /// Catches: helpers that are compared with fewer workers than the machine has cores, that pay
    /// where workers do not disturb each other, or that do not where they do.
    #[test]
    fn helpers_pay_where_workers_conflict_and_a_cache_is_shared() {
        let gains = |machine| {
            let plan = Plan { misses: &MISSES, ..plan(Scale::Quick) };
            let results = results(machine, &plan);
            let view = View { results: &results, plan };
            let point = |variables| Point { machine, unit: 3_000, variables };
            [VARIABLES[0], VARIABLES[4]].map(|variables| {
                assert_eq!(view.best(point(VARIABLES[0]), None).unwrap().0, 16);
                MISSES.map(|misses| view.gain(point(variables), misses).unwrap())
            })
        };
        let [free, crowded] = gains("uma16");
        assert!(free.iter().all(|gain| *gain < -10.0), "{free:?}");
        assert!(crowded.is_sorted_by(|less, more| less < more) && crowded[3] > 20.0, "{crowded:?}");
        let far = gains("numa16");
        assert!(far.concat().iter().all(|gain| *gain < 0.0), "no shared cache: {far:?}");
    }

    /// Catches: a helper on a core of another cache while one of the worker's is free.
    #[test]
    fn every_worker_of_half_the_cores_has_a_helper_near_if_caches_are_shared() {
        for (machine, near) in [("uma16", true), ("numa16", false), ("numa32", true)] {
            let tree = tree(machine).unwrap();
            for workers in counts(tree.pus().len() / 2) {
                let help = help(&tree, workers).unwrap();
                assert_eq!(help == models::NEAR, near, "{machine}, {workers} workers");
            }
        }
    }

    /// Catches: columns exchanged, and a verdict on other points than the table's.
    #[test]
    fn the_map_shows_the_best_of_both() {
        let point = Point { machine: "uma16", unit: 3_000, variables: VARIABLES[4] };
        let at = |misses, workers, speed_up| {
            let metrics = vec![("speed_up", speed_up), ("abort_ratio", 0.25)];
            (point.labels(misses, workers), metrics)
        };
        let [none, some] = [None, Some(MISSES[3])];
        let results =
            Results::of([at(none, 2, 2.0), at(none, 4, 1.5), at(some, 2, 3.0), at(some, 4, 2.5)]);
        let parts = experiment().report(&results, &Setting::new(Scale::Quick, 2));
        let [Part::Table(table), Part::Words(words), ..] = &parts[..] else { panic!("{parts:?}") };
        let row = table.shown(&["uma16", "3000", "16"]);
        assert_eq!(row[3..], ["25", "84", "2", "2", "2", "3", "50"]);
        assert!(words.contains("on uma16 at 1 of 1 points, at most by 50 %"), "{words}");
        let slower = Results::of([at(none, 2, 2.0), at(some, 2, 1.9)]);
        let parts = experiment().report(&slower, &Setting::new(Scale::Quick, 2));
        let [_, Part::Words(words), ..] = &parts[..] else { panic!("{parts:?}") };
        assert!(words.contains("on uma16 at none of 1 points."), "{words}");
    }
}
