//! Quicksort in place, with join.

use super::numbers;
use crate::work::{Scale, Work, work};

/// Shorter slices are sorted serially.
const SERIALLY: usize = 64;

pub(super) fn program(scale: Scale) -> Box<dyn Work> {
    let serial = |input: &Vec<u32>| {
        let mut data = input.clone();
        data.sort_unstable();
        data
    };
    let parallel = |input: &Vec<u32>| {
        let mut data = input.clone();
        sort(&mut data);
        data
    };
    work(numbers(scale.pick(200_000, 5_000)), serial, parallel)
}

fn sort(data: &mut [u32]) {
    if data.len() <= SERIALLY {
        return data.sort_unstable();
    }
    let middle = partition(data);
    let (low, high) = data.split_at_mut(middle);
    rayon::join(|| sort(low), || sort(&mut high[1..]));
}

/// Moves what is smaller than a pivot before it and the rest behind it; returns the pivot's place.
fn partition(data: &mut [u32]) -> usize {
    let last = data.len() - 1;
    data.swap(middle_of_three(data), last);
    let pivot = data[last];
    let mut boundary = 0;
    for index in 0..last {
        // Without a branch that depends on the data.
        data.swap(index, boundary);
        boundary += usize::from(data[boundary] < pivot);
    }
    data.swap(boundary, last);
    boundary
}

fn middle_of_three(data: &[u32]) -> usize {
    let mut places = [0, data.len() / 2, data.len() - 1];
    places.sort_unstable_by_key(|place| data[*place]);
    places[1]
}
