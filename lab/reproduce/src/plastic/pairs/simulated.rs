//! Figure 2.1 on a machine with two sockets, simulated: each pair of programs on one socket, and on
//! sockets of their own, with as many cores in both cases.
//!
//! The effect of a neighbour is measured here first, between two programs with one thread each on
//! neighbouring cores, and then holds for all cores of a socket.

use sinew_coord::layout;
use sinew_policy::share::Layout;
use sinew_sim::programs::{Arrival, Cluster, Dispatch, Kind as Simulated, Mix, SECOND};
use sinew_topology::Machine;

use super::sockets::sign;
use super::{Bench, Group, TASKS, WINDOW, bench, groups, name, size_in_words};
use crate::experiment::{About, Block, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::plastic::PAIRS_WORDS;
use crate::plastic::common::{OTHER_TIMES, series};
use crate::plastic::programs::Way;
use crate::report::{Form, Part, Plot, Table, cell};
use crate::results::{Labels, Metrics, Results};
use crate::setting::Setting;
use crate::statistics::{median, standard_deviation};

const ABOUT: About = About {
    name: "plastic-pairs-machine",
    title: "each pair of several kinds of programs on one socket and on sockets of their own of \
        Termi, simulated",
    publication: crate::plastic::PUBLICATION,
    place: "Figure 2.1",
    caveats: &[
        Caveat { unless: Need::Nothing, words: PAIRS_WORDS },
        Caveat {
            unless: Need::Nothing,
            words: "A simulated program scales perfectly, and loses or gains beside another one \
                what one thread does here beside one thread on a neighbouring core. Sockets share \
                nothing in the model. It cannot show that three threads a program saturate a \
                memory or evict more than one does, what the link between two sockets costs, or \
                that cores clock lower while all of a socket work.",
        },
        Caveat {
            unless: Need::Nothing,
            words: "Programs that compute share nothing but the clock: where one beside another is \
                far below 1, other programs had the cores meanwhile, and no row says anything.",
        },
        Caveat {
            unless: Need::Nothing,
            words: "The figure's programs are others. Termi is a machine of another publication \
                (Chasapis): two packages of six cores. Each program has three of them.",
        },
        OTHER_TIMES,
    ],
    repeat: [1, 5, 10],
};

/// The experiment.
pub(in crate::plastic) fn experiment() -> Experiment {
    let experiment = Experiment::new(ABOUT, blocks, report).sized(size_in_words);
    experiment.with_parameters(&[TASKS, WINDOW])
}

/// One of the two sockets of Termi, a thread a core, and the cores of a program.
const SOCKET: &str = "package:1 node:1 l3:1 l2:6 core:1";
const CORES: u32 = 3;

/// For the first and the second program of a pair: its speed beside the other one over that alone,
/// measured here; its speed on one socket over that on sockets of their own, simulated.
const MEASURED: [&str; 2] = ["first_beside_over_alone", "second_beside_over_alone"];
const SIMULATED: [&str; 2] = ["first_one_over_own", "second_one_over_own"];

fn pairs() -> impl Iterator<Item = Group> {
    groups().into_iter().filter(|group| group.len() == 2)
}

fn labels(pair: &Group) -> Labels {
    vec![("programs", name(pair))]
}

fn blocks(setting: &Setting) -> Vec<Block> {
    let bench = bench(setting, 1);
    let cases = move || {
        let cpus = neighbours(&layout()).ok_or_else(|| {
            Failure::impossible("the effects of neighbours need two cores that share a cache")
        })?;
        let case = |pair: Group| Case::new(labels(&pair), move || run(bench, &pair, cpus));
        Ok(pairs().map(case).collect())
    };
    vec![Block::new("pairs", cases)]
}

/// A CPU of each of two cores that share a last-level cache.
fn neighbours(layout: &Layout) -> Option<[usize; 2]> {
    let places = layout.places();
    places.iter().find_map(|one| {
        let other = places.iter().find(|it| it.cache == one.cache && it.core != one.core)?;
        Some([one.cpu, other.cpu])
    })
}

fn run(bench: Bench, pair: &Group, cpus: [usize; 2]) -> Result<Metrics, Failure> {
    let [first, second] = cpus.map(|cpu| Way::On(vec![cpu]));
    let together = bench.speeds(pair, vec![first.clone(), second.clone()])?;
    let mut alone = bench.speeds(&pair[..1], vec![first])?;
    alone.extend(bench.speeds(&pair[1..], vec![second])?);
    if [&together, &alone].iter().any(|speeds| speeds.contains(&0.0)) {
        // No task ended in the time for which they are counted: this round says nothing.
        return Ok(Vec::new());
    }
    let measured = [0, 1].map(|at| together[at] / alone[at]);
    let simulated = [one_over_own(measured, 0)?, one_over_own(measured, 1)?];
    let named = |names: [&'static str; 2], values: [f64; 2]| names.into_iter().zip(values);
    Ok(named(MEASURED, measured).chain(named(SIMULATED, simulated)).collect())
}

/// The simulated speed of one program of a pair on one socket, over that on sockets of their own,
/// if they run at these fractions of their speeds beside each other.
fn one_over_own(beside: [f64; 2], which: usize) -> Result<f64, Failure> {
    let kind = |name| Simulated { max: CORES, ..Simulated::new(name, 0.0) };
    // The other one is at work until this one has ended.
    let arrival = |kind| Arrival {
        at: 0,
        kind,
        work: if kind == which { 100 } else { 100_000 } * SECOND,
        dies_after: (kind != which).then_some(10_000 * SECOND),
    };
    // The simulator's bounds.
    let change = |at: usize| (beside[at] - 1.0).clamp(-0.95, 1.0);
    let mix = Mix {
        kinds: ["first", "second"].map(kind).into(),
        effects: vec![(0, 1, change(0)), (1, 0, change(1))],
        arrivals: [0, 1].map(arrival).into(),
    };
    let socket: Machine = SOCKET.parse().map_err(Failure::impossible)?;
    let on = |sockets| Cluster {
        dispatch: Dispatch::RoundRobin,
        ..Cluster::new(socket.clone(), sockets)
    };
    let response = |sockets| {
        let report = on(sockets).run(&mix).map_err(Failure::impossible)?;
        Ok::<f64, Failure>(report.mean_response)
    };
    Ok(response(2)? / response(1)?)
}

fn report(results: &Results, _: &Setting) -> Vec<Part> {
    vec![Part::Table(table(results)), Part::Plot(plot(results))]
}

/// The programs of a pair, each with its place: a kind beside itself is one.
fn places(pair: &Group) -> impl Iterator<Item = usize> + use<> {
    0..if pair[0] == pair[1] { 1 } else { 2 }
}

/// A row for each program of each pair, with the figure's sign.
fn table(results: &Results) -> Table {
    let title = "Speed on one socket over that on sockets of their own (Figure 2.1), simulated";
    let mut table = Table::new("sockets", title);
    for pair in pairs() {
        let programs = name(&pair);
        let of = |metric| results.values(&[("programs", &programs)], metric);
        for at in places(&pair) {
            let simulated = of(SIMULATED[at]);
            if simulated.is_empty() {
                continue;
            }
            table.row([
                cell("program", pair[at].name),
                cell("beside", pair[1 - at].name),
                cell("here, a thread each: beside / alone", median(&of(MEASURED[at]))),
                cell("one socket / own sockets", median(&simulated)),
                cell("standard deviation", standard_deviation(&simulated)),
                cell("figure's sign", sign(&simulated)),
            ]);
        }
    }
    table
}

fn plot(results: &Results) -> Plot {
    let all: Vec<(Group, usize)> =
        pairs().flat_map(|pair| places(&pair).map(move |at| (pair.clone(), at))).collect();
    let named = |(pair, at): &(Group, usize)| format!("{} / {}", pair[*at].name, pair[1 - at].name);
    let rounds =
        |(pair, at): &(Group, usize)| results.values(&[("programs", &name(pair))], SIMULATED[*at]);
    let title = "Speed on one socket over that on sockets of their own, simulated";
    Plot::new("sockets", title, Form::Bars)
        .axes("program / beside", "one socket / own sockets")
        .over(all.iter().map(named).collect())
        .ratios()
        .with(series("simulated", &all.iter().map(rounds).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plastic::pairs::KINDS;
    use crate::results::Sample;
    use crate::setting::Scale;
    use sinew_policy::share::Place;
    use sinew_topology::Level;

    /// Catches: an effect on the other program, one between sockets, and one turned round.
    #[test]
    fn a_pair_has_its_effects_on_one_socket_and_none_on_two() {
        let of = |beside| [0, 1].map(|which| one_over_own(beside, which).unwrap());
        for beside in [[0.5, 1.0], [1.1, 0.8], [1.0, 1.0]] {
            for (simulated, measured) in of(beside).into_iter().zip(beside) {
                assert!((simulated - measured).abs() < 0.01, "{simulated}, not {measured}");
            }
        }
    }

    /// Catches: a socket that is none of the named machine's, and one with too few cores for two.
    #[test]
    fn the_socket_is_one_of_two_of_termi() {
        let [socket, termi] = [SOCKET, "termi"].map(|text| text.parse::<Machine>().unwrap());
        for level in [Level::Package, Level::Node, Level::Core] {
            assert_eq!(2 * socket.count(level), termi.count(level), "{level:?}");
        }
        assert_eq!(socket.pus().len(), 2 * CORES as usize);
    }

    /// Catches: effects that are measured between two threads of one core, or across caches.
    #[test]
    fn neighbours_share_a_cache_and_no_core() {
        let place = |cpu: usize| Place { cpu, core: cpu / 2, cache: cpu / 4, package: 0 };
        assert_eq!(neighbours(&Layout::new((0..8).map(place))), Some([0, 2]));
        let apart = |cpu: usize| Place { cpu, core: cpu, cache: cpu, package: 0 };
        assert_eq!(neighbours(&Layout::new((0..8).map(apart))), None);
    }

    /// Catches: a sign of one round or of noise, and a program beside the wrong one.
    #[test]
    fn a_pair_has_a_sign_if_the_rounds_agree() {
        let pair = vec![KINDS[0], KINDS[3]];
        let mut results = Results::default();
        let mut add = |round, values: [f64; 4]| {
            let metrics = MEASURED.into_iter().chain(SIMULATED).zip(values).collect();
            results.push(Sample { round, labels: labels(&pair), metrics });
        };
        for (round, second) in [1.1, 0.9, 1.0].into_iter().enumerate() {
            add(round, [0.75, 1.0, 0.5, second]);
        }
        let parts = experiment().report(&results, &Setting::new(Scale::Quick, 2));
        let [Part::Table(table), Part::Plot(plot)] = &parts[..] else { panic!("{parts:?}") };
        let shown = |a: usize, b: usize| table.shown(&[KINDS[a].name, KINDS[b].name])[2..].to_vec();
        assert_eq!(shown(0, 3), ["0.75", "0.50", "0", "-"]);
        assert_eq!(shown(3, 0), ["1", "1", "0.10", "within the noise"]);
        assert_eq!(plot.series.len(), 1);
    }
}
