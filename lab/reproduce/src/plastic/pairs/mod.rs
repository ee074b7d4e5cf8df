//! Interference of programs: every pair of several kinds side by side, and all of them together,
//! each with all the machine's threads or with its share.
//!
//! A program's slowdown is its speed alone over its speed beside others, in tasks a second, while
//! all of them are at work. On a machine that is divided well two programs have a slowdown of 2
//! each, and less where one leaves something that the other can use.

mod view;

use std::thread;
use std::time::Duration;

use sinew_coord::{Policy, layout};

use super::common::OTHER_TIMES;
use super::programs::{Access, Job, Program, Standing, Until, Way, place};
use crate::experiment::{About, Block, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::plastic::PAIRS_WORDS;
use crate::report::Part;
use crate::results::{Labels, Metrics, Results};
use crate::setting::{Scale, Setting};
use view::View;

const ABOUT: About = About {
    name: "plastic-pairs",
    title: "each pair of several kinds of programs side by side, with cores shared by agreement \
        and without",
    publication: super::PUBLICATION,
    place: "Figure 2.1 and section 5.2.5",
    caveats: &[
        Caveat { unless: Need::Nothing, words: PAIRS_WORDS },
        Caveat {
            unless: Need::Packages(2),
            words: "All programs share one package here, and mostly its last cache: which of them \
                should be put together, and which apart, this cannot show.",
        },
        Caveat {
            unless: Need::Workers(4),
            words: "With two cores a program that shares has a single thread, and of four \
                programs none has a core for itself.",
        },
        OTHER_TIMES,
    ],
    repeat: super::REPEAT,
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks, report).sized(size_in_words)
}

/// A kind of program.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Kind {
    name: &'static str,
    /// Its speed, as a metric.
    speed: &'static str,
    access: Access,
    /// Whether its table fits into caches near the cores.
    fits: bool,
    /// By how much more or less a task does, so that all kinds' tasks take about as long.
    repeats: [u32; 3],
}

const KINDS: [Kind; 4] = [
    Kind {
        name: "compute",
        speed: "compute_per_s",
        access: Access::Compute,
        fits: true,
        repeats: [500, 10_000, 10_000],
    },
    Kind {
        name: "in cache",
        speed: "in_cache_per_s",
        access: Access::Random,
        fits: true,
        repeats: [1_000, 25_000, 25_000],
    },
    Kind {
        name: "in a row",
        speed: "in_a_row_per_s",
        access: Access::Row,
        fits: false,
        repeats: [10_000, 200_000, 200_000],
    },
    Kind {
        name: "at random",
        speed: "at_random_per_s",
        access: Access::Random,
        fits: false,
        repeats: [500, 2_000, 2_000],
    },
];

/// The relation between the programs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Anarchy,
    /// Equal shares.
    Shared,
    /// Shares on cores that are chosen by what programs do to each other.
    Contention,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Anarchy => "anarchy",
            Self::Shared => "shared",
            Self::Contention => "shared, by contention",
        }
    }

    /// The relations that differ on a machine with this number of last-level caches.
    fn all(caches: usize) -> Vec<Self> {
        let all = [Self::Anarchy, Self::Shared, Self::Contention];
        all.into_iter().filter(|&mode| mode != Self::Contention || caches > 1).collect()
    }
}

/// Programs that run beside each other.
type Group = Vec<Kind>;

/// Every kind beside itself and every other, and all kinds at once.
fn groups() -> Vec<Group> {
    let pairs =
        (0..KINDS.len()).flat_map(|a| (a..KINDS.len()).map(move |b| vec![KINDS[a], KINDS[b]]));
    pairs.chain([KINDS.to_vec()]).collect()
}

fn name(group: &[Kind]) -> String {
    if group.len() == KINDS.len() {
        return "all".to_owned();
    }
    group.iter().map(|kind| kind.name).collect::<Vec<_>>().join(" + ")
}

/// Tasks, entries of a large table, and the time for which tasks are counted.
fn size(scale: Scale) -> (usize, usize, Duration) {
    scale.pick(
        (64, 1 << 14, Duration::from_millis(20)),
        (1_000, 1 << 25, Duration::from_millis(400)),
        (1_000, 1 << 28, Duration::from_secs(5)),
    )
}

/// Entries of a table that fits: 128 KiB.
const FEW_ENTRIES: usize = 1 << 15;

#[derive(Debug, Clone, Copy)]
struct Bench {
    scale: Scale,
    threads: usize,
}

impl Bench {
    fn labels(self, programs: &str, mode: &str) -> Labels {
        let threads = self.threads.to_string();
        vec![("programs", programs.to_owned()), ("mode", mode.to_owned()), ("threads", threads)]
    }

    fn job(self, kind: Kind, number: usize, way: Way) -> Job {
        let (tasks, entries, _) = size(self.scale);
        let [quick, default, full] = kind.repeats;
        Job {
            name: format!("{} {number}", kind.name),
            access: kind.access,
            tasks,
            repeats: self.scale.pick(quick, default, full),
            entries: if kind.fits { entries.min(FEW_ENTRIES) } else { entries },
            threads: self.threads,
            way,
            until: Until::Told,
        }
    }

    fn alone(self, kind: Kind) -> Case {
        let labels = self.labels(kind.name, ALONE);
        Case::new(labels, move || self.run(&[kind], Mode::Anarchy))
    }

    fn together(self, group: Group, mode: Mode) -> Case {
        Case::new(self.labels(&name(&group), mode.name()), move || self.run(&group, mode))
    }

    /// The speed of each kind, in tasks a second; of several programs of a kind the mean.
    fn run(self, group: &[Kind], mode: Mode) -> Result<Metrics, Failure> {
        let folder = tempfile::tempdir().map_err(Failure::impossible)?;
        let place = place(&folder);
        let standing = (mode == Mode::Contention)
            .then(|| Standing::start(&place, Policy::Contention, Default::default()))
            .transpose()?;
        let way = || if mode == Mode::Anarchy { Way::Anarchic } else { Way::Shares(place.clone()) };
        let start = |(number, &kind)| Program::start(&self.job(kind, number, way()));
        let mut programs = group.iter().enumerate().map(start).collect::<Result<Vec<_>, _>>()?;
        let window = size(self.scale).2;
        // Shares settle before anything is counted.
        for (line, then) in [("go", window / 2), ("count", window), ("stop", Duration::ZERO)] {
            programs.iter_mut().try_for_each(|program| program.tell(line))?;
            thread::sleep(then);
        }
        let outcomes = programs.into_iter().map(Program::outcome).collect::<Result<Vec<_>, _>>()?;
        drop(standing);
        let speeds: Vec<f64> =
            outcomes.iter().map(|done| done.tasks as f64 / done.seconds).collect();
        let of = |kind: Kind| -> Vec<f64> {
            group
                .iter()
                .zip(&speeds)
                .filter(|(other, _)| **other == kind)
                .map(|(_, speed)| *speed)
                .collect()
        };
        let mean = |kind: Kind| Some((kind.speed, crate::statistics::mean(&of(kind))?));
        Ok(KINDS.into_iter().filter_map(mean).collect())
    }
}

const ALONE: &str = "alone";

fn size_in_words(setting: &Setting) -> String {
    let (tasks, entries, window) = size(setting.scale);
    format!(
        "{}: {tasks} tasks again and again for {window:?}, tables of {} and {} KiB",
        setting.scale,
        entries.min(FEW_ENTRIES) * size_of::<u32>() / 1024,
        entries * size_of::<u32>() / 1024
    )
}

fn blocks(setting: &Setting) -> Vec<Block> {
    let bench = Bench { scale: setting.scale, threads: setting.most_workers() };
    let cases = move || {
        let modes = Mode::all(caches());
        let together = groups()
            .into_iter()
            .flat_map(|group| modes.iter().map(move |&mode| (group.clone(), mode)));
        let together = together.map(|(group, mode)| bench.together(group, mode));
        Ok(KINDS.map(|kind| bench.alone(kind)).into_iter().chain(together).collect())
    };
    vec![Block::new("pairs", cases)]
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let words = format!(
        "Each program has {} threads, or shares the machine's cores with the others. A \
         slowdown is the speed alone divided by the speed beside the others, within a round. \
         Together is the sum of the remaining fractions of all speeds: 1 is what the programs \
         reach one after the other, more is a gain, less is a loss.",
        setting.most_workers()
    );
    let view = View { results };
    vec![
        Part::Words(words),
        Part::Table(view.slowdowns()),
        Part::Table(view.sums()),
        Part::Plot(view.plot("slowdowns", "Slowdown of each program", View::worst)),
        Part::Plot(view.plot("together", "All speeds together", View::together)),
    ]
}

/// Number of last-level caches of the machine.
fn caches() -> usize {
    let layout = layout();
    let mut caches: Vec<usize> = layout.places().iter().map(|place| place.cache).collect();
    caches.sort_unstable();
    caches.dedup();
    caches.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BENCH: Bench = Bench { scale: Scale::Default, threads: 4 };

    fn alone(kind: Kind, speed: f64) -> (Labels, Metrics) {
        (BENCH.labels(kind.name, ALONE), vec![(kind.speed, speed)])
    }

    /// Catches: a slowdown of another program of the pair, or one that is a speed-up.
    #[test]
    fn each_program_is_held_against_itself_alone() {
        let [compute, _, _, random] = KINDS;
        let pair = name(&[compute, random]);
        let beside = |mode: Mode, speeds: [f64; 2]| {
            (
                BENCH.labels(&pair, mode.name()),
                vec![(compute.speed, speeds[0]), (random.speed, speeds[1])],
            )
        };
        let results = Results::of([
            alone(compute, 100.0),
            alone(random, 40.0),
            beside(Mode::Anarchy, [25.0, 10.0]),
            beside(Mode::Shared, [50.0, 32.0]),
        ]);
        let parts = experiment().report(&results, &Setting::new(Scale::Default, 4));
        let [_, Part::Table(slowdowns), Part::Table(together), ..] = &parts[..] else {
            panic!("{parts:?}")
        };
        assert_eq!(slowdowns.shown(&["compute", "at random"])[2..], ["4", "2", "0.50"]);
        assert_eq!(slowdowns.shown(&["at random", "compute"])[2..], ["4", "1.25", "0.31"]);
        assert_eq!(together.shown(&[&pair])[1..], ["0.50", "1.30", "2.60"]);
        assert_eq!(parts.len(), 5, "words, two tables, two plots");
    }

    /// Catches: a pair that is left out, and a policy that is measured where it changes nothing.
    #[test]
    fn every_pair_is_there_once() {
        let names: Vec<String> = groups().iter().map(|group| name(group)).collect();
        assert_eq!(names.len(), 10 + 1);
        assert!(
            names.contains(&"in cache + in cache".to_owned()) && names.contains(&"all".to_owned())
        );
        assert_eq!((Mode::all(1).len(), Mode::all(2).len()), (2, 3));
    }
}
