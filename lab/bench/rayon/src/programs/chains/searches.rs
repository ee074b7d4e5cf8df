//! Chains that look for an item.

use super::items;
use crate::work::{Scale, Work, work};
use rayon::prelude::*;

/// Numbers below a bound, but for one behind two thirds of them.
fn haystack(scale: Scale) -> Vec<u32> {
    let mut numbers: Vec<u32> = items(scale).into_iter().map(|number| number >> 1).collect();
    let place = numbers.len() * 2 / 3;
    numbers[place] = NEEDLE;
    numbers
}

const NEEDLE: u32 = u32::MAX - 1;

fn large(number: u32) -> bool {
    number > u32::MAX / 2 + 1
}

pub(super) fn find_first(scale: Scale) -> Box<dyn Work> {
    work(
        haystack(scale),
        |numbers| {
            for number in numbers {
                if large(*number) {
                    return Some(*number);
                }
            }
            None
        },
        |numbers| numbers.par_iter().copied().find_first(|number| large(*number)),
    )
}

pub(super) fn position_any(scale: Scale) -> Box<dyn Work> {
    work(
        haystack(scale),
        |numbers| {
            for (index, number) in numbers.iter().enumerate() {
                if large(*number) {
                    return Some(index);
                }
            }
            None
        },
        |numbers| numbers.par_iter().position_any(|number| large(*number)),
    )
}

pub(super) fn any(scale: Scale) -> Box<dyn Work> {
    work(
        haystack(scale),
        |numbers| {
            for number in numbers {
                if *number == NEEDLE + 1 {
                    return 1;
                }
            }
            0
        },
        |numbers| u64::from(numbers.par_iter().any(|number| *number == NEEDLE + 1)),
    )
}

pub(super) fn all(scale: Scale) -> Box<dyn Work> {
    work(
        haystack(scale),
        |numbers| {
            for number in numbers {
                if number.count_ones() > 31 {
                    return 0;
                }
            }
            1
        },
        |numbers| u64::from(numbers.par_iter().all(|number| number.count_ones() <= 31)),
    )
}
