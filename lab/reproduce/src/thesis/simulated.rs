//! Chapter 4 and appendix B on the thesis' machines, simulated: speed-ups over the threads, and the
//! gains of every policy over random victims.
//!
//! The task graph of each application is recorded here, its loops cut down to a grain, and run on
//! each machine with its workers spread over the packages, as there.

use std::rc::Rc;

use sinew::Mapping;
use sinew_sim::workload::Recorded;
use sinew_sim::{Costs, Idle, Setup, models};
use sinew_topology::Machine;

use super::loops::divisions;
use super::matrix::{APPS, BASELINE, Policy, policies};
use crate::common::machines::{Machines, Names, case};
use crate::common::{record, simulate};
use crate::experiment::{About, Block, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::thesis::{QUOTES, Quote, said_of};
use crate::report::{Cell, Part, Table, cell, difference};
use crate::results::{Metrics, Results};
use crate::setting::{Scale, Setting};

const ABOUT: About = About {
    name: "tbb-machines",
    title: "stealing from the nearest and from the most loaded worker on Dunnington, Termi and \
        Sandman, simulated",
    publication: super::PUBLICATION,
    place: "chapter 4 and appendix B",
    caveats: &[
        Caveat {
            unless: Need::Nothing,
            words: "Tasks take as long as on this machine, and scheduling costs what it costs \
                here. Machines give the number of workers, their distances and their memories. \
                Two threads of a core are two cores in the simulator.",
        },
        Caveat {
            unless: Need::Nothing,
            words: "For the applications that the thesis calls sharing-intensive (gauss, heat, \
                floyd-warshall, numbercount), workers share memories and data lie where they were \
                touched last. Dunnington's memory serves 8 workers (Wittmann and Hager), a node's \
                as many as this machine's serves for heat (crowding of --validate), and far data \
                cost 1.45 times the work (Table 1 of Wittmann and Hager). For the others memory \
                has no limit and no place.",
        },
        Caveat {
            unless: Need::Nothing,
            words: "A slave there never leaves its package. In the simulator one that has failed \
                in eight rounds, while tasks exist, takes any task, as Sinew's does after 200 µs.",
        },
    ],
    repeat: [1, 2, 5],
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks, report)
}

const MACHINES: [&str; 3] = ["dunnington", "termi", "sandman"];

/// The applications that the thesis calls sharing-intensive.
const SHARING: [&str; 4] = ["heat", "gauss", "floyd-warshall", "numbercount"];

pub(super) fn counts(machine: &str, scale: Scale) -> Vec<usize> {
    let all: &[usize] = match machine {
        "sandman" => &[1, 4, 8, 16, 32, 48, 64],
        _ => &[1, 4, 8, 12, 16, 20, 24],
    };
    match scale {
        Scale::Quick => vec![all[0], all[all.len() - 1]],
        Scale::Default | Scale::Full => all.to_vec(),
    }
}

/// All policies of an application, the baseline first.
fn victims(app: &str) -> Vec<&'static str> {
    [BASELINE].into_iter().chain(policies(app).iter().map(|policy| policy.victims)).collect()
}

pub(super) const NAMES: Names = ["app", "machine", "policy", "workers"];

fn blocks(setting: &Setting) -> Vec<Block> {
    let (scale, seed) = (setting.scale, setting.seed);
    let block = |app: &'static str| Block::new(app, move || cases(app, scale, seed));
    APPS.into_iter().map(block).collect()
}

fn cases(app: &'static str, scale: Scale, seed: u64) -> Result<Vec<Case>, Failure> {
    // The last division cuts loops down to a grain, so that all workers of any machine have pieces.
    let division = divisions(app).pop();
    let division = division.ok_or_else(|| Failure::impossible("an application has a division"))?;
    let subject = division.prepare(app, scale.pick("tiny", "small", "full"))?;
    let mut cases = Vec::new();
    for name in MACHINES {
        let machine: Machine = name.parse().map_err(Failure::impossible)?;
        let graph = Rc::new(Recorded::new(&record(&subject, machine.pus().len())?));
        for workers in counts(name, scale) {
            for victims in victims(app) {
                let setup = setup(app, name, &machine, victims, workers)?;
                let (graph, point) = (graph.clone(), (app, name, victims, workers));
                let run = move |seed| run(&graph, Setup { seed, ..setup.clone() });
                cases.push(case(NAMES, point, seed, run));
            }
        }
    }
    Ok(cases)
}

fn setup(
    app: &str,
    name: &str,
    machine: &Machine,
    victims: &str,
    workers: usize,
) -> Result<Setup, Failure> {
    let victims = victims.parse().map_err(Failure::impossible)?;
    let machine = Some(machine.clone());
    let (mapping, idle) = (Mapping::Scatter, Idle::Adaptive);
    let setup = Setup { machine, victims, mapping, idle, ..Setup::new(workers) };
    Ok(Setup { costs: costs(app, name), ..setup })
}

/// The costs of scheduling, and the memory as this application meets it on this machine.
fn costs(app: &str, machine: &str) -> Costs {
    let usual = Costs::usual();
    if !SHARING.contains(&app) {
        return usual;
    }
    let contention = match machine {
        "dunnington" => models::contention(models::BUS_READERS),
        _ => vec![models::CROWDING],
    };
    Costs { contention, far: vec![models::FAR], ..usual }
}

fn run(graph: &Recorded, setup: Setup) -> Result<Metrics, Failure> {
    let report = simulate(graph, setup)?;
    Ok(vec![
        ("time_s", report.time as f64 / 1e12),
        ("speed_up", report.speedup()),
        ("steals", report.counts.steals as f64 + report.counts.pieces as f64),
    ])
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let machines = Machines { results, names: NAMES };
    let view = View { machines, scale: setting.scale };
    let mut parts = vec![Part::Table(view.table()), Part::words(view.verdict())];
    let plot = |app, machine| {
        let counts = counts(machine, setting.scale);
        machines.plot((app, machine), &counts, &victims(app), ("speed_up", "speed-up"))
    };
    for app in APPS {
        parts.extend(MACHINES.map(|machine| Part::Plot(plot(app, machine))));
    }
    parts
}

/// The data that the report reads.
struct View<'a> {
    machines: Machines<'a>,
    scale: Scale,
}

impl View<'_> {
    /// The share of random victims' time that is saved, in per cent.
    fn gain(&self, app: &str, machine: &str, victims: &str, workers: usize) -> Option<f64> {
        let [of, to] = [victims, BASELINE].map(|victims| (app, machine, victims, workers));
        Some((1.0 - self.machines.time_over(of, to)?) * 100.0)
    }

    fn table(&self) -> Table {
        let mut table = Table::new("machines", "Speed-ups, and time saved against random victims");
        for app in APPS {
            for machine in MACHINES {
                for workers in counts(machine, self.scale) {
                    table.row(self.row(app, machine, workers, BASELINE, String::new()));
                    for Policy { technique, victims } in policies(app) {
                        let said = said_of(app, technique, machine);
                        table.row(self.row(app, machine, workers, victims, said));
                    }
                }
            }
        }
        table
    }

    fn row(
        &self,
        app: &str,
        machine: &str,
        workers: usize,
        victims: &str,
        said: String,
    ) -> [(String, Cell); 8] {
        let of = |metric| self.machines.median((app, machine, victims, workers), metric);
        let gain = self.gain(app, machine, victims, workers).filter(|_| victims != BASELINE);
        [
            cell("application", app),
            cell("machine", machine),
            cell("workers", workers),
            cell("victims", victims),
            cell("speed-up", of("speed_up")),
            cell("steals", of("steals")),
            cell("gain, %", gain),
            cell("the thesis says of the gain", said),
        ]
    }

    /// The largest gain of a technique on a machine over the numbers of workers.
    fn most_gain(&self, quote: &Quote) -> Option<(f64, usize)> {
        let machine = quote.machine.to_ascii_lowercase();
        let rules = policies(quote.app);
        let rules = rules.iter().filter(|policy| policy.technique == quote.technique);
        let on = counts(&machine, self.scale).into_iter().filter(|&workers| workers > 1);
        let points = rules.flat_map(|policy| on.clone().map(move |workers| (policy, workers)));
        let gains = points.filter_map(|(policy, workers)| {
            Some((self.gain(quote.app, &machine, policy.victims, workers)?, workers))
        });
        gains.max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// The quoted gains beside the simulated ones.
    fn verdict(&self) -> String {
        let beside = |quote: &Quote| {
            let (gain, workers) = self.most_gain(quote)?;
            Some(format!(
                "{} with {} on {}: {}, on {workers} workers, where the thesis has up to {} %",
                quote.app,
                quote.technique.name(),
                quote.machine,
                difference(gain),
                quote.most_gain?
            ))
        };
        let all: Vec<String> = QUOTES.iter().filter_map(beside).collect();
        if all.is_empty() {
            return "Nothing with a quoted gain has been simulated yet.".to_owned();
        }
        format!("The largest simulated gains beside the quoted ones. {}.", all.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::machines::labels;

    /// Catches: a gain of another machine, or a loss taken for a gain, beside the thesis' words.
    #[test]
    fn gains_stand_beside_what_the_thesis_says_of_that_machine() {
        let time = |machine, victims, time| {
            let metrics = vec![("time_s", time), ("speed_up", 20.0), ("steals", 5.0)];
            (labels(NAMES, ("heat", machine, victims, 64)), metrics)
        };
        let results = Results::of([
            time("sandman", BASELINE, 2.0),
            time("sandman", "nearest", 1.5),
            time("termi", BASELINE, 2.0),
            time("termi", "nearest", 3.0),
        ]);
        let parts = experiment().report(&results, &Setting::new(Scale::Quick, 2));
        let [Part::Table(table), Part::Words(words), Part::Plot(plot), ..] = &parts[..] else {
            panic!("{parts:?}")
        };
        let row = table.shown(&["heat", "sandman", "64", "nearest"]);
        assert_eq!(row[6..], ["25", "gains with many threads, up to 40 %"]);
        assert!(words.contains("heat with nearest on Sandman: +25.0 %, on 64 workers"), "{words}");
        assert_eq!(plot.series.len(), 2, "{plot:?}");
    }

    /// Catches: a machine or an application without its memory, or one that cannot be simulated.
    #[test]
    fn a_small_application_runs_on_every_machine() {
        let setting = Setting::new(Scale::Quick, 2);
        let block = experiment().blocks(&setting).into_iter().find(|block| block.name == "heat");
        let cases = (block.unwrap().prepare)().unwrap();
        assert_eq!(cases.len(), 3 * 2 * 2);
        for mut case in cases {
            let metrics = (case.run)().unwrap();
            let workers: f64 = case.labels[3].1.parse().unwrap();
            let speed_up = metrics[1].1;
            assert!(speed_up > 0.0 && speed_up <= workers, "{:?}: {metrics:?}", case.labels);
        }
        assert_eq!(costs("heat", "sandman").contention, [models::CROWDING]);
        assert!(costs("quicksort", "dunnington").contention.is_empty());
    }
}
