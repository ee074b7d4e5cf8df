//! Counting and adding up: bytes, words, running sums.

use super::numbers;
use crate::work::{Scale, Work, work};
use rayon::prelude::*;
use std::collections::HashMap;

type Counts = [u32; 256];

pub(super) fn bytes(scale: Scale) -> Box<dyn Work> {
    let numbers = numbers(scale.pick(2_000_000, 10_000));
    let input: Vec<u8> = numbers.into_iter().map(|number| number as u8).collect();
    work(
        input,
        |input| counts_of(input),
        |input| {
            input
                .par_chunks(1 << 14)
                .fold(|| [0; 256], |sum, bytes| both(sum, counts_of(bytes)))
                .reduce(|| [0; 256], both)
        },
    )
}

fn counts_of(bytes: &[u8]) -> Counts {
    let mut counts = [0; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    counts
}

fn both(a: Counts, b: Counts) -> Counts {
    std::array::from_fn(|byte| a[byte] + b[byte])
}

/// Items of a chunk of the running sums.
const CHUNK: usize = 1 << 13;

pub(super) fn prefix_sum(scale: Scale) -> Box<dyn Work> {
    let input = numbers(scale.pick(1_000_000, 20_000));
    work(input, |input| running(input, 0).collect(), |input| in_two_passes(input))
}

fn running(numbers: &[u32], start: u64) -> impl Iterator<Item = u64> {
    numbers.iter().scan(start, |sum, number| {
        *sum += u64::from(*number);
        Some(*sum)
    })
}

/// First what each chunk adds up to, then, from there, every sum.
fn in_two_passes(numbers: &[u32]) -> Vec<u64> {
    let total = |chunk: &[u32]| chunk.iter().map(|number| u64::from(*number)).sum::<u64>();
    let mut starts: Vec<u64> = numbers.par_chunks(CHUNK).map(total).collect();
    let mut sum = 0;
    for start in &mut starts {
        sum += std::mem::replace(start, sum);
    }
    let mut sums = vec![0; numbers.len()];
    let chunks = sums.par_chunks_mut(CHUNK).zip(numbers.par_chunks(CHUNK)).zip(starts);
    chunks.for_each(|((sums, numbers), start)| {
        sums.iter_mut().zip(running(numbers, start)).for_each(|(place, sum)| *place = sum);
    });
    sums
}

pub(super) fn words(scale: Scale) -> Box<dyn Work> {
    let count = scale.pick(60_000, 2_000);
    let words = numbers(count).into_iter().enumerate().map(|(index, number)| {
        // Common words and rare ones.
        let word = if number.is_multiple_of(3) { number % 4_000 } else { number % 50 };
        format!("w{word}{}", if index % 10 == 9 { '\n' } else { ' ' })
    });
    work(
        words.collect::<String>(),
        |text| counted_words(HashMap::new(), text),
        |text| count_by_lines(text),
    )
}

type Words = HashMap<String, u32>;

fn counted_words(mut counts: Words, text: &str) -> Words {
    for word in text.split_whitespace() {
        match counts.get_mut(word) {
            Some(count) => *count += 1,
            None => drop(counts.insert(word.to_owned(), 1)),
        }
    }
    counts
}

fn count_by_lines(text: &str) -> Words {
    text.par_lines().fold(HashMap::new, counted_words).reduce(HashMap::new, |a, b| {
        // The smaller map goes into the larger one.
        let (mut large, small) = if a.len() < b.len() { (b, a) } else { (a, b) };
        small.into_iter().for_each(|(word, count)| *large.entry(word).or_insert(0) += count);
        large
    })
}
