//! Rayon programs, on upstream's rayon-core and on ours: parts of the binary that `cargo xtask
//! scale` makes.

use super::super::subject::{Contender, Group, Place, Subject, Teams, no_case};
use crate::programs::catalogue::{self, Entry, Kind};

/// The parts with upstream's core and with ours.
pub(crate) const CORES: [(&str, &str); 2] =
    [("upstream", "rayon-upstream"), ("sinew", "rayon-sinew")];

pub(super) fn all() -> Vec<Subject> {
    let has_time = |entry: &&Entry| !matches!(entry.kind, Kind::Chain | Kind::Idle);
    catalogue::ALL.iter().filter(has_time).map(subject).collect()
}

fn subject(entry: &'static Entry) -> Subject {
    let contender = |(name, part)| Contender {
        name,
        teams: Teams::Each,
        place: Place::Program { part, name: entry.name },
    };
    Subject {
        group: Group::Programs,
        name: entry.name.to_owned(),
        unit: "run",
        case: no_case(1),
        contenders: CORES.map(contender).into(),
        known: None,
        weight: 2,
        cell_ms: 60,
        prepare: Box::new(|| Err("it is a program of its own".to_owned())),
    }
}
