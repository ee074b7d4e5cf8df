//! Figures 7 and 8: what sampling does to the number of steals and to what one costs, and to the
//! time where steals are made expensive.
//!
//! SAMP+SET is held against SET. Every steal can be delayed by 4000 cycles, between the commitment
//! to it and the stolen task. Costs of steals are from profiled runs, times and numbers of steals
//! from plain ones.

use super::strategies::{SAMP_SET, SET, Strategy};
use super::workloads::{Workload, blocks, workloads};
use super::{FEW_WORKERS, OTHER_PROCESSOR, timed};
use crate::common::profiled;
use crate::experiment::{About, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::report::{Form, Part, Plot, Series, Table, cell};
use crate::results::{Labels, Results};
use crate::setting::Setting;

const ABOUT: About = About {
    name: "wool-sampling",
    title: "sampling victims: fewer steals, dearer steals, and steals that are delayed",
    publication: super::PUBLICATION,
    place: "Figures 7 and 8",
    caveats: &[
        FEW_WORKERS,
        OTHER_PROCESSOR,
        Caveat {
            unless: Need::Nothing,
            words: "The publication's values stand in pictures only. Its text says: sampling \
                reduces the number of steals and makes each dearer, so that times hardly change; \
                with steals delayed by 4000 cycles, stress and ssf gain a little, the others do \
                not.",
        },
    ],
    repeat: [1, 5, 5],
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks(cases), report)
}

/// The delays, in cycles.
const DELAYS: [u32; 2] = [0, 4000];

fn labels(workload: &str, strategy: Strategy, delay: u32, mode: Mode, workers: usize) -> Labels {
    vec![
        ("workload", workload.to_owned()),
        ("strategy", strategy.name.to_owned()),
        ("delay_cycles", delay.to_string()),
        ("mode", mode.name().to_owned()),
        ("workers", workers.to_string()),
    ]
}

/// Whether the clock is read at every steal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Plain,
    Profiled,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Profiled => "profiled",
        }
    }
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let (workloads, counts) = (workloads(setting.scale), setting.parallel_counts());
    let view = View { results, workloads, counts };
    let most = setting.most_workers();
    vec![Part::Table(view.table()), Part::Plot(view.steals(most)), Part::Plot(view.times(most))]
}

fn cases(workload: &Workload, setting: &Setting) -> Result<Vec<Case>, Failure> {
    let subject = workload.prepare()?;
    let mut cases = Vec::new();
    for workers in setting.parallel_counts() {
        for strategy in [SET, SAMP_SET] {
            for delay in DELAYS {
                for mode in [Mode::Plain, Mode::Profiled] {
                    let subject = subject.clone();
                    let conditions = strategy.conditions(workers).delayed(delay);
                    cases.push(Case::new(
                        labels(&workload.name(), strategy, delay, mode, workers),
                        move || match mode {
                            Mode::Plain => timed(&subject, &conditions),
                            Mode::Profiled => profiled(&subject, &conditions),
                        },
                    ));
                }
            }
        }
    }
    Ok(cases)
}

/// The data that the report reads.
struct View<'a> {
    results: &'a Results,
    workloads: Vec<Workload>,
    counts: Vec<usize>,
}

impl View<'_> {
    /// SAMP+SET over SET.
    fn ratio(
        &self,
        workload: &str,
        delay: u32,
        mode: Mode,
        workers: usize,
        metric: &str,
    ) -> Option<f64> {
        let (delay, workers) = (delay.to_string(), workers.to_string());
        let case = |strategy: Strategy| {
            [
                ("workload", workload),
                ("strategy", strategy.name),
                ("delay_cycles", delay.as_str()),
                ("mode", mode.name()),
                ("workers", workers.as_str()),
            ]
        };
        self.results.ratio(&case(SAMP_SET), &case(SET), metric)
    }

    fn table(&self) -> Table {
        let mut table = Table::new("sampling", "SAMP+SET over SET");
        for name in self.workloads.iter().map(Workload::name) {
            for &workers in &self.counts {
                for delay in DELAYS {
                    let ratio = |mode, metric| self.ratio(&name, delay, mode, workers, metric);
                    table.row([
                        cell("workload", &name),
                        cell("workers", workers),
                        cell("delay, cycles", delay),
                        cell("steals", ratio(Mode::Plain, "steals")),
                        cell("failed attempts", ratio(Mode::Plain, "failed_steals")),
                        cell("time of a steal", ratio(Mode::Profiled, "a_steal_s")),
                        cell("time", ratio(Mode::Plain, "wall_s")),
                    ]);
                }
            }
        }
        table
    }

    fn series(&self, name: &str, delay: u32, mode: Mode, workers: usize, metric: &str) -> Series {
        let values = self
            .workloads
            .iter()
            .map(|workload| self.ratio(&workload.name(), delay, mode, workers, metric));
        Series::new(name, values.collect())
    }

    fn frame(&self, name: &str, title: String) -> Plot {
        Plot::new(name, title, Form::Bars)
            .axes("workload", "SAMP+SET / SET")
            .over(self.workloads.iter().map(Workload::name).collect())
            .level(1.0)
    }

    /// Figure 7.
    fn steals(&self, workers: usize) -> Plot {
        self.frame("steals", format!("Number and cost of steals with sampling, {workers} workers"))
            .with(self.series("steals", 0, Mode::Plain, workers, "steals"))
            .with(self.series("time of a steal", 0, Mode::Profiled, workers, "a_steal_s"))
    }

    /// Figure 8.
    fn times(&self, workers: usize) -> Plot {
        self.frame("times", format!("Time with sampling, {workers} workers"))
            .with(self.series("as it is", 0, Mode::Plain, workers, "wall_s"))
            .with(self.series(
                "steals delayed by 4000 cycles",
                4000,
                Mode::Plain,
                workers,
                "wall_s",
            ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Scale;

    /// Catches: a ratio turned round, or the delayed runs taken for the others.
    #[test]
    fn sampling_is_held_against_the_same_without_it() {
        let case = |strategy, delay, steals, wall| {
            (
                labels("fib 22", strategy, delay, Mode::Plain, 2),
                vec![("steals", steals), ("wall_s", wall)],
            )
        };
        let results = Results::of([
            case(SET, 0, 100.0, 1.0),
            case(SAMP_SET, 0, 80.0, 1.1),
            case(SET, 4000, 50.0, 2.0),
            case(SAMP_SET, 4000, 20.0, 1.0),
        ]);
        let setting = Setting { threads: vec![1, 2], ..Setting::new(Scale::Quick, 2) };
        let parts = experiment().report(&results, &setting);
        let [Part::Table(table), Part::Plot(steals), Part::Plot(times)] = &parts[..] else {
            panic!("{parts:?}")
        };
        assert_eq!(table.shown(&["fib 22", "2", "0"])[3..], ["0.80", "-", "-", "1.10"]);
        assert_eq!(table.shown(&["fib 22", "2", "4000"])[3..], ["0.40", "-", "-", "0.50"]);
        assert_eq!((steals.series.len(), times.series.len()), (1, 2));
    }
}
