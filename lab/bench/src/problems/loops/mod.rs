//! Empty loops, thousands in a row: what it costs to hand out indices to a team and to hear that
//! all are done.
//!
//! An operation is one loop. The bodies do nothing that could be checked, so the short run before
//! each timed one marks every index and demands that all were visited exactly once.

mod chili;
#[cfg(feature = "fork-union")]
mod fork_union;
mod rayon;
mod serial;
mod sinew;

use crate::problem::{Bar, Case, Form, Limit, Measure, Problem, Row, Scale, Team};
use sinew_sync::atomic::{AtomicU8, Ordering};
use std::hint::black_box;

pub(crate) const PROBLEM: Problem = Problem {
    name: "loops",
    about: "empty loops of 2, 64, 1,024 and 65,536 elements, in a row",
    unit: "loop",
    serial: serial::run,
    forms,
    cases,
    warm: |case| Case { label: "warm", kind: CHECK, repeats: 1, operations: 1, ..*case },
    counted: Some(|| {
        [10, 110].map(|repeats| Case {
            label: "counted",
            size: 64,
            kind: EMPTY,
            repeats,
            operations: repeats,
        })
    }),
    in_processes: true,
    bars: &BARS,
};

const BARS: [Bar; 1] = [Bar {
    case: "2 elements",
    what: "an empty loop on warm workers, from outside, at most 0.5 µs",
    measure: Measure::PerOperation(Row("sinew", Team::All)),
    limit: Limit::AtMost(500.0),
}];

fn forms() -> Vec<Form> {
    let mut forms = Vec::from(sinew::forms());
    forms.extend(rayon::forms());
    forms.push(chili::form());
    #[cfg(feature = "fork-union")]
    forms.push(fork_union::form());
    forms
}

fn cases(scale: Scale) -> Vec<Case> {
    let case = |label, size, full| {
        let repeats = scale.pick(full, 5);
        Case { label, size, kind: EMPTY, repeats, operations: repeats }
    };
    vec![
        case("2 elements", 2, 5_000),
        case("64 elements", 64, 5_000),
        case("1,024 elements", 1_024, 4_000),
        case("65,536 elements", 65_536, 250),
    ]
}

const EMPTY: u64 = 0;
const CHECK: u64 = 1;

/// A loop over `0..length`, as some runtime runs it.
trait Each {
    fn each(&mut self, length: usize, body: impl Fn(usize) + Send + Sync);
}

/// Runs the loops of `case`: the number of indices visited, or when checking the number visited
/// exactly once.
fn drive(case: &Case, runtime: &mut impl Each) -> u64 {
    let length = usize::try_from(case.size).expect("a length that fits into memory");
    if case.kind == CHECK {
        let marks: Vec<AtomicU8> = (0..length).map(|_| AtomicU8::new(0)).collect();
        // Relaxed: the end of the loop publishes the marks.
        runtime.each(length, |i| {
            marks[i].fetch_add(1, Ordering::Relaxed);
        });
        return marks.iter().filter(|mark| mark.load(Ordering::Relaxed) == 1).count() as u64;
    }
    for _ in 0..case.repeats {
        runtime.each(black_box(length), |i| {
            black_box(i);
        });
    }
    case.repeats * case.size
}

#[cfg(test)]
mod tests {
    //! Blind to: indices visited twice in a timed run only.
    use super::*;

    struct Forgetful;

    impl Each for Forgetful {
        fn each(&mut self, length: usize, body: impl Fn(usize) + Send + Sync) {
            (1..length).for_each(body);
        }
    }

    #[test]
    fn a_loop_that_forgets_an_index_is_found_out() {
        let case = (PROBLEM.warm)(&cases(Scale::Tiny)[1]);
        assert_eq!((PROBLEM.serial)(&case), 64);
        assert_eq!(drive(&case, &mut Forgetful), 63);
    }
}
