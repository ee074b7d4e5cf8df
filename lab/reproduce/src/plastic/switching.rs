//! Experiment 3: the cost of a loop that can be changed, and of a change. One switch changes
//! nothing, like the publication's controller that replies to a program that registers. Its
//! messages between programs are no part of this.

use super::bench::{Bench, DYNAMIC_CHUNKS, Way};
use super::common::{FEWER_THREADS, OTHER_TIMES, added, labels, series};
use super::openmp::Load;
use crate::experiment::{About, Block, Caveat, Experiment, Need};
use crate::paper::plastic::{Added, SWITCHES};
use crate::report::{Form, Part, Plot, Table, cell};
use crate::results::Results;
use crate::setting::{Scale, Setting};
use crate::statistics::{mean, standard_deviation};

const ABOUT: About = About {
    name: "plastic-switching",
    title: "the cost of a loop that can be changed while it runs, and of a change",
    publication: super::PUBLICATION,
    place: "Experiment 3 (Figure 6.3, Table 6.4)",
    caveats: &[
        FEWER_THREADS,
        Caveat {
            unless: Need::Nothing,
            words: "The publication's times include the messages to and from its controller; here \
                a thread of the same program makes the change.",
        },
        OTHER_TIMES,
    ],
    repeat: super::REPEAT,
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks, report).sized(size_in_words)
}

const FIXED: &str = "fixed";
const CHANGED: &str = "changed once";
const WAYS: [(&str, Way); 2] =
    [(FIXED, Way::Plain(DYNAMIC_CHUNKS)), (CHANGED, Way::Renewed(DYNAMIC_CHUNKS))];

/// By how much fewer tasks than published, and their repetitions.
fn size(scale: Scale) -> (usize, u32) {
    scale.pick((20, 50), (1, 2_000), (1, 1_000_000))
}

/// The numbers of tasks, and what was published about them.
fn rows(scale: Scale) -> [(usize, Added); 3] {
    SWITCHES.map(|added| (added.tasks / size(scale).0, added))
}

fn size_in_words(setting: &Setting) -> String {
    let counts = rows(setting.scale).map(|(tasks, _)| tasks.to_string()).join(", ");
    format!(
        "{}: {counts} tasks of {} repeats, chunks of 1000",
        setting.scale,
        size(setting.scale).1
    )
}

fn blocks(setting: &Setting) -> Vec<Block> {
    let (repeats, workers) = (size(setting.scale).1, setting.most_workers());
    let block = |(tasks, _): (usize, Added)| {
        Block::new(format!("{tasks} tasks"), move || {
            let load = Load::uniform(tasks, repeats);
            let bench = Bench::new(load, false);
            let case = |(name, way)| bench.case(way, workers, labels(name, workers, tasks));
            Ok(WAYS.into_iter().filter_map(case).collect())
        })
    };
    rows(setting.scale).into_iter().map(block).collect()
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let words = "Added is the median, over rounds, of the time with a change over the time \
        without. Chunks of 1000 of 1000 tasks are one chunk: one thread works, as there.";
    vec![
        Part::words(words),
        Part::Table(table(results, setting.scale)),
        Part::Plot(plot(results, setting.scale)),
    ]
}

fn which<'a>(way: &'a str, tasks: &'a str) -> [(&'a str, &'a str); 2] {
    [("way", way), ("tasks", tasks)]
}

/// The time added by the change in each round, as a fraction of the time without it.
fn more(results: &Results, tasks: &str) -> Vec<f64> {
    let ratios = results.ratios(&which(CHANGED, tasks), &which(FIXED, tasks), "wall_s");
    ratios.into_iter().map(|ratio| ratio - 1.0).collect()
}

fn table(results: &Results, scale: Scale) -> Table {
    let mut table = Table::new("switching", "Time of all tasks, and what a switch adds");
    for (tasks, published) in rows(scale) {
        let count = tasks.to_string();
        let (fixed, changed) = (which(FIXED, &count), which(CHANGED, &count));
        let of = |which| results.values(which, "wall_s");
        let times = [
            cell("tasks", tasks),
            cell("fixed, s", results.median(&fixed, "wall_s")),
            cell("mean, s", mean(&of(&fixed))),
            cell("standard deviation, s", standard_deviation(&of(&fixed))),
            cell("changed once, s", results.median(&changed, "wall_s")),
            cell("mean, s", mean(&of(&changed))),
            cell("standard deviation, s", standard_deviation(&of(&changed))),
            cell("changes made", results.median(&changed, "changes")),
        ];
        let added = added(results.median(&fixed, "wall_s"), &more(results, &count));
        table.row(times.into_iter().chain(added).chain([
            cell("paper: added, ms", published.ms),
            cell("paper: added, %", published.percent),
        ]));
    }
    table
}

fn plot(results: &Results, scale: Scale) -> Plot {
    let counts = rows(scale).map(|(tasks, _)| tasks.to_string());
    let percent = |tasks: &String| more(results, tasks).iter().map(|more| more * 100.0).collect();
    let rounds: Vec<Vec<f64>> = counts.iter().map(percent).collect();
    let plot = Plot::new("switching", "What a switch adds", Form::Bars).axes("tasks", "added, %");
    plot.over(counts.to_vec()).with(series("here", &rounds))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a number of tasks beside another one's published value.
    #[test]
    fn what_a_switch_adds_stands_beside_what_it_added_there() {
        let wall = |way, tasks: usize, wall_s| {
            (labels(way, 2, tasks), vec![("wall_s", wall_s), ("changes", 3.0)])
        };
        let results = Results::of([wall(FIXED, 100_000, 4.0), wall(CHANGED, 100_000, 4.1)]);
        let parts = experiment().report(&results, &Setting::new(Scale::Default, 2));
        let Part::Table(table) = &parts[1] else { panic!("{parts:?}") };
        assert_eq!(
            table.shown(&["100000"])[1..],
            [
                ["4", "4", "-", "4.10", "4.10", "-", "3"].as_slice(),
                &["100.0", "2.50", "-", "too few rounds", "-127", "-"]
            ]
            .concat()
        );
        assert_eq!(table.shown(&["1000"])[8..], ["-", "-", "-", "-", "2", "2.70"]);
    }
}
