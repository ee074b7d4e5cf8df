//! Figure 5 and the steal intervals of Table 1 on the publication's chip, simulated.
//!
//! The task graph of each workload is recorded here and its work scaled to the cycles of Table 1.
//! The stack, the strategies and the thieves, which never back off, are the publication's.

use std::rc::Rc;

use sinew_policy::graph::{Graph, Token};
use sinew_sim::workload::{Recorded, Serial};
use sinew_sim::{Costs, Duration, Idle, Setup, Stack, models};

use super::model;
use super::strategies::{RAND, SAMP, SAMP_SET, SET, Strategy};
use super::workloads::{Workload, simulated};
use crate::common::{even, record, scaled, simulate};
use crate::experiment::{About, Block, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::wool::{MOST_WORKERS, TABLE_1, WORKERS};
use crate::report::{Cell, Form, Part, Plot, Series, Table, cell, difference};
use crate::results::{Labels, Metrics, Results, all_of};
use crate::setting::{Scale, Setting};
use crate::statistics::median;

const ABOUT: About = About {
    name: "wool-chip",
    title: "speed-ups, strategies and steal intervals on the 64-core chip, simulated",
    publication: super::PUBLICATION,
    place: "Figure 5 and Table 1",
    caveats: &[
        Caveat {
            unless: Need::Nothing,
            words: "All cores are equally far apart, and memory has no limit. A thief has the \
                lines of the last 16 workers that it tried in its cache, as the chip has 16 \
                entries for pages of data. The publication has no figure for the time of a miss: \
                the one here is a quarter of a steal.",
        },
        Caveat {
            unless: Need::Nothing,
            words: "Not modelled: what the victims lose to the traffic of their thieves, and \
                samples whose lines are in the cache.",
        },
        Caveat {
            unless: Need::Nothing,
            words: "Work has the proportions of this processor, whose vectors make a product of \
                blocks of cholesky three times as fast as a solution, which its critical path \
                consists of. The proportions there are not known: a task takes 7,000 cycles in \
                Table 1, and about 100 here. So cholesky is simulated with equal stretches as \
                well (even).",
        },
        Caveat {
            unless: Need::Nothing,
            words: "fib, uts and nqueens are much smaller than there, so that their steals are \
                closer together and their parallelism is less.",
        },
    ],
    repeat: [1, 3, 5],
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks, report)
}

/// A strategy, and whether victims that are not in the cache cost anything.
type Way = (&'static str, Strategy, bool);

const WAYS: [Way; 6] = [
    ("RAND", RAND, true),
    ("SET", SET, true),
    ("SAMP", SAMP, true),
    ("SAMP+SET", SAMP_SET, true),
    ("RAND, all cached", RAND, false),
    ("SET, all cached", SET, false),
];

pub(super) fn counts(scale: Scale) -> Vec<usize> {
    let all = WORKERS.map(|workers| workers as usize);
    scale.pick(vec![1, MOST_WORKERS], vec![1, 7, 15, 31, 47, 63], [&[1], &all[..]].concat())
}

pub(super) fn labels(workload: &str, way: &str, workers: usize) -> Labels {
    vec![
        ("workload", workload.to_owned()),
        ("strategy", way.to_owned()),
        ("workers", workers.to_string()),
    ]
}

fn blocks(setting: &Setting) -> Vec<Block> {
    let (scale, seed) = (setting.scale, setting.seed);
    let block =
        |workload: Workload| Block::new(workload.name(), move || cases(&workload, scale, seed));
    simulated(scale).into_iter().map(block).collect()
}

fn cases(workload: &Workload, scale: Scale, seed: u64) -> Result<Vec<Case>, Failure> {
    let graph = record(&workload.prepare()?, MOST_WORKERS)?;
    let graph = if workload.is_even { even(&graph) } else { graph };
    let graph = Rc::new(Recorded::new(&scaled(&graph, slowness(workload, &graph))));
    let parallelism = parallelism(&graph);
    let case = |(name, strategy, misses): Way, workers: usize| {
        let (graph, mut seed, setup) = (graph.clone(), seed, setup(strategy, misses, workers)?);
        Ok(Case::new(labels(&workload.name(), name, workers), move || {
            seed = seed.wrapping_add(1);
            run(&graph, Setup { seed, ..setup.clone() }, parallelism)
        }))
    };
    let points = counts(scale).into_iter().flat_map(|workers| WAYS.map(|way| (way, workers)));
    points.map(|(way, workers)| case(way, workers)).collect()
}

/// How much longer the work takes on the chip: by the time of Table 1, or where it does not have
/// this size, by the mean size of a task of the application.
fn slowness(workload: &Workload, graph: &Graph) -> f64 {
    let cycle = 1e6 / 700.0;
    let cycles = match workload.published() {
        Some(line) => f64::from(line.kilocycles) * 1e3 * f64::from(workload.repetitions),
        None => {
            let line = TABLE_1.iter().find(|line| line.app == workload.app);
            let tokens = graph.calls().iter().flat_map(|call| call.tokens());
            let tasks = tokens.filter(|token| **token == Token::Next).count();
            line.map_or(0.0, |line| f64::from(line.granularity)) * tasks as f64
        }
    };
    cycles * cycle / graph.work().max(1) as f64
}

fn parallelism(graph: &Recorded) -> f64 {
    let serial = Serial::of(graph);
    serial.work as f64 / serial.span.max(1) as f64
}

fn setup(strategy: Strategy, misses: bool, workers: usize) -> Result<Setup, Failure> {
    let machine = Some("tilepro64".parse().map_err(Failure::impossible)?);
    let victims = strategy.victims().parse().map_err(Failure::impossible)?;
    let costs = models::tilepro64();
    let costs = if misses { costs } else { Costs { miss: Duration::ZERO, ..costs } };
    let stack = Stack::Runtime(sinew::StackKind::TwoField);
    Ok(Setup { machine, victims, stack, costs, idle: Idle::Spin, ..Setup::new(workers) })
}

fn run(graph: &Recorded, setup: Setup, parallelism: f64) -> Result<Metrics, Failure> {
    let report = simulate(graph, setup)?;
    let counts = report.counts;
    let kilocycles = report.work as f64 * 700e6 / 1e12 / 1e3;
    Ok(vec![
        ("time_s", report.time as f64 / 1e12),
        ("speed_up", report.speedup()),
        ("steal_kilocycles", kilocycles / counts.steals.max(1) as f64),
        ("missed_share", counts.misses as f64 / counts.attempts.max(1) as f64),
        ("parallelism", parallelism),
    ])
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let view = View { results, workloads: simulated(setting.scale), counts: counts(setting.scale) };
    let mut parts = vec![Part::Table(view.table()), Part::words(view.verdict())];
    parts.extend(view.workloads.iter().map(|workload| Part::Plot(view.plot(workload))));
    parts
}

/// The data that the report reads.
struct View<'a> {
    results: &'a Results,
    workloads: Vec<Workload>,
    counts: Vec<usize>,
}

impl View<'_> {
    fn median(&self, workload: &str, way: &str, workers: usize, metric: &str) -> Option<f64> {
        self.results.median(&all_of(&labels(workload, way, workers)), metric)
    }

    /// The difference of the time from that of RAND with the same caches, in per cent.
    fn slower(&self, workload: &str, way: &str, base: &str, workers: usize) -> Option<f64> {
        let [of, to] = [way, base].map(|way| labels(workload, way, workers));
        let ratios = self.results.ratios(&all_of(&of), &all_of(&to), "time_s");
        Some((median(&ratios)? - 1.0) * 100.0)
    }

    fn table(&self) -> Table {
        let mut table = Table::new("chip", "Speed-ups and steal intervals, simulated");
        for workload in &self.workloads {
            for &workers in &self.counts {
                for (way, ..) in WAYS {
                    table.row(self.row(workload, way, workers));
                }
            }
        }
        table
    }

    fn row(&self, workload: &Workload, way: &str, workers: usize) -> [(String, Cell); 9] {
        let name = workload.name();
        let of = |metric| self.median(&name, way, workers, metric);
        let bounds = of("parallelism").map(|parallelism| model::speed_ups(parallelism, workers));
        let at = WORKERS.iter().position(|&count| count as usize == workers);
        let paper = workload.published().zip(at).map(|(line, at)| line.steal_interval[at]);
        [
            cell("workload", &name),
            cell("workers", workers),
            cell("strategy", way),
            cell("speed-up", of("speed_up")),
            cell("model, from", bounds.map(|bounds| bounds.0)),
            cell("model, to", bounds.map(|bounds| bounds.1)),
            cell("kilocycles of work a steal", of("steal_kilocycles")),
            cell("paper: kilocycles a steal", paper),
            cell("attempts that miss, %", of("missed_share").map(|share| share * 100.0)),
        ]
    }

    /// At how many points SET is faster than RAND, and by how much on the most workers.
    fn verdict(&self) -> String {
        let compare = |set: &str, base: &str| {
            let points = self.workloads.iter().flat_map(|workload| {
                let counts = self.counts.iter().filter(|&&workers| workers > 1);
                counts.filter_map(|&workers| self.slower(&workload.name(), set, base, workers))
            });
            let all: Vec<f64> = points.collect();
            let faster = all.iter().filter(|percent| **percent < 0.0).count();
            let middle = median(&all).map(difference)?;
            Some(format!("faster at {faster} of {} points ({middle} in the median)", all.len()))
        };
        let (Some(missing), Some(cached)) =
            (compare("SET", "RAND"), compare("SET, all cached", "RAND, all cached"))
        else {
            return "Nothing has been simulated on several workers yet.".to_owned();
        };
        format!(
            "The publication says that SET consistently outperforms RAND. Where victims outside of \
             the cache cost a miss, SET is {missing}; where all are cached it is {cached}."
        )
    }

    /// Figure 5 of a workload.
    fn plot(&self, workload: &Workload) -> Plot {
        let name = workload.name();
        let mut plot = Plot::new(
            &format!("speed-up-{}", workload.file()),
            format!("{name} on 64 cores, simulated"),
            Form::Lines,
        )
        .axes("workers", "speed-up")
        .over(self.counts.iter().map(usize::to_string).collect());
        for (way, ..) in WAYS {
            let of = |&on: &usize| self.median(&name, way, on, "speed_up");
            plot = plot.with(Series::new(way, self.counts.iter().map(of).collect()));
        }
        plot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a comparison turned round, or an interval beside another number of workers.
    #[test]
    fn strategies_are_compared_with_the_same_caches() {
        let case = |way, time| {
            let metrics = vec![("time_s", time), ("speed_up", 40.0), ("steal_kilocycles", 4.0)];
            (labels("stress 10", way, 63), metrics)
        };
        let cases = [
            case("RAND", 2.0),
            case("SET", 1.8),
            case("RAND, all cached", 1.5),
            case("SET, all cached", 1.6),
        ];
        let results = Results::of(cases);
        let parts = experiment().report(&results, &Setting::new(Scale::Quick, 2));
        let [Part::Table(table), Part::Words(words), ..] = &parts[..] else { panic!("{parts:?}") };
        assert_eq!(table.shown(&["stress 10", "63", "SET"])[6..8], ["4", "3"]);
        assert!(words.contains("a miss, SET is faster at 1 of 1 points (-10.0 %"), "{words}");
        assert!(words.contains("cached it is faster at 0 of 1 points (+6.7 %"), "{words}");
    }

    /// Catches: stretches of cholesky that stay as uneven as they are here.
    #[test]
    fn cholesky_with_equal_stretches_is_about_as_parallel_as_published() {
        let all = simulated(Scale::Quick);
        let even = all.iter().find(|workload| workload.is_even).unwrap();
        assert_eq!(even.name(), "cholesky 125 even");
        let mut case = cases(even, Scale::Quick, 1).unwrap().remove(0);
        let parallelism = (case.run)().unwrap()[4].1;
        let published = even.published().unwrap().parallelism_0;
        assert!((0.8..1.5).contains(&(parallelism / published)), "{parallelism}, {published}");
    }

    /// Catches: work in other units than the table's, and misses where nothing is missed.
    #[test]
    fn the_work_is_that_of_the_table() {
        let stress = simulated(Scale::Quick).into_iter().find(|one| one.app == "stress").unwrap();
        let cases = cases(&stress, Scale::Quick, 1).unwrap();
        let mut runs = cases.into_iter().filter(|case| case.labels[2].1 == "63");
        let (mut rand, cached) = (runs.next().unwrap(), runs.nth(3).unwrap());
        let metrics = (rand.run)().unwrap();
        assert!(metrics[1].1 > 10.0 && metrics[3].1 > 0.5, "{metrics:?}");
        let seconds = metrics[0].1 * metrics[1].1;
        let published = 601e3 * f64::from(stress.repetitions) / 700e6;
        assert!((seconds / published - 1.0).abs() < 0.01, "{seconds}, not {published}");
        let mut cached = cached;
        assert_eq!((cached.labels[1].1.as_str(), (cached.run)().unwrap()[3].1), (WAYS[4].0, 0.0));
    }
}
