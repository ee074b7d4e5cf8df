//! Sorting a million numbers: in place, and such that equal ones keep their order.
//!
//! Only the sort itself is timed; the numbers are made before, and the answer is computed after.

mod rayon;
mod serial;
mod sinew;

use crate::problem::{Case, Form, Problem, Scale, measured};
use crate::work;

pub(crate) const PROBLEM: Problem = Problem {
    name: "sort",
    about: "a million numbers, sorted in place and stably",
    unit: "number",
    serial: serial::run,
    forms,
    cases,
    warm: |case| Case { label: "warm", size: 2_048, operations: 2_048, ..*case },
    counted: None,
    in_processes: false,
    bars: &[],
};

fn forms() -> Vec<Form> {
    vec![sinew::form(), rayon::form()]
}

fn cases(scale: Scale) -> Vec<Case> {
    let size = scale.pick(1_000_000, 3_000);
    let case = |label, kind| Case { label, size, kind, repeats: 1, operations: size };
    vec![case("in place", IN_PLACE), case("stable", STABLE)]
}

const IN_PLACE: u64 = 0;
const STABLE: u64 = 1;

/// A number with its place in the input; ordered by the number alone.
#[derive(Debug, Clone, Copy)]
struct Item {
    key: u32,
    place: u32,
}

/// Sorts the numbers of `case` by `sort`, which gets them and whether equal ones keep their order.
fn sorted(case: &Case, sort: impl FnOnce(&mut [Item], bool)) -> u64 {
    let size = u32::try_from(case.size).unwrap_or(u32::MAX);
    // Each number occurs about four times.
    let key = |place| (work::hash(u64::from(place)) % u64::from(size / 4 + 1)) as u32;
    let mut items: Vec<Item> = (0..size).map(|place| Item { key: key(place), place }).collect();
    let is_stable = case.kind == STABLE;
    measured(|| sort(&mut items, is_stable));
    digest(&items, is_stable)
}

/// Depends on the order of the numbers, and in a stable sort on that of equal ones.
fn digest(items: &[Item], is_stable: bool) -> u64 {
    items.iter().fold(0, |digest: u64, item| {
        let place = if is_stable { u64::from(item.place) } else { 0 };
        work::hash(digest ^ u64::from(item.key) ^ (place << 32))
    })
}

#[cfg(test)]
mod tests {
    //! Blind to: two wrong orders with the same digest.
    use super::*;

    #[test]
    fn numbers_that_are_not_sorted_have_another_digest() {
        for case in cases(Scale::Tiny) {
            let right = (PROBLEM.serial)(&case);
            let unsorted = sorted(&case, |_, _| ());
            assert_ne!(right, unsorted, "{}", case.label);
        }
    }

    /// Catches: a stable sort that exchanges equal numbers.
    #[test]
    fn equal_numbers_that_change_places_have_another_digest() {
        let case = cases(Scale::Tiny)[1];
        let backwards = sorted(&case, |items, _| {
            items.sort_by_key(|item| (item.key, u32::MAX - item.place));
        });
        assert_ne!((PROBLEM.serial)(&case), backwards);
    }
}
