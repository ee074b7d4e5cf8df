//! Experiment 4: why the choice of a schedule matters, and what it is worth that it can be changed:
//! heavy tasks first, and shares that are equal in number.

use std::time::Duration;

use sinew::Schedule;
use sinew_apps::collatz::Kind;

use super::bench::{Bench, DYNAMIC_INDIVIDUAL, Way};
use super::common::{
    CHUNK, FEWER_THREADS, OTHER_TIMES, TASKS, chunk, labels, ratio, series, times, without_openmp,
};
use super::openmp::{Load, Team};
use crate::experiment::{About, Block, Caveat, Experiment, Need};
use crate::paper::plastic::{DYNAMIC_OVER_STATIC, SCHEDULES_WORDS};
use crate::parameters::Parameter;
use crate::report::{Cell, Form, Part, Plot, Series, Table, cell};
use crate::results::Results;
use crate::setting::Setting;

const ABOUT: About = About {
    name: "plastic-schedules",
    title: "tasks of unequal length under several schedules, and under one that is changed while \
        they run",
    publication: super::PUBLICATION,
    place: "Experiment 4 (Figure 6.4)",
    caveats: &[
        FEWER_THREADS,
        Caveat { unless: Need::Nothing, words: SCHEDULES_WORDS },
        OTHER_TIMES,
    ],
    repeat: super::REPEAT,
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    let experiment = Experiment::new(ABOUT, blocks, report).sized(size_in_words);
    experiment.with_parameters(&[TASKS, HEAVY, LIGHT, CHUNK, SWITCH_AFTER])
}

/// Repetitions of heavy and of light tasks.
const HEAVY: Parameter = Parameter::new("heavy", u32::MAX as u64);
const LIGHT: Parameter = Parameter::new("light", u32::MAX as u64);
/// Microseconds until the schedule is switched.
const SWITCH_AFTER: Parameter = Parameter::new("switch_after_us", 1 << 40);

const SEQUENTIAL: &str = "sequential";
pub(super) const STATIC: &str = "static";
pub(super) const CHUNKS: &str = "dynamic chunks";
pub(super) const INDIVIDUAL: &str = "dynamic individual";
pub(super) const SWITCHED: &str = "static, then chunks";
const UNIFORM_STATIC: &str = "uniform: static";
const UNIFORM_SWITCHED: &str = "uniform: individual, then static";

/// A line of the table, and what the publication says about it.
struct Line {
    name: &'static str,
    way: Way,
    /// Whether all tasks are alike.
    uniform: bool,
    /// The published speed relative to static.
    published: Option<f64>,
}

fn lines(setting: &Setting) -> Vec<Line> {
    let biased = |name, way, published| Line { name, way, uniform: false, published };
    let uniform = |name, way| Line { name, way, uniform: true, published: None };
    let (after, chunk) = (switch_after(setting), chunk(setting));
    let chunks = Schedule::Dynamic { chunk };
    vec![
        biased(SEQUENTIAL, Way::Sequential, None),
        biased(STATIC, Way::Plain(Schedule::Static), Some(1.0)),
        biased(CHUNKS, Way::Plain(chunks), Some(DYNAMIC_OVER_STATIC)),
        biased(INDIVIDUAL, Way::Plain(DYNAMIC_INDIVIDUAL), Some(DYNAMIC_OVER_STATIC)),
        biased(SWITCHED, Way::Switched(Schedule::Static, after, chunks), Some(DYNAMIC_OVER_STATIC)),
        biased("OpenMP: static", Way::OpenMp(Team::Static), None),
        biased("OpenMP: dynamic chunks", Way::OpenMp(Team::Dynamic(chunk)), None),
        uniform(UNIFORM_STATIC, Way::Plain(Schedule::Static)),
        uniform(UNIFORM_SWITCHED, Way::Switched(DYNAMIC_INDIVIDUAL, after, Schedule::Static)),
    ]
}

/// Tasks, and the repetitions of heavy and light ones.
fn size(setting: &Setting) -> (usize, u32, u32) {
    let sizes = [(4_000, 200, 2), (100_000, 2_000, 20), (100_000, 10_000_000, 100_000)];
    let ((tasks, heavy, light), given) = (setting.pick(sizes), &setting.parameters);
    (given.one(TASKS, tasks), given.one(HEAVY, heavy), given.one(LIGHT, light))
}

/// About a fifth of the time that the light shares take, as there: no thread is without work by
/// then.
fn switch_after(setting: &Setting) -> Duration {
    let usual = setting.pick([20, 2_000, 5_000_000]);
    Duration::from_micros(setting.parameters.one(SWITCH_AFTER, usual))
}

fn size_in_words(setting: &Setting) -> String {
    let (tasks, heavy, light) = size(setting);
    let (scale, parts) = (setting.scale, setting.most_workers());
    format!(
        "{scale}: {tasks} tasks, the first of {parts} parts of {heavy} repeats, the others of \
         {light}"
    )
}

fn blocks(setting: &Setting) -> Vec<Block> {
    let (workers, lines) = (setting.most_workers(), lines(setting));
    let (tasks, heavy, light) = size(setting);
    let cases = move || {
        let load = Load { kind: Kind::Compute, tasks, heavy, light, parts: workers, entries: 1 };
        // The same total work, evenly distributed.
        let mean = (heavy as usize / workers + light as usize * (workers - 1) / workers) as u32;
        let biased = Bench::new(load, true);
        let uniform = Bench::new(Load { heavy: mean, light: mean, ..load }, false);
        let case = |line: Line| {
            let bench = if line.uniform { &uniform } else { &biased };
            bench.case(line.way, workers, labels(line.name, workers, tasks))
        };
        Ok(lines.into_iter().filter_map(case).collect())
    };
    vec![Block::new("schedules", cases)]
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let words = format!(
        "The schedule is switched {:?} after the beginning. Throughput is relative to the \
         same tasks under dynamic chunks from the beginning; for tasks that are all alike, \
         under static. The bar for a switched schedule is 0.98.",
        switch_after(setting)
    );
    let mut parts = vec![Part::Words(words), Part::Table(table(results, setting))];
    parts.extend(without_openmp(results));
    parts.push(Part::Plot(plot(results, setting)));
    parts
}

/// The speed relative to that of another line, in each round.
pub(super) fn over(results: &Results, base: &str, way: &str) -> Vec<f64> {
    results.ratios(&[("way", base)], &[("way", way)], "wall_s")
}

fn table(results: &Results, setting: &Setting) -> Table {
    let mut table = Table::new("schedules", "Time of all tasks");
    for Line { name, uniform, published, .. } in lines(setting) {
        let which = [("way", name)];
        let (same, best) =
            if uniform { (UNIFORM_STATIC, UNIFORM_STATIC) } else { (STATIC, CHUNKS) };
        let head = [cell("schedule", name)].into_iter().chain(times(results, &which));
        let against = |base| if base == name { Vec::new() } else { over(results, base, name) };
        let paper = cell("paper: times static's speed", published.map_or(Cell::Gap, Cell::from));
        let speed = ratio("times static's speed", &against(same));
        let throughput = ratio("relative throughput", &against(best));
        table.row(head.chain(speed).chain(throughput).chain([paper]));
    }
    table
}

fn plot(results: &Results, setting: &Setting) -> Plot {
    let lines: Vec<Line> = lines(setting).into_iter().filter(|line| !line.uniform).collect();
    let names = lines.iter().map(|line| line.name.to_owned()).collect();
    let ours: Vec<Vec<f64>> = lines.iter().map(|line| over(results, STATIC, line.name)).collect();
    let plot = Plot::new("schedules", "Speed over that of the static schedule", Form::Bars)
        .axes("", "speed / static")
        .over(names)
        .ratios()
        .with(series("here", &ours));
    if plot.is_empty() {
        return plot;
    }
    plot.with(Series::new(
        "paper, 4 threads (almost 3)",
        lines.iter().map(|line| line.published).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Scale;

    /// Catches: a throughput that is upside down or relative to another line.
    #[test]
    fn a_switched_schedule_is_held_against_the_better_one_from_the_beginning() {
        let wall = |way, wall_s| (labels(way, 2, 1), vec![("wall_s", wall_s)]);
        let results = Results::of([
            wall(STATIC, 2.0),
            wall(CHUNKS, 1.0),
            wall(SWITCHED, 1.25),
            wall(UNIFORM_STATIC, 3.0),
            wall(UNIFORM_SWITCHED, 4.0),
        ]);
        let parts = experiment().report(&results, &Setting::new(Scale::Default, 2));
        let Part::Table(table) = &parts[1] else { panic!("{parts:?}") };
        let few = "too few rounds";
        let shown = table.shown(&[SWITCHED]);
        assert_eq!(shown[1..], ["1.25", "1.25", "-", "1.60", few, "0.80", few, "3"]);
        let shown = table.shown(&[UNIFORM_SWITCHED]);
        assert_eq!(shown[1..], ["4", "4", "-", "0.75", few, "0.75", few, "-"]);
        assert_eq!(parts.len(), 4, "words, a table, words about OpenMP, a plot");
    }
}
