//! A reduction whose tree depends on the number of blocks alone, not on who has them.
//!
//! The leaves are blocks 0, 1, 2, …; two subtrees of the same height that are neighbours, the left
//! one at an even place, make the next higher one. A rank combines what it has as far as that goes.
//! The pieces of all ranks, put together in order, go on in the same way.
//!
//! # Invariants
//!
//! - F1: a subtree's value is the value of its left half combined with that of its right half, on
//!   whichever rank. So floating-point sums have the same bits at any number of ranks.

use serde::{Deserialize, Serialize};

/// The value of 2^height blocks, of which `first` is the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Subtree<T> {
    first: usize,
    height: u32,
    value: T,
}

/// The largest subtrees of a run of blocks, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Forest<T>(Vec<Subtree<T>>);

impl<T> Forest<T> {
    /// Of blocks from `first` on with these values.
    pub(crate) fn new(first: usize, values: Vec<T>, op: &impl Fn(T, T) -> T) -> Self {
        let mut forest = Self(Vec::new());
        for (at, value) in values.into_iter().enumerate() {
            forest.push(Subtree { first: first + at, height: 0, value }, op);
        }
        forest
    }

    /// Appends the forest of the blocks behind.
    pub(crate) fn append(&mut self, behind: Self, op: &impl Fn(T, T) -> T) {
        for subtree in behind.0 {
            self.push(subtree, op);
        }
    }

    fn push(&mut self, mut right: Subtree<T>, op: &impl Fn(T, T) -> T) {
        while let Some(left) = self.0.pop_if(|left| left.is_left_of(&right)) {
            let value = op(left.value, right.value);
            right = Subtree { first: left.first, height: left.height + 1, value };
        }
        self.0.push(right);
    }

    /// The value of all blocks; none without blocks.
    pub(crate) fn finish(self, op: &impl Fn(T, T) -> T) -> Option<T> {
        let values = self.0.into_iter().rev().map(|subtree| subtree.value);
        values.reduce(|right, left| op(left, right))
    }
}

impl<T> Subtree<T> {
    /// Whether the two make a larger one.
    fn is_left_of(&self, right: &Self) -> bool {
        let blocks = 1_usize << self.height;
        self.height == right.height
            && self.first.is_multiple_of(2 * blocks)
            && self.first + blocks == right.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(a: String, b: String) -> String {
        ["(".to_owned(), a, b, ")".to_owned()].concat()
    }

    fn leaves(range: std::ops::Range<usize>) -> Vec<String> {
        range.map(|at| at.to_string()).collect()
    }

    /// Catches: an order of operations that depends on where the parts begin (F1).
    #[test]
    fn the_order_of_operations_is_the_same_for_all_parts() {
        for count in 1..20 {
            let whole = Forest::new(0, leaves(0..count), &text).finish(&text);
            for a in 0..=count {
                for b in a..=count {
                    let mut forest = Forest::new(0, leaves(0..a), &text);
                    forest.append(Forest::new(a, leaves(a..b), &text), &text);
                    forest.append(Forest::new(b, leaves(b..count), &text), &text);
                    assert_eq!(forest.finish(&text), whole);
                }
            }
        }
    }

    #[test]
    fn six_blocks_make_a_tree_of_four_and_one_of_two() {
        let all = Forest::new(0, leaves(0..6), &text).finish(&text);
        assert_eq!(all.unwrap(), "(((01)(23))(45))");
        assert_eq!(Forest::new(0, leaves(0..0), &text).finish(&text), None);
    }
}
