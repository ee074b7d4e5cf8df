//! The sorts of [`ParallelSliceMut`](super::ParallelSliceMut), on top of [`sort_by`].

use std::cmp::Ordering;

use crate::data::{Enumerate, IntoItems};
use crate::loops::{Options, map};
use crate::sort::{sort_by, sort_unstable_by};

/// Sorts `slice` by `compare`, in the current pool.
pub(super) fn sort<T: Send>(slice: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
    sinew_core::run(|w| sort_by(w, slice, usize::MAX, &compare));
}

/// The same, but equal elements may change places.
pub(super) fn sort_unstable<T: Send>(slice: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
    sinew_core::run(|w| sort_unstable_by(w, slice, usize::MAX, &compare));
}

/// Sorts `slice` by a key that is computed once for each element.
pub(super) fn sort_by_cached_key<T: Send, K: Ord + Send>(
    slice: &mut [T],
    key: impl Fn(&T) -> K + Sync,
) {
    let numbered = Enumerate::new((&mut *slice).into_items());
    let key = |(number, element): (usize, &mut T)| (key(element), number);
    let keys = sinew_core::run(|w| map(w, numbered, &Options::default(), key));
    let mut keys = keys.expect("only a control cancels a loop");
    sort(&mut keys, |a, b| a.0.cmp(&b.0));
    // `order[place]` is the index of the element that belongs to `place`.
    let mut order: Vec<usize> = keys.into_iter().map(|(_, number)| number).collect();
    for first in 0..order.len() {
        // A cycle of places, each of which gets the next one's element.
        let mut place = first;
        loop {
            let from = std::mem::replace(&mut order[place], place);
            if from == first {
                break;
            }
            slice.swap(place, from);
            place = from;
        }
    }
}
