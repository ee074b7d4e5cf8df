//! The sorts that come with rayon.

use super::numbers;
use crate::work::{Scale, Work, work};
use rayon::prelude::*;

/// Sorts a copy of the input.
fn sorted<T: Clone>(input: &[T], sort: impl FnOnce(&mut [T])) -> Vec<T> {
    let mut data = input.to_vec();
    sort(&mut data);
    data
}

pub(super) fn stable(scale: Scale) -> Box<dyn Work> {
    let input = numbers(scale.pick(200_000, 5_000));
    work(
        input,
        |input| sorted(input, |data| data.sort()),
        |input| sorted(input, |data| data.par_sort()),
    )
}

pub(super) fn unstable(scale: Scale) -> Box<dyn Work> {
    work(
        numbers(scale.pick(400_000, 5_000)),
        |input| sorted(input, |data| data.sort_unstable()),
        |input| sorted(input, |data| data.par_sort_unstable()),
    )
}

/// Sorts places of strings, so that no string is copied while the clock runs.
pub(super) fn strings(scale: Scale) -> Box<dyn Work> {
    let texts = numbers(scale.pick(30_000, 2_000))
        .into_iter()
        .map(|number| format!("{number:x}"))
        .collect();
    work(
        texts,
        |texts: &Vec<String>| {
            places(texts, |places| places.sort_unstable_by_key(|place| key(texts, *place)))
        },
        |texts| places(texts, |places| places.par_sort_unstable_by_key(|place| key(texts, *place))),
    )
}

fn places(texts: &[String], sort: impl FnOnce(&mut [usize])) -> Vec<usize> {
    let mut places: Vec<usize> = (0..texts.len()).collect();
    sort(&mut places);
    places
}

/// No two places compare equal, so there is one right answer.
fn key(texts: &[String], place: usize) -> (&str, usize) {
    (&texts[place], place)
}

/// Few different keys: a sort that were not stable would be found out.
pub(super) fn by_key(scale: Scale) -> Box<dyn Work> {
    let numbers = numbers(scale.pick(200_000, 5_000)).into_iter();
    let pairs: Vec<(u32, u32)> =
        numbers.enumerate().map(|(index, key)| (key % 100, index as u32)).collect();
    work(
        pairs,
        |pairs| sorted(pairs, |data| data.sort_by_key(|pair| pair.0)),
        |pairs| sorted(pairs, |data| data.par_sort_by_key(|pair| pair.0)),
    )
}
