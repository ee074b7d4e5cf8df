//! Figures 1 and 2: static and dynamic loops, and all pages on one node, on more and more workers:
//! speed and parallel efficiency.
//!
//! As there, a dynamic loop works on blocks that are assigned in turn, a static one on neighbouring
//! ones.

use sinew::locality::Distribution;
use sinew::{Placement, Schedule, TileOrder};
use sinew_apps::jacobi::Form;

use super::bench::{Bench, Shape};
use super::{FIGURES_IN_WORDS, ONE_MEMORY, OTHER_MEMORY};
use crate::experiment::{About, Block, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::report::{Form as Drawn, Part, Plot, Series, Table, cell};
use crate::results::{Labels, Results};
use crate::setting::Setting;
use crate::statistics::median;

const ABOUT: About = About {
    name: "jacobi-figures",
    title: "a Jacobi solver with static and dynamic loops, and with all pages on one node",
    publication: super::PUBLICATION,
    place: "Figures 1 and 2",
    caveats: &[
        ONE_MEMORY,
        Caveat {
            unless: Need::Packages(4),
            words: "The publication goes from one socket to four, two threads on each, which is \
                what a socket's memory bus can feed. Here workers are added within what there is: \
                where one of them takes most of the bandwidth, efficiency falls for that reason \
                alone.",
        },
        FIGURES_IN_WORDS,
        OTHER_MEMORY,
    ],
    repeat: [1, 5, 5],
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks, report)
}

/// A line of the figures.
#[derive(Debug, Clone, Copy)]
struct Way {
    name: &'static str,
    distribution: Distribution,
    placement: Placement,
    schedule: Schedule,
}

const WAYS: [Way; 3] = [
    Way {
        name: "static",
        distribution: Distribution::Static,
        placement: Placement::FirstTouch,
        schedule: Schedule::Static,
    },
    Way {
        name: "dynamic",
        distribution: Distribution::Cyclic,
        placement: Placement::FirstTouch,
        schedule: Schedule::Dynamic { chunk: 1 },
    },
    Way {
        name: "static, one node",
        distribution: Distribution::Static,
        placement: Placement::OneNode,
        schedule: Schedule::Static,
    },
];

const COPY: &str = "copy";

pub(super) fn labels(way: &str, workers: usize) -> Labels {
    vec![("way", way.to_owned()), ("workers", workers.to_string())]
}

fn blocks(setting: &Setting) -> Vec<Block> {
    let scale = setting.scale;
    let pairs =
        WAYS.into_iter().flat_map(|way| setting.threads.iter().map(move |&workers| (way, workers)));
    let block = |(way, workers): (Way, usize)| {
        let shape =
            Shape { scale, workers, distribution: way.distribution, placement: way.placement };
        Block::new(format!("{}, {workers} workers", way.name), move || cases(way, shape))
    };
    pairs.map(block).collect()
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let view = View { results, counts: &setting.threads };
    vec![
        Part::Table(view.table()),
        Part::Plot(view.plot("figure1", "Speed", "million updates a second", View::speeds)),
        Part::Plot(view.plot(
            "figure2",
            "Parallel efficiency",
            "speed-up / workers",
            View::efficiencies,
        )),
    ]
}

fn cases(way: Way, shape: Shape) -> Result<Vec<Case>, Failure> {
    let bench = Bench::prepare(shape)?;
    let copying = bench.clone();
    let sweep = move || bench.sweep(Form::Loop(way.schedule), TileOrder::LayersOutside);
    let mut cases = vec![Case::new(labels(way.name, shape.workers), sweep)];
    if way.name == WAYS[0].name {
        cases.push(Case::new(labels(COPY, shape.workers), move || copying.copy()));
    }
    Ok(cases)
}

/// The data that the report reads.
struct View<'a> {
    results: &'a Results,
    counts: &'a [usize],
}

impl View<'_> {
    /// In each round.
    fn speeds(&self, way: &str, workers: usize) -> Vec<f64> {
        self.results.values(&[("way", way), ("workers", &workers.to_string())], "mlups")
    }

    fn speed(&self, way: &str, workers: usize) -> Option<f64> {
        median(&self.speeds(way, workers))
    }

    /// In each round, over the speed of one worker in the same.
    fn efficiencies(&self, way: &str, workers: usize) -> Vec<f64> {
        let count = workers.to_string();
        let [of, to] = [count.as_str(), "1"].map(|count| [("way", way), ("workers", count)]);
        let ratios = self.results.ratios(&of, &to, "mlups");
        ratios.into_iter().map(|speed_up| speed_up / workers as f64).collect()
    }

    fn table(&self) -> Table {
        let mut table =
            Table::new("figures", "Million lattice site updates a second, and parallel efficiency");
        for way in WAYS.map(|way| way.name) {
            for &workers in self.counts {
                let count = workers.to_string();
                let which = [("way", way), ("workers", count.as_str())];
                let (speed, copy) = (self.speed(way, workers), self.speed(COPY, workers));
                table.row([
                    cell("way", way),
                    cell("workers", workers),
                    cell("MLUP/s", speed),
                    cell("±", self.results.spread(&which, "mlups")),
                    cell("efficiency", median(&self.efficiencies(way, workers))),
                    cell(
                        "of the copy bandwidth, %",
                        speed.zip(copy).map(|(speed, copy)| speed / copy * 100.0),
                    ),
                ]);
            }
        }
        table
    }

    fn plot(
        &self,
        name: &str,
        title: &str,
        y: &str,
        rounds: fn(&Self, &str, usize) -> Vec<f64>,
    ) -> Plot {
        let counts = self.counts.iter().map(usize::to_string).collect();
        let mut plot = Plot::new(name, title, Drawn::Bars).axes("workers", y).over(counts);
        for way in WAYS.map(|way| way.name) {
            let rounds = self.counts.iter().map(|&workers| rounds(self, way, workers));
            plot = plot.with(Series::of_rounds(way, &rounds.collect::<Vec<_>>()));
        }
        plot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Sample;
    use crate::setting::Scale;

    /// Catches: an efficiency over another way's single worker, or a speed-up that is not
    /// divided.
    #[test]
    fn efficiency_is_speed_up_a_worker() {
        let speed = |way, workers, mlups| (labels(way, workers), vec![("mlups", mlups)]);
        let results = Results::of([
            speed("static", 1, 100.0),
            speed("static", 2, 150.0),
            speed("dynamic", 1, 90.0),
            speed(COPY, 2, 200.0),
        ]);
        let setting = Setting { threads: vec![1, 2], ..Setting::new(Scale::Quick, 2) };
        let parts = experiment().report(&results, &setting);
        let Part::Table(table) = &parts[0] else { panic!("{parts:?}") };
        assert_eq!(table.shown(&["static", "2"])[2..], ["150", "-", "0.75", "75"]);
        assert_eq!(table.shown(&["dynamic", "1"])[2..], ["90", "-", "1", "-"]);
        assert_eq!(parts.len(), 3, "both figures");
    }

    /// Catches: a bar without its error bar.
    #[test]
    fn both_figures_have_the_spread_of_their_rounds() {
        let mut results = Results::default();
        for (round, mlups) in [100.0, 120.0, 140.0].into_iter().enumerate() {
            for (workers, mlups) in [(1, 100.0), (2, mlups)] {
                let metrics = vec![("mlups", mlups)];
                results.push(Sample { round, labels: labels("static", workers), metrics });
            }
        }
        let setting = Setting { threads: vec![1, 2], ..Setting::new(Scale::Quick, 2) };
        let parts = experiment().report(&results, &setting);
        let [_, Part::Plot(speeds), Part::Plot(efficiencies)] = &parts[..] else {
            panic!("{parts:?}")
        };
        assert_eq!(speeds.series[0].spreads, [Some(0.0), Some(10.0)]);
        assert_eq!(
            efficiencies.series[0].spreads[1].map(|spread| (spread * 100.0).round()),
            Some(5.0)
        );
    }
}
