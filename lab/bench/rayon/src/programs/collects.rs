//! Parallel iterators that end in a collection, one after another.

use super::numbers;
use crate::answer::mix;
use crate::work::{Scale, Work, work};
use rayon::prelude::*;
use std::collections::{HashMap, LinkedList};

pub(super) fn indexed(scale: Scale) -> Box<dyn Work> {
    work(
        scale.pick(1_000_000, 10_000),
        |count: &u64| (0..*count).map(mix).collect::<Vec<u64>>(),
        |count| (0..*count).into_par_iter().map(mix).collect(),
    )
}

/// Every third number or so.
fn chosen(number: &u32) -> bool {
    number.is_multiple_of(3)
}

pub(super) fn filtered(scale: Scale) -> Box<dyn Work> {
    work(
        numbers(scale.pick(1_000_000, 10_000)),
        |numbers| numbers.iter().copied().filter(chosen).collect::<Vec<u32>>(),
        |numbers| numbers.par_iter().copied().filter(chosen).collect(),
    )
}

pub(super) fn extend(scale: Scale) -> Box<dyn Work> {
    work(
        numbers(scale.pick(500_000, 5_000)),
        |numbers| {
            let mut output = vec![1, 2, 3];
            output.extend(numbers.iter().map(|number| number ^ 5));
            output.extend(numbers.iter().filter(|number| chosen(number)));
            output
        },
        |numbers| {
            let mut output = vec![1, 2, 3];
            output.par_extend(numbers.par_iter().map(|number| number ^ 5));
            output.par_extend(numbers.par_iter().filter(|number| chosen(number)));
            output
        },
    )
}

pub(super) fn list(scale: Scale) -> Box<dyn Work> {
    work(
        numbers(scale.pick(100_000, 1_000)),
        |numbers| numbers.iter().copied().filter(chosen).collect::<LinkedList<u32>>(),
        |numbers| numbers.par_iter().copied().filter(chosen).collect(),
    )
}

pub(super) fn map(scale: Scale) -> Box<dyn Work> {
    work(
        scale.pick(50_000, 1_000),
        |count: &u64| {
            (0..*count).map(|number| (number, mix(number))).collect::<HashMap<u64, u64>>()
        },
        |count| (0..*count).into_par_iter().map(|number| (number, mix(number))).collect(),
    )
}

pub(super) fn unzip(scale: Scale) -> Box<dyn Work> {
    work(
        numbers(scale.pick(500_000, 5_000)),
        |numbers| {
            numbers
                .iter()
                .map(|number| (number ^ 7, number >> 4))
                .unzip::<_, _, Vec<u32>, Vec<u32>>()
        },
        |numbers| numbers.par_iter().map(|number| (number ^ 7, number >> 4)).unzip(),
    )
}
