//! Times that are no speed-ups: by distance, of changes, of programs at once, and of idle pools.

use super::super::subject::{Ask, Contender, Group, Place, Ready, Subject, Teams, no_case};
use crate::measure::plastic::delays;
use crate::measure::{coord, idle, latency};
use crate::problem::{Sample, Scale};
use crate::runtimes::{chili, rayon, sinew};
use crate::statistics::median;
use sinew_topology::{Limits, Machine, Mapping};
use std::time::Duration;

pub(super) fn all(scale: Scale) -> Vec<Subject> {
    let mut all = idle(scale);
    all.extend(sharing(scale));
    all.extend(distances(scale));
    all.push(changes(scale));
    all
}

fn here(name: &'static str, teams: Teams) -> Contender {
    Contender { name, teams, place: Place::Here }
}

/// The middle of `times`, and how many there were.
fn middle(times: &[f64]) -> Result<Sample, String> {
    let ns = median(times).ok_or("no time was taken")? as u64;
    Ok(Sample { ns, answer: times.len() as u64 })
}

/// A pair of CPUs for each distance on this machine among those that this process may use.
fn pairs() -> Vec<(String, [usize; 2])> {
    let (machine, limits) = (Machine::host(), Limits::read());
    let mut allowed: Vec<_> = machine.pu_ids().collect();
    allowed.retain(|&id| limits.allowed().contains(machine.pu(id).cpu));
    let pair = |(distance, name): (usize, String)| {
        let far = |from| {
            let distance_is = |to: &&_| usize::from(machine.distance(from, **to)) == distance;
            allowed.iter().find(distance_is).map(|&to| [machine.pu(from).cpu, machine.pu(to).cpu])
        };
        allowed.iter().find_map(|&from| far(from)).map(|pair| (name, pair))
    };
    machine
        .distance_names()
        .into_iter()
        .zip(1..)
        .map(|(name, at)| (at, name))
        .filter_map(pair)
        .collect()
}

/// The times between two workers.
const STEPS: [&str; 3] =
    ["a pushed task is taken, thief warm", "a pushed task is taken, thief parked", "a steal"];

fn distances(scale: Scale) -> Vec<Subject> {
    let counts = [scale.pick(2_000, 20), scale.pick(30, 3), scale.pick(20, 2)];
    let mut all = Vec::new();
    for (distance, cpus) in pairs() {
        for (step, count) in STEPS.into_iter().zip(counts) {
            let known = if step == "a steal" { count * (latency::CHAIN - 1) } else { count };
            all.push(Subject {
                group: Group::Distances,
                name: format!("{step}: {distance}"),
                unit: "time",
                case: no_case(1),
                contenders: vec![here("sinew", Teams::Two)],
                known: Some(known as u64),
                weight: 1,
                cell_ms: 120,
                prepare: Box::new(move || Ok(distance_ready(step, count, cpus))),
            });
        }
    }
    all
}

fn distance_ready(step: &'static str, count: usize, cpus: [usize; 2]) -> Ready {
    Box::new(move |_| {
        let builder = sinew::Pool::builder().threads(2).external_slot(false);
        let mapping = Mapping::Explicit(cpus.to_vec());
        let pool = builder.mapping(mapping).build().map_err(|error| error.to_string())?;
        middle(&match step {
            "a steal" => latency::steal_gaps(&pool, count),
            _ => latency::taken_ns(&pool, step.ends_with("parked"), count),
        })
    })
}

fn changes(scale: Scale) -> Subject {
    let count = scale.pick(200, 5);
    Subject {
        group: Group::Changes,
        name: "set_threads by a body, items of 10 µs".to_owned(),
        unit: "change",
        case: no_case(1),
        contenders: vec![here("sinew", Teams::Several)],
        known: Some(count as u64),
        weight: 1,
        cell_ms: 100,
        prepare: Box::new(move || {
            Ok(Box::new(move |ask: &Ask| {
                let builder = sinew::Pool::builder().threads(ask.threads).external_slot(false);
                let pool = builder.build().map_err(|error| error.to_string())?;
                middle(&delays::of_threads(&pool, count))
            }))
        }),
    }
}

/// The name of the row of programs that run one after the other.
pub(crate) const IN_TURN: &str = "one after the other";
pub(crate) const COORDINATED: &str = "coordinated";

fn sharing(scale: Scale) -> Vec<Subject> {
    let loops = scale.pick(1_500, 20);
    let subject = |count| Subject {
        group: Group::Sharing,
        name: format!("{count} programs of short loops"),
        unit: "all",
        case: no_case(1),
        contenders: [IN_TURN, COORDINATED, "uncoordinated"]
            .map(|name| here(name, Teams::Most))
            .into(),
        // Each program's sum is compared with that of its loops.
        known: Some(count as u64),
        weight: 1,
        cell_ms: 500,
        prepare: Box::new(move || Ok(sharing_ready(loops, count))),
    };
    vec![subject(4), subject(2)]
}

fn sharing_ready(loops: usize, count: usize) -> Ready {
    Box::new(move |ask: &Ask| {
        let folder = tempfile::tempdir().map_err(|error| format!("no folder: {error}"))?;
        let place = folder.path().join("shared");
        let time = match ask.contender.as_str() {
            IN_TURN => coord::alone(loops)? * count as u32,
            COORDINATED => coord::together(loops, count, Some(&place))?,
            _ => coord::together(loops, count, None)?,
        };
        Ok(Sample { ns: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), answer: count as u64 })
    })
}

fn idle(scale: Scale) -> Vec<Subject> {
    let time = Duration::from_millis(scale.pick(200, 20));
    vec![Subject {
        group: Group::Idle,
        name: "processor time of an idle pool".to_owned(),
        unit: "0.2 s",
        case: no_case(1),
        contenders: ["sinew", "rayon", "chili"].map(|name| here(name, Teams::Each)).into(),
        known: Some(3),
        weight: 1,
        cell_ms: 230,
        prepare: Box::new(move || Ok(Box::new(move |ask: &Ask| idle_sample(ask, time)))),
    }]
}

/// The processor time of the pool in `time`, without that of reading all threads' counters.
fn idle_ns(time: Duration) -> Result<u64, String> {
    let reading = idle::used_ns(Duration::ZERO)?;
    Ok(idle::used_ns(time)?.saturating_sub(reading))
}

/// The pool adds two numbers first, and has nothing to do then.
fn idle_sample(ask: &Ask, time: Duration) -> Result<Sample, String> {
    let (one, two) = (|| 1, || 2);
    match ask.contender.as_str() {
        "sinew" => {
            let pool = sinew::pool(ask.threads)?;
            let (a, b) = pool.run(|w| w.join(|_| one(), |_| two()));
            Ok(Sample { ns: idle_ns(time)?, answer: a + b })
        }
        "rayon" => {
            let pool = rayon::pool(ask.threads)?;
            let (a, b) = pool.join(one, two);
            Ok(Sample { ns: idle_ns(time)?, answer: a + b })
        }
        _ => {
            let pool = chili::pool(ask.threads)?;
            let (a, b) = pool.scope().join(|_| one(), |_| two());
            Ok(Sample { ns: idle_ns(time)?, answer: a + b })
        }
    }
}
