//! Short parallel regions, thousands in a row: two pieces of equal work, and then the next two.
//!
//! A region is named by what it takes serially: one of 20 µs is two pieces of 10 µs. An operation
//! is one region. Between two regions nothing happens, so a runtime that wakes its threads for each
//! pays every time.

mod chili;
#[cfg(feature = "fork-union")]
mod fork_union;
mod rayon;
mod serial;
mod sinew;

use crate::problem::{Bar, Case, Form, Limit, Measure, Problem, Row, Scale, Team};
use crate::work;

pub(crate) const PROBLEM: Problem = Problem {
    name: "regions",
    about: "parallel regions of 5, 20, 80 and 800 µs, in a row",
    unit: "region",
    serial: serial::run,
    forms,
    cases,
    warm: |case| Case { label: "warm", repeats: 20.min(case.repeats), operations: 1, ..*case },
    counted: None,
    in_processes: true,
    bars: &BARS,
};

const BARS: [Bar; 4] = [
    Bar {
        case: "20 µs",
        what: "from outside, not slower than serial",
        measure: Measure::Ratio(Row("sinew", Team::All), Row("serial", Team::One)),
        limit: Limit::AtMost(1.0),
    },
    Bar {
        case: "20 µs",
        what: "from inside, not slower than serial",
        measure: Measure::Ratio(Row("sinew inside", Team::All), Row("serial", Team::One)),
        limit: Limit::AtMost(1.0),
    },
    Bar {
        case: "5 µs",
        what: "from outside, at most 1.3 × serial",
        measure: Measure::Ratio(Row("sinew", Team::All), Row("serial", Team::One)),
        limit: Limit::AtMost(1.3),
    },
    Bar {
        case: "5 µs",
        what: "from inside, at most 1.3 × serial",
        measure: Measure::Ratio(Row("sinew inside", Team::All), Row("serial", Team::One)),
        limit: Limit::AtMost(1.3),
    },
];

fn forms() -> Vec<Form> {
    let mut forms = Vec::from(sinew::forms());
    forms.extend(rayon::forms());
    forms.push(chili::form());
    #[cfg(feature = "fork-union")]
    forms.push(fork_union::form());
    forms
}

fn cases(scale: Scale) -> Vec<Case> {
    let case = |label, us: u64, full| {
        let repeats = scale.pick(full, 3);
        // The size is the length of one piece, in steps of work.
        Case { label, size: work::steps_for_ns(us * 500), kind: 0, repeats, operations: repeats }
    };
    vec![
        case("5 µs", 5, 4_000),
        case("20 µs", 20, 2_000),
        case("80 µs", 80, 1_000),
        case("800 µs", 800, 100),
    ]
}

/// Runs the regions of `case`, each given its two pieces.
fn series(case: &Case, mut region: impl FnMut(Piece, Piece) -> u64) -> u64 {
    let piece = |seed| Piece { steps: case.size, seed };
    (0..case.repeats).fold(0, |sum, r| sum.wrapping_add(region(piece(2 * r), piece(2 * r + 1))))
}

/// Half of a region.
#[derive(Clone, Copy)]
struct Piece {
    steps: u64,
    seed: u64,
}

impl Piece {
    fn run(self) -> u64 {
        work::spin(self.steps, self.seed)
    }
}
