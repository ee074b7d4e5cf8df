//! Clones and parts of a value.

use super::*;
use crate::iter::IndexedParIter;
use crate::iter::ParIter;
use crate::iter::{empty, once, repeat, repeat_n, split};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Catches: a clone too many, and a value that is not a clone.
    #[test]
    fn repeated_values_are_clones(n in 0..200_usize, way in any_way()) {
        let value = std::cell::Cell::new("value");
        way.check_indexed(|| repeat_n(value.clone(), n), vec![value.clone(); n]);
    }

    /// Catches: parts in another order, and a part that is lost.
    #[test]
    fn parts_are_in_order(n in 1..1_000_usize, way in any_way()) {
        let first = |range: Range<usize>| match range.len() {
            1 => (range, None),
            n => (range.start..range.start + n / 3 + 1, Some(range.start + n / 3 + 1..range.end)),
        };
        let parts = way.on_pool(|| split(0..n, first));
        let number = parts.len();
        prop_assert!(number >= n.min(8 * way.threads));
        let parts = way.collect(&parts);
        prop_assert!(parts.into_iter().flatten().eq(0..n));
    }
}

/// Catches: an item that is there or not.
#[test]
fn chains_of_no_and_one_item_have_that_many() {
    assert_eq!(empty::<String>().collect::<Vec<_>>(), Vec::<String>::new());
    assert_eq!(once("only".to_owned()).collect::<Vec<_>>(), ["only"]);
    // SAFETY: positions below the length, requested once.
    let last = unsafe { repeat(5).piece(repeat(5).len() - 2..repeat(5).len()) };
    assert_eq!(last.collect::<Vec<_>>(), [5, 5]);
}
