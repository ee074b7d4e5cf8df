//! Chains over the elements of collections.
//!
//! A slice, a vector, an array, a deque and a heap are visited in place. The others are linked or
//! have gaps, so the call first collects references, or elements that move out, in a vector.
//!
//! ```
//! use sinew_loops::iter::*;
//! use std::collections::{BTreeMap, VecDeque};
//!
//! let mut map: BTreeMap<_, _> = [("a", 1), ("b", 2)].into();
//! map.par_iter_mut().for_each(|(_, value)| *value *= 10);
//! assert_eq!(map.par_iter().map(|(_, value)| *value).sum::<i32>(), 30);
//! assert_eq!(map.into_par_iter().collect::<Vec<_>>(), [("a", 10), ("b", 20)]);
//!
//! let deque: VecDeque<i32> = (1..=4).collect();
//! assert_eq!(deque.par_iter().max(), Some(&4));
//! assert_eq!(Some(7).into_par_iter().count(), 1);
//! ```

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};

use super::of_items;
use crate::data::{Chain, IntoItems, Items, Owned, SliceMut};
use crate::iter::Over;
use crate::iter::positions::IntoParallelIterator;

/// Collections whose items are those of an expression.
macro_rules! items_of {
    ($([$($generics:tt)*] $type:ty => $items:ty, |$self:ident| $made:expr;)*) => {$(
        impl<$($generics)*> IntoItems for $type {
            type Items = $items;

            #[inline]
            fn into_items(self) -> Self::Items {
                let $self = self;
                $made
            }
        }

        of_items! { [$($generics)*] $type; }
    )*};
}

items_of! {
    [T: Send] Box<[T]> => Owned<T>, |elements| Owned::from(Vec::from(elements));
    ['a, T: Sync] &'a Box<[T]> => &'a [T], |elements| &**elements;
    ['a, T: Send] &'a mut Box<[T]> => SliceMut<'a, T>, |elements| SliceMut::new(elements);
    [T: Send] VecDeque<T> => Owned<T>, |deque| Owned::from(Vec::from(deque));
    ['a, T: Sync] &'a VecDeque<T> => Chain<&'a [T], &'a [T]>, |deque| {
        let (front, back) = deque.as_slices();
        Chain::new(front, back)
    };
    ['a, T: Send] &'a mut VecDeque<T> => Chain<SliceMut<'a, T>, SliceMut<'a, T>>, |deque| {
        let (front, back) = deque.as_mut_slices();
        Chain::new(SliceMut::new(front), SliceMut::new(back))
    };
    [T: Send] BinaryHeap<T> => Owned<T>, |heap| Owned::from(heap.into_vec());
    ['a, T: Sync] &'a BinaryHeap<T> => &'a [T], |heap| heap.as_slice();
    ['a, T: Sync] &'a Option<T> => &'a [T], |option| option.as_slice();
    ['a, T: Send] &'a mut Option<T> => SliceMut<'a, T>, |option| {
        SliceMut::new(option.as_mut_slice())
    };
    ['a, T: Sync, E] &'a Result<T, E> => &'a [T], |result| {
        result.as_ref().map_or(&[], std::slice::from_ref)
    };
    ['a, T: Send, E] &'a mut Result<T, E> => SliceMut<'a, T>, |result| {
        SliceMut::new(result.as_mut().map_or(&mut [], std::slice::from_mut))
    };
}

/// Collections whose items are first collected in a vector.
macro_rules! collected {
    ($([$($generics:tt)*] $type:ty;)*) => {items_of! {$(
        [$($generics)*] $type => Owned<<$type as IntoIterator>::Item>, |collection| {
            Owned::from(Vec::from_iter(collection))
        };
    )*}};
}

collected! {
    [T: Send] Option<T>;
    [T: Send, E] Result<T, E>;
    [T: Send] LinkedList<T>;
    ['a, T: Sync] &'a LinkedList<T>;
    ['a, T: Send] &'a mut LinkedList<T>;
    [T: Send] BTreeSet<T>;
    ['a, T: Sync] &'a BTreeSet<T>;
    [K: Send, V: Send] BTreeMap<K, V>;
    ['a, K: Sync, V: Sync] &'a BTreeMap<K, V>;
    ['a, K: Sync, V: Send] &'a mut BTreeMap<K, V>;
    [T: Send, S] HashSet<T, S>;
    ['a, T: Sync, S] &'a HashSet<T, S>;
    [K: Send, V: Send, S] HashMap<K, V, S>;
    ['a, K: Sync, V: Sync, S] &'a HashMap<K, V, S>;
    ['a, K: Sync, V: Send, S] &'a mut HashMap<K, V, S>;
}
