//! Skeletons that combine items: `reduce`, `map_reduce` and `scan`.

use crate::mode::Mode;
use crate::over::Over;
use sinew_loops::data::{Items, ReadItems};
use sinew_loops::loops::{self, Kind};
use std::borrow::Borrow;

/// The maximum number of blocks of a reproducible skeleton: enough to balance any machine, and few
/// enough to combine serially.
const BLOCKS: usize = 1024;

impl<I: Items, C: Mode> Over<'_, I, C> {
    /// Combines all items in order; `identity()` if there are none.
    ///
    /// `op` must be associative and `identity()` its neutral element, since any number of partial
    /// results may begin with one. It need not be commutative.
    ///
    /// ```
    /// let xs = [3, 1, 4, 1, 5];
    /// assert_eq!(sinew::over(&xs).reduce(|| 0, |a, b| a + b), 14);
    /// assert_eq!(sinew::over(&xs).reduce(|| i32::MIN, i32::max), 5);
    /// ```
    #[inline]
    pub fn reduce<A, Z, F>(self, identity: Z, op: F) -> C::Output<A>
    where
        I::Item: Borrow<A>,
        A: Clone + Send,
        Z: Fn() -> A + Sync,
        F: Fn(A, A) -> A + Sync,
    {
        self.map_reduce(|item| item.borrow().clone(), identity, op)
    }

    /// Combines `map` of all items in order; `identity()` if there are none.
    ///
    /// `op` must be associative and `identity()` its neutral element. It need not be commutative.
    ///
    /// # Cost
    ///
    /// An entry of a vector for each run of adjacent chunks that one worker took.
    ///
    /// ```
    /// let words = ["so", "many", "words"];
    /// assert_eq!(sinew::over(&words).map_reduce(|word| word.len(), || 0, |a, b| a + b), 11);
    /// ```
    #[inline]
    pub fn map_reduce<A, M, Z, F>(self, map: M, identity: Z, op: F) -> C::Output<A>
    where
        A: Send,
        M: Fn(I::Item) -> A + Sync,
        Z: Fn() -> A + Sync,
        F: Fn(A, A) -> A + Sync,
    {
        let fold = |partial, item| op(partial, map(item));
        let Self { items, options, reproducible, .. } = self;
        if !reproducible {
            return C::output(sinew_core::run(|w| {
                loops::fold(w, items, &options, &identity, fold, &op)
            }));
        }
        let size = items.length().div_ceil(BLOCKS).max(1);
        let block = |piece: I::Piece| piece.fold(identity(), fold);
        let partials = sinew_core::run(|w| loops::map_blocks(w, items, size, &options, block));
        C::output(partials.map(|all| combine_pairs(all, &op).unwrap_or_else(identity)))
    }

    /// For each item, `init` combined with all items up to and including it.
    ///
    /// `op` must be associative.
    ///
    /// # Cost
    ///
    /// Two passes over the items, one if no other worker may help; one allocation for the result.
    ///
    /// ```
    /// assert_eq!(sinew::over(&[1, 2, 3, 4]).scan(0, |a, b| a + b), [1, 3, 6, 10]);
    /// ```
    pub fn scan<A, F>(self, init: A, op: F) -> C::Output<Vec<A>>
    where
        I: ReadItems,
        I::Item: Borrow<A>,
        A: Clone + Send + Sync,
        F: Fn(A, A) -> A + Sync,
    {
        self.run_scan(Kind::Inclusive, init, op)
    }

    /// For each item, `init` combined with all items before it.
    ///
    /// `op` must be associative.
    ///
    /// ```
    /// assert_eq!(sinew::over(&[1, 2, 3, 4]).scan_exclusive(0, |a, b| a + b), [0, 1, 3, 6]);
    /// ```
    pub fn scan_exclusive<A, F>(self, init: A, op: F) -> C::Output<Vec<A>>
    where
        I: ReadItems,
        I::Item: Borrow<A>,
        A: Clone + Send + Sync,
        F: Fn(A, A) -> A + Sync,
    {
        self.run_scan(Kind::Exclusive, init, op)
    }

    fn run_scan<A, F>(self, kind: Kind, init: A, op: F) -> C::Output<Vec<A>>
    where
        I: ReadItems,
        I::Item: Borrow<A>,
        A: Clone + Send + Sync,
        F: Fn(A, A) -> A + Sync,
    {
        let Self { items, options, reproducible, .. } = self;
        let blocks = reproducible.then_some(BLOCKS);
        let value = |item: I::Item| item.borrow().clone();
        C::output(sinew_core::run(|w| {
            loops::scan(w, items, &options, (kind, blocks), init, value, &op)
        }))
    }
}

/// Combines neighbours until one value is left: a tree whose shape follows from the number of
/// values.
fn combine_pairs<A>(mut values: Vec<A>, op: &impl Fn(A, A) -> A) -> Option<A> {
    while values.len() > 1 {
        let mut singles = values.into_iter();
        let pair = || {
            let left = singles.next()?;
            Some(match singles.next() {
                Some(right) => op(left, right),
                None => left,
            })
        };
        values = std::iter::from_fn(pair).collect();
    }
    values.pop()
}
