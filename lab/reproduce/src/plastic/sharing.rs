//! Experiment 5: two programs at once. The first has all cores, half of them while the second is
//! running, and then all again; or both have as many threads as there are cores, placed by the
//! system.

use std::path::Path;

use sinew_coord::{Policy, Script};

use super::common::{FEWER_THREADS, OTHER_TIMES, REPEATS, ratio};
use super::programs::{Access, Finished, Job, Program, Standing, Until, Way, place};
use crate::experiment::{About, Block, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::plastic::{SHARING_INTERVALS_MS, SHARING_REPEATS, SHARING_TASKS, SHARING_WORDS};
use crate::parameters::Parameter;
use crate::report::{Cell, Form, Part, Plot, Series, Table, cell};
use crate::results::{Labels, Metrics, Results};
use crate::setting::Setting;
use crate::statistics::{median, standard_deviation};

const ABOUT: About = About {
    name: "plastic-sharing",
    title: "two programs at once: one gives half of its cores to the other while that runs, \
        against no coordination",
    publication: super::PUBLICATION,
    place: "Experiment 5 (Figure 6.5, Table 6.7)",
    caveats: &[
        FEWER_THREADS,
        Caveat {
            unless: Need::Workers(4),
            words: "With two cores each program has a single thread while both run, so no thread \
                waits for one that lost its core: the cost of anarchy to a team does not show.",
        },
        Caveat { unless: Need::Nothing, words: SHARING_WORDS },
        Caveat {
            unless: Need::Nothing,
            words: "The publication's main threads sleep between two looks, also when the tasks \
                are done, so that its times end with an interval; here only messages wait for it. \
                When its second program began is not published; here it does when the first has \
                done a fifth.",
        },
        OTHER_TIMES,
    ],
    repeat: super::REPEAT,
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    let experiment = Experiment::new(ABOUT, blocks, report).sized(size_in_words);
    experiment.with_parameters(&[FIRST, SECOND, REPEATS])
}

/// The tasks of the two programs.
const FIRST: Parameter = Parameter::new("first_tasks", 1 << 32);
const SECOND: Parameter = Parameter::new("second_tasks", 1 << 32);

/// The way the two programs share the cores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Manner {
    /// The first, without the second.
    Alone,
    Anarchy,
    /// By a script; the milliseconds between two checks for messages, or 0 if the program is
    /// notified at once.
    Scripted(u64),
    /// Pools that share by themselves.
    Pools,
}

const MANNERS: [Manner; 7] = [
    Manner::Alone,
    Manner::Anarchy,
    Manner::Pools,
    Manner::Scripted(0),
    Manner::Scripted(1),
    Manner::Scripted(SHARING_INTERVALS_MS[0]),
    Manner::Scripted(SHARING_INTERVALS_MS[1]),
];

/// The second program comes when the first has done this part.
const SECOND_COMES_AT: f64 = 0.2;

impl Manner {
    pub(super) fn name(self) -> String {
        match self {
            Self::Alone => "the first alone".to_owned(),
            Self::Anarchy => "anarchy".to_owned(),
            Self::Scripted(0) => "coordinated, told at once".to_owned(),
            Self::Scripted(ms) => format!("coordinated, looking every {ms} ms"),
            Self::Pools => "pools that share by themselves".to_owned(),
        }
    }

    fn way(self, folder: &Path) -> Way {
        let folder = folder.to_owned();
        match self {
            Self::Alone | Self::Anarchy => Way::Anarchic,
            Self::Scripted(every_ms) => Way::Looks { folder, every_ms },
            Self::Pools => Way::Shares(folder),
        }
    }
}

/// 4, 2 and 4 threads of the first on a machine with four; half of them, rounded up and down, on
/// others.
fn script(threads: usize) -> Result<Script, Failure> {
    let (more, fewer) = (threads.div_ceil(2), (threads / 2).max(1));
    let text = format!(
        "when first joins first threads {threads}\n\
         when second joins first threads {more}\n\
         when second joins second threads {fewer}\n\
         when second leaves first threads {threads}\n"
    );
    text.parse().map_err(Failure::impossible)
}

/// Tasks of both programs, and their repetitions.
fn size(setting: &Setting) -> ([usize; 2], u32) {
    let (fewer, repeats) = setting.pick([(100, 500), (1, 10_000), (1, SHARING_REPEATS)]);
    let ([first, second], given) = (SHARING_TASKS.map(|tasks| tasks / fewer), &setting.parameters);
    ([given.one(FIRST, first), given.one(SECOND, second)], given.one(REPEATS, repeats))
}

/// The ideal of both times, without losses: the time of the first program alone.
///
/// The second comes at a fifth, works on half of the machine as long as the first would on the
/// whole, and leaves the first three tenths.
const IDEAL: [f64; 2] = [1.5, 1.0];

/// The metric of each program.
pub(super) const TIMES: [&str; 2] = ["first_s", "second_s"];

#[derive(Debug, Clone, Copy)]
struct Scenario {
    tasks: [usize; 2],
    repeats: u32,
    threads: usize,
}

impl Scenario {
    fn labels(self, manner: Manner) -> Labels {
        vec![("manner", manner.name()), ("threads", self.threads.to_string())]
    }

    fn job(self, which: usize, way: Way) -> Job {
        let tell_at = (which == 0).then_some(SECOND_COMES_AT);
        Job {
            name: ["first", "second"][which].to_owned(),
            access: Access::Compute,
            tasks: self.tasks[which],
            repeats: self.repeats,
            entries: 1,
            threads: self.threads,
            pinned: false,
            chunk: 1,
            way,
            until: Until::Done { tell_at },
        }
    }

    fn run(self, manner: Manner) -> Result<Metrics, Failure> {
        let folder = tempfile::tempdir().map_err(Failure::impossible)?;
        let place = place(&folder);
        let script =
            matches!(manner, Manner::Scripted(_)).then(|| script(self.threads)).transpose()?;
        let standing =
            script.map(|script| Standing::start(&place, Policy::Script, script)).transpose()?;
        let start = |which| Program::start(&self.job(which, manner.way(&place)));
        let (mut first, second) = (start(0)?, start(1)?);
        first.tell("go")?;
        first.wait_for_part()?;
        let second = (manner != Manner::Alone).then(|| one_run(second)).transpose()?;
        let first = first.outcome()?;
        drop(standing);
        let changes = first.changes as f64;
        let second = second.map(|second| (TIMES[1], second.seconds));
        Ok([(TIMES[0], first.seconds), ("changes", changes)].into_iter().chain(second).collect())
    }
}

fn one_run(mut program: Program) -> Result<Finished, Failure> {
    program.tell("go")?;
    program.outcome()
}

fn size_in_words(setting: &Setting) -> String {
    let ([first, second], repeats) = size(setting);
    format!("{}: {first} and {second} tasks of {repeats} repeats, one by one", setting.scale)
}

fn blocks(setting: &Setting) -> Vec<Block> {
    let ((tasks, repeats), threads) = (size(setting), setting.most_workers());
    let scenario = Scenario { tasks, repeats, threads };
    let cases = move || {
        let case = |manner| Case::new(scenario.labels(manner), move || scenario.run(manner));
        Ok(MANNERS.map(case).into())
    };
    vec![Block::new("two programs", cases)]
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let threads = setting.most_workers();
    let words = format!(
        "In anarchy both programs have {threads} threads. Coordinated, the first has \
         {threads}, {} while the second runs, and {threads} again, and the second has {}: a \
         script says so, and each program reads its share at intervals, or is told at once. \
         Pools that share by themselves need no script. `Of the ideal` is a time divided by the \
         time if nothing were lost: {} times that of the first alone for the first, and for the \
         second.",
        threads.div_ceil(2),
        (threads / 2).max(1),
        IDEAL[0],
    );
    let view = View { results };
    vec![Part::Words(words), Part::Table(view.table()), Part::Plot(view.plot())]
}

struct View<'a> {
    results: &'a Results,
}

impl View<'_> {
    /// Of one program under one manner, over the ideal.
    fn of_ideal(&self, manner: Manner, which: usize) -> Option<f64> {
        let alone = self.results.median(&[("manner", &Manner::Alone.name())], TIMES[0])?;
        let time = self.results.median(&[("manner", &manner.name())], TIMES[which])?;
        (manner != Manner::Alone && alone > 0.0).then(|| time / alone / IDEAL[which])
    }

    /// The standard deviation of such a time, over the ideal.
    fn deviation_of_ideal(&self, manner: Manner, which: usize) -> Option<f64> {
        let times = self.results.values(&[("manner", &manner.name())], TIMES[which]);
        let part = standard_deviation(&times)? / median(&times)?;
        Some(part * self.of_ideal(manner, which)?)
    }

    /// Of the first program, in each round: it is the time of all.
    fn of_anarchy(&self, manner: Manner) -> Vec<f64> {
        if matches!(manner, Manner::Alone | Manner::Anarchy) {
            return Vec::new();
        }
        let (name, anarchy) = (manner.name(), Manner::Anarchy.name());
        self.results.ratios(&[("manner", &name)], &[("manner", &anarchy)], TIMES[0])
    }

    fn table(&self) -> Table {
        let mut table =
            Table::new("sharing", "Time of both programs; that of the first is the time of all");
        for manner in MANNERS {
            let name = manner.name();
            let which = [("manner", name.as_str())];
            let [of_first, of_second] =
                TIMES.map(|time| standard_deviation(&self.results.values(&which, time)));
            let times = [
                cell("programs", name.as_str()),
                cell("first, s", self.results.median(&which, TIMES[0])),
                cell("standard deviation, s", of_first),
                cell("second, s", self.results.median(&which, TIMES[1])),
                cell("standard deviation, s", of_second),
            ];
            let of_anarchy = ratio("first / anarchy", &self.of_anarchy(manner));
            table.row(times.into_iter().chain(of_anarchy).chain([
                cell("first of ideal", self.of_ideal(manner, 0)),
                cell("second of ideal", self.of_ideal(manner, 1)),
                cell("changes", self.results.median(&which, "changes")),
                cell("paper", published(manner)),
            ]));
        }
        table
    }

    fn plot(&self) -> Plot {
        let manners: Vec<Manner> =
            MANNERS.into_iter().filter(|&manner| manner != Manner::Alone).collect();
        let series = |name, which| {
            let values = manners.iter().map(|&manner| self.of_ideal(manner, which)).collect();
            let bars = manners.iter().map(|&manner| self.deviation_of_ideal(manner, which));
            Series::new(name, values).spreads(bars.collect())
        };
        Plot::new("sharing", "Time of each program over the ideal", Form::Bars)
            .axes("", "time / ideal")
            .over(manners.iter().map(|manner| manner.name()).collect())
            .ratios()
            .with(series("first", 0))
            .with(series("second", 1))
    }
}

/// The publication's text about it; there is none about a program that is notified at once, and
/// about pools that share by themselves.
fn published(manner: Manner) -> Cell {
    let [shorter, longer] = SHARING_INTERVALS_MS.map(Manner::Scripted);
    match manner {
        Manner::Anarchy => "slowest, varies most".into(),
        manner if manner == shorter => "faster than anarchy".into(),
        manner if manner == longer => "fastest".into(),
        _ => Cell::Gap,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Scale;

    /// Catches: times that are held against the wrong ideal, and a ratio that is upside down.
    #[test]
    fn times_are_held_against_anarchy_and_the_ideal() {
        let scenario = Scenario { tasks: [2, 1], repeats: 1, threads: 4 };
        let times = |manner, first: f64, second: f64| {
            (scenario.labels(manner), vec![(TIMES[0], first), ("changes", 3.0), (TIMES[1], second)])
        };
        let at_once = Manner::Scripted(0);
        let results = Results::of([
            (scenario.labels(Manner::Alone), vec![(TIMES[0], 2.0), ("changes", 0.0)]),
            times(Manner::Anarchy, 6.0, 4.0),
            times(at_once, 3.0, 2.0),
        ]);
        let parts = experiment().report(&results, &Setting::new(Scale::Default, 4));
        let Part::Table(table) = &parts[1] else { panic!("{parts:?}") };
        assert_eq!(
            table.shown(&[&at_once.name()])[1..],
            ["3", "-", "2", "-", "0.50", "too few rounds", "1", "1", "3", "-"]
        );
        assert_eq!(table.shown(&["anarchy"])[5..9], ["-", "-", "2", "2"]);
        let alone = table.shown(&["the first alone"]);
        assert_eq!(alone[3..], ["-", "-", "-", "-", "-", "-", "0", "-"]);
        assert_eq!(parts.len(), 3, "words, a table, a plot");
    }

    /// Catches: a script that does not parse, or that leaves a program without a thread.
    #[test]
    fn the_script_gives_half_of_the_threads_away_and_takes_them_back() {
        for (threads, halves) in [(1, [1, 1]), (2, [1, 1]), (4, [2, 2]), (5, [3, 2])] {
            let asked: Vec<_> = script(threads)
                .unwrap()
                .steps()
                .iter()
                .map(|step| step.request.as_ref().unwrap().threads)
                .collect();
            let wanted = [threads as u32, halves[0], halves[1], threads as u32];
            assert_eq!(asked, wanted.map(Some));
        }
    }
}
