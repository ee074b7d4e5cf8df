//! Parallel iterators that end in a number, one after another.

use super::{inside, numbers};
use crate::answer::mix;
use crate::work::{Scale, Work, work};
use rayon::prelude::*;

/// A small number that looks random.
fn small(number: u64) -> u64 {
    mix(number) >> 40
}

pub(super) fn sum(scale: Scale) -> Box<dyn Work> {
    work(
        scale.pick(3_000_000, 10_000),
        |count: &u64| (0..*count).map(small).sum::<u64>(),
        |count| (0..*count).into_par_iter().map(small).sum(),
    )
}

pub(super) fn flat_map(scale: Scale) -> Box<dyn Work> {
    work(
        scale.pick(2_000, 50),
        |count: &u64| {
            (0..*count)
                .flat_map(|outer| (0..outer % 200).map(move |inner| small(outer ^ inner)))
                .sum::<u64>()
        },
        |count| {
            let row =
                |outer| (0..outer % 200).into_par_iter().map(move |inner| small(outer ^ inner));
            (0..*count).into_par_iter().flat_map(row).sum()
        },
    )
}

pub(super) fn zip(scale: Scale) -> Box<dyn Work> {
    work(
        (numbers(scale.pick(500_000, 5_000)), numbers(scale.pick(500_001, 5_001))),
        |(a, b)| a.iter().zip(b).map(|(a, b)| a ^ b).collect::<Vec<u32>>(),
        |(a, b)| {
            let mut output = vec![0; a.len()];
            output.par_iter_mut().zip(a).zip(b).for_each(|((place, a), b)| *place = a ^ b);
            output
        },
    )
}

pub(super) fn fold(scale: Scale) -> Box<dyn Work> {
    work(
        numbers(scale.pick(2_000_000, 5_000)),
        |numbers| numbers.iter().fold(NOTHING, wide),
        |numbers| {
            numbers
                .par_iter()
                .fold(|| NOTHING, wide)
                .reduce(|| NOTHING, |a, b| (a.0.min(b.0), a.1.max(b.1)))
        },
    )
}

const NOTHING: (u32, u32) = (u32::MAX, 0);

fn wide(range: (u32, u32), number: &u32) -> (u32, u32) {
    (range.0.min(*number), range.1.max(*number))
}

pub(super) fn chunks(scale: Scale) -> Box<dyn Work> {
    work(
        numbers(scale.pick(2_000_000, 5_000)),
        |numbers| numbers.chunks(100).map(total_of).max(),
        |numbers| numbers.par_chunks(100).map(total_of).max(),
    )
}

fn total_of(numbers: &[u32]) -> u64 {
    numbers.iter().map(|number| u64::from(*number)).sum()
}

pub(super) fn bridge(scale: Scale) -> Box<dyn Work> {
    work(
        scale.pick(20_000, 500),
        |count: &u64| (0..*count).map(twenty).sum::<u64>(),
        |count| (0..*count).par_bridge().map(twenty).sum(),
    )
}

/// Some hundred nanoseconds of work.
fn twenty(number: u64) -> u64 {
    (0..20).fold(number, |number, _| mix(number)) >> 40
}

pub(super) fn find(scale: Scale) -> Box<dyn Work> {
    struct Haystack {
        numbers: Vec<u32>,
        needle: u32,
    }
    let numbers = numbers(scale.pick(2_000_000, 5_000));
    let needle = numbers[numbers.len() * 3 / 4];
    work(
        Haystack { numbers, needle },
        |hay| hay.numbers.iter().position(|number| *number == hay.needle),
        |hay| {
            let found =
                hay.numbers.par_iter().enumerate().find_first(|(_, number)| **number == hay.needle);
            found.map(|(index, _)| index)
        },
    )
}

pub(super) fn chars(scale: Scale) -> Box<dyn Work> {
    let text: String =
        numbers(scale.pick(300_000, 3_000)).iter().map(|number| letter(*number)).collect();
    work(
        text,
        |text| text.chars().filter(|letter| !letter.is_ascii()).count(),
        |text| text.par_chars().filter(|letter| !letter.is_ascii()).count(),
    )
}

/// Letters of one, two and three bytes.
fn letter(number: u32) -> char {
    ['a', 'e', 'i', 'ö', 'ß', 'я', '中', '文'][number as usize % 8]
}

/// Items of a tiny iterator.
const TINY: usize = 100;

pub(super) fn tiny(scale: Scale) -> Box<dyn Work> {
    work(
        numbers(scale.pick(100_000, 500)),
        |numbers| {
            numbers
                .chunks(TINY)
                .map(|few| few.iter().map(|number| number >> 8).sum::<u32>())
                .collect::<Vec<_>>()
        },
        |numbers| {
            inside(|| {
                numbers
                    .chunks(TINY)
                    .map(|few| few.par_iter().map(|number| number >> 8).sum())
                    .collect()
            })
        },
    )
}
