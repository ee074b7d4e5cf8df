//! The problems of `bench`: serially, on Sinew, and on every rival that has them.

use super::super::subject::{Contender, Group, Place, Ready, Subject, Teams, not_too_long};
use crate::compare;
use crate::problem::{Case, Form, Problem, Runtime, Scale};
use crate::problems::{fib, irregular, loops, matmul, nqueens, regions, skynet, sort, sweeps};
use crate::table;
use std::time::Duration;

/// Rounds of the others for one of the large ones.
const LARGE: u32 = 4;

/// A smaller case, and how many times as much work the measured one is.
type Probe = Option<(Case, f64)>;

pub(super) fn all(scale: Scale, steps_per_us: u64) -> Vec<Subject> {
    let mut all = trees(scale);
    all.extend(named(scale));
    all.extend(flat(scale, steps_per_us));
    for case in (sort::PROBLEM.cases)(scale) {
        all.push(subject(Group::Sorts, &sort::PROBLEM, case, None));
    }
    all
}

/// Trees of tasks, and a product: each some 100 ms on one thread.
fn trees(scale: Scale) -> Vec<Subject> {
    let fib = fib::sized(scale.pick("35", "16"), scale.pick(35, 16));
    let queens = nqueens::sized(scale.pick("12", "6"), scale.pick(12, 6));
    let skynet = skynet::sized(scale.pick("10^7", "10^3"), scale.pick(7, 3));
    let matmul = matmul::sized(scale.pick("512", "32"), scale.pick(512, 32));
    vec![
        subject(Group::Tasks, &fib::PROBLEM, fib, fib_probe(scale, 35)),
        subject(Group::Tasks, &nqueens::PROBLEM, queens, queens_probe(scale, 856_189.0)),
        subject(Group::Tasks, &skynet::PROBLEM, skynet, skynet_probe(scale, 7)),
        subject(Group::Tasks, &matmul::PROBLEM, matmul, None),
    ]
}

/// The sizes of the public benchmarks of runtimes.
fn named(scale: Scale) -> Vec<Subject> {
    let fib = fib::sized(scale.pick("39, public", "17, public"), scale.pick(39, 17));
    let queens = nqueens::sized(scale.pick("14, public", "7, public"), scale.pick(14, 7));
    let skynet = skynet::sized(scale.pick("10^8, public", "10^4, public"), scale.pick(8, 4));
    let matmul = matmul::sized(scale.pick("2048, public", "64, public"), scale.pick(2_048, 64));
    let large = |problem, case, known, cell_ms, probe| Subject {
        known: (scale == Scale::Full).then_some(known).flatten(),
        weight: LARGE,
        cell_ms,
        ..subject(Group::Named, problem, case, probe)
    };
    vec![
        large(&fib::PROBLEM, fib, Some(63_245_986), 400, fib_probe(scale, 39)),
        large(&skynet::PROBLEM, skynet, Some(4_999_999_950_000_000), 500, skynet_probe(scale, 8)),
        large(&nqueens::PROBLEM, queens, Some(365_596), 500, queens_probe(scale, 27_358_553.0)),
        large(&matmul::PROBLEM, matmul, None, 1_500, None),
    ]
}

fn fib_probe(scale: Scale, size: u64) -> Probe {
    let small = fib::sized("probe", 20);
    let work = fib::sized("", size).operations as f64 / small.operations as f64;
    (scale == Scale::Full).then_some((small, work))
}

/// The whole tree has so many nodes; that of eight queens has 2,057.
fn queens_probe(scale: Scale, nodes: f64) -> Probe {
    (scale == Scale::Full).then(|| (nqueens::sized("probe", 8), nodes / 2_057.0))
}

fn skynet_probe(scale: Scale, depth: i32) -> Probe {
    (scale == Scale::Full).then(|| (skynet::sized("probe", 4), 10_f64.powi(depth - 4)))
}

/// Loops of all kinds, and data that do not fit into caches.
fn flat(scale: Scale, steps_per_us: u64) -> Vec<Subject> {
    let empty = |label, size: u64, repeats| {
        let repeats = scale.pick(repeats, 3);
        let case = Case { label, size, kind: 0, repeats, operations: repeats };
        subject(Group::Loops, &loops::PROBLEM, case, None)
    };
    let region = |label, us: u64, repeats| {
        let repeats = scale.pick(repeats, 3);
        let size = (us * steps_per_us / 2).max(1);
        let case = Case { label, size, kind: 0, repeats, operations: repeats };
        subject(Group::Loops, &regions::PROBLEM, case, None)
    };
    let mut all = vec![
        empty("64 elements", 64, 2_000),
        empty("1,024 elements", 1_024, 1_000),
        empty("65,536 elements", 65_536, 100),
        empty("10^6 elements", 1_000_000, 20),
        empty("10^7 elements", scale.pick(10_000_000, 10_000), 4),
        region("5 µs", 5, 2_000),
        region("20 µs", 20, 1_000),
        region("100 µs", 100, 300),
        region("1 ms", 1_000, 30),
    ];
    for case in (irregular::PROBLEM.cases)(scale) {
        all.push(subject(Group::Loops, &irregular::PROBLEM, case, None));
    }
    for case in (sweeps::PROBLEM.cases)(scale) {
        let repeats = case.repeats.div_ceil(4);
        let case = Case { repeats, operations: repeats, ..case };
        all.push(subject(Group::Loops, &sweeps::PROBLEM, case, None));
    }
    // Rows of 512 bytes: 128 MiB, beyond the caches of most machines.
    let repeats = scale.pick(6, 2);
    let size = scale.pick(262_144, 64);
    let beyond = Case { label: "128 MiB", size, kind: 0, repeats, operations: repeats };
    all.push(subject(Group::Memory, &sweeps::PROBLEM, beyond, None));
    all
}

fn subject(group: Group, problem: &'static Problem, case: Case, probe: Probe) -> Subject {
    let here = |name, teams| Contender { name, teams, place: Place::Here };
    let mut contenders = vec![here("serial", Teams::One)];
    contenders.extend(forms(problem).iter().map(|form| here(form.name, Teams::Each)));
    contenders.push(here(compare::AGAIN, Teams::Most));
    if problem.in_processes {
        let probe = probe.or_else(|| fewer_repeats(&case));
        let place = Place::OpenMp { problem: problem.name, probe };
        contenders.push(Contender { name: "openmp", teams: Teams::Each, place });
    }
    Subject {
        group,
        name: format!("{} {}", problem.name, case.label),
        unit: problem.unit,
        case,
        contenders,
        known: None,
        weight: 1,
        cell_ms: 80,
        prepare: Box::new(move || Ok(ready(problem))),
    }
}

/// One form of ours, and all of the rivals'.
fn forms(problem: &Problem) -> Vec<Form> {
    let is_chosen = |form: &Form| match form.runtime {
        Runtime::Sinew => form.name == "sinew",
        Runtime::Rayon => form.name == "rayon",
        _ => true,
    };
    (problem.forms)().into_iter().filter(is_chosen).collect()
}

fn ready(problem: &'static Problem) -> Ready {
    let mut forms = forms(problem);
    forms.push(Form::serial("serial", problem.serial));
    Box::new(move |ask| {
        let name = if ask.contender == compare::AGAIN { "sinew" } else { ask.contender.as_str() };
        let form = forms.iter().find(|form| form.name == name);
        let form = form.ok_or_else(|| format!("{} has no form {name}", problem.name))?;
        let warm = (problem.warm)(&ask.case);
        let expected = (problem.serial)(&warm);
        let mut running = form.start(ask.threads)?;
        let warmed = compare::warmed(&mut running, &warm, expected, Duration::from_millis(10));
        warmed.map_err(|fault| table::fault_line(&fault))?;
        if let Some((small, work)) = fewer_repeats(&ask.case) {
            not_too_long(running(&small)?.ns, work)?;
        }
        running(&ask.case)
    })
}

/// A case of so many repeats that a part of them says how long it takes.
fn fewer_repeats(case: &Case) -> Probe {
    const PART: u64 = 20;
    let repeats = case.repeats / PART;
    (repeats > 0)
        .then(|| (Case { label: "probe", repeats, ..*case }, case.repeats as f64 / repeats as f64))
}
