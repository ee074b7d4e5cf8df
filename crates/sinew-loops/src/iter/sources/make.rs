//! Chains that are made of a value: of none, one or many of it, or of its parts.

use crate::data::{Owned, RepeatN};
use crate::iter::Over;

/// A chain without items.
///
/// ```
/// use sinew_loops::iter::*;
///
/// assert_eq!(empty::<i32>().max(), None);
/// ```
#[track_caller]
pub fn empty<T: Send>() -> Over<'static, Owned<T>> {
    Over::new(Owned::from(Vec::new()))
}

/// A chain with one item.
///
/// ```
/// use sinew_loops::iter::*;
///
/// assert_eq!(once(7).max(), Some(7));
/// ```
#[track_caller]
pub fn once<T: Send>(item: T) -> Over<'static, Owned<T>> {
    Over::new(Owned::from(vec![item]))
}

/// A chain with `n` clones of `element`.
///
/// ```
/// use sinew_loops::iter::*;
///
/// assert_eq!(repeat_n("ab", 3).collect::<Vec<_>>(), ["ab"; 3]);
/// ```
#[track_caller]
pub fn repeat_n<T: Clone + Send>(element: T, n: usize) -> Over<'static, RepeatN<T>> {
    Over::new(RepeatN::new(element, n))
}

/// As [`repeat_n`], by the name that it had before.
#[deprecated(note = "use `repeat_n`")]
#[track_caller]
pub fn repeatn<T: Clone + Send>(element: T, n: usize) -> Over<'static, RepeatN<T>> {
    repeat_n(element, n)
}

/// A chain with more clones of `element` than a program can visit: a quarter of `usize::MAX`, so
/// that lengths of a few such chains can be added.
///
/// ```
/// use sinew_loops::iter::*;
///
/// assert_eq!(repeat(1).len(), usize::MAX / 4);
/// ```
#[track_caller]
pub fn repeat<T: Clone + Send>(element: T) -> Over<'static, RepeatN<T>> {
    repeat_n(element, usize::MAX / 4)
}

/// Parts for each thread of the pool, so that threads of different speed end at once.
const PARTS_PER_THREAD: usize = 8;

/// A chain over parts of `data`, in order. `splitter` returns one or two parts of what it gets.
///
/// This call splits, until there are eight parts or more for each thread of the current pool, or
/// nothing can be split. `splitter` is called again for parts that it did not split.
///
/// ```
/// use sinew_loops::iter::*;
///
/// let halves = |range: std::ops::Range<u64>| match range.end - range.start {
///     0 | 1 => (range, None),
///     length => {
///         let middle = range.start + length / 2;
///         (range.start..middle, Some(middle..range.end))
///     }
/// };
/// assert_eq!(split(0..1000, halves).map(|range| range.sum::<u64>()).sum::<u64>(), 499_500);
/// ```
#[track_caller]
pub fn split<D: Send, S>(data: D, splitter: S) -> Over<'static, Owned<D>>
where
    S: Fn(D) -> (D, Option<D>) + Sync,
{
    let enough = PARTS_PER_THREAD * sinew_core::run(|w| w.max_threads());
    let mut parts = vec![data];
    let mut before = 0;
    while parts.len() < enough && parts.len() > before {
        before = parts.len();
        parts = parts
            .into_iter()
            .flat_map(|part| {
                let (part, other) = splitter(part);
                [Some(part), other]
            })
            .flatten()
            .collect();
    }
    Over::new(Owned::from(parts))
}
