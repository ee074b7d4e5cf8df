//! Chains over texts, maps, chunks and serial iterators, and chains in chains.

use super::{count, items};
use crate::work::{Scale, Work, work};
use rayon::prelude::*;
use std::collections::HashMap;

pub(super) fn map_in(scale: Scale) -> Box<dyn Work> {
    let map: HashMap<u64, u32> = (0..).zip(items(scale)).collect();
    work(
        map,
        |map| {
            let mut sum = 0;
            for (key, value) in map {
                sum += key ^ u64::from(*value);
            }
            sum
        },
        |map| map.par_iter().map(|(key, value)| key ^ u64::from(*value)).sum::<u64>(),
    )
}

fn total(numbers: &[u32]) -> u64 {
    numbers.iter().map(|number| u64::from(*number)).sum()
}

pub(super) fn chunks(scale: Scale) -> Box<dyn Work> {
    work(
        items(scale),
        |numbers| {
            let mut output = Vec::new();
            for chunk in numbers.chunks(50) {
                output.push(total(chunk));
            }
            output
        },
        |numbers| numbers.par_chunks(50).map(total).collect(),
    )
}

pub(super) fn groups(scale: Scale) -> Box<dyn Work> {
    work(
        items(scale),
        |numbers| {
            let mut output = Vec::new();
            for chunk in numbers.chunks(16) {
                output.push(chunk.iter().fold(0, |all, number| all ^ number));
            }
            output
        },
        |numbers| {
            let groups = numbers.par_iter().copied().chunks(16);
            groups.map(|group| group.into_iter().fold(0, |all, number| all ^ number)).collect()
        },
    )
}

fn peak(window: &[u32]) -> bool {
    window[0] < window[1] && window[1] > window[2]
}

pub(super) fn windows(scale: Scale) -> Box<dyn Work> {
    work(
        items(scale),
        |numbers| {
            let mut count = 0usize;
            for window in numbers.windows(3) {
                count += usize::from(peak(window));
            }
            count
        },
        |numbers| numbers.par_windows(3).filter(|window| peak(window)).count(),
    )
}

/// As many words as items, in lines of ten.
fn text(scale: Scale) -> String {
    let word = |(index, number): (usize, u32)| {
        let end = if index % 10 == 9 { '\n' } else { ' ' };
        format!("{}{end}", number >> 12)
    };
    items(scale).into_iter().enumerate().map(word).collect()
}

pub(super) fn words(scale: Scale) -> Box<dyn Work> {
    work(
        text(scale),
        |text| {
            let mut bytes = 0usize;
            for word in text.split_whitespace() {
                bytes += word.len();
            }
            bytes
        },
        |text| text.par_split_whitespace().map(str::len).sum(),
    )
}

fn sevens(line: &str) -> usize {
    line.bytes().filter(|byte| *byte == b'7').count()
}

pub(super) fn bridge(scale: Scale) -> Box<dyn Work> {
    work(
        text(scale),
        |text| {
            let mut count = 0usize;
            for line in text.lines() {
                count += sevens(line);
            }
            count
        },
        |text| text.lines().par_bridge().map(sevens).sum(),
    )
}

/// Items of one small chain.
const SMALL: usize = 100;

pub(super) fn small(scale: Scale) -> Box<dyn Work> {
    work(
        items(scale),
        |numbers| {
            let mut all = 0;
            for few in numbers.chunks(SMALL) {
                all ^= total(few);
            }
            all
        },
        |numbers| {
            let small = |few: &[u32]| few.par_iter().map(|number| u64::from(*number)).sum::<u64>();
            numbers.chunks(SMALL).fold(0, |all, few| all ^ small(few))
        },
    )
}

fn cell(row: usize, column: usize) -> u64 {
    (row * column) as u64 % 7
}

pub(super) fn nested(scale: Scale) -> Box<dyn Work> {
    work(
        count(scale) / SMALL,
        |rows: &usize| {
            let mut greatest = 0;
            for row in 0..*rows {
                let mut sum = 0;
                for column in 0..SMALL {
                    sum += cell(row, column);
                }
                greatest = greatest.max(sum);
            }
            Some(greatest)
        },
        |rows| {
            let sum =
                |row| (0..SMALL).into_par_iter().map(move |column| cell(row, column)).sum::<u64>();
            (0..*rows).into_par_iter().map(sum).max()
        },
    )
}
