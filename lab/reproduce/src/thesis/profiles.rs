//! Section 2.4 and appendix A: what part of the time the scheduler takes, which of its functions,
//! and how each grows with the workers.
//!
//! All times are totals over all workers. `acquire_queue` lies inside of `spawn` and `get_task`, as
//! there; `lib_wait` is what is left of the library's time. Loops are divided recursively, so that
//! thieves choose their victims by the policy; each row says how often.

use std::fmt;

use super::loops::{Division, PAUSES, UNNAMED, divisions};
use crate::common::{Conditions, profiled};
use crate::experiment::{About, Block, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::thesis::PROFILE_WORDS;
use crate::report::{Cell, Form, Part, Plot, Series, Table, cell};
use crate::results::{Labels, Results, all_of};
use crate::setting::Setting;

const ABOUT: About = About {
    name: "tbb-profiles",
    title: "time in the program and in each of the scheduler's functions, on every application of \
        the thesis",
    publication: super::PUBLICATION,
    place: "section 2.4 and appendix A",
    caveats: &[
        Caveat {
            unless: Need::Workers(12),
            words: "The thesis profiles up to 24 threads. With two workers there is hardly any \
                stealing, so that the functions it is made of take next to nothing.",
        },
        Caveat {
            unless: Need::Nodes(2),
            words: "The thesis compares a machine with one memory bus to one with two NUMA nodes: \
                whether stealing costs more across nodes is not seen on one.",
        },
        Caveat { unless: Need::Nothing, words: PROFILE_WORDS },
        UNNAMED,
        PAUSES,
        Caveat {
            unless: Need::Nothing,
            words: "Sinew has no lock around a worker's tasks: `lock` is the claim of a task, \
                `acquire_queue` what its owner does to publish tasks or to take published ones \
                back.",
        },
        Caveat {
            unless: Need::Nothing,
            words: "Victims are random here, as in the library that the thesis profiles: no worker \
                is a slave of its package, and every worker steals from all.",
        },
    ],
    repeat: [1, 5, 5],
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks, report)
}

/// In the thesis' order: of section 2.4, then of appendix A.
pub(super) const APPS: [&str; 8] = [
    "blackscholes",
    "fluidanimate",
    "strassen",
    "streamcluster",
    "quicksort",
    "swaptions",
    "matmul",
    "convex-hull",
];

/// The functions that the library's time consists of.
const FUNCTIONS: [(&str, &str); 6] = [
    ("spawn", "spawn_s"),
    ("get_task", "get_s"),
    ("lock", "lock_s"),
    ("stealing", "stealing_s"),
    ("steal_wait", "steal_wait_s"),
    ("lib_wait", "lib_wait_s"),
];

/// A program: an application, and how its loops are divided.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    app: &'static str,
    division: Division,
}

impl Program {
    fn all() -> impl Iterator<Item = Self> {
        APPS.into_iter().flat_map(Self::of)
    }

    pub(super) fn of(app: &'static str) -> impl Iterator<Item = Self> {
        divisions(app).into_iter().map(move |division| Self { app, division })
    }

    pub(super) fn labels(self, workers: usize) -> Labels {
        vec![
            ("app", self.app.to_owned()),
            ("loops", self.division.name.to_owned()),
            ("workers", workers.to_string()),
        ]
    }

    /// The same as a part of a file's name.
    fn file(self) -> String {
        format!("{}-{}", self.app, self.division.name)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.app, self.division.name)
    }
}

fn blocks(setting: &Setting) -> Vec<Block> {
    let size = setting.scale.pick("tiny", "small", "full");
    let block = |app: &'static str| {
        let counts = setting.threads.clone();
        Block::new(app, move || cases(app, size, &counts))
    };
    APPS.into_iter().map(block).collect()
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let view = View { results, counts: &setting.threads };
    let mut parts =
        vec![Part::Table(view.shares()), Part::Table(view.functions()), Part::Table(view.growth())];
    parts.extend(Program::all().flat_map(|program| view.plots(program)).map(Part::Plot));
    parts
}

fn cases(app: &'static str, size: &str, counts: &[usize]) -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    for program in Program::of(app) {
        let subject = program.division.prepare(app, size)?;
        cases.extend(counts.iter().map(|&workers| {
            let subject = subject.clone();
            let conditions = Conditions::workers(workers).pinned();
            Case::new(program.labels(workers), move || profiled(&subject, &conditions))
        }));
    }
    Ok(cases)
}

/// The data that the report reads.
struct View<'a> {
    results: &'a Results,
    counts: &'a [usize],
}

impl View<'_> {
    fn median(&self, program: Program, workers: usize, metric: &str) -> Option<f64> {
        let labels = program.labels(workers);
        self.results.median(&all_of(&labels), metric)
    }

    /// Of the time of all workers.
    fn share(&self, program: Program, workers: usize, metric: &str) -> Option<f64> {
        let of = |metric| self.median(program, workers, metric);
        Some(of(metric)? / (of("user_s")? + of("library_s")?))
    }

    fn speed_up(&self, program: Program, workers: usize) -> Option<f64> {
        let (alone, together) = (program.labels(1), program.labels(workers));
        self.results.ratio(&all_of(&alone), &all_of(&together), "wall_s")
    }

    /// A row for each program and number of workers, with these cells.
    fn table(
        &self,
        name: &str,
        title: &str,
        cells: impl Fn(Program, usize) -> Vec<(String, Cell)>,
    ) -> Table {
        let mut table = Table::new(name, title);
        for program in Program::all() {
            for &workers in self.counts {
                let head = [
                    cell("application", program.app),
                    cell("loops", program.division.name),
                    cell("workers", workers),
                ];
                table.row(head.into_iter().chain(cells(program, workers)));
            }
        }
        table
    }

    fn shares(&self) -> Table {
        let title = "Time in the program and in the library, and how attempts to steal end";
        self.table("shares", title, |program, workers| {
            let percent = |metric| self.share(program, workers, metric).map(|share| share * 100.0);
            let steals = self.median(program, workers, "claims");
            let failed = self.median(program, workers, "failed_claims");
            let ratio = failed
                .zip(steals)
                .filter(|(_, steals)| *steals > 0.0)
                .map(|(failed, steals)| failed / steals);
            vec![
                cell("speed-up", self.speed_up(program, workers)),
                cell("program, %", percent("user_s")),
                cell("library, %", percent("library_s")),
                cell("chosen by the rule", self.median(program, workers, "chosen_victims")),
                cell("steals", steals),
                cell("failed / steals", ratio),
                cell("mailed", self.median(program, workers, "mailed")),
            ]
        })
    }

    fn functions(&self) -> Table {
        let title = "Time of all workers in each of the scheduler's functions";
        self.table("functions", title, |program, workers| {
            let acquire = [("acquire_queue (within spawn and get_task)", "acquire_queue_s")];
            let time = |(name, metric): (&str, &str)| {
                let time = self.median(program, workers, metric).map(|time| time * 1000.0);
                cell(format!("{name}, ms"), time)
            };
            FUNCTIONS.into_iter().chain(acquire).map(time).collect()
        })
    }

    fn growth(&self) -> Table {
        let first = self.counts.iter().copied().find(|&workers| workers > 1).unwrap_or(1);
        let title = format!("How each function's time grows, over that of {first} workers");
        self.table("growth", &title, |program, workers| {
            let growth = |metric| {
                let (now, then) =
                    (self.median(program, workers, metric)?, self.median(program, first, metric)?);
                (then > 0.0).then_some(now / then)
            };
            FUNCTIONS.map(|(name, metric)| cell(name, growth(metric))).into()
        })
    }

    /// Over the workers: the program and the library, the functions, and what stealing consists of.
    fn plots(&self, program: Program) -> [Plot; 3] {
        let percent =
            |workers, metric: &str| self.share(program, workers, metric).map(|share| share * 100.0);
        let ms =
            |workers, metric: &str| self.median(program, workers, metric).map(|time| time * 1000.0);
        let halves = [("program", "user_s"), ("library", "library_s")];
        [
            self.plot(program, "shares", "share of the workers' time, %", &halves, percent),
            self.plot(program, "functions", "time of all workers, ms", &FUNCTIONS, ms),
            self.plot(program, "stealing", "time of all workers, ms", &FUNCTIONS[2..5], ms),
        ]
    }

    /// These metrics on top of each other, for each number of workers.
    fn plot(
        &self,
        program: Program,
        what: &str,
        y: &str,
        metrics: &[(&str, &str)],
        value: impl Fn(usize, &str) -> Option<f64>,
    ) -> Plot {
        let name = format!("{what}-{}", program.file());
        let counts = self.counts.iter().map(usize::to_string).collect();
        let plot = Plot::new(&name, format!("{program}: {what}"), Form::Stacked)
            .axes("workers", y)
            .over(counts);
        metrics.iter().fold(plot, |plot, (name, metric)| {
            let values = self.counts.iter().map(|&workers| value(workers, metric));
            plot.with(Series::new(*name, values.collect()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Scale;

    fn strassen() -> Program {
        Program::of("strassen").next().unwrap()
    }

    /// Catches: shares of something else than all workers' time, or a growth turned round.
    #[test]
    fn shares_and_growth_are_those_of_all_workers_together() {
        let case = |workers, user, library, lock| {
            let times =
                vec![("wall_s", 1.0), ("user_s", user), ("library_s", library), ("lock_s", lock)];
            let counts = vec![("claims", 10.0), ("failed_claims", 25.0), ("chosen_victims", 31.0)];
            (strassen().labels(workers), [times, counts].concat())
        };
        let results =
            Results::of([case(1, 1.0, 0.0, 0.0), case(2, 1.5, 0.5, 0.1), case(4, 2.0, 2.0, 0.4)]);
        let setting = Setting { threads: vec![1, 2, 4], ..Setting::new(Scale::Quick, 4) };
        let parts = experiment().report(&results, &setting);
        let tables = parts
            .iter()
            .filter_map(|part| if let Part::Table(table) = part { Some(table) } else { None });
        let [shares, functions, growth] = tables.collect::<Vec<_>>()[..] else {
            panic!("{parts:?}")
        };
        let cells = ["1", "75", "25", "31", "10", "2.50"];
        assert_eq!(shares.shown(&["strassen", "none", "2"])[3..9], cells);
        assert_eq!(functions.shown(&["strassen", "none", "4"])[5], "400");
        assert_eq!(growth.shown(&["strassen", "none", "4"])[5], "4");
        let plot = parts.iter().find_map(|part| match part {
            Part::Plot(plot) if plot.name == "functions-strassen-none" => Some(plot),
            _ => None,
        });
        assert_eq!(plot.unwrap().categories, ["1", "2", "4"]);
    }
}
