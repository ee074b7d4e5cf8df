//! Chains over elements that leave a collection, which keeps its capacity.

use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::ops::RangeBounds;

use crate::data::{Drain, Owned};
use crate::iter::Over;
use crate::iter::mode::Uncontrolled;
use crate::iter::positions::Positions;

/// Collections of which all elements can leave.
///
/// ```
/// use sinew_loops::iter::*;
/// use std::collections::HashSet;
///
/// let mut numbers = HashSet::from([1, 2, 3]);
/// assert_eq!(numbers.par_drain().sum::<i32>(), 6);
/// assert!(numbers.is_empty());
/// ```
pub trait ParallelDrainFull {
    /// The chain.
    type Iter: Positions<Item = Self::Item, Mode = Uncontrolled>;
    /// The elements.
    type Item: Send;

    /// A chain over all elements, which leave the collection with this call.
    fn par_drain(self) -> Self::Iter;
}

/// Collections of which the elements in a range can leave.
///
/// ```
/// use sinew_loops::iter::*;
///
/// let mut numbers = vec![0, 1, 2, 3, 4];
/// assert_eq!(numbers.par_drain(1..3).collect::<Vec<_>>(), [1, 2]);
/// assert_eq!(numbers, [0, 3, 4]);
/// ```
pub trait ParallelDrainRange<Idx = usize> {
    /// The chain.
    type Iter: Positions<Item = Self::Item, Mode = Uncontrolled>;
    /// The elements.
    type Item: Send;

    /// A chain over the elements in `range`. When the chain is dropped, all of them have left the
    /// collection, also if its last call ended early, panicked or was never made.
    ///
    /// # Panics
    ///
    /// If the range does not lie in the collection.
    #[track_caller]
    fn par_drain<R: RangeBounds<Idx>>(self, range: R) -> Self::Iter;
}

impl<'a, T: Send> ParallelDrainRange for &'a mut Vec<T> {
    type Iter = Over<'static, Drain<'a, T>>;
    type Item = T;

    #[track_caller]
    fn par_drain<R: RangeBounds<usize>>(self, range: R) -> Self::Iter {
        Over::new(Drain::new(self, range))
    }
}

/// Collections whose elements leave with the call, into a vector.
macro_rules! ranges {
    ($([$($generics:tt)*] $type:ty => $item:ty;)*) => {$(
        impl<$($generics)*> ParallelDrainRange for &mut $type {
            type Iter = Over<'static, Owned<$item>>;
            type Item = $item;

            #[track_caller]
            fn par_drain<R: RangeBounds<usize>>(self, range: R) -> Self::Iter {
                Over::new(Owned::from(Vec::from_iter(self.drain(range))))
            }
        }
    )*};
}

ranges! {
    [T: Send] VecDeque<T> => T;
    [] String => char;
}

macro_rules! full {
    ($([$($generics:tt)*] $type:ty => $item:ty;)*) => {$(
        impl<$($generics)*> ParallelDrainFull for &mut $type {
            type Iter = Over<'static, Owned<$item>>;
            type Item = $item;

            #[track_caller]
            fn par_drain(self) -> Self::Iter {
                Over::new(Owned::from(Vec::from_iter(self.drain())))
            }
        }
    )*};
}

full! {
    [T: Ord + Send] BinaryHeap<T> => T;
    [T: Send, S] HashSet<T, S> => T;
    [K: Send, V: Send, S] HashMap<K, V, S> => (K, V);
}
