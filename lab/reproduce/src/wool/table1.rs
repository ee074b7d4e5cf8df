//! Table 1: how parallel the workloads are, how large their tasks, and how often one is stolen.
//!
//! Work and span are those of recordings on one worker; the time of a repetition is measured
//! without them. Steals are counted on several workers. A steal interval is the work between two
//! steals: all of it divided by their number.

use super::strategies::RAND;
use super::workloads::{Workload, blocks, workloads};
use super::{FEW_WORKERS, INTERRUPTIONS, OTHER_PROCESSOR};
use crate::common::Characters;
use crate::experiment::{About, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::wool::{WORKERS, Workload as Published};
use crate::report::{Cell, Form, Part, Plot, Series, Table, cell};
use crate::results::{Labels, Results};
use crate::setting::Setting;

const ABOUT: About = About {
    name: "wool-table1",
    title: "parallelism, granularity and steal intervals of the workloads",
    publication: super::PUBLICATION,
    place: "Table 1",
    caveats: &[
        Caveat {
            unless: Need::Workers(7),
            words: "The publication's steal intervals are for 7 to 63 workers. Fewer workers steal \
                less often, so that ours are longer, and cannot be held against any of its \
                columns.",
        },
        FEW_WORKERS,
        OTHER_PROCESSOR,
        INTERRUPTIONS,
        Caveat {
            unless: Need::Nothing,
            words: "multisort goes over to serial code at other lengths here: its tasks are larger \
                and its parallelism is smaller. cholesky makes about a third as many tasks as \
                there.",
        },
    ],
    repeat: [1, 5, 5],
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks(cases), report)
}

pub(super) const ALONE: &str = "alone";
pub(super) const RECORDED: &str = "recorded";
const STEALING: &str = "stealing";

pub(super) fn labels(workload: &str, what: &str, workers: usize) -> Labels {
    vec![
        ("workload", workload.to_owned()),
        ("what", what.to_owned()),
        ("workers", workers.to_string()),
    ]
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let (workloads, counts) = (workloads(setting.scale), setting.parallel_counts());
    let view = View { results, workloads, counts };
    vec![
        Part::Table(view.characteristics()),
        Part::Table(view.intervals()),
        Part::Plot(view.plot()),
    ]
}

fn cases(workload: &Workload, setting: &Setting) -> Result<Vec<Case>, Failure> {
    let subject = workload.prepare()?;
    let name = workload.name();
    let (alone, spanned) = (subject.clone(), workload.prepare_briefly()?);
    let mut characters = Characters::default();
    let mut cases = vec![
        Case::new(labels(&name, ALONE, 1), move || {
            let measured = alone.parallel(&RAND.conditions(1).build()?)?;
            Ok(vec![("wall_s", measured.wall_s)])
        }),
        Case::new(labels(&name, RECORDED, 1), move || {
            characters.add(&spanned, &RAND.conditions(1))
        }),
    ];
    for workers in setting.parallel_counts() {
        let subject = subject.clone();
        cases.push(Case::new(labels(&name, STEALING, workers), move || {
            let measured = subject.parallel(&RAND.conditions(workers).build()?)?;
            Ok(vec![("wall_s", measured.wall_s), ("steals", measured.steals())])
        }));
    }
    Ok(cases)
}

/// The data that the report reads.
struct View<'a> {
    results: &'a Results,
    workloads: Vec<Workload>,
    counts: Vec<usize>,
}

/// The measurements of one worker on a workload.
struct Character {
    parallelism: [Option<f64>; 3],
    /// Thousands of cycles.
    repetition: Option<f64>,
    /// Cycles.
    granularity: Option<f64>,
    /// The source of the span.
    span_by: Option<&'static str>,
}

impl View<'_> {
    fn character(&self, workload: &Workload) -> Character {
        let name = workload.name();
        let of = |what: &str, metric: &str| {
            self.results.median(&[("workload", &name), ("what", what)], metric)
        };
        let last =
            |metric: &str| self.results.last(&[("workload", &name), ("what", RECORDED)], metric);
        let cycles_a_s = last("cycles_a_s");
        let repetition = cycles_a_s.zip(of(ALONE, "wall_s"));
        let work = last("work_s").zip(cycles_a_s).map(|(work, rate)| work * rate);
        Character {
            parallelism: ["parallelism_0", "parallelism_1000", "parallelism_2000"].map(last),
            span_by: last("recorded").map(|is| if is > 0.0 { "recordings" } else { "clock" }),
            repetition: repetition
                .map(|(rate, wall)| rate * wall / 1000.0 / f64::from(workload.repetitions)),
            granularity: work
                .zip(last("tasks"))
                .filter(|(_, tasks)| *tasks > 0.0)
                .map(|(work, tasks)| work / tasks),
        }
    }

    fn characteristics(&self) -> Table {
        let title = "Work over span where a steal costs so many cycles, size of a repetition on \
            one worker, and mean size of a task";
        let mut table = Table::new("characteristics", title);
        for workload in &self.workloads {
            let Character { parallelism: [free, cheap, dear], repetition, granularity, span_by } =
                self.character(workload);
            let paper = |value: fn(&Published) -> f64| Cell::from(workload.published().map(value));
            table.row([
                cell("workload", workload.name()),
                cell("repetitions", workload.repetitions),
                cell("span by", span_by),
                cell("parallelism at 0", free),
                cell("paper", paper(|line| line.parallelism_0)),
                cell("at 1000", cheap),
                cell("paper", paper(|line| line.parallelism_1000)),
                cell("at 2000 cycles a steal", dear),
                cell("kilocycles a repetition", repetition),
                cell("paper", paper(|line| line.kilocycles.into())),
                cell("cycles a task", granularity),
                cell("paper", paper(|line| line.granularity.into())),
            ]);
        }
        table
    }

    /// Thousands of cycles of work between two steals.
    fn interval(&self, workload: &Workload, workers: usize) -> Option<f64> {
        let (name, count) = (workload.name(), workers.to_string());
        let which = [("workload", name.as_str()), ("what", STEALING), ("workers", count.as_str())];
        let steals = self.results.median(&which, "steals")?;
        let work = self.character(workload).repetition? * f64::from(workload.repetitions);
        (steals > 0.0).then_some(work / steals)
    }

    fn intervals(&self) -> Table {
        let mut table = Table::new("intervals", "Thousands of cycles of work between two steals");
        for workload in &self.workloads {
            let ours = self.counts.iter().map(|&workers| {
                cell(format!("{workers} workers"), self.interval(workload, workers))
            });
            let theirs = WORKERS.iter().enumerate().map(|(at, workers)| {
                let interval = workload.published().map(|line| line.steal_interval[at]);
                cell(format!("paper: {workers}"), interval)
            });
            table.row([cell("workload", workload.name())].into_iter().chain(ours).chain(theirs));
        }
        table
    }

    fn plot(&self) -> Plot {
        let names = self.workloads.iter().map(Workload::name).collect();
        let ratios =
            |name: &str, ours: fn(&Character) -> Option<f64>, theirs: fn(&Published) -> f64| {
                let ratio = |workload: &Workload| {
                    Some(ours(&self.character(workload))? / theirs(workload.published()?))
                };
                Series::new(name, self.workloads.iter().map(ratio).collect())
            };
        Plot::new("characteristics", "Ours over the publication's", Form::Dots)
            .axes("workload", "ours / paper's")
            .over(names)
            .ratios()
            .with(ratios("parallelism at 0", |ours| ours.parallelism[0], |line| line.parallelism_0))
            .with(ratios(
                "parallelism at 1000",
                |ours| ours.parallelism[1],
                |line| line.parallelism_1000,
            ))
            .with(ratios(
                "cycles a repetition",
                |ours| ours.repetition,
                |line| line.kilocycles.into(),
            ))
            .with(ratios("cycles a task", |ours| ours.granularity, |line| line.granularity.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Scale;

    /// Catches: cycles and thousands of them exchanged, or repetitions forgotten.
    #[test]
    fn characters_are_in_the_publications_units() {
        let profile = vec![
            ("parallelism_0", 250.0),
            ("parallelism_1000", 60.0),
            ("parallelism_2000", 40.0),
            ("cycles_a_s", 2e9),
            ("work_s", 0.001),
            ("tasks", 4000.0),
            ("recorded", 1.0),
        ];
        let results = Results::of([
            (labels("stress 10", ALONE, 1), vec![("wall_s", 0.0012)]),
            (labels("stress 10", RECORDED, 1), profile),
            (labels("stress 10", STEALING, 2), vec![("steals", 6.0)]),
        ]);
        let setting = Setting { threads: vec![1, 2], ..Setting::new(Scale::Quick, 2) };
        let parts = experiment().report(&results, &setting);
        let [Part::Table(characteristics), Part::Table(intervals), Part::Plot(plot)] = &parts[..]
        else {
            panic!("{parts:?}");
        };
        // 4 repetitions take 2.4 million cycles, 4000 tasks 2 million.
        let cells =
            ["4", "recordings", "250", "278.4", "60", "59.7", "40", "600", "601", "500", "587"];
        assert_eq!(characteristics.shown(&["stress 10"])[1..], cells);
        // 2400 thousand cycles, 6 steals.
        assert_eq!(intervals.shown(&["stress 10"])[1], "400");
        assert_eq!(plot.series.len(), 4);
    }
}
