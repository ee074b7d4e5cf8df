//! Experiment 1: what it costs to collect the metrics of each thread, in the worst case: many small
//! tasks.

use sinew::Schedule;

use super::bench::{Bench, Way};
use super::common::{
    CHUNK, FEWER_THREADS, OTHER_TIMES, REPEATS, TASKS, added, chunk, labels, series, times,
};
use super::openmp::Load;
use crate::experiment::{About, Block, Experiment};
use crate::paper::plastic::METRICS;
use crate::report::{Form, Part, Plot, Table, cell};
use crate::results::Results;
use crate::setting::Setting;

const ABOUT: About = About {
    name: "plastic-metrics",
    title: "the cost of collecting the metrics of each thread",
    publication: super::PUBLICATION,
    place: "Experiment 1 (Figure 6.1, Table 6.1)",
    caveats: &[FEWER_THREADS, OTHER_TIMES],
    repeat: super::REPEAT,
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    let experiment = Experiment::new(ABOUT, blocks, report).sized(size_in_words);
    experiment.with_parameters(&[TASKS, REPEATS, CHUNK])
}

pub(super) const WITHOUT: &str = "without metrics";
pub(super) const WITH: &str = "with metrics";
const WAYS: [&str; 2] = [WITHOUT, WITH];

/// Tasks and repetitions.
fn size(setting: &Setting) -> (usize, u32) {
    let sizes = [(2_000, 50), (METRICS.tasks, 2_000), (METRICS.tasks, 100_000)];
    let (tasks, repeats) = setting.pick(sizes);
    (setting.parameters.one(TASKS, tasks), setting.parameters.one(REPEATS, repeats))
}

fn size_in_words(setting: &Setting) -> String {
    let ((tasks, repeats), chunk) = (size(setting), chunk(setting));
    format!("{}: {tasks} tasks of {repeats} repeats, chunks of {chunk}", setting.scale)
}

fn blocks(setting: &Setting) -> Vec<Block> {
    let (tasks, repeats) = size(setting);
    let (workers, schedule) = (setting.most_workers(), Schedule::Dynamic { chunk: chunk(setting) });
    let cases = move || {
        let load = Load::uniform(tasks, repeats);
        let bench = Bench::new(load, false);
        let case = |name| {
            let way = if name == WITH { Way::Metered(schedule) } else { Way::Plain(schedule) };
            bench.case(way, workers, labels(name, workers, tasks))
        };
        Ok(WAYS.into_iter().filter_map(case).collect())
    };
    vec![Block::new("metrics", cases)]
}

fn report(results: &Results, _: &Setting) -> Vec<Part> {
    vec![Part::Table(overhead(results)), Part::Table(threads(results)), Part::Plot(plot(results))]
}

fn overhead(results: &Results) -> Table {
    let mut table = Table::new("metrics", "Time of all tasks, and what metrics add");
    let ratios = results.ratios(&[("way", WITH)], &[("way", WITHOUT)], "wall_s");
    let more: Vec<f64> = ratios.into_iter().map(|ratio| ratio - 1.0).collect();
    let wall = results.median(&[("way", WITHOUT)], "wall_s");
    for way in [WITHOUT, WITH] {
        let more = if way == WITH { &more[..] } else { &[] };
        let published = (way == WITH).then_some(METRICS);
        let head = [cell("", way)].into_iter().chain(times(results, &[("way", way)]));
        table.row(head.chain(added(wall, more)).chain([
            cell("paper: added, ms", published.map(|added| added.ms)),
            cell("paper: added, %", published.map(|added| added.percent)),
        ]));
    }
    table
}

/// The breakdown of all threads' time by the metrics.
fn threads(results: &Results) -> Table {
    let mut table = Table::new("threads", "The metrics themselves");
    let median = |name: &str| results.median(&[("way", WITH)], name);
    for (title, name) in [
        ("run time", "run_s"),
        ("work", "work_s"),
        ("overhead", "overhead_s"),
        ("blocked", "blocked_s"),
    ] {
        let share = median(name).zip(median("run_s")).map(|(part, run)| part / run * 100.0);
        table.row([
            cell("of all threads together", title),
            cell("s", median(name)),
            cell("share of the run, %", share),
        ]);
    }
    table
}

fn plot(results: &Results) -> Plot {
    let rounds = WAYS.map(|way| results.values(&[("way", way)], "wall_s"));
    let categories = WAYS.map(str::to_owned).into();
    let plot = Plot::new("metrics", "Time of all tasks", Form::Bars).axes("", "s").over(categories);
    plot.with(series("here", &rounds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Scale;

    /// Catches: an overhead of the wrong sign, or over the wrong time.
    #[test]
    fn what_metrics_add_stands_beside_what_they_added_there() {
        let results = Results::of([
            (labels(WITHOUT, 2, 1), vec![("wall_s", 2.0)]),
            (labels(WITH, 2, 1), vec![("wall_s", 2.1), ("run_s", 4.0), ("work_s", 3.0)]),
        ]);
        let parts = experiment().report(&results, &Setting::new(Scale::Quick, 2));
        let Part::Table(table) = &parts[0] else { panic!("{parts:?}") };
        assert_eq!(
            table.shown(&[WITH])[1..],
            ["2.10", "2.10", "-", "100.0", "5.00", "-", "too few rounds", "877", "3.50"]
        );
        let Part::Table(table) = &parts[1] else { panic!("{parts:?}") };
        assert_eq!(table.shown(&["work"])[1..], ["3", "75"]);
        assert_eq!(parts.len(), 3, "a plot");
    }
}
