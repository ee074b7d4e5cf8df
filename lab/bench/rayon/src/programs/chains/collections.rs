//! Chains that end in a collection.

use super::{count, items};
use crate::answer::mix;
use crate::work::{Scale, Work, work};
use rayon::prelude::*;
use std::collections::HashMap;

/// Two thirds of the numbers, changed.
fn changed(number: &u32) -> Option<u32> {
    (!number.is_multiple_of(3)).then(|| number.rotate_left(7))
}

pub(super) fn filter_map(scale: Scale) -> Box<dyn Work> {
    work(
        items(scale),
        |numbers| {
            let mut output = Vec::new();
            for number in numbers {
                output.extend(changed(number));
            }
            output
        },
        |numbers| numbers.par_iter().filter_map(changed).collect(),
    )
}

pub(super) fn enumerate(scale: Scale) -> Box<dyn Work> {
    work(
        (items(scale), items(scale)),
        |(a, b)| {
            let mut output = Vec::with_capacity(a.len());
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                output.push(index as u64 + u64::from(*a) * u64::from(*b));
            }
            output
        },
        |(a, b)| {
            let pairs = a.par_iter().zip(b).enumerate();
            pairs.map(|(index, (a, b))| index as u64 + u64::from(*a) * u64::from(*b)).collect()
        },
    )
}

pub(super) fn mutate(scale: Scale) -> Box<dyn Work> {
    work(
        items(scale),
        |numbers| {
            let mut output = vec![0; numbers.len()];
            for (place, number) in output.iter_mut().zip(numbers) {
                *place = number.swap_bytes();
            }
            output
        },
        |numbers| {
            let mut output = vec![0; numbers.len()];
            let places = output.par_iter_mut().enumerate();
            places.for_each(|(index, place)| *place = numbers[index].swap_bytes());
            output
        },
    )
}

pub(super) fn unzip(scale: Scale) -> Box<dyn Work> {
    work(
        items(scale),
        |numbers| {
            let (mut even, mut odd) = (Vec::new(), Vec::new());
            for number in numbers.iter().filter(|number| !number.is_multiple_of(5)) {
                even.push(number << 1);
                odd.push(number | 1);
            }
            (even, odd)
        },
        |numbers| {
            let chosen = numbers.par_iter().filter(|number| !number.is_multiple_of(5));
            chosen.map(|number| (number << 1, number | 1)).unzip()
        },
    )
}

pub(super) fn partition(scale: Scale) -> Box<dyn Work> {
    work(
        items(scale),
        |numbers| {
            let (mut small, mut large) = (Vec::new(), Vec::new());
            for number in numbers {
                if *number < 1 << 30 { small.push(*number) } else { large.push(*number) }
            }
            (small, large)
        },
        |numbers| numbers.par_iter().copied().partition(|number| *number < 1 << 30),
    )
}

pub(super) fn extend(scale: Scale) -> Box<dyn Work> {
    work(
        items(scale),
        |numbers| {
            let mut output = vec![7; 1_000];
            output.extend(numbers.iter().map(|number| number / 3));
            output
        },
        |numbers| {
            let mut output = vec![7; 1_000];
            output.par_extend(numbers.par_iter().map(|number| number / 3));
            output
        },
    )
}

fn kept(number: &u32) -> bool {
    number.is_multiple_of(4)
}

pub(super) fn sort(scale: Scale) -> Box<dyn Work> {
    work(
        items(scale),
        |numbers| {
            let mut output: Vec<u32> = numbers.iter().copied().filter(kept).collect();
            output.sort_unstable();
            output
        },
        |numbers| {
            let mut output: Vec<u32> = numbers.par_iter().copied().filter(kept).collect();
            output.par_sort_unstable();
            output
        },
    )
}

fn checked(number: &u32) -> Result<u32, u32> {
    number.checked_add(1).ok_or(*number)
}

pub(super) fn result(scale: Scale) -> Box<dyn Work> {
    work(
        items(scale),
        |numbers| {
            let mut output = Vec::with_capacity(numbers.len());
            for number in numbers {
                output.push(checked(number).ok()?);
            }
            Some(output)
        },
        |numbers| numbers.par_iter().map(checked).collect::<Result<Vec<u32>, u32>>().ok(),
    )
}

pub(super) fn strings(scale: Scale) -> Box<dyn Work> {
    work(
        items(scale),
        |numbers| {
            let mut output = Vec::with_capacity(numbers.len());
            for number in numbers {
                output.push(number.to_string());
            }
            output
        },
        |numbers| numbers.par_iter().map(u32::to_string).collect(),
    )
}

pub(super) fn map_out(scale: Scale) -> Box<dyn Work> {
    work(
        count(scale) as u64,
        |count: &u64| {
            let mut output = HashMap::new();
            for number in (0..*count).filter(|number| number % 4 == 0) {
                output.insert(number, mix(number));
            }
            output
        },
        |count| {
            let chosen = (0..*count).into_par_iter().filter(|number| number % 4 == 0);
            chosen.map(|number| (number, mix(number))).collect()
        },
    )
}
