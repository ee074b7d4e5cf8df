//! The parts of slices, and sorts.

use super::*;
use crate::data::PartsMut;
use crate::iter::IndexedParIter;
use crate::iter::ParIter;
use crate::iter::{IntoParallelRefIterator, Over, ParallelSlice, ParallelSliceMut};

/// A mutable part has other elements than the shared part, if any.
fn owned<'a>(parts: impl Iterator<Item = &'a mut [u8]>) -> Vec<Vec<u8>> {
    parts.map(|part| part.to_vec()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Catches: a window or a chunk with an element too many, too few or of another one.
    #[test]
    fn windows_and_chunks_are_those_of_a_sequential_slice(
        xs in proptest::collection::vec(any::<u8>(), 0..200),
        size in 1..40_usize,
        way in any_way(),
    ) {
        way.check_indexed(|| xs.par_windows(size), xs.windows(size));
        let triples = xs.windows(3).map(|window| <&[_; 3]>::try_from(window).unwrap());
        way.check_indexed(|| xs.par_array_windows::<3>(), triples);
        way.check_indexed(|| xs.par_chunks(size), xs.chunks(size));
        way.check_indexed(|| xs.par_chunks_exact(size), xs.chunks_exact(size));
        way.check_indexed(|| xs.par_rchunks(size), xs.rchunks(size));
        way.check_indexed(|| xs.par_rchunks_exact(size), xs.rchunks_exact(size));
        let (exact, rexact) = (xs.par_chunks_exact(size), xs.par_rchunks_exact(size));
        prop_assert_eq!(exact.remainder(), xs.chunks_exact(size).remainder());
        prop_assert_eq!(rexact.remainder(), xs.rchunks_exact(size).remainder());
    }

    /// Catches: two mutable chunks with the same element, and elements of none.
    #[test]
    fn mutable_chunks_are_those_of_a_sequential_slice(
        xs in proptest::collection::vec(any::<u8>(), 0..200),
        size in 1..40_usize,
        way in any_way(),
    ) {
        let (mut ours, mut theirs) = (xs.clone(), xs);
        macro_rules! same {
            ($ours:ident, $theirs:ident) => {
                let (chain, expected) = (ours.$ours(size), owned(theirs.$theirs(size)));
                let found = way.collect(&chain);
                assert_eq!(found.len(), expected.len());
                for (part, expected) in found.into_iter().zip(expected) {
                    assert_eq!(part, expected);
                    part.iter_mut().for_each(|x| *x = x.wrapping_add(7));
                }
                theirs.$theirs(size).flatten().for_each(|x| *x = x.wrapping_add(7));
                prop_assert_eq!(&ours, &theirs);
            };
        }
        same!(par_chunks_mut, chunks_mut);
        same!(par_chunks_exact_mut, chunks_exact_mut);
        same!(par_rchunks_mut, rchunks_mut);
        same!(par_rchunks_exact_mut, rchunks_exact_mut);
        theirs.chunks_exact_mut(size).into_remainder().fill(1);
        let mut chain = ours.par_chunks_exact_mut(size);
        chain.remainder().fill(1);
        let remainder = chain.take_remainder();
        prop_assert_eq!(&*remainder, &vec![1; theirs.len() % size]);
        prop_assert!(chain.into_remainder().is_empty());
        let from_end = ours.par_rchunks_exact_mut(size).into_remainder();
        prop_assert_eq!(from_end, theirs.rchunks_exact_mut(size).into_remainder());
    }

    /// Catches: a part that is found twice or not at all where ranges are cut, and one beyond the
    /// last separator.
    #[test]
    fn parts_are_those_of_a_sequential_slice(
        xs in proptest::collection::vec(0..4_u8, 0..120),
        way in any_way(),
    ) {
        let (separator, same) = (|x: &u8| *x == 0, |a: &u8, b: &u8| a <= b);
        way.check(|| xs.par_split(separator), xs.split(separator));
        way.check(|| xs.par_split_inclusive(separator), xs.split_inclusive(separator));
        way.check(|| xs.par_chunk_by(same), xs.chunk_by(same));
        let mut ys = xs.clone();
        let copies =
            |chain: Over<'static, PartsMut<'_, u8>>| owned(way.collect(&chain).into_iter());
        let expected = owned(xs.clone().split_mut(separator));
        prop_assert_eq!(copies(ys.par_split_mut(separator)), &expected[..]);
        prop_assert_eq!(
            copies(ys.par_split_inclusive_mut(separator)),
            owned(xs.clone().split_inclusive_mut(separator))
        );
        prop_assert_eq!(copies(ys.par_chunk_by_mut(same)), owned(xs.clone().chunk_by_mut(same)));
        let chain = ys.par_split_mut(separator);
        let mut backwards = Vec::new();
        for range in way.ranges(chain.len()).into_iter().rev() {
            // SAFETY: the ranges are disjoint and lie below the length.
            backwards.extend(unsafe { chain.backward(range) }.map(|part| part.to_vec()));
        }
        backwards.reverse();
        prop_assert_eq!(backwards, expected);
        way.on_pool(|| ys.par_chunk_by_mut(same).for_each(<[u8]>::reverse));
        let mut zs = xs;
        zs.chunk_by_mut(same).for_each(<[u8]>::reverse);
        prop_assert_eq!(ys, zs);
    }

    /// Catches: a sort that is not stable although it should be, an unstable one that loses
    /// elements, and a cycle of places that is followed wrongly.
    #[test]
    fn sorts_are_stable_unless_they_need_not_be(
        keys in proptest::collection::vec(0..50_u8, 0..300),
        repeats in 1..40_usize,
        way in any_way(),
    ) {
        let xs: Vec<(u8, usize)> =
            std::iter::repeat_n(&keys, repeats).flatten().copied().zip(0..).collect();
        let mut expected = xs.clone();
        expected.sort_by_key(|x| x.0);
        let check = |sort: fn(&mut [(u8, usize)])| {
            let mut ours = xs.clone();
            way.on_pool(|| sort(&mut ours));
            assert_eq!(ours, expected);
        };
        let check_keys = |sort: fn(&mut [(u8, usize)])| {
            let mut ours = xs.clone();
            way.on_pool(|| sort(&mut ours));
            assert!(ours.is_sorted_by_key(|x| x.0));
            ours.sort_unstable();
            assert_eq!(ours, expected);
        };
        check(|xs| xs.par_sort());
        check(|xs| xs.par_sort_by(|a, b| a.0.cmp(&b.0)));
        check(|xs| xs.par_sort_by_key(|x| x.0));
        check(|xs| xs.par_sort_by_cached_key(|x| x.0.to_string().len() * 1000 + usize::from(x.0)));
        check(|xs| xs.par_sort_unstable());
        check_keys(|xs| xs.par_sort_unstable_by(|a, b| a.0.cmp(&b.0)));
        check_keys(|xs| xs.par_sort_unstable_by_key(|x| x.0));
    }
}

/// Catches: sizes that never end.
#[test]
fn chunks_of_nothing_are_refused() {
    let refused = |make: fn(&mut [u8])| {
        let caught = std::panic::catch_unwind(|| make(&mut [1, 2]));
        let payload = caught.unwrap_err();
        let message = payload.downcast_ref::<&str>().copied().unwrap_or_default();
        assert!(message.contains("use a size of at least 1"), "{message}");
    };
    refused(|xs| _ = xs.par_windows(0));
    refused(|xs| _ = xs.par_array_windows::<0>());
    refused(|xs| _ = xs.par_chunks(0));
    refused(|xs| _ = xs.par_rchunks(0));
    refused(|xs| _ = xs.par_chunks_exact(0));
    refused(|xs| _ = xs.par_rchunks_exact_mut(0));
}

/// Catches: a key function that is called again.
#[test]
fn a_cached_key_is_computed_once() {
    use sinew_sync::atomic::{AtomicUsize, Ordering};
    let calls = AtomicUsize::new(0);
    let mut xs: Vec<u32> = (0..5_000).rev().collect();
    xs.par_sort_by_cached_key(|x| {
        calls.fetch_add(1, Ordering::Relaxed);
        x.to_string()
    });
    assert_eq!(calls.into_inner(), 5_000);
    assert!(xs.par_iter().count() == 5_000 && xs.is_sorted_by_key(u32::to_string));
}
