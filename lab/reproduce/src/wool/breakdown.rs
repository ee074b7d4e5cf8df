//! Figure 6: where the workers' time goes: application, successful steals, and search, each inside
//! and outside of joins.
//!
//! The unit is the application time of one worker: a total of 2 is twice the processor time, and
//! half the speed-up that was possible. Application time in a join is leapfrogging; search in a
//! join is waiting.

use super::workloads::{Workload, blocks, workloads};
use super::{FEW_WORKERS, OTHER_PROCESSOR};
use crate::common::profiled;
use crate::experiment::{About, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::report::{Form, Part, Plot, Series, Table, cell, number};
use crate::results::{Labels, Results};
use crate::setting::Setting;

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

fn labels(workload: &str, workers: usize) -> Labels {
    vec![("workload", workload.to_owned()), ("workers", workers.to_string())]
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let view = View { results, workloads: workloads(setting.scale), counts: &setting.threads };
    let mut parts = vec![Part::Table(view.table())];
    parts.extend(view.verdict(setting.most_workers()).map(Part::Words));
    parts.extend(setting.parallel_counts().into_iter().map(|count| Part::Plot(view.plot(count))));
    parts
}

fn cases(workload: &Workload, setting: &Setting) -> Result<Vec<Case>, Failure> {
    let subject = workload.prepare()?;
    let case = |&workers: &usize| {
        let subject = subject.clone();
        Case::new(labels(&workload.name(), workers), move || {
            profiled(&subject, &super::conditions(workers))
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
        let count = workers.to_string();
        let time = self.results.median(&[("workload", workload), ("workers", &count)], metric)?;
        let alone =
            |metric| self.results.median(&[("workload", workload), ("workers", "1")], metric);
        let unit = alone("application_s")? + alone("application_in_join_s")?;
        (unit > 0.0).then_some(time / unit)
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

    /// The statements of the publication's text, evaluated for our figures.
    fn verdict(&self, workers: usize) -> Option<String> {
        let measured: Vec<(String, [f64; 6])> = self
            .workloads
            .iter()
            .filter_map(|workload| Some((workload.name(), self.parts(&workload.name(), workers)?)))
            .collect();
        let most = |value: fn(&[f64; 6]) -> f64| {
            measured
                .iter()
                .map(|(name, parts)| (name, value(parts)))
                .max_by(|a, b| a.1.total_cmp(&b.1))
        };
        let (stealer, steals) = most(|parts| parts[2] + parts[3])?;
        let (grower, growth) = most(|parts| parts[0] + parts[1])?;
        let (searcher, search) = most(|parts| parts[4] + parts[5])?;
        Some(format!(
            "On {workers} workers, successful steals take {} of one worker's application time at \
             the most ({stealer}), search {} ({searcher}); application time grows most in \
             {grower}, to {}.",
            number(steals),
            number(search),
            number(growth)
        ))
    }

    fn plot(&self, workers: usize) -> Plot {
        let names: Vec<String> = self.workloads.iter().map(Workload::name).collect();
        let title = format!("Where the time of {workers} workers goes");
        let mut plot = Plot::new(&format!("breakdown-{workers}"), title, Form::Stacked)
            .axes("workload", "time / one worker's in the application")
            .over(names.clone())
            .level(1.0);
        for (part, metric) in PARTS {
            let values = names.iter().map(|name| self.part(name, workers, metric)).collect();
            plot = plot.with(Series::new(part, values));
        }
        plot
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
        let results = Results::of([
            (labels("fib 22", 1), times([2.0, 0.0, 0.0, 0.0, 0.5, 0.0])),
            (labels("fib 22", 2), times([1.8, 0.4, 0.02, 0.0, 0.1, 0.2])),
        ]);
        let setting = Setting { threads: vec![1, 2], ..Setting::new(Scale::Quick, 2) };
        let parts = experiment().report(&results, &setting);
        let [Part::Table(table), Part::Words(words), Part::Plot(plot)] = &parts[..] else {
            panic!("{parts:?}")
        };
        assert_eq!(
            table.shown(&["fib 22", "2"])[2..],
            ["0.90", "0.20", "0.0100", "0", "0.0500", "0.10", "1.26"]
        );
        assert!(words.contains("application time grows most in fib 22, to 1.10"), "{words}");
        assert_eq!(plot.series[5].values.iter().flatten().copied().collect::<Vec<_>>(), [0.1]);
    }
}
