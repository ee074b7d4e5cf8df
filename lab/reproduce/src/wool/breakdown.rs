//! Figure 6: where the workers' time goes: application, successful steals, and search, each inside
//! and outside of joins.
//!
//! The unit is the application time of one worker: a total of 2 is twice the processor time, and
//! half the speed-up that was possible. Application time in a join is leapfrogging; search in a
//! join is waiting.

use super::strategies::RAND;
use super::workloads::{Workload, blocks, workloads};
use super::{FEW_WORKERS, OTHER_PROCESSOR};
use crate::common::profiled;
use crate::experiment::{About, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::report::{Form, Part, Plot, Series, Table, cell, number};
use crate::results::{Labels, Results};
use crate::setting::Setting;
use crate::statistics::{median, quantile};

const ABOUT: About = About {
    name: "wool-breakdown",
    title: "time in the application, in successful steals and in search, inside and outside of \
        joins",
    publication: super::PUBLICATION,
    place: "Figure 6",
    caveats: &[
        FEW_WORKERS,
        OTHER_PROCESSOR,
        Caveat {
            unless: Need::Nothing,
            words: "The publication's values stand in a picture only. Its text says: successful \
                steals are a minor part everywhere; much search goes with too little parallelism; \
                and only multisort's application time grows, by data that do not fit the caches or \
                move between them.",
        },
        Caveat {
            unless: Need::Nothing,
            words: "The clock is read at every steal and every blocked join, which is a part of \
                the times it tells.",
        },
    ],
    repeat: [1, 5, 5],
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks(cases), report)
}

/// The parts of the bars from bottom to top.
const PARTS: [(&str, &str); 6] = [
    ("application", "application_s"),
    ("application in a join", "application_in_join_s"),
    ("steals", "steals_s"),
    ("steals in a join", "steals_in_join_s"),
    ("search", "search_s"),
    ("search in a join", "search_in_join_s"),
];

pub(super) fn labels(workload: &str, workers: usize) -> Labels {
    vec![("workload", workload.to_owned()), ("workers", workers.to_string())]
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let view = View { results, workloads: workloads(setting.scale), counts: &setting.threads };
    let verdict = Part::verdict(results.rounds(), || view.verdict(setting.most_workers()));
    let mut parts = vec![Part::Table(view.table()), verdict];
    parts.extend(view.workloads.iter().map(|workload| Part::Plot(view.plot(workload))));
    parts
}

fn cases(workload: &Workload, setting: &Setting) -> Result<Vec<Case>, Failure> {
    let subject = workload.prepare()?;
    let case = |&workers: &usize| {
        let subject = subject.clone();
        Case::new(labels(&workload.name(), workers), move || {
            profiled(&subject, &RAND.conditions(workers))
        })
    };
    Ok(setting.threads.iter().map(case).collect())
}

/// The data that the report reads.
struct View<'a> {
    results: &'a Results,
    workloads: Vec<Workload>,
    counts: &'a [usize],
}

impl View<'_> {
    /// A part of the workers' time, in application times of one worker.
    fn part(&self, workload: &str, workers: usize, metric: &str) -> Option<f64> {
        median(&self.sums(workload, workers, &[metric]))
    }

    /// The sum of some parts in each round, in application times of one worker.
    fn sums(&self, workload: &str, workers: usize, metrics: &[&str]) -> Vec<f64> {
        let alone = |metric| self.results.median(&which(workload, "1"), metric);
        let unit = alone("application_s").zip(alone("application_in_join_s"));
        let Some(unit) = unit.map(|(out, inside)| out + inside).filter(|&unit| unit > 0.0) else {
            return Vec::new();
        };
        let workers = workers.to_string();
        let rounds =
            metrics.iter().map(|&metric| self.results.values(&which(workload, &workers), metric));
        let rounds: Vec<Vec<f64>> = rounds.collect();
        let fewest = rounds.iter().map(Vec::len).min().unwrap_or(0);
        let sum = |round: usize| rounds.iter().map(|values| values[round]).sum::<f64>() / unit;
        (0..fewest).map(sum).collect()
    }

    /// All parts, if they have been measured.
    fn parts(&self, workload: &str, workers: usize) -> Option<[f64; 6]> {
        let parts = PARTS.map(|(_, metric)| self.part(workload, workers, metric));
        parts.iter().all(Option::is_some).then(|| parts.map(Option::unwrap_or_default))
    }

    fn table(&self) -> Table {
        let title = "Time of all workers, in units of the application time of one";
        let mut table = Table::new("breakdown", title);
        for workload in &self.workloads {
            for &workers in self.counts {
                let parts = self.parts(&workload.name(), workers);
                let part = |(at, (name, _)): (usize, &(&str, &str))| {
                    cell(*name, parts.map(|parts| parts[at]))
                };
                let head = [cell("workload", workload.name()), cell("workers", workers)];
                let sum = parts.map(|parts| parts.iter().sum::<f64>());
                let cells = head.into_iter().chain(PARTS.iter().enumerate().map(part));
                table.row(cells.chain([cell("all", sum)]));
            }
        }
        table
    }

    /// The statements of the publication's text, evaluated for our figures. The workload with the
    /// most is named only where no other comes within the spread of both.
    fn verdict(&self, workers: usize) -> String {
        let most = |metrics: &[&str]| {
            let all = self.workloads.iter().filter_map(|workload| {
                let rounds = self.sums(&workload.name(), workers, metrics);
                Extent::of(workload.name(), &rounds)
            });
            let all: Vec<Extent> = all.collect();
            all.iter().max_by(|a, b| a.middle.total_cmp(&b.middle)).map(|most| most.among(&all))
        };
        let of = |part: usize| most(&[PARTS[2 * part].1, PARTS[2 * part + 1].1]);
        let (Some(application), Some(steals), Some(search)) = (of(0), of(1), of(2)) else {
            return "Nothing has been measured on several workers yet.".to_owned();
        };
        format!(
            "On {workers} workers, in application times of one worker, at the most: successful \
             steals {steals}, search {search}, the application {application}."
        )
    }

    /// The parts of a workload over the workers.
    fn plot(&self, workload: &Workload) -> Plot {
        let name = workload.name();
        let title = format!("{name}: where the time of all workers goes");
        let mut plot = Plot::new(&format!("breakdown-{}", workload.file()), title, Form::Stacked)
            .axes("workers", "time / one worker's in the application")
            .over(self.counts.iter().map(usize::to_string).collect())
            .level(1.0);
        for (part, metric) in PARTS {
            let values = self.counts.iter().map(|&workers| self.part(&name, workers, metric));
            plot = plot.with(Series::new(part, values.collect()));
        }
        plot
    }
}

fn which<'a>(workload: &'a str, workers: &'a str) -> [(&'a str, &'a str); 2] {
    [("workload", workload), ("workers", workers)]
}

/// The middle half of the rounds of a workload.
struct Extent {
    name: String,
    low: f64,
    middle: f64,
    high: f64,
}

impl Extent {
    fn of(name: String, rounds: &[f64]) -> Option<Self> {
        let at = |share| quantile(rounds, share);
        Some(Self { name, low: at(0.25)?, middle: at(0.5)?, high: at(0.75)? })
    }

    /// `1.10 ± 0.05 (fib 22)`, with all the others whose middle halves overlap this one's.
    fn among(&self, all: &[Self]) -> String {
        let names: Vec<&str> = all
            .iter()
            .filter(|other| other.high >= self.low)
            .map(|other| other.name.as_str())
            .collect();
        let spread = (self.high - self.low) / 2.0;
        format!("{} ± {} ({})", number(self.middle), number(spread), names.join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Scale;

    /// Catches: another unit than one worker's application time, leapfrogged time included.
    #[test]
    fn the_unit_is_the_application_time_of_one_worker() {
        let times = |times: [f64; 6]| {
            PARTS.iter().zip(times).map(|((_, metric), time)| (*metric, time)).collect()
        };
        let cases = [
            (labels("fib 22", 1), times([2.0, 0.0, 0.0, 0.0, 0.5, 0.0])),
            (labels("fib 22", 2), times([1.8, 0.4, 0.02, 0.0, 0.1, 0.2])),
            (labels("uts tiny", 1), times([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])),
            (labels("uts tiny", 2), times([1.1, 0.0, 0.0, 0.0, 0.0, 0.0])),
        ];
        let results = Results::of_rounds(3, cases);
        let setting = Setting { threads: vec![1, 2], ..Setting::new(Scale::Quick, 2) };
        let parts = experiment().report(&results, &setting);
        let [Part::Table(table), Part::Words(words), Part::Plot(plot), _] = &parts[..] else {
            panic!("{parts:?}")
        };
        assert_eq!(
            table.shown(&["fib 22", "2"])[2..],
            ["0.90", "0.20", "0.0100", "0", "0.0500", "0.10", "1.26"]
        );
        assert!(words.contains("the application 1.10 ± 0 (fib 22 or uts tiny)"), "{words}");
        assert!(words.contains("steals 0.0100 ± 0 (fib 22)"), "{words}");
        assert_eq!((plot.x.as_str(), plot.categories.join(",").as_str()), ("workers", "1,2"));
        assert_eq!(plot.series[5].values, [Some(0.0), Some(0.1)]);
    }
}
