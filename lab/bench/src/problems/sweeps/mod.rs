//! The same loop repeatedly over the same data, which fit into the caches: a worker with a new part
//! every time moves the data from core to core.
//!
//! | case | data | rows |
//! |---|---|---|
//! | even | 1 MiB | all the same |
//! | uneven | 1 MiB | those of the first quarter take six times as long |
//! | short | 64 KiB | all the same |

mod chili;
mod rayon;
mod serial;
mod sinew;

use crate::problem::{Case, Form, Problem, Scale, measured};

pub(crate) const PROBLEM: Problem = Problem {
    name: "sweeps",
    about: "loops repeated over the same data, which stay in the caches",
    unit: "sweep",
    serial: serial::run,
    forms,
    cases,
    warm: |case| Case { label: "warm", size: 64, repeats: 2, operations: 2, ..*case },
    counted: None,
    in_processes: true,
    bars: &[],
};

fn forms() -> Vec<Form> {
    let mut forms = Vec::from(sinew::forms());
    forms.extend([rayon::form(), chili::form()]);
    forms
}

fn cases(scale: Scale) -> Vec<Case> {
    let case = |label, kind, rows, full| {
        let repeats = scale.pick(full, 3);
        Case { label, size: scale.pick(rows, 64), kind, repeats, operations: repeats }
    };
    vec![
        case("even", EVEN, 2_048, 1_000),
        case("uneven", UNEVEN, 2_048, 500),
        case("short", EVEN, 128, 5_000),
    ]
}

const EVEN: u64 = 0;
const UNEVEN: u64 = 1;

/// Elements of a row: what a runtime deals out.
const WIDTH: usize = 64;

/// The rows, and how long a sweep over each takes.
#[derive(Debug, Clone, Copy)]
struct Sweep {
    kind: u64,
    rows: usize,
}

impl Sweep {
    /// Runs `sweep` as often as `case` says, and adds up what comes out. A first sweep is not
    /// timed: each participant touches the pages of its part, which the kernel gives out meanwhile.
    fn drive(case: &Case, mut sweep: impl FnMut(Self, &mut [u64])) -> u64 {
        let rows = usize::try_from(case.size).expect("a length that fits into memory");
        let mut data = vec![0_u64; rows * WIDTH];
        let mut again = || sweep(Self { kind: case.kind, rows }, &mut data);
        again();
        measured(|| (0..case.repeats).for_each(|_| again()));
        data.into_iter().fold(0, u64::wrapping_add)
    }

    fn row(self, number: usize, row: &mut [u64]) {
        let rounds = if self.kind == UNEVEN && number < self.rows / 4 { 6 } else { 1 };
        for _ in 0..rounds {
            for (at, x) in row.iter_mut().enumerate() {
                *x = x.rotate_left(7) ^ (number + at) as u64;
            }
        }
    }
}
