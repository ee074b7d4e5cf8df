//! Clones and parts of a value.

use super::*;
use crate::iter::IndexedParIter;
use crate::iter::ParIter;
use crate::iter::{
    Either, IntoParallelIterator, IntoParallelRefIterator, empty, once, repeat, repeat_n, split,
    walk_tree, walk_tree_postfix, walk_tree_prefix,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Catches: a clone too many, and a value that is not a clone.
    #[test]
    fn repeated_values_are_clones(n in 0..200_usize, way in any_way()) {
        let value = std::cell::Cell::new("value");
        way.check_indexed(|| repeat_n(value.clone(), n), vec![value.clone(); n]);
    }

    /// Catches: a tuple that is longer than its shortest part, parts out of step, and a side of
    /// `Either` that is not the one that it is.
    #[test]
    fn tuples_and_sides_are_chains(
        xs in proptest::collection::vec(any::<u8>(), 0..200),
        n in 0..200_usize,
        way in any_way(),
    ) {
        let expected = || xs.iter().zip(5..).zip(0..n).map(|((x, a), b)| (x, a, b));
        way.check_indexed(|| (&xs, 5..1_000_u32, 0..n).into_par_iter(), expected());
        way.check_indexed(|| (&xs,).into_par_iter(), xs.iter().map(|x| (x,)));
        let sides: Vec<Either<_, Range<usize>>> = vec![Either::Left(0..3), Either::Right(0..n)];
        for side in sides {
            let chain = || match side.clone() {
                Either::Left(range) => Either::Left(range.into_par_iter().map(|n| n + 1)),
                Either::Right(range) => Either::Right(range.into_par_iter()),
            };
            let expected = side.clone().either(|range| range.start + 1..range.end + 1, |all| all);
            way.check_indexed(chain, expected);
        }
    }

    /// Catches: separators in the wrong places, at either end or twice.
    #[test]
    fn separators_stand_between_items(
        xs in proptest::collection::vec(1..9_u8, 0..200),
        way in any_way(),
    ) {
        let expected = xs.iter().flat_map(|x| [0, *x]).skip(1);
        way.check_indexed(|| xs.par_iter().copied().intersperse(0), expected);
    }

    /// Catches: a node that is lost or comes twice, in another order, or with another's children.
    #[test]
    fn trees_come_in_their_order(
        weight in 0..600_u64,
        arms in 1..5_u64,
        way in any_way(),
    ) {
        // The nodes below one share its weight, the first ones more than the others.
        let below = |node: &(u64, u64)| {
            let (number, weight) = *node;
            let parts = if weight > 1 { arms } else { 0 };
            (0..parts).map(move |part| (number * arms + part + 1, (weight - 1) / (part + 2)))
        };
        fn visit(
            node: (u64, u64),
            below: &impl Fn(&(u64, u64)) -> Vec<(u64, u64)>,
            is_prefix: bool,
            all: &mut Vec<(u64, u64)>,
        ) {
            if is_prefix {
                all.push(node);
            }
            for child in below(&node) {
                visit(child, below, is_prefix, all);
            }
            if !is_prefix {
                all.push(node);
            }
        }
        let expected = |is_prefix| {
            let mut all = Vec::new();
            visit((0, weight), &|node| below(node).collect(), is_prefix, &mut all);
            all
        };
        way.check(|| way.on_pool(|| walk_tree_prefix((0, weight), below)), expected(true));
        way.check(|| way.on_pool(|| walk_tree_postfix((0, weight), below)), expected(false));
        let number = way.on_pool(|| walk_tree((0, weight), below)).count();
        prop_assert_eq!(number, expected(true).len());
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
