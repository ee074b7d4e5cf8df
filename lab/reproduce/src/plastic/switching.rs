//! Experiment 3: the cost of a program that can be changed from outside, and of a change. As there,
//! the machine's coordinator replies to a program that registers with one change, which names the
//! threads and the schedule that the program has. So its loop goes on as before. The other program
//! has no coordinator, registers nowhere, and has a loop that nothing can change.

use sinew::Schedule;
use sinew_coord::{Policy, Script};

use super::common::{
    CHUNK, FEWER_THREADS, OTHER_TIMES, REPEATS, TASKS, added, chunk, labels, series,
};
use super::programs::{Access, Job, Program, Standing, Until, Way, place};
use crate::experiment::{About, Block, Case, Experiment};
use crate::failure::Failure;
use crate::paper::plastic::{Added, SWITCHES};
use crate::parameters::Parameter;
use crate::report::{Form, Part, Plot, Table, cell};
use crate::results::{Metrics, Results};
use crate::setting::Setting;
use crate::statistics::{mean, standard_deviation};

const ABOUT: About = About {
    name: "plastic-switching",
    title: "the cost of a program that the machine's coordinator can change, and of one change",
    publication: super::PUBLICATION,
    place: "Experiment 3 (Figure 6.3, Table 6.4)",
    caveats: &[FEWER_THREADS, OTHER_TIMES],
    repeat: super::REPEAT,
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    let experiment = Experiment::new(ABOUT, blocks, report).sized(size_in_words);
    experiment.with_parameters(&[COUNTS, REPEATS, CHUNK])
}

/// One row for each number of tasks.
const COUNTS: Parameter = TASKS.many();

const FIXED: &str = "fixed";
const CHANGED: &str = "changed once";

/// By how much fewer tasks than published, and their repetitions.
fn size(setting: &Setting) -> (usize, u32) {
    let (fewer, repeats) = setting.pick([(20, 50), (1, 2_000), (1, 1_000_000)]);
    (fewer, setting.parameters.one(REPEATS, repeats))
}

/// The numbers of tasks, and what was published about them.
pub(super) fn rows(setting: &Setting) -> Vec<(usize, Option<Added>)> {
    match setting.parameters.numbers(COUNTS) {
        Some(counts) => counts.iter().map(|&tasks| (tasks as usize, None)).collect(),
        None => SWITCHES.map(|added| (added.tasks / size(setting).0, Some(added))).into(),
    }
}

fn size_in_words(setting: &Setting) -> String {
    let counts: Vec<String> = rows(setting).iter().map(|(tasks, _)| tasks.to_string()).collect();
    let (repeats, chunk, counts) = (size(setting).1, chunk(setting), counts.join(", "));
    format!("{}: {counts} tasks of {repeats} repeats, chunks of {chunk}", setting.scale)
}

fn blocks(setting: &Setting) -> Vec<Block> {
    let (repeats, threads, chunk) = (size(setting).1, setting.most_workers(), chunk(setting));
    let block = |(tasks, _): (usize, Option<Added>)| {
        let load = Load { tasks, repeats, threads, chunk };
        let case = move |name| Case::new(labels(name, threads, tasks), move || load.run(name));
        Block::new(format!("{tasks} tasks"), move || Ok([FIXED, CHANGED].map(case).into()))
    };
    rows(setting).into_iter().map(block).collect()
}

/// The tasks of a program, and its threads.
#[derive(Debug, Clone, Copy)]
struct Load {
    tasks: usize,
    repeats: u32,
    threads: usize,
    chunk: usize,
}

impl Load {
    fn job(self, way: Way) -> Job {
        let Self { tasks, repeats, threads, chunk } = self;
        Job {
            name: "program".to_owned(),
            access: Access::Compute,
            tasks,
            repeats,
            entries: 1,
            threads,
            pinned: true,
            chunk,
            way,
            until: Until::Done { tell_at: None },
        }
    }

    /// One run of the program: by itself, or under the coordinator.
    fn run(self, way: &str) -> Result<Metrics, Failure> {
        let folder = tempfile::tempdir().map_err(Failure::impossible)?;
        let place = place(&folder);
        let standing = (way == CHANGED)
            .then(|| Standing::start(&place, Policy::Script, script(self)?))
            .transpose()?;
        let way = if way == CHANGED { Way::Shares(place) } else { Way::Fixed };
        let mut program = Program::start(&self.job(way))?;
        program.tell("go")?;
        let outcome = program.outcome()?;
        drop(standing);
        Ok(vec![("wall_s", outcome.seconds), ("changes", outcome.changes as f64)])
    }
}

/// The coordinator's reply to a pool that registers: what it has already. The name of a pool in the
/// table is that of its binary.
fn script(Load { threads, chunk, .. }: Load) -> Result<Script, Failure> {
    let schedule = Schedule::Dynamic { chunk };
    let text = format!("when sinew-lab joins sinew-lab threads {threads} schedule {schedule}");
    text.parse().map_err(Failure::impossible)
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let words = "A time begins before the program has its threads, and includes its messages to \
        and from the coordinator. Added is the median, over rounds, of the time with a change \
        over the time without. Chunks of 1000 of 1000 tasks are one chunk: one thread works, as \
        there.";
    vec![
        Part::words(words),
        Part::Table(table(results, setting)),
        Part::Plot(plot(results, setting)),
    ]
}

fn which<'a>(way: &'a str, tasks: &'a str) -> [(&'a str, &'a str); 2] {
    [("way", way), ("tasks", tasks)]
}

/// The time added by the change in each round, as a fraction of the time without it.
pub(super) fn more(results: &Results, tasks: &str) -> Vec<f64> {
    let ratios = results.ratios(&which(CHANGED, tasks), &which(FIXED, tasks), "wall_s");
    ratios.into_iter().map(|ratio| ratio - 1.0).collect()
}

fn table(results: &Results, setting: &Setting) -> Table {
    let mut table = Table::new("switching", "Time of all tasks, and what a switch adds");
    for (tasks, published) in rows(setting) {
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
            cell("paper: added, ms", published.map(|added| added.ms)),
            cell("paper: added, %", published.map(|added| added.percent)),
        ]));
    }
    table
}

fn plot(results: &Results, setting: &Setting) -> Plot {
    let counts: Vec<String> = rows(setting).iter().map(|(tasks, _)| tasks.to_string()).collect();
    let percent = |tasks: &String| more(results, tasks).iter().map(|more| more * 100.0).collect();
    let rounds: Vec<Vec<f64>> = counts.iter().map(percent).collect();
    let plot = Plot::new("switching", "What a switch adds", Form::Bars).axes("tasks", "added, %");
    plot.over(counts).with(series("here", &rounds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Scale;

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
