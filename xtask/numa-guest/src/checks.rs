//! The table of all checks, and how they are run.
//!
//! A group of checks is a file with a `CHECKS` of its own; a new group is one more line in
//! [`groups`]. Checks run one after the other in the order of the table, and leave the machine as
//! they found it.

use std::fs::File;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use numa_protocol::{Line, Order, Outcome, Shape};

use crate::check::Check;
use crate::{
    crowded, hotplug, hwloc, limits, locality, pages, pin, placed, steals, tree, worker_memory,
    worklist,
};

/// In the order in which they run: what others rely on first, what changes the machine last.
fn groups() -> [&'static [Check]; 12] {
    [
        tree::CHECKS,
        hwloc::CHECKS,
        pin::CHECKS,
        pages::CHECKS,
        locality::CHECKS,
        placed::CHECKS,
        worker_memory::CHECKS,
        steals::CHECKS,
        crowded::CHECKS,
        worklist::CHECKS,
        limits::CHECKS,
        hotplug::CHECKS,
    ]
}

/// Runs the order and writes the results.
///
/// # Errors
///
/// The results cannot be written. The findings of checks are no errors here.
pub(crate) fn run(order: &Order, answer: &mut File) -> Result<(), String> {
    let wanted = |check: &&Check| {
        order.only.is_empty()
            || order.only.iter().any(|start| check.name.starts_with(start.as_str()))
    };
    let checks: Vec<&Check> = groups().into_iter().flatten().filter(wanted).collect();
    say(answer, &Line::Plan(checks.iter().map(|check| check.name.to_owned()).collect()))?;
    for check in checks {
        let outcome = outcome(check, &order.shape);
        say(answer, &Line::Check { name: check.name.to_owned(), outcome })?;
    }
    say(answer, &Line::End)
}

fn say(answer: &mut File, line: &Line) -> Result<(), String> {
    writeln!(answer, "{line}").map_err(|error| format!("cannot answer: {error}"))
}

fn outcome(check: &Check, shape: &Shape) -> Outcome {
    let verdict = catch_unwind(AssertUnwindSafe(|| (check.run)(shape)));
    verdict.unwrap_or_else(|panic| Err(message(&*panic))).unwrap_or_else(Outcome::Failed)
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("without a message"))
}

#[cfg(test)]
mod tests {
    //! Blind to: what the checks themselves look at, which only the emulated machine
    //! shows.

    use super::*;
    use crate::check::same;
    use std::collections::BTreeSet;

    #[test]
    fn every_check_has_a_name_of_its_own_without_blanks() {
        let names: Vec<&str> = groups().into_iter().flatten().map(|check| check.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert!(names.iter().all(|name| name.contains('/') && !name.contains(char::is_whitespace)));
    }

    #[test]
    fn a_check_that_panics_fails_with_its_message() {
        let shape = serde_json::from_str(
            r#"{"name":"x","packages":1,"cores":1,"threads":1,"nodes":[],"distances":[]}"#,
        );
        let shape: Shape = shape.expect("a shape");
        let check = Check { name: "a/b", run: |shape| panic!("no {}", shape.name) };
        assert_eq!(outcome(&check, &shape), Outcome::Failed("panicked: no x".into()));
        let check = Check { name: "a/b", run: |_| same("cpus", &1, &2).map(|()| Outcome::Passed) };
        assert_eq!(outcome(&check, &shape), Outcome::Failed("cpus: found 1, expected 2".into()));
    }
}
