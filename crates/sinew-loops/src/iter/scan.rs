//! Prefixes: `scan` and `scan_exclusive`.

use std::borrow::Borrow;

use super::{Over, Unmetered};
use crate::data::{Items, ReadItems};
use crate::loops::{self, Kind};

impl<I: Items, C: Unmetered> Over<'_, I, C> {
    /// For each item, `init` combined with all items up to and including it.
    ///
    /// `op` must be associative.
    ///
    /// # Cost
    ///
    /// Two passes over the items, one if no other worker may help; one allocation for the result.
    ///
    /// ```
    /// assert_eq!(sinew_loops::iter::over(&[1, 2, 3, 4]).scan(0, |a, b| a + b), [1, 3, 6, 10]);
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
    /// let before = sinew_loops::iter::over(&[1, 2, 3, 4]).scan_exclusive(0, |a, b| a + b);
    /// assert_eq!(before, [0, 1, 3, 6]);
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
        let Self { items, options, .. } = self;
        let blocks = options.reproducible.then_some(loops::BLOCKS);
        let value = |item: I::Item| item.borrow().clone();
        C::output(sinew_core::run(|w| {
            loops::scan(w, items, &options, (kind, blocks), init, value, &op)
        }))
    }
}
