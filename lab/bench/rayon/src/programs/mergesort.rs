//! Merge sort with a parallel merge, both by join.

use super::numbers;
use crate::work::{Scale, Work, work};

/// Shorter slices are sorted by insertion.
const SORT_SERIALLY: usize = 32;
/// Shorter outputs are merged serially.
const MERGE_SERIALLY: usize = 1024;

pub(super) fn program(scale: Scale) -> Box<dyn Work> {
    let serial = |input: &Vec<u32>| {
        let mut data = input.clone();
        data.sort();
        data
    };
    let parallel = |input: &Vec<u32>| {
        let (mut data, mut spare) = (input.clone(), vec![0; input.len()]);
        sort(&mut data, &mut spare);
        data
    };
    work(numbers(scale.pick(200_000, 5_000)), serial, parallel)
}

fn sort(data: &mut [u32], spare: &mut [u32]) {
    if data.len() <= SORT_SERIALLY {
        return insert(data);
    }
    let half = data.len() / 2;
    let (left, right) = data.split_at_mut(half);
    let (left_spare, right_spare) = spare.split_at_mut(half);
    rayon::join(|| sort(left, left_spare), || sort(right, right_spare));
    merge(left, right, spare);
    data.copy_from_slice(spare);
}

fn insert(data: &mut [u32]) {
    for sorted in 1..data.len() {
        let item = data[sorted];
        let place = data[..sorted].partition_point(|other| *other <= item);
        data.copy_within(place..sorted, place + 1);
        data[place] = item;
    }
}

/// Merges two sorted slices: halves the longer, cuts the other at the same value, and merges both
/// pairs.
fn merge(left: &[u32], right: &[u32], output: &mut [u32]) {
    if left.len() < right.len() {
        return merge(right, left, output);
    }
    if output.len() <= MERGE_SERIALLY {
        return merge_serially(left, right, output);
    }
    let half = left.len() / 2;
    let cut = right.partition_point(|item| *item < left[half]);
    let (low, high) = output.split_at_mut(half + cut);
    rayon::join(
        || merge(&left[..half], &right[..cut], low),
        || merge(&left[half..], &right[cut..], high),
    );
}

fn merge_serially<'a>(mut left: &'a [u32], mut right: &'a [u32], output: &mut [u32]) {
    for place in output {
        let from_left =
            right.first().is_none_or(|right| left.first().is_some_and(|left| left <= right));
        let source = if from_left { &mut left } else { &mut right };
        *place = source[0];
        *source = &source[1..];
    }
}
