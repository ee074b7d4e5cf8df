//! Interference of programs: every pair of several kinds side by side, and all of them together,
//! each with all the machine's threads or with its share.
//!
//! A program's slowdown is its speed alone over its speed beside others, in tasks a second, while
//! all of them are at work. On a machine that is divided well two programs have a slowdown of 2
//! each, and less where one leaves something that the other can use.
//!
//! | file | contents |
//! |---|---|
//! | `view` | slowdowns as tables and plots |
//! | `sockets` | the same pairs on one socket, and on sockets of their own |
//! | `simulated` | the same on a simulated machine with two sockets |

pub(super) mod simulated;
mod sockets;
mod view;

use std::thread;
use std::time::Duration;

use sinew_coord::{Policy, layout};
use sinew_policy::share::Layout;

use super::common::{OTHER_TIMES, TASKS};
use super::programs::{Access, Job, Program, Standing, Until, Way, place};
use crate::experiment::{About, Block, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::plastic::PAIRS_WORDS;
use crate::parameters::Parameter;
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
            words: "All programs share one package here, and mostly its last cache: Figure 2.1 \
                needs two packages with two cores; plastic-pairs-machine simulates them.",
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
    let experiment = Experiment::new(ABOUT, blocks, report).sized(size_in_words);
    experiment.with_parameters(&[TASKS, WINDOW])
}

/// The milliseconds for which tasks are counted.
const WINDOW: Parameter = Parameter::new("window_ms", 1 << 32);

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
    /// Two programs on half of one socket's cores each.
    OneSocket,
    /// The same on as many cores of a socket each.
    OwnSockets,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Anarchy => "anarchy",
            Self::Shared => "shared",
            Self::Contention => "shared, by contention",
            Self::OneSocket => "one socket",
            Self::OwnSockets => "own sockets",
        }
    }

    /// The relations that differ on a machine with this number of last-level caches.
    fn all(caches: usize) -> Vec<Self> {
        let all = [Self::Anarchy, Self::Shared, Self::Contention];
        all.into_iter().filter(|&mode| mode != Self::Contention || caches > 1).collect()
    }

    /// Those of Figure 2.1, on a machine that has the sockets for them.
    fn on_sockets(layout: &Layout) -> Vec<Self> {
        let both = [Self::OneSocket, Self::OwnSockets];
        both.into_iter().filter(|&mode| sockets::places(layout, mode).is_some()).collect()
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
fn size(setting: &Setting) -> (usize, usize, Duration) {
    let sizes = [(64, 1 << 14, 20), (1_000, 1 << 25, 400), (1_000, 1 << 28, 5_000)];
    let ((tasks, entries, ms), given) = (setting.pick(sizes), &setting.parameters);
    (given.one(TASKS, tasks), entries, Duration::from_millis(given.one(WINDOW, ms)))
}

/// Entries of a table that fits: 128 KiB.
const FEW_ENTRIES: usize = 1 << 15;

#[derive(Debug, Clone, Copy)]
struct Bench {
    scale: Scale,
    tasks: usize,
    entries: usize,
    window: Duration,
    threads: usize,
}

impl Bench {
    fn labels(self, programs: &str, mode: &str) -> Labels {
        let threads = self.threads.to_string();
        vec![("programs", programs.to_owned()), ("mode", mode.to_owned()), ("threads", threads)]
    }

    fn job(self, kind: Kind, number: usize, way: Way) -> Job {
        let Self { tasks, entries, .. } = self;
        let [quick, default, full] = kind.repeats;
        Job {
            name: format!("{} {number}", kind.name),
            access: kind.access,
            tasks,
            repeats: self.scale.pick(quick, default, full),
            entries: if kind.fits { entries.min(FEW_ENTRIES) } else { entries },
            threads: self.threads,
            pinned: false,
            chunk: 1,
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
        let mut places = sockets::places(&layout(), mode);
        let mut way = |number: usize| match (mode, &mut places) {
            (Mode::Anarchy, _) => Way::Anarchic,
            (Mode::OneSocket | Mode::OwnSockets, Some(places)) => {
                Way::On(std::mem::take(&mut places[number]))
            }
            _ => Way::Shares(place.clone()),
        };
        let ways = (0..group.len()).map(&mut way).collect();
        let speeds = self.speeds(group, ways)?;
        drop(standing);
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

    /// The speed of each program of a group, in tasks a second, while all of them are at work.
    fn speeds(self, group: &[Kind], ways: Vec<Way>) -> Result<Vec<f64>, Failure> {
        let jobs = group.iter().zip(ways).enumerate();
        let start = |(number, (&kind, way))| Program::start(&self.job(kind, number, way));
        let mut programs = jobs.map(start).collect::<Result<Vec<_>, _>>()?;
        let window = self.window;
        // Shares settle before anything is counted.
        for (line, then) in [("go", window / 2), ("count", window), ("stop", Duration::ZERO)] {
            programs.iter_mut().try_for_each(|program| program.tell(line))?;
            thread::sleep(then);
        }
        let outcomes = programs.into_iter().map(Program::outcome).collect::<Result<Vec<_>, _>>()?;
        Ok(outcomes.iter().map(|done| done.tasks as f64 / done.seconds).collect())
    }
}

const ALONE: &str = "alone";

fn size_in_words(setting: &Setting) -> String {
    let (tasks, entries, window) = size(setting);
    format!(
        "{}: {tasks} tasks again and again for {window:?}, tables of {} and {} KiB",
        setting.scale,
        entries.min(FEW_ENTRIES) * size_of::<u32>() / 1024,
        entries * size_of::<u32>() / 1024
    )
}

/// The programs of this size, with so many threads each.
fn bench(setting: &Setting, threads: usize) -> Bench {
    let (tasks, entries, window) = size(setting);
    Bench { scale: setting.scale, tasks, entries, window, threads }
}

fn blocks(setting: &Setting) -> Vec<Block> {
    let bench = bench(setting, setting.most_workers());
    let cases = move || {
        let (modes, on_sockets) = (Mode::all(caches()), Mode::on_sockets(&layout()));
        let of = |group: Group| {
            let on_sockets = if group.len() == 2 { &on_sockets[..] } else { &[] };
            let modes: Vec<Mode> = modes.iter().chain(on_sockets).copied().collect();
            modes.into_iter().map(move |mode| (group.clone(), mode))
        };
        let together = groups().into_iter().flat_map(of);
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
        Part::Table(view.sockets()),
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

    pub(super) const BENCH: Bench =
        Bench { scale: Scale::Default, tasks: 1, entries: 1, window: Duration::ZERO, threads: 4 };

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
        let few = "too few rounds";
        let shown = slowdowns.shown(&["compute", "at random"]);
        assert_eq!(shown[2..], ["4", "-", "2", "-", "0.50", few]);
        let shown = slowdowns.shown(&["at random", "compute"]);
        assert_eq!(shown[2..], ["4", "-", "1.25", "-", "0.31", few]);
        assert_eq!(together.shown(&[&pair])[1..], ["0.50", "-", "1.30", "-", "2.60", few]);
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
