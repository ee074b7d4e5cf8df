//! Section 2.4 and appendix A: what part of the time the scheduler takes, which of its functions,
//! and how each grows with the workers.
//!
//! All times are totals over all workers. `acquire_queue` lies inside of `spawn` and `get_task`, as
//! there; `lib_wait` is what is left of the library's time.

use crate::common::{Conditions, Subject, profiled};
use crate::experiment::{About, Block, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::thesis::PROFILE_WORDS;
use crate::report::{Cell, Form, Part, Plot, Series, Table, cell};
use crate::results::{Labels, Results};
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
        Caveat {
            unless: Need::Nothing,
            words: "Sinew has no lock around a worker's tasks: `lock` is the claim of a task, \
                `acquire_queue` what its owner does to publish tasks or to take published ones \
                back.",
        },
    ],
    repeat: [1, 5, 5],
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks, report)
}

/// In the thesis' order.
const APPS: [&str; 8] = [
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

fn labels(app: &str, workers: usize) -> Labels {
    vec![("app", app.to_owned()), ("workers", workers.to_string())]
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
    let most = setting.most_workers();
    vec![
        Part::Table(view.shares()),
        Part::Table(view.functions()),
        Part::Table(view.growth()),
        Part::Plot(view.share_plot()),
        Part::Plot(view.function_plot(most)),
        Part::Plot(view.stealing_plot(most)),
    ]
}

fn cases(app: &str, size: &str, counts: &[usize]) -> Result<Vec<Case>, Failure> {
    let subject = Subject::prepare(app, size)?;
    let case = |&workers: &usize| {
        let subject = subject.clone();
        let conditions = Conditions::workers(workers).pinned();
        Case::new(labels(app, workers), move || profiled(&subject, &conditions))
    };
    Ok(counts.iter().map(case).collect())
}

/// The data that the report reads.
struct View<'a> {
    results: &'a Results,
    counts: &'a [usize],
}

impl View<'_> {
    fn median(&self, app: &str, workers: usize, metric: &str) -> Option<f64> {
        self.results.median(&[("app", app), ("workers", &workers.to_string())], metric)
    }

    /// Of the time of all workers.
    fn share(&self, app: &str, workers: usize, metric: &str) -> Option<f64> {
        let all = self.median(app, workers, "user_s")? + self.median(app, workers, "library_s")?;
        Some(self.median(app, workers, metric)? / all)
    }

    fn speed_up(&self, app: &str, workers: usize) -> Option<f64> {
        let count = workers.to_string();
        self.results.ratio(
            &[("app", app), ("workers", "1")],
            &[("app", app), ("workers", &count)],
            "wall_s",
        )
    }

    /// A row for each application and number of workers.
    /// A row for each application and number of workers, with these cells.
    fn table(
        &self,
        name: &str,
        title: &str,
        cells: impl Fn(&str, usize) -> Vec<(String, Cell)>,
    ) -> Table {
        let mut table = Table::new(name, title);
        for app in APPS {
            for &workers in self.counts {
                let head = [cell("application", app), cell("workers", workers)];
                table.row(head.into_iter().chain(cells(app, workers)));
            }
        }
        table
    }

    fn shares(&self) -> Table {
        let title = "Time in the program and in the library, and how attempts to steal end";
        self.table("shares", title, |app, workers| {
            let percent = |metric| self.share(app, workers, metric).map(|share| share * 100.0);
            let steals = self.median(app, workers, "claims");
            let failed = self.median(app, workers, "failed_claims");
            let ratio = failed
                .zip(steals)
                .filter(|(_, steals)| *steals > 0.0)
                .map(|(failed, steals)| failed / steals);
            vec![
                cell("speed-up", self.speed_up(app, workers)),
                cell("program, %", percent("user_s")),
                cell("library, %", percent("library_s")),
                cell("steals", steals),
                cell("failed / steals", ratio),
                cell("mailed", self.median(app, workers, "mailed")),
            ]
        })
    }

    fn functions(&self) -> Table {
        let title = "Time of all workers in each of the scheduler's functions";
        self.table("functions", title, |app, workers| {
            let acquire = [("acquire_queue (within spawn and get_task)", "acquire_queue_s")];
            let time = |(name, metric): (&str, &str)| {
                let time = self.median(app, workers, metric).map(|time| time * 1000.0);
                cell(format!("{name}, ms"), time)
            };
            FUNCTIONS.into_iter().chain(acquire).map(time).collect()
        })
    }

    fn growth(&self) -> Table {
        let first = self.counts.iter().copied().find(|&workers| workers > 1).unwrap_or(1);
        let title = format!("How each function's time grows, over that of {first} workers");
        self.table("growth", &title, |app, workers| {
            let growth = |metric| {
                let (now, then) =
                    (self.median(app, workers, metric)?, self.median(app, first, metric)?);
                (then > 0.0).then_some(now / then)
            };
            FUNCTIONS.map(|(name, metric)| cell(name, growth(metric))).into()
        })
    }

    fn share_plot(&self) -> Plot {
        let pairs = || {
            APPS.into_iter().flat_map(|app| self.counts.iter().map(move |&workers| (app, workers)))
        };
        let names = pairs().map(|(app, workers)| format!("{app}, {workers}")).collect();
        let values = |metric: &'static str| {
            pairs()
                .map(|(app, workers)| self.share(app, workers, metric).map(|share| share * 100.0))
                .collect()
        };
        Plot::new("shares", "Time in the program and in the library", Form::Stacked)
            .axes("application, workers", "share of the workers' time, %")
            .over(names)
            .with(Series::new("program", values("user_s")))
            .with(Series::new("library", values("library_s")))
    }

    fn breakdown(
        &self,
        name: &str,
        title: String,
        functions: &[(&str, &str)],
        workers: usize,
    ) -> Plot {
        let mut plot = Plot::new(name, title, Form::Stacked)
            .axes("application", "time of all workers, ms")
            .over(APPS.map(str::to_owned).to_vec());
        for (function, metric) in functions {
            let values =
                APPS.iter().map(|app| self.median(app, workers, metric).map(|time| time * 1000.0));
            plot = plot.with(Series::new(*function, values.collect()));
        }
        plot
    }

    fn function_plot(&self, workers: usize) -> Plot {
        let title = format!("The scheduler's functions, {workers} workers");
        self.breakdown("functions", title, &FUNCTIONS, workers)
    }

    fn stealing_plot(&self, workers: usize) -> Plot {
        self.breakdown(
            "stealing",
            format!("What stealing consists of, {workers} workers"),
            &FUNCTIONS[2..5],
            workers,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Scale;

    /// Catches: shares of something else than all workers' time, or a growth turned round.
    #[test]
    fn shares_and_growth_are_those_of_all_workers_together() {
        let case = |workers, user, library, lock| {
            let times =
                vec![("wall_s", 1.0), ("user_s", user), ("library_s", library), ("lock_s", lock)];
            let counts = vec![("claims", 10.0), ("failed_claims", 25.0)];
            (labels("strassen", workers), [times, counts].concat())
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
        assert_eq!(shares.shown(&["strassen", "2"])[2..7], ["1", "75", "25", "10", "2.50"]);
        assert_eq!(functions.shown(&["strassen", "4"])[4], "400");
        assert_eq!(growth.shown(&["strassen", "4"])[4], "4");
    }
}
