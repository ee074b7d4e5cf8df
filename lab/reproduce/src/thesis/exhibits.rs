//! All figures of the thesis, and the statements that our results are held against.
//!
//! The thesis has no table with results. Its figures come in series: each profiled application has
//! twelve, each application under a policy on a machine two or three.

use super::PUBLICATION;
use super::loops::divisions;
use super::matrix::{APPS, BASELINE, Row, noise, policies};
use super::profiles::{APPS as PROFILED, Program};
use super::simulated;
use crate::common::machines::labels;
use crate::exhibit::{Claim, Exhibit, Exhibits, NO_GAIN, Repeat, Said, means, over};
use crate::experiment::Need;
use crate::paper::thesis::{QUOTES, Quote, Technique};
use crate::results::{Results, all_of};
use crate::setting::Setting;

/// The figures are pictures.
const PICTURE: &str = "The picture has no numbers; held against are the words about it.";

/// All figures and listings, in the thesis' order.
pub(crate) fn exhibits() -> Vec<Exhibit> {
    let mut all = Exhibits::of(PUBLICATION);
    all.drawn(&[
        ("Figure 1", "shared memory"),
        ("Figure 2", "distributed memory"),
        ("Figure 3", "both together"),
        ("Figure 4", "Amdahl's law, a formula"),
        ("Figure 5", "the parts of TBB"),
        ("Figure 6", "the parts of its scheduler"),
        ("Figure 7", "recursive splitting of a range, first step"),
        ("Figure 8", "recursive splitting of a range, second step"),
        ("Figure 9", "the machine Dunnington"),
        ("Figure 10", "the machine Termi"),
    ]);
    for (first, app) in [(11, 0), (23, 1), (35, 2), (47, 3)] {
        profiled(&mut all, first, PROFILED[app]);
    }
    all.drawn(&[
        ("Figure 59", "the numbers of Dunnington's processors"),
        ("Figure 60", "the processors of an arena's slots"),
        ("Figure 61", "the machine Sandman"),
    ]);
    policed(&mut all, 62, &SHOWN);
    for (first, app) in [(91, 4), (103, 5), (115, 6), (127, 7)] {
        profiled(&mut all, first, PROFILED[app]);
    }
    policed(&mut all, 139, &APPENDIX);
    all.drawn(&[
        ("Listing 1", "the Floyd-Warshall algorithm"),
        ("Listing 2", "Fibonacci numbers"),
        ("Listing 3", "the loop that runs tasks"),
        ("Listing 4", "the loop of a thief"),
        ("Listing 5", "the algorithm of the sorted list"),
    ]);
    all.into_all()
}

/// Its two machines there: one memory bus, and two nodes.
const PROFILING: [(&str, &str); 2] = [("SMP", "Dunnington"), ("NUMA", "Termi")];

/// Threads of both.
const THREADS: usize = 24;

/// The kinds of figures about the scheduler's functions, and the statement of each.
type Read = fn(&Results, &Setting, &'static str) -> Vec<Claim>;
const KINDS: [(&str, Read); 5] = [
    ("time in the program and in the library", library),
    ("the scheduler's functions", functions),
    ("growth of the scheduler's functions", growth),
    ("the parts of stealing", stealing),
    ("growth of the parts of stealing", growth_of_stealing),
];

/// The twelve figures of a profiled application.
fn profiled(all: &mut Exhibits, first: usize, app: &'static str) {
    for (at, (name, machine)) in PROFILING.into_iter().enumerate() {
        let label = format!("Figure {}", first + at);
        let here = Repeat::new("tbb-profiles", move |results, setting| {
            vec![Claim::ratio(
                format!("speed-up, {} workers", setting.most_workers()),
                Said::Words("no number"),
                grown(results, setting, app, &["wall_s"]).iter().map(|ratio| 1.0 / ratio).collect(),
            )]
        });
        let here = here.needs(Need::Workers(12));
        let there = Repeat::simulated("tbb-machines", machine, move |results, _| {
            scaling(results, app, machine)
        });
        let by = if APPS.contains(&app) { vec![there, here] } else { vec![here] };
        all.repeated(label, format!("{app}: speed-up on the {name}"), PICTURE, by);
    }
    for (kind, (title, read)) in KINDS.into_iter().enumerate() {
        for (at, (name, _)) in PROFILING.into_iter().enumerate() {
            let label = format!("Figure {}", first + 2 + 2 * kind + at);
            let repeat =
                Repeat::new("tbb-profiles", move |results, setting| read(results, setting, app));
            let by = [repeat.needs(Need::Workers(12))];
            all.repeated(label, format!("{app}: {title}, {name}"), PICTURE, by);
        }
    }
}

/// How an application scales on a machine, and on the NUMA machine beside the other.
fn scaling(results: &Results, app: &str, machine: &'static str) -> Vec<Claim> {
    let speed_ups = |machine: &str| {
        let machine = machine.to_ascii_lowercase();
        let labels = labels(simulated::NAMES, (app, &machine, BASELINE, THREADS));
        results.values(&all_of(&labels), "speed_up")
    };
    let said = match (app, machine) {
        ("matmul", "Dunnington") => Said::Value(THREADS as f64),
        ("strassen", _) => Said::Words("scales poorly"),
        _ => Said::Words("no number"),
    };
    let what = format!("speed-up, {THREADS} threads");
    let alone = Claim::ratio(what, said, speed_ups(machine));
    let numa = match app {
        "blackscholes" | "streamcluster" | "quicksort" => Said::More,
        "matmul" => Said::Less,
        _ => return vec![alone],
    };
    let [smp, nodes] = PROFILING.map(|(_, machine)| speed_ups(machine));
    let ratios = nodes.into_iter().zip(smp).map(|(nodes, smp)| nodes / smp).collect();
    vec![alone, Claim::ratio("speed-up on the NUMA over the SMP", numa, ratios)]
}

/// The sum of some metrics of a profiled application, a round each.
fn sums(results: &Results, app: &'static str, workers: usize, metrics: &[&str]) -> Vec<f64> {
    let Some(program) = Program::of(app).last() else { return Vec::new() };
    let labels = program.labels(workers);
    let each = metrics.iter().map(|metric| results.values(&all_of(&labels), metric));
    let each: Vec<Vec<f64>> = each.collect();
    let rounds = each.iter().map(Vec::len).min().unwrap_or(0);
    (0..rounds).map(|round| each.iter().map(|values| values[round]).sum()).collect()
}

/// A part of a whole in per cent on the most workers, a round each.
fn part(
    results: &Results,
    setting: &Setting,
    app: &'static str,
    of: &[&str],
    all: &[&str],
) -> Vec<f64> {
    let workers = setting.most_workers();
    let [of, all] = [of, all].map(|metrics| sums(results, app, workers, metrics));
    of.into_iter().zip(all).map(|(of, all)| of / all * 100.0).collect()
}

/// The sum of some metrics on the most workers over that on one, a round each.
fn grown(results: &Results, setting: &Setting, app: &'static str, metrics: &[&str]) -> Vec<f64> {
    let [most, one] =
        [setting.most_workers(), 1].map(|workers| sums(results, app, workers, metrics));
    most.into_iter().zip(one).map(|(most, one)| most / one).collect()
}

const STEALING: [&str; 3] = ["lock_s", "stealing_s", "steal_wait_s"];

fn library(results: &Results, setting: &Setting, app: &'static str) -> Vec<Claim> {
    let ours = part(results, setting, app, &["library_s"], &["user_s", "library_s"]);
    vec![Claim::percent("time in the library", Said::Words("no number"), ours)]
}

fn functions(results: &Results, setting: &Setting, app: &'static str) -> Vec<Claim> {
    let ours = part(results, setting, app, &STEALING, &["library_s"]);
    vec![Claim::percent("stealing of the time in the library", Said::MoreThan(50.0), ours)]
}

fn growth(results: &Results, setting: &Setting, app: &'static str) -> Vec<Claim> {
    let most = setting.most_workers();
    let said = if app == "strassen" { Said::More } else { Said::Words("no number") };
    let what = format!("time in the library, {most} workers over one");
    vec![Claim::ratio(what, said, grown(results, setting, app, &["library_s"]))]
}

fn stealing(results: &Results, setting: &Setting, app: &'static str) -> Vec<Claim> {
    let ours = part(results, setting, app, &["steal_wait_s"], &STEALING);
    vec![Claim::percent("waiting between attempts, of stealing", Said::MoreThan(50.0), ours)]
}

fn growth_of_stealing(results: &Results, setting: &Setting, app: &'static str) -> Vec<Claim> {
    let (most, few) = (setting.most_workers(), 2);
    let [of, to] = [most, few].map(|workers| sums(results, app, workers, &STEALING));
    let ratios = of.into_iter().zip(to).map(|(of, to)| of / to).filter(|_| most > few).collect();
    let said = if app == "strassen" { Said::More } else { Said::Words("no number") };
    vec![Claim::ratio(format!("time of stealing, more workers over {few}"), said, ratios)]
}

/// Figures of an application under a technique on a machine: the machine, and how many there are.
/// Two are of speed-up and time, or, of sorted lists, of speed-up and gain; three are all of them.
struct Shown {
    app: &'static str,
    machine: &'static str,
    techniques: &'static [Technique],
    figures: usize,
}

use Technique::{MaxAlways, MaxEveryFive, Nearest, SortedGlobal, SortedLocal};

const NEAREST: &[Technique] = &[Nearest];
const ALWAYS: &[Technique] = &[MaxAlways];
const FIFTH: &[Technique] = &[MaxEveryFive];
const SORTED: &[Technique] = &[SortedGlobal, SortedLocal];

const fn shown(
    app: &'static str,
    machine: &'static str,
    techniques: &'static [Technique],
    figures: usize,
) -> Shown {
    Shown { app, machine, techniques, figures }
}

/// Figures 62 to 90.
const SHOWN: [Shown; 12] = [
    shown("heat", "Termi", NEAREST, 3),
    shown("heat", "Sandman", NEAREST, 3),
    shown("numbercount", "Sandman", NEAREST, 3),
    shown("numbercount", "Dunnington", NEAREST, 2),
    shown("numbercount", "Termi", NEAREST, 2),
    shown("streamcluster", "Dunnington", ALWAYS, 2),
    shown("streamcluster", "Termi", ALWAYS, 2),
    shown("streamcluster", "Dunnington", FIFTH, 3),
    shown("streamcluster", "Sandman", FIFTH, 3),
    shown("streamcluster", "Dunnington", SORTED, 2),
    shown("quicksort", "Dunnington", SORTED, 2),
    shown("matmul", "Sandman", SORTED, 2),
];

/// Figures 139 to 200.
const APPENDIX: [Shown; 29] = [
    shown("heat", "Dunnington", NEAREST, 2),
    shown("gauss", "Dunnington", NEAREST, 2),
    shown("gauss", "Termi", NEAREST, 2),
    shown("gauss", "Sandman", NEAREST, 3),
    shown("floyd-warshall", "Sandman", NEAREST, 3),
    shown("floyd-warshall", "Termi", NEAREST, 2),
    shown("floyd-warshall", "Dunnington", NEAREST, 2),
    shown("quicksort", "Dunnington", NEAREST, 2),
    shown("quicksort", "Termi", NEAREST, 2),
    shown("quicksort", "Sandman", NEAREST, 3),
    shown("matmul", "Dunnington", NEAREST, 2),
    shown("matmul", "Termi", NEAREST, 2),
    shown("matmul", "Sandman", NEAREST, 2),
    shown("blackscholes", "Dunnington", FIFTH, 3),
    shown("streamcluster", "Termi", SORTED, 2),
    shown("streamcluster", "Sandman", SORTED, 2),
    shown("quicksort", "Termi", SORTED, 2),
    shown("quicksort", "Sandman", SORTED, 2),
    shown("matmul", "Dunnington", SORTED, 2),
    shown("matmul", "Termi", SORTED, 2),
    shown("strassen", "Dunnington", SORTED, 2),
    shown("strassen", "Termi", SORTED, 2),
    shown("strassen", "Sandman", SORTED, 2),
    shown("blackscholes", "Dunnington", SORTED, 2),
    shown("blackscholes", "Termi", SORTED, 2),
    shown("blackscholes", "Sandman", SORTED, 2),
    shown("swaptions", "Dunnington", SORTED, 2),
    shown("swaptions", "Termi", SORTED, 2),
    shown("swaptions", "Sandman", SORTED, 2),
];

impl Shown {
    /// The content of each of its figures.
    fn kinds(&self) -> &'static [&'static str] {
        match (self.figures, self.techniques) {
            (3, _) => &["speed-up", "time", "gain"],
            (_, [_, _]) => &["speed-up", "gain"],
            _ => &["speed-up", "time"],
        }
    }

    /// The technique, in words.
    fn technique(&self) -> &'static str {
        match self.techniques {
            [one] => one.name(),
            _ => "a sorted list of all workers, or of its package",
        }
    }
}

fn policed(all: &mut Exhibits, first: usize, series: &'static [Shown]) {
    let figures =
        series.iter().flat_map(|shown| shown.kinds().iter().map(move |kind| (shown, kind)));
    for (at, (shown, kind)) in figures.enumerate() {
        let Shown { app, machine, .. } = *shown;
        let subject = format!("{app} on {machine}, victims: {}: {kind}", shown.technique());
        let on_machine = Repeat::simulated("tbb-machines", machine, move |results, setting| {
            let counts = simulated::counts(&machine.to_ascii_lowercase(), setting.scale);
            let most = counts.last().copied().unwrap_or(1);
            claims(shown, (most, 0.0), |victims| {
                let machine = machine.to_ascii_lowercase();
                let case = |victims| labels(simulated::NAMES, (app, &machine, victims, most));
                over(results, &case(BASELINE), &case(victims), "time_s")
            })
        });
        let need = match shown.techniques {
            [MaxAlways | MaxEveryFive] => Need::Workers(8),
            _ => Need::Packages(2),
        };
        let here = Repeat::new("tbb-matrix", move |results, setting| {
            let workers = setting.most_workers();
            let Some(division) = divisions(app).pop() else { return Vec::new() };
            let row = Row { app, division, workers };
            claims(shown, (workers, noise(results, row)), |victims| {
                over(results, &row.labels(BASELINE), &row.labels(victims), "wall_s")
            })
        });
        all.repeated(
            format!("Figure {}", first + at),
            subject,
            PICTURE,
            [on_machine, here.needs(need)],
        );
    }
}

/// The statements about an application's gain on this number of workers, and with this noise.
/// `speed_ups` has the times of random victims over those of a rule, in each round.
fn claims(
    shown: &Shown,
    (workers, noise): (usize, f64),
    speed_ups: impl Fn(&str) -> Vec<f64>,
) -> Vec<Claim> {
    let of = |technique: Technique| {
        let rules = policies(shown.app);
        let rules = rules.iter().filter(|policy| policy.technique == technique);
        means(&rules.map(|policy| speed_ups(policy.victims)).collect::<Vec<_>>())
    };
    let claim = |&technique: &Technique| {
        let what = format!("gain of {}, {workers} workers", technique.name());
        let quotes = quotes(shown, technique);
        let beside = quotes.iter().find(|quote| quote.words.starts_with("better than"));
        let alone = quotes.iter().find(|quote| !quote.words.starts_with("better than"));
        let gain = alone.map_or(Said::Words("no word of it"), |quote| said(quote));
        let gain = Claim::percent(what, gain, saved(of(technique)));
        let other = if technique == SortedLocal { SortedGlobal } else { SortedLocal };
        let better = beside.map(|_| {
            let ratios = of(technique).into_iter().zip(of(other)).map(|(this, other)| this / other);
            let what = format!("gain of {} over {}", technique.name(), other.name());
            Claim::percent(what, Said::More, saved(ratios.collect()))
        });
        [Some(gain), better].into_iter().flatten().map(move |claim| claim.beyond(noise))
    };
    shown.techniques.iter().flat_map(claim).collect()
}

/// The share of the time that is saved, in per cent.
fn saved(speed_ups: Vec<f64>) -> Vec<f64> {
    speed_ups.into_iter().map(|speed_up| (1.0 - 1.0 / speed_up) * 100.0).collect()
}

fn quotes(shown: &Shown, technique: Technique) -> Vec<&'static Quote> {
    let is_of = |quote: &&Quote| {
        quote.app == shown.app
            && quote.technique == technique
            && ["all", shown.machine].contains(&quote.machine)
    };
    QUOTES.iter().filter(is_of).collect()
}

/// A statement that names a side at many threads, or none.
fn said(quote: &Quote) -> Said {
    let Quote { words, most_gain, .. } = *quote;
    match words {
        "gains with many threads" | "gains with many threads, loses with few" | "gains much" => {
            most_gain.map_or(Said::More, Said::UpTo)
        }
        "loses" | "loses much" => Said::Less,
        "neither gains nor loses" | "almost the same" | "no loss" => Said::Same,
        "no gain" | "no gain in time" => NO_GAIN,
        words => Said::Words(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a series with a figure too many or too few, after which all labels are wrong.
    #[test]
    fn all_two_hundred_figures_are_there_in_their_order() {
        let all = exhibits();
        let figures = all.iter().filter_map(|exhibit| exhibit.label.strip_prefix("Figure "));
        let numbers: Vec<usize> = figures.map(|number| number.parse().unwrap()).collect();
        assert_eq!(numbers, (1..=200).collect::<Vec<_>>());
        let subject = |number: usize| {
            let label = format!("Figure {number}");
            all.iter().find(|exhibit| exhibit.label == label).unwrap().subject.as_str()
        };
        assert_eq!(subject(36), "strassen: speed-up on the NUMA");
        assert_eq!(subject(138), "convex-hull: growth of the parts of stealing, NUMA");
        assert_eq!(
            subject(81),
            "streamcluster on Dunnington, victims: the most loaded at every fifth attempt: gain"
        );
        assert!(subject(161).starts_with("quicksort on Sandman, victims: nearest: gain"));
        assert!(subject(200).starts_with("swaptions on Sandman, victims: a sorted list"));
    }

    /// Catches: a quotation of a side that is not judged, or of another machine.
    #[test]
    fn quotations_that_name_a_side_are_judged() {
        let shown = shown("heat", "Sandman", NEAREST, 3);
        let claims = claims(&shown, (64, 0.0), |_| vec![1.25; 3]);
        assert_eq!((claims.len(), claims[0].said), (1, Said::UpTo(40.0)));
        assert_eq!(claims[0].ours[0].round(), 20.0);
        let without = QUOTES.iter().filter(|quote| matches!(said(quote), Said::Words(_)));
        let mut without: Vec<&str> = without.map(|quote| quote.words).collect();
        without.retain(|words| !words.starts_with("better than"));
        without.sort_unstable();
        without.dedup();
        assert_eq!(
            without,
            [
                "gains at middle numbers of threads",
                "gains at some numbers of threads",
                "gains at some, loses with few threads",
                "gains up to some number of threads",
            ]
        );
    }
}
