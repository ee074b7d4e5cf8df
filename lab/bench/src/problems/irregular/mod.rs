//! One loop whose iterations differ in length: an even distribution in advance loses.
//!
//! | case | iterations |
//! |---|---|
//! | few heavy | 1 in 24 of the first quarter takes 200 times as long as the others |
//! | decreasing | the first is the longest, the last is nothing |
//! | random | eight powers of two, mixed by a hash |

mod chili;
#[cfg(feature = "fork-union")]
mod fork_union;
mod rayon;
mod serial;
mod sinew;

use crate::problem::{Case, Form, Problem, Scale};
use crate::work;

pub(crate) const PROBLEM: Problem = Problem {
    name: "irregular",
    about: "loops with few heavy, decreasing and random iterations",
    unit: "iteration",
    serial: serial::run,
    forms,
    cases,
    warm: |case| Case { label: "warm", size: 64, operations: 64, ..*case },
    counted: None,
    in_processes: true,
    bars: &[],
};

fn forms() -> Vec<Form> {
    let mut forms = Vec::from(sinew::forms());
    forms.extend([rayon::form(), chili::form()]);
    #[cfg(feature = "fork-union")]
    forms.push(fork_union::form());
    forms
}

fn cases(scale: Scale) -> Vec<Case> {
    let case = |label, kind, full| {
        let size = scale.pick(full, 256);
        Case { label, size, kind, repeats: 1, operations: size }
    };
    vec![
        case("few heavy", FEW_HEAVY, 32_768),
        case("decreasing", DECREASING, 16_384),
        case("random", RANDOM, 8_192),
    ]
}

const FEW_HEAVY: u64 = 0;
const DECREASING: u64 = 1;
const RANDOM: u64 = 2;

/// A loop of iterations, and how long each is.
#[derive(Clone, Copy)]
struct Load {
    kind: u64,
    length: u64,
}

impl Load {
    fn of(case: &Case) -> Self {
        Self { kind: case.kind, length: case.size }
    }

    /// Steps of iteration `i`.
    fn steps(self, i: u64) -> u64 {
        match self.kind {
            FEW_HEAVY if i < self.length / 4 && i % 24 == 5 => 20_000,
            FEW_HEAVY => 100,
            DECREASING => (self.length - i) * 1_200 / self.length,
            _ => 64 << (work::hash(i) % 8),
        }
    }

    /// Runs iteration `i`.
    fn run(self, i: u64) -> u64 {
        work::spin(self.steps(i), i)
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: rivals in C++ with other lengths; their results would differ.
    use super::*;

    #[test]
    fn the_loads_are_as_uneven_as_described() {
        let steps =
            |kind| (0..1_024).map(|i| Load { kind, length: 1_024 }.steps(i)).collect::<Vec<_>>();
        let (few, decreasing, random) = (steps(FEW_HEAVY), steps(DECREASING), steps(RANDOM));
        assert_eq!(few.iter().filter(|steps| **steps == 20_000).count(), 11);
        assert!(few[256..].iter().all(|steps| *steps == 100));
        assert!(decreasing.is_sorted_by(|a, b| a >= b) && decreasing[0] == 1_200);
        assert!(random.contains(&64) && random.contains(&(64 << 7)));
    }
}
