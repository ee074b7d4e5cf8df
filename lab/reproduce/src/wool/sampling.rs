//! Figures 7 and 8: what sampling does to the number of steals and to what one costs, and to the
//! time where steals are made expensive.
//!
//! SAMP+SET is held against SET. Every steal can be delayed by 4000 cycles, between the commitment
//! to it and the stolen task. The time of a steal begins with the choice of its victim, so it
//! includes the looks at others. Times of steals are from profiled runs, times and numbers of
//! steals from plain ones.

use super::strategies::{SAMP_SET, SET, Strategy};
use super::workloads::{Workload, blocks, workloads};
use super::{FEW_WORKERS, OTHER_PROCESSOR, timed};
use crate::common::profiled;
use crate::experiment::{About, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::report::{Form, Part, Plot, Series, Table, cell};
use crate::results::{Labels, Results, all_of};
use crate::setting::Setting;
use crate::statistics::{median, spread};

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

pub(super) fn labels(
    workload: &str,
    strategy: Strategy,
    delay: u32,
    mode: Mode,
    workers: usize,
) -> Labels {
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
pub(super) enum Mode {
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
    let mut parts = vec![Part::Table(view.table())];
    parts.extend(FIGURES.iter().map(|figure| Part::Plot(view.plot(figure))));
    parts
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
    /// The ratios of a metric, a round each.
    fn ratios(
        &self,
        workload: &str,
        delay: u32,
        mode: Mode,
        workers: usize,
        metric: &str,
    ) -> Vec<f64> {
        let case = |strategy| labels(workload, strategy, delay, mode, workers);
        self.results.ratios(&all_of(&case(SAMP_SET)), &all_of(&case(SET)), metric)
    }

    fn table(&self) -> Table {
        let mut table = Table::new("sampling", "SAMP+SET over SET");
        for name in self.workloads.iter().map(Workload::name) {
            for &workers in &self.counts {
                for delay in DELAYS {
                    let ratios = |mode, metric| self.ratios(&name, delay, mode, workers, metric);
                    let ratio = |mode, metric| median(&ratios(mode, metric));
                    table.row([
                        cell("workload", &name),
                        cell("workers", workers),
                        cell("delay, cycles", delay),
                        cell("steals", ratio(Mode::Plain, "steals")),
                        cell("failed attempts", ratio(Mode::Plain, "failed_steals")),
                        cell("time of a steal", ratio(Mode::Profiled, "a_steal_s")),
                        cell("±", spread(&ratios(Mode::Profiled, "a_steal_s"))),
                        cell("time", ratio(Mode::Plain, "wall_s")),
                        cell("±", spread(&ratios(Mode::Plain, "wall_s"))),
                    ]);
                }
            }
        }
        table
    }

    /// A line for each workload over the workers.
    fn plot(&self, figure: &Figure) -> Plot {
        let Figure { name, title, delay, mode, metric } = *figure;
        let plot = Plot::new(name, format!("SAMP+SET over SET: {title}"), Form::Lines)
            .axes("workers", "SAMP+SET / SET")
            .over(self.counts.iter().map(usize::to_string).collect())
            .ratios();
        self.workloads.iter().map(Workload::name).fold(plot, |plot, name| {
            let counts = self.counts.iter();
            let rounds = counts.map(|&workers| self.ratios(&name, delay, mode, workers, metric));
            let rounds: Vec<Vec<f64>> = rounds.collect();
            plot.with(Series::of_rounds(name, &rounds))
        })
    }
}

/// A part of Figure 7 or 8.
struct Figure {
    name: &'static str,
    title: &'static str,
    delay: u32,
    mode: Mode,
    metric: &'static str,
}

const FIGURES: [Figure; 4] = [
    Figure {
        name: "steals",
        title: "number of steals (Figure 7)",
        delay: 0,
        mode: Mode::Plain,
        metric: "steals",
    },
    Figure {
        name: "time-of-a-steal",
        title: "mean time of a steal, with the choice of its victim (Figure 7)",
        delay: 0,
        mode: Mode::Profiled,
        metric: "a_steal_s",
    },
    Figure { name: "times", title: "time", delay: 0, mode: Mode::Plain, metric: "wall_s" },
    Figure {
        name: "times-delayed",
        title: "time with steals delayed by 4000 cycles (Figure 8)",
        delay: 4000,
        mode: Mode::Plain,
        metric: "wall_s",
    },
];

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
        let [Part::Table(table), Part::Plot(steals), Part::Plot(times), Part::Plot(delayed)] =
            &parts[..]
        else {
            panic!("{parts:?}")
        };
        let row = |delay| table.shown(&["fib 22", "2", delay])[3..].to_vec();
        assert_eq!(row("0"), ["0.80", "-", "-", "-", "1.10", "-"]);
        assert_eq!(row("4000"), ["0.40", "-", "-", "-", "0.50", "-"]);
        let first = |plot: &Plot| plot.series[0].values[0];
        assert_eq!([steals, times, delayed].map(first), [0.8, 1.1, 0.5].map(Some));
        assert!(steals.is_logarithmic && steals.x == "workers", "{steals:?}");
    }
}
