//! The publication's future work: tasks whose bottleneck is the memory's bandwidth or latency
//! instead of the processor.

use sinew::Schedule;
use sinew_apps::collatz::Kind;

use super::bench::{Bench, DYNAMIC_INDIVIDUAL, Way};
use super::common::{TASKS, labels, series, times, without_openmp};
use super::openmp::{Load, Team};
use crate::experiment::{About, Block, Caveat, Experiment, Need};
use crate::report::{Form, Part, Plot, Table, cell};
use crate::results::{Labels, Results};
use crate::setting::{Scale, Setting};
use crate::statistics::median;

const ABOUT: About = About {
    name: "plastic-access",
    title: "tasks that compute, read memory in sequence, or read it at random",
    publication: super::PUBLICATION,
    place: "section 7.1 (future work)",
    caveats: &[
        Caveat {
            unless: Need::Nothing,
            words: "The publication has no values for this: it is what its author would have \
                measured next.",
        },
        Caveat {
            unless: Need::Nodes(2),
            words: "All workers share one memory here, so that where a page lies changes nothing.",
        },
    ],
    repeat: super::REPEAT,
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    let experiment = Experiment::new(ABOUT, blocks, report).sized(size_in_words);
    experiment.with_parameters(&[TASKS])
}

const KINDS: [(&str, Kind); 3] =
    [("compute", Kind::Compute), ("in a row", Kind::Stream), ("at random", Kind::Irregular)];

pub(super) const SEQUENTIAL: &str = "sequential";
const OPENMP: &str = "OpenMP, static";
const OURS: &str = "map-array, static";
const OURS_DYNAMIC: &str = "map-array, dynamic individual";
const STEALING: &str = "map-array, stealing";

const TOGETHER: [(&str, Way); 4] = [
    (OPENMP, Way::OpenMp(Team::Static)),
    (OURS, Way::Plain(Schedule::Static)),
    (OURS_DYNAMIC, Way::Plain(DYNAMIC_INDIVIDUAL)),
    (STEALING, Way::Plain(Schedule::Stealing)),
];

/// Tasks, and entries of the table: more than caches hold, from the default size on.
fn size(setting: &Setting) -> (usize, usize) {
    let (tasks, entries) = setting.pick([(200, 1 << 12), (2_000, 1 << 25), (10_000, 1 << 28)]);
    (setting.parameters.one(TASKS, tasks), entries)
}

/// The work of a task of each kind, chosen so that all kinds take about as long.
fn repeats(scale: Scale, kind: Kind) -> u32 {
    let [compute, stream, irregular] =
        scale.pick([50, 500, 50], [10_000, 200_000, 2_000], [100_000, 2_000_000, 20_000]);
    match kind {
        Kind::Stream => stream,
        Kind::Irregular => irregular,
        _ => compute,
    }
}

fn load(setting: &Setting, kind: Kind) -> Load {
    let ((tasks, entries), repeats) = (size(setting), repeats(setting.scale, kind));
    let entries = if kind == Kind::Compute { 1 } else { entries };
    Load { kind, tasks, heavy: repeats, light: repeats, parts: 1, entries }
}

fn of_kind(kind: &str, way: &str, workers: usize, tasks: usize) -> Labels {
    [vec![("access", kind.to_owned())], labels(way, workers, tasks)].concat()
}

fn size_in_words(setting: &Setting) -> String {
    let (tasks, entries) = size(setting);
    format!(
        "{}: {tasks} tasks, a table of {} KiB",
        setting.scale,
        entries * size_of::<u32>() / 1024
    )
}

fn blocks(setting: &Setting) -> Vec<Block> {
    let block = |(name, kind): (&'static str, Kind)| {
        let (load, counts) = (load(setting, kind), setting.threads.clone());
        Block::new(name, move || {
            let bench = Bench::new(load, true);
            let together = counts.iter().flat_map(|&workers| TOGETHER.map(|way| (way, workers)));
            let all = [((SEQUENTIAL, Way::Sequential), 1)].into_iter().chain(together);
            let case = |((way_name, way), workers)| {
                bench.case(way, workers, of_kind(name, way_name, workers, load.tasks))
            };
            Ok(all.filter_map(case).collect())
        })
    };
    KINDS.into_iter().map(block).collect()
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
    /// In each round.
    fn speed_ups(&self, kind: &str, way: &str, workers: usize) -> Vec<f64> {
        let count = workers.to_string();
        let which = [("access", kind), ("way", way), ("workers", count.as_str())];
        self.results.ratios(&[("access", kind), ("way", SEQUENTIAL)], &which, "wall_s")
    }

    fn table(&self) -> Table {
        let mut table =
            Table::new("access", "Time of all tasks; speed-up over the sequential program");
        for (kind, _) in KINDS {
            let together = TOGETHER
                .iter()
                .flat_map(|(way, _)| self.counts.iter().map(move |&count| (*way, count)));
            for (way, workers) in [(SEQUENTIAL, 1)].into_iter().chain(together) {
                let count = workers.to_string();
                let which = [("access", kind), ("way", way), ("workers", count.as_str())];
                let head = [cell("access", kind), cell("", way), cell("threads", workers)];
                let speed_up = median(&self.speed_ups(kind, way, workers));
                let times = times(self.results, &which);
                table.row(head.into_iter().chain(times).chain([cell("speed-up", speed_up)]));
            }
        }
        table
    }

    /// On all workers.
    fn plot(&self) -> Plot {
        let most = self.counts.iter().copied().max().unwrap_or(1);
        let kinds = KINDS.iter().map(|(kind, _)| (*kind).to_owned()).collect();
        let mut plot = Plot::new(
            "access",
            format!("Speed-up of {most} threads over the sequential program"),
            Form::Bars,
        )
        .axes("", "speed-up")
        .over(kinds)
        .level(1.0);
        for (way, _) in TOGETHER {
            let rounds = KINDS.map(|(kind, _)| self.speed_ups(kind, way, most));
            plot = plot.with(series(way, &rounds));
        }
        plot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a kind of access whose speed-up is over another kind's sequential program.
    #[test]
    fn speed_up_is_over_the_same_kind_of_access() {
        let wall =
            |kind, way, workers, wall_s| (of_kind(kind, way, workers, 1), vec![("wall_s", wall_s)]);
        let results = Results::of([
            wall("compute", SEQUENTIAL, 1, 8.0),
            wall("at random", SEQUENTIAL, 1, 3.0),
            wall("at random", OURS, 2, 2.0),
        ]);
        let setting = Setting { threads: vec![1, 2], ..Setting::new(Scale::Quick, 2) };
        let parts = experiment().report(&results, &setting);
        let Part::Table(table) = &parts[0] else { panic!("{parts:?}") };
        assert_eq!(table.shown(&["at random", OURS, "2"])[3..], ["2", "2", "-", "1.50"]);
        assert_eq!(parts.len(), 3, "a table, words about OpenMP, a plot");
    }
}
