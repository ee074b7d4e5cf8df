//! Experiment 2: the map-array beside a sequential program and OpenMP, on more and more threads,
//! under a static schedule.

use sinew::Schedule;

use super::bench::{Bench, Way};
use super::common::{
    FEWER_THREADS, OTHER_TIMES, REPEATS, TASKS, labels, ratio, series, times, without_openmp,
};
use super::openmp::{Load, Team};
use crate::experiment::{About, Block, Caveat, Experiment, Need};
use crate::paper::plastic::PERFORMANCE_WORDS;
use crate::report::{Form, Part, Plot, Table, cell};
use crate::results::Results;
use crate::setting::Setting;
use crate::statistics::median;

const ABOUT: About = About {
    name: "plastic-performance",
    title: "the map-array beside a sequential program and OpenMP",
    publication: super::PUBLICATION,
    place: "Experiment 2 (Figure 6.2)",
    caveats: &[
        FEWER_THREADS,
        Caveat { unless: Need::Nothing, words: PERFORMANCE_WORDS },
        Caveat {
            unless: Need::Nothing,
            words: "The program in C is compiled by another compiler: what it gains or loses \
                against ours on one thread is the compilers' doing.",
        },
        OTHER_TIMES,
    ],
    repeat: super::REPEAT,
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    let experiment = Experiment::new(ABOUT, blocks, report).sized(size_in_words);
    experiment.with_parameters(&[TASKS, REPEATS])
}

pub(super) const SEQUENTIAL: &str = "sequential";
const IN_C: &str = "sequential, C";
pub(super) const OPENMP: &str = "OpenMP";
pub(super) const OURS: &str = "map-array";

/// The variants on one thread, and those on any number.
const ALONE: [(&str, Way); 2] = [(SEQUENTIAL, Way::Sequential), (IN_C, Way::OpenMp(Team::Alone))];
const TOGETHER: [(&str, Way); 2] =
    [(OPENMP, Way::OpenMp(Team::Static)), (OURS, Way::Plain(Schedule::Static))];

fn size(setting: &Setting) -> (usize, u32) {
    let (tasks, repeats) = setting.pick([(500, 200), (10_000, 10_000), (10_000, 1_000_000)]);
    (setting.parameters.one(TASKS, tasks), setting.parameters.one(REPEATS, repeats))
}

fn size_in_words(setting: &Setting) -> String {
    let (tasks, repeats) = size(setting);
    format!("{}: {tasks} tasks of {repeats} repeats, static", setting.scale)
}

fn blocks(setting: &Setting) -> Vec<Block> {
    let (tasks, repeats) = size(setting);
    let counts = setting.threads.clone();
    let cases = move || {
        let load = Load::uniform(tasks, repeats);
        let bench = Bench::new(load, true);
        let together = counts.iter().flat_map(|&workers| TOGETHER.map(|way| (way, workers)));
        let all = ALONE.map(|way| (way, 1)).into_iter().chain(together);
        let case = |((name, way), workers)| bench.case(way, workers, labels(name, workers, tasks));
        Ok(all.filter_map(case).collect())
    };
    vec![Block::new("performance", cases)]
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let view = View { results, counts: &setting.threads };
    let mut parts = vec![Part::Table(view.table())];
    parts.extend(without_openmp(results));
    parts.push(Part::Plot(view.plot()));
    parts
}

struct View<'a> {
    results: &'a Results,
    counts: &'a [usize],
}

impl View<'_> {
    fn table(&self) -> Table {
        let mut table =
            Table::new("performance", "Time of all tasks; speed-up over the sequential program");
        let together = TOGETHER
            .iter()
            .flat_map(|(way, _)| self.counts.iter().map(move |&count| (*way, count)));
        for (way, workers) in ALONE.iter().map(|(way, _)| (*way, 1)).chain(together) {
            let count = workers.to_string();
            let which = [("way", way), ("workers", count.as_str())];
            let openmp = [("way", OPENMP), ("workers", count.as_str())];
            let head = [cell("", way), cell("threads", workers)];
            let over = self.results.ratios(&which, &openmp, "wall_s");
            let over = ratio("time over OpenMP's", if way == OPENMP { &[] } else { &over });
            let speed_up = cell("speed-up", median(&self.speed_ups(way, workers)));
            let times = times(self.results, &which);
            table.row(head.into_iter().chain(times).chain([speed_up]).chain(over));
        }
        table
    }

    /// In each round.
    fn speed_ups(&self, way: &str, workers: usize) -> Vec<f64> {
        let which = [("way", way), ("workers", &*workers.to_string())];
        self.results.ratios(&[("way", SEQUENTIAL)], &which, "wall_s")
    }

    fn plot(&self) -> Plot {
        let counts = self.counts.iter().map(usize::to_string).collect();
        let mut plot = Plot::new("speed-up", "Speed-up over the sequential program", Form::Bars)
            .axes("threads", "speed-up")
            .over(counts)
            .level(1.0);
        for (way, _) in TOGETHER {
            let rounds = self.counts.iter().map(|&workers| self.speed_ups(way, workers));
            plot = plot.with(series(way, &rounds.collect::<Vec<_>>()));
        }
        plot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Scale;

    /// Catches: a speed-up over another program, or one that is upside down; a report that keeps
    /// silent about what is not there.
    #[test]
    fn speed_up_is_over_the_sequential_program() {
        let wall = |way, workers, wall_s| (labels(way, workers, 1), vec![("wall_s", wall_s)]);
        let setting = Setting { threads: vec![1, 2], ..Setting::new(Scale::Quick, 2) };
        let ours = [wall(SEQUENTIAL, 1, 4.0), wall(OURS, 2, 2.5)];
        let parts = experiment().report(&Results::of(ours.clone()), &setting);
        let Part::Table(table) = &parts[0] else { panic!("{parts:?}") };
        assert_eq!(table.shown(&[OURS, "2"])[2..], ["2.50", "2.50", "-", "1.60", "-", "-"]);
        assert!(
            matches!(&parts[1], Part::Words(words) if words.contains("cc -fopenmp")),
            "{parts:?}"
        );
        let with_openmp = ours.into_iter().chain([wall(OPENMP, 2, 2.0)]);
        let parts = experiment().report(&Results::of(with_openmp), &setting);
        let Part::Table(table) = &parts[0] else { panic!("{parts:?}") };
        assert_eq!(table.shown(&[OURS, "2"])[6..], ["1.25", "too few rounds"]);
        assert_eq!(parts.len(), 2, "a table and a plot");
    }
}
