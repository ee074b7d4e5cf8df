//! Unbalanced trees, and all applications with worklists. They check their results themselves.

use super::super::subject::{Ask, Contender, Group, Place, Ready, Subject, Teams, no_case};
use crate::problem::{Sample, Scale};
use crate::stamp::inputs::Input;
use crate::stamp::rounds::{Bench, Version, pool};

/// The trees, with the estimated milliseconds of a run.
const TREES: [(&str, u64, u32); 2] = [("T3", 400, 1), ("T1L", 5_000, 8)];

/// Applications with worklists, each some 100 ms serially.
const WORKLISTS: [(&str, &str); 6] = [
    ("intruder", "a10-l128-n16384-s1"),
    ("vacation", "n4-q60-u90-r16384-t65536"),
    ("bank", "1_000_000x1024"),
    ("kmeans", "n16384-d32-c16-m15-t0.0001"),
    ("labyrinth", "x128-y128-z3-n64"),
    ("yada", "50_000x20"),
];

/// The versions of an application with a worklist.
const VERSIONS: [Version; 4] =
    [Version::Serial, Version::ByHand, Version::Worklist, Version::Tuned];

pub(super) fn all(scale: Scale) -> Vec<Subject> {
    let mut all: Vec<Subject> = TREES.iter().map(|tree| search(scale, *tree)).collect();
    all.extend(WORKLISTS.iter().map(|&(app, size)| worklist(app, scale.pick(size, "tiny"))));
    all
}

fn search(scale: Scale, (tree, cell_ms, weight): (&'static str, u64, u32)) -> Subject {
    let size = scale.pick(tree, "tiny");
    Subject {
        group: Group::Searches,
        name: format!("uts {tree}"),
        unit: "search",
        case: no_case(1),
        contenders: vec![
            Contender { name: "serial", teams: Teams::One, place: Place::Here },
            Contender { name: "sinew", teams: Teams::Each, place: Place::Here },
        ],
        known: Some(RIGHT),
        weight,
        cell_ms,
        prepare: Box::new(move || tree_ready(size)),
    }
}

/// The answer of a run whose result was checked.
const RIGHT: u64 = 1;

fn tree_ready(size: &'static str) -> Result<Ready, String> {
    let app = sinew_apps::find("uts").ok_or("no such application")?;
    let size = size.parse().unwrap_or_default();
    let options = sinew_apps::Options { size, ..sinew_apps::Options::default() };
    let problem = app.prepare(&options).map_err(|error| error.to_string())?;
    Ok(Box::new(move |ask: &Ask| {
        let run = match ask.contender.as_str() {
            "serial" => problem.serial(),
            _ => problem.parallel(&crate::runtimes::sinew::pool(ask.threads)?),
        };
        problem.check(&run.answer).map_err(|wrong| format!("wrong answer: {wrong}"))?;
        Ok(Sample { ns: nanos(run.wall.as_secs_f64()), answer: RIGHT })
    }))
}

fn worklist(app: &'static str, size: &'static str) -> Subject {
    let teams = |version| if version == Version::Serial { Teams::One } else { Teams::Each };
    let contender = |version: Version| Contender {
        name: version.name(),
        teams: teams(version),
        place: Place::Here,
    };
    Subject {
        group: Group::Worklists,
        name: app.to_owned(),
        unit: "run",
        case: no_case(1),
        contenders: VERSIONS.map(contender).into(),
        known: Some(RIGHT),
        weight: 1,
        cell_ms: 300,
        prepare: Box::new(move || worklist_ready(app, size)),
    }
}

fn worklist_ready(app: &'static str, size: &'static str) -> Result<Ready, String> {
    let input = Input { app, size, maps: sinew_apps::Maps::default() };
    let bench = Bench::prepare(&input, &[])?;
    Ok(Box::new(move |ask: &Ask| {
        let version = VERSIONS.into_iter().find(|version| version.name() == ask.contender);
        let version = version.ok_or_else(|| format!("no version {}", ask.contender))?;
        let pool = pool(ask.threads)?;
        let sample = bench.measure_on(version, Some(&pool), ask.threads);
        let sample = sample.map_err(|why| format!("wrong answer: {why}"))?;
        Ok(Sample { ns: nanos(sample.wall_s), answer: RIGHT })
    }))
}

fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
