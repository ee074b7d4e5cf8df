//! Chains that end in a number.

use super::{count, items};
use crate::work::{Scale, Work, work};
use rayon::prelude::*;

fn square(number: &u32) -> u64 {
    u64::from(*number) * u64::from(*number)
}

pub(super) fn sum(scale: Scale) -> Box<dyn Work> {
    work(
        items(scale),
        |numbers| {
            let mut sum = 0u64;
            for number in numbers {
                let square = square(number);
                if square.is_multiple_of(3) {
                    sum += square >> 20;
                }
            }
            sum
        },
        |numbers| {
            let squares = numbers.par_iter().map(square).filter(|square| square % 3 == 0);
            squares.map(|square| square >> 20).sum()
        },
    )
}

pub(super) fn dot(scale: Scale) -> Box<dyn Work> {
    // Whole numbers, whose sums are exact in any order.
    let vector = |shift: u32| items(scale).iter().map(|x| f64::from(x >> shift)).collect();
    let pair: (Vec<f64>, Vec<f64>) = (vector(24), vector(22));
    work(
        pair,
        |(a, b)| {
            let mut sum = 0.0;
            for (a, b) in a.iter().zip(b) {
                sum += a * b;
            }
            sum
        },
        |(a, b)| a.par_iter().zip(b).map(|(a, b)| a * b).sum::<f64>(),
    )
}

/// Items that each item of the outer chain becomes.
const INNER: u64 = 20;

pub(super) fn flat_map(scale: Scale) -> Box<dyn Work> {
    work(
        count(scale) as u64 / INNER,
        |outer: &u64| {
            let mut sum = 0;
            for number in 0..*outer {
                for inner in 0..INNER {
                    sum += number ^ inner;
                }
            }
            sum
        },
        |outer| {
            let inner = |number| (0..INNER).map(move |inner| number ^ inner);
            (0..*outer).into_par_iter().flat_map_iter(inner).sum()
        },
    )
}

pub(super) fn rev_step(scale: Scale) -> Box<dyn Work> {
    work(
        items(scale),
        |numbers| {
            let mut sum = 0u64;
            for (index, number) in numbers.iter().skip(5).rev().step_by(2).enumerate() {
                sum += u64::from(*number) ^ index as u64;
            }
            sum
        },
        |numbers| {
            let chosen = numbers.par_iter().skip(5).rev().step_by(2).enumerate();
            chosen.map(|(index, number)| u64::from(*number) ^ index as u64).sum()
        },
    )
}

type Mean = (u64, u64);

fn both(a: Mean, b: Mean) -> Mean {
    (a.0 + b.0, a.1 + b.1)
}

fn add((sum, count): Mean, number: &u32) -> Mean {
    if number.is_multiple_of(2) { (sum + u64::from(*number), count + 1) } else { (sum, count) }
}

pub(super) fn fold(scale: Scale) -> Box<dyn Work> {
    work(
        items(scale),
        |numbers| numbers.iter().fold((0, 0), add),
        |numbers| numbers.par_iter().fold(|| (0, 0), add).reduce(|| (0, 0), both),
    )
}

pub(super) fn min_by(scale: Scale) -> Box<dyn Work> {
    let input: Vec<f64> = items(scale).into_iter().map(|x| f64::from(x) / 7.0).collect();
    work(
        input,
        |numbers| {
            let mut least = f64::INFINITY;
            for number in numbers {
                if number.total_cmp(&least).is_lt() {
                    least = *number;
                }
            }
            Some(least)
        },
        |numbers| numbers.par_iter().copied().min_by(f64::total_cmp),
    )
}

/// The number itself decides between equal counts, so that there is one answer.
fn key(number: &u32) -> (u32, u32) {
    (number.count_ones(), *number)
}

pub(super) fn max_by_key(scale: Scale) -> Box<dyn Work> {
    work(
        items(scale),
        |numbers| {
            let mut greatest = None;
            for number in numbers {
                if greatest.is_none_or(|greatest| key(number) > key(&greatest)) {
                    greatest = Some(*number);
                }
            }
            greatest
        },
        |numbers| numbers.par_iter().copied().max_by_key(key),
    )
}

pub(super) fn min_len(scale: Scale) -> Box<dyn Work> {
    work(
        items(scale),
        |numbers| {
            let mut sum = 0u64;
            for number in numbers {
                sum += u64::from(number.leading_zeros());
            }
            sum
        },
        |numbers| {
            let chain = numbers.par_iter().with_min_len(1_000);
            chain.map(|number| u64::from(number.leading_zeros())).sum()
        },
    )
}

pub(super) fn owned(scale: Scale) -> Box<dyn Work> {
    work(
        items(scale),
        |numbers| {
            let mut sum = 0u64;
            for number in numbers.clone() {
                sum += u64::from(number ^ 9);
            }
            sum
        },
        |numbers| numbers.clone().into_par_iter().map(|number| u64::from(number ^ 9)).sum(),
    )
}
