//! Table 1: plain tasks and locality queues, over both orders of submission and both placements.

use sinew::locality::{Distribution, DomainOrder};
use sinew::{Placement, TileOrder};
use sinew_apps::jacobi::Form;

use super::bench::{Bench, Shape};
use super::routes;
use super::{ONE_MEMORY, OTHER_MEMORY};
use crate::experiment::{About, Block, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::queues::{Speed, find};
use crate::report::{Cell, Form as Drawn, Part, Plot, Series, Table, cell};
use crate::results::{Labels, Results};
use crate::setting::Setting;
use crate::statistics::median;

const ABOUT: About = About {
    name: "jacobi-table1",
    title: "a Jacobi solver with tasks and with locality queues, by order of submission and \
        placement",
    publication: super::PUBLICATION,
    place: "Table 1",
    caveats: &[
        ONE_MEMORY,
        Caveat {
            unless: Need::Workers(8),
            words: "The publication had 8 threads, two in each of 4 domains. With fewer workers \
                than domains, a worker has several domains of its own.",
        },
        OTHER_MEMORY,
    ],
    repeat: [1, 5, 5],
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks, report)
}

/// Names as in the publication.
const ORDERS: [(&str, TileOrder); 2] =
    [("kji", TileOrder::LayersOutside), ("jki", TileOrder::RowsOutside)];
const PLACEMENTS: [(&str, Distribution); 2] =
    [("static", Distribution::Static), ("static,1", Distribution::Cyclic)];
const WAYS: [(&str, DomainOrder); 2] =
    [("tasking", DomainOrder::Together), ("tasking + queues", DomainOrder::Ring)];

const COPY: &str = "copy";
const ROUTES: &str = "routes of ";

pub(super) fn labels(placement: &str, order: &str, way: &str) -> Labels {
    vec![("placement", placement.to_owned()), ("order", order.to_owned()), ("way", way.to_owned())]
}

fn blocks(setting: &Setting) -> Vec<Block> {
    let (scale, workers) = (setting.scale, setting.most_workers());
    let block = |(name, distribution): (&'static str, Distribution)| {
        let shape = Shape { scale, workers, distribution, placement: Placement::FirstTouch };
        Block::new(format!("{name} placement"), move || cases(name, shape))
    };
    PLACEMENTS.into_iter().map(block).collect()
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let view = View { results };
    let words = format!(
        "Million updates a second on {} workers. The columns `own domain` and `domains at once` \
         do not depend on this machine's memory. They are counted with the publication's 8 \
         workers, 4 domains and at most 257 pending tasks: the share of the blocks that a worker \
         of their domain ran, and the number of domains worked on at the same time. Where the \
         former is small, most accesses are remote on a machine with remote memory; where the \
         latter is near 1, one memory serves all.",
        setting.most_workers()
    );
    vec![
        Part::Words(words),
        Part::Table(view.table()),
        Part::Plot(view.plot()),
        Part::Plot(view.routes()),
    ]
}

fn cases(placement: &'static str, shape: Shape) -> Result<Vec<Case>, Failure> {
    let bench = Bench::prepare(shape)?;
    let copying = bench.clone();
    let mut cases = vec![Case::new(labels(placement, "", COPY), move || copying.copy())];
    for (order_name, order) in ORDERS {
        for (way, queues) in WAYS {
            let bench = bench.clone();
            cases.push(Case::new(labels(placement, order_name, way), move || {
                bench.sweep(Form::Tasks(queues), order)
            }));
            let routes = labels(placement, order_name, &format!("{ROUTES}{way}"));
            cases
                .push(Case::new(routes, move || routes::routes(shape.distribution, order, queues)));
        }
    }
    Ok(cases)
}

/// The combinations of placement and order, a category of the plots each.
fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    PLACEMENTS.iter().flat_map(|(placement, _)| ORDERS.map(|(order, _)| (*placement, order)))
}

/// The data that the report reads.
struct View<'a> {
    results: &'a Results,
}

impl View<'_> {
    /// A metric in each round.
    fn rounds(&self, placement: &str, order: &str, way: &str, metric: &str) -> Vec<f64> {
        self.results.values(&[("placement", placement), ("order", order), ("way", way)], metric)
    }

    fn of(&self, placement: &str, order: &str, way: &str, metric: &str) -> Option<f64> {
        median(&self.rounds(placement, order, way, metric))
    }

    /// The share of a block's own domain in each round, in per cent.
    fn shares(&self, placement: &str, order: &str, way: &str) -> Vec<f64> {
        let rounds = self.rounds(placement, order, &format!("{ROUTES}{way}"), "own_share");
        rounds.into_iter().map(|share| share * 100.0).collect()
    }

    fn table(&self) -> Table {
        let mut table = Table::new("table1", "Million lattice site updates a second");
        for (placement, _) in PLACEMENTS {
            for (order, _) in ORDERS {
                for (way, _) in WAYS {
                    table.row(self.row(placement, order, way));
                }
            }
        }
        table
    }

    fn row(&self, placement: &str, order: &str, way: &str) -> [(String, Cell); 10] {
        let which = [("placement", placement), ("order", order), ("way", way)];
        let copy = [("placement", placement), ("way", COPY)];
        let of_copy = self.results.ratio(&which, &copy, "mlups").map(|share| share * 100.0);
        let published = find(order, placement, way == WAYS[1].0);
        [
            cell("placement", placement),
            cell("order", order),
            cell("way", way),
            cell("MLUP/s", self.of(placement, order, way, "mlups")),
            cell("±", self.results.spread(&which, "mlups")),
            cell("of the copy bandwidth, %", of_copy),
            cell("own domain, %", median(&self.shares(placement, order, way))),
            cell(
                "domains at once",
                self.of(placement, order, &format!("{ROUTES}{way}"), "domains"),
            ),
            cell("paper: MLUP/s", published.map(|speed| speed.mlups)),
            cell("paper: ±", published.map(|speed| speed.deviation)),
        ]
    }

    fn frame(name: &str, title: &str, y: &str) -> Plot {
        let names = pairs().map(|(placement, order)| format!("{placement}, {order}"));
        Plot::new(name, title, Drawn::Bars)
            .axes("placement, order of submission", y)
            .over(names.collect())
    }

    /// Each value over the largest of its machine, so that both machines fit into one picture.
    fn plot(&self) -> Plot {
        let ours: Vec<[Vec<f64>; 2]> = pairs()
            .map(|(placement, order)| {
                WAYS.map(|(way, _)| self.rounds(placement, order, way, "mlups"))
            })
            .collect();
        let theirs: Vec<[Option<&Speed>; 2]> = pairs()
            .map(|(placement, order)| [false, true].map(|queues| find(order, placement, queues)))
            .collect();
        let our_best =
            ours.iter().flatten().filter_map(|rounds| median(rounds)).fold(0.0, f64::max);
        let their_best =
            theirs.iter().flatten().flatten().map(|speed| speed.mlups).fold(0.0, f64::max);
        let mut plot =
            Self::frame("table1", "Speed over the best of the same machine", "speed / best");
        for (at, (way, _)) in WAYS.iter().enumerate() {
            let relative =
                |ways: &[Vec<f64>; 2]| ways[at].iter().map(|speed| speed / our_best).collect();
            let rounds: Vec<Vec<f64>> = ours.iter().map(relative).collect();
            plot = plot.with(Series::of_rounds(format!("{way}, here"), &rounds));
        }
        if plot.is_empty() {
            return plot;
        }
        for (at, (way, _)) in WAYS.iter().enumerate() {
            let relative = |value: fn(&Speed) -> f64| {
                theirs.iter().map(|ways| Some(value(ways[at]?) / their_best)).collect()
            };
            let series = Series::new(format!("{way}, paper"), relative(|speed| speed.mlups));
            plot = plot.with(series.spreads(relative(|speed| speed.deviation)));
        }
        plot
    }

    fn routes(&self) -> Plot {
        let mut plot = Self::frame(
            "routes",
            "Blocks run in their own domain, 8 workers in 4 domains",
            "share, %",
        );
        for (way, _) in WAYS {
            let rounds = pairs().map(|(placement, order)| self.shares(placement, order, way));
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

    /// Catches: our value beside another entry of the publication.
    #[test]
    fn every_value_stands_beside_its_counterpart() {
        let queues = WAYS[1].0;
        let results = Results::of([
            (labels("static,1", "", COPY), vec![("mlups", 500.0)]),
            (labels("static,1", "kji", queues), vec![("mlups", 400.0)]),
            (
                labels("static,1", "kji", &format!("{ROUTES}{queues}")),
                vec![("own_share", 0.97), ("domains", 3.5)],
            ),
        ]);
        let parts = experiment().report(&results, &Setting::new(Scale::Quick, 2));
        let Part::Table(table) = &parts[1] else { panic!("{parts:?}") };
        assert_eq!(
            table.shown(&["static,1", "kji", queues])[3..],
            ["400", "-", "80", "97", "3.50", "588.4", "3.10"]
        );
        assert_eq!(
            table.shown(&["static", "jki", "tasking"])[3..],
            ["-", "-", "-", "-", "-", "247.9", "0.60"]
        );
        assert_eq!(parts.len(), 4, "two plots");
    }

    /// Catches: a bar without its error bar, ours or theirs, and one in another unit.
    #[test]
    fn bars_have_the_spread_of_their_rounds_and_of_the_publication() {
        let mut results = Results::default();
        for (round, mlups) in [100.0, 200.0, 300.0].into_iter().enumerate() {
            let labels = labels("static", "kji", "tasking");
            results.push(Sample { round, labels, metrics: vec![("mlups", mlups)] });
        }
        let parts = experiment().report(&results, &Setting::new(Scale::Quick, 2));
        let Part::Plot(plot) = &parts[2] else { panic!("{parts:?}") };
        let spread = |name: &str| {
            let series = plot.series.iter().find(|series| series.name == name);
            series.and_then(|series| series.spreads[0]).expect("a spread")
        };
        assert_eq!(spread("tasking, here"), 50.0 / 200.0);
        assert_eq!(spread("tasking, paper"), 0.2 / 598.2);
    }
}
