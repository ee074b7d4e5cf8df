//! Fibonacci numbers by the naive recursion: only spawns and joins.
//!
//! An operation is a join, so the time per operation is the whole price of a task: its call, its
//! spawn and its join.

mod chili;
mod rayon;
mod serial;
mod sinew;

pub(crate) use sinew::listed_fib;

use crate::problem::{Bar, Case, Form, Limit, Measure, Problem, Row, Scale, Team};

pub(crate) const PROBLEM: Problem = Problem {
    name: "fib",
    about: "naive Fibonacci: a task per call, nothing else",
    unit: "task",
    serial: serial::run,
    forms,
    cases,
    warm: |case| sized("warm", case.size.min(18)),
    counted: Some(|| [18, 22].map(|size| sized("counted", size))),
    in_processes: true,
    bars: &BARS,
};

const BARS: [Bar; 7] = [
    Bar {
        case: "fib 34",
        what: "a task with an explicit worker, at most 0.8 × chili",
        measure: Measure::Ratio(Row("sinew", Team::One), Row("chili", Team::One)),
        limit: Limit::AtMost(0.8),
    },
    Bar {
        case: "fib 34",
        what: "a task with an explicit worker, at most 0.8 × Lace by clang",
        measure: Measure::Ratio(Row("sinew", Team::One), Row("lace clang", Team::One)),
        limit: Limit::AtMost(0.8),
    },
    Bar {
        case: "fib 34",
        what: "a task with an explicit worker, at most Lace by gcc",
        measure: Measure::Ratio(Row("sinew", Team::One), Row("lace gcc", Team::One)),
        limit: Limit::AtMost(1.0),
    },
    Bar {
        case: "fib 34",
        what: "a task with an explicit worker, at most sinew::join",
        measure: Measure::Ratio(Row("sinew", Team::One), Row("sinew::join", Team::One)),
        limit: Limit::AtMost(1.0),
    },
    Bar {
        case: "fib 34",
        what: "a task with an explicit worker, at most 0.5 × rayon",
        measure: Measure::Ratio(Row("sinew", Team::One), Row("rayon", Team::One)),
        limit: Limit::AtMost(0.5),
    },
    Bar {
        case: "fib 34",
        what: "sinew::join, at most 1.1 × the explicit form",
        measure: Measure::Ratio(Row("sinew::join", Team::One), Row("sinew", Team::One)),
        limit: Limit::AtMost(1.1),
    },
    Bar {
        case: "fib 34",
        what: "all workers, at least 1.95 × one worker (on two)",
        measure: Measure::Ratio(Row("sinew", Team::One), Row("sinew", Team::All)),
        limit: Limit::AtLeast(1.95),
    },
];

fn forms() -> Vec<Form> {
    let mut forms = Vec::from(sinew::forms());
    forms.extend([rayon::form(), chili::form()]);
    forms
}

fn cases(scale: Scale) -> Vec<Case> {
    vec![sized(scale.pick("fib 34", "fib 16"), scale.pick(34, 16))]
}

pub(crate) fn sized(label: &'static str, size: u64) -> Case {
    // One join for every call with an argument of at least 2: fib(n + 1) - 1 of them.
    Case {
        label,
        size,
        kind: 0,
        repeats: 1,
        operations: serial::fib(size + 1).saturating_sub(1).max(1),
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: a miscounted number of tasks for other sizes.
    use super::*;

    #[test]
    fn the_thirtieth_number_is_known_and_so_are_its_joins() {
        assert_eq!((PROBLEM.serial)(&sized("", 30)), 832_040);
        assert_eq!(sized("", 4).operations, 4, "fib 4 joins at 4, 3, 2 and 2");
    }
}
