//! Parallel iterators against those of the standard library: the same chain, written once, over the
//! same items, under every schedule, on pools of several sizes.
//!
//! Blind to: how often a chain calls its functions for items that it leaves out.

use proptest::prelude::*;
use sinew::iter::Either;
use sinew::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Pools of 1, 2 and 7 workers: alone, as many as a small machine has, and more than that.
fn pools() -> &'static [Pool] {
    static POOLS: OnceLock<Vec<Pool>> = OnceLock::new();
    let build = |threads| Pool::builder().threads(threads).build().unwrap();
    POOLS.get_or_init(|| [1, 2, 7].map(build).into())
}

fn any_schedule() -> impl Strategy<Value = Schedule> {
    let place = 0..Schedule::every(1).len();
    (1..70_usize, place).prop_map(|(number, place)| {
        Schedule::every(number).nth(place).expect("a place in the table")
    })
}

/// Checks that `$xs.par_iter()` and `$xs.iter()` give the same items through the same chain.
macro_rules! same_items {
    ($xs:expr, $schedule:expr; $(|$it:ident| $chain:expr;)*) => {$(
        let expected: Vec<_> = { let $it = $xs.iter(); $chain.collect() };
        let found: Vec<_> = { let $it = $xs.par_iter().schedule($schedule); $chain.collect() };
        assert_eq!(found, expected, "{}", stringify!($chain));
        let $it = $xs.par_iter().schedule($schedule);
        let found: Vec<_> = $chain.rev_if_possible();
        assert_eq!(found, expected, "{}", stringify!($chain));
    )*};
}

/// Collects a chain with one item at each position once more, from the other end.
trait RevIfPossible: ParIter + Sized {
    fn rev_if_possible(self) -> Vec<Self::Item>;
}

impl<P: IndexedParallelIterator> RevIfPossible for P {
    fn rev_if_possible(self) -> Vec<P::Item> {
        let mut items: Vec<_> = self.rev().collect();
        items.reverse();
        items
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Catches: an adaptor with one item at each position that numbers, pairs or reverses items
    /// differently.
    #[test]
    fn indexed_chains_agree(
        xs in proptest::collection::vec(any::<u16>(), 0..400),
        ys in proptest::collection::vec(any::<u16>(), 0..400),
        (skip, take, step) in (0..50_usize, 0..300_usize, 1..20_usize),
        schedule in any_schedule(),
        pool in 0..3_usize,
    ) {
        pools()[pool].run(|_| {
            same_items! { xs, schedule;
                |it| it.map(|x| x ^ 7);
                |it| it.copied().map(u32::from);
                |it| it.cloned().inspect(|_| ());
                |it| it.skip(skip);
                |it| it.take(take);
                |it| it.step_by(step);
                |it| it.enumerate().map(|(n, x)| n as u16 ^ x);
                |it| it.enumerate().skip(skip).step_by(step).take(take);
                |it| it.rev().enumerate().map(|(n, x)| (n, *x));
                |it| it.skip(skip).rev().take(take).enumerate();
                |it| it.rev().step_by(step).skip(skip);
            }
            let (a, b) = (|| xs.par_iter().copied().schedule(schedule), || ys.par_iter().copied());
            let (s, t) = (|| xs.iter().copied(), || ys.iter().copied());
            assert_eq!(a().zip(b()).collect::<Vec<_>>(), s().zip(t()).collect::<Vec<_>>());
            let n = xs.len().min(ys.len());
            let mut backward: Vec<_> = s().zip(t()).collect();
            backward.reverse();
            assert_eq!(a().zip(b()).rev().collect::<Vec<_>>(), backward);
            assert_eq!(a().take(n).zip_eq(b().take(n)).count(), n);
            assert_eq!(a().chain(b()).collect::<Vec<_>>(), s().chain(t()).collect::<Vec<_>>());
            assert_eq!(
                a().chain(b()).rev().skip(skip).collect::<Vec<_>>(),
                s().chain(t()).rev().skip(skip).collect::<Vec<_>>()
            );
            let chunks: Vec<Vec<u16>> = xs.chunks(step).map(<[u16]>::to_vec).collect();
            assert_eq!(a().chunks(step).collect::<Vec<_>>(), chunks);
            let last_first: Vec<Vec<u16>> = chunks.iter().rev().cloned().collect();
            assert_eq!(a().chunks(step).rev().collect::<Vec<_>>(), last_first);
            let sums = a().fold_chunks(step, || 0_u64, |sum, x| sum + u64::from(x));
            let sum = |chunk: &Vec<u16>| chunk.iter().map(|x| u64::from(*x)).sum::<u64>();
            let expected = chunks.iter().map(sum);
            assert!(sums.collect::<Vec<u64>>().into_iter().eq(expected));
            let mut turns = Vec::<u16>::new();
            for n in 0..xs.len().max(ys.len()) {
                turns.extend(xs.get(n));
                turns.extend(ys.get(n));
            }
            assert_eq!(a().interleave(b()).collect::<Vec<_>>(), turns);
            assert_eq!(
                a().interleave(b()).rev().collect::<Vec<_>>(),
                turns.iter().rev().copied().collect::<Vec<_>>()
            );
            let shortest = if xs.len() > ys.len() { 2 * ys.len() + 1 } else { 2 * xs.len() };
            assert_eq!(a().interleave_shortest(b()).collect::<Vec<_>>(), turns[..shortest]);
            let mut parted: Vec<u16> = s().flat_map(|x| [9, x]).skip(1).collect();
            assert_eq!(a().intersperse(9).collect::<Vec<_>>(), parted);
            a().map(|x| x / 2).collect_into_vec(&mut parted);
            assert!(parted.iter().copied().eq(s().map(|x| x / 2)));
            assert_eq!(a().cmp(b()), s().cmp(t()));
            assert_eq!(a().partial_cmp(b()), s().partial_cmp(t()));
            assert_eq!((a().eq(b()), a().ne(b())), (s().eq(t()), s().ne(t())));
            assert_eq!((a().lt(b()), a().le(b())), (s().lt(t()), s().le(t())));
            assert_eq!((a().gt(b()), a().ge(b())), (s().gt(t()), s().ge(t())));
            assert!(a().eq(a()) && !a().ne(a()) && a().le(a()) && !a().gt(a()));
        });
    }

    /// Catches: an adaptor with any number of items for each that loses, repeats or reorders some.
    #[test]
    fn other_chains_agree(
        xs in proptest::collection::vec(any::<u16>(), 0..600),
        schedule in any_schedule(),
        pool in 0..3_usize,
    ) {
        macro_rules! same {
            ($(|$it:ident| $chain:expr;)*) => {$(
                let expected: Vec<_> = { let $it = xs.iter(); $chain.collect() };
                let $it = xs.par_iter().schedule(schedule);
                let found: Vec<_> = $chain.collect();
                assert_eq!(found, expected, "{}", stringify!($chain));
            )*};
        }
        pools()[pool].run(|_| {
            same! {
                |it| it.filter(|x| **x % 3 == 0);
                |it| it.filter_map(|x| x.checked_sub(1_000));
                |it| it.filter(|x| **x % 3 == 0).map(|x| x / 3).filter(|x| x % 2 == 0);
                |it| it.filter(|x| **x > 9).chain(&xs).copied();
                |it| it.map(|x| Some(*x).filter(|x| x % 2 == 1)).flat_map(Vec::from_iter);
            }
            let it = || xs.par_iter().copied().schedule(schedule);
            let seq = || xs.iter().copied();
            assert_eq!(
                it().flat_map_iter(|x| 0..x % 5).collect::<Vec<_>>(),
                seq().flat_map(|x| 0..x % 5).collect::<Vec<_>>()
            );
            assert_eq!(
                it().flat_map(|x| (0..x % 5).into_par_iter().map(|y| y * 2)).collect::<Vec<_>>(),
                seq().flat_map(|x| (0..x % 5).map(|y| y * 2)).collect::<Vec<_>>()
            );
            assert_eq!(
                it().map(|x| vec![x; usize::from(x % 3)]).flatten().collect::<Vec<_>>(),
                seq().flat_map(|x| vec![x; usize::from(x % 3)]).collect::<Vec<_>>()
            );
            assert_eq!(
                it().map(|x| 0..x % 3).flatten_iter().collect::<VecDeque<_>>(),
                seq().flat_map(|x| 0..x % 3).collect::<VecDeque<_>>()
            );
            // No early item, or none at all, is left for some of these.
            for least in [0, 30_000, 65_000] {
                let parted = it().filter(|x| *x >= least).intersperse(7).collect::<Vec<_>>();
                let kept = seq().filter(|x| *x >= least);
                assert!(parted.into_iter().eq(kept.flat_map(|x| [7, x]).skip(1)));
            }
            let parted = it().flat_map_iter(|x| 0..x % 3).intersperse(7).collect::<Vec<_>>();
            let several = seq().flat_map(|x| 0..x % 3);
            assert!(parted.into_iter().eq(several.flat_map(|x| [7, x]).skip(1)));
            let sums = it().fold(|| 0_u64, |sum, x| sum + u64::from(x));
            assert_eq!(sums.sum::<u64>(), seq().map(u64::from).sum::<u64>());
            let sums = it().fold_with(0_u64, |sum, x| sum + u64::from(x));
            assert_eq!(sums.sum::<u64>(), seq().map(u64::from).sum::<u64>());
            let mapped = it().map_init(|| 1, |one, x| u32::from(x) + *one).collect::<Vec<_>>();
            assert!(mapped.into_iter().eq(seq().map(|x| u32::from(x) + 1)));
            let mapped = it().map_with(1, |one, x| u32::from(x) + *one).collect::<Vec<_>>();
            assert!(mapped.into_iter().eq(seq().map(|x| u32::from(x) + 1)));
            let states = it().with_state(Vec::new).for_each(|list, x| list.push(x));
            assert!(states.len() <= pools()[pool].max_threads());
            let mut all = states.concat();
            all.sort_unstable();
            let mut sorted = xs.clone();
            sorted.sort_unstable();
            assert_eq!(all, sorted);
            let n = xs.len();
            assert_eq!(it().take_any(n / 2).count(), n / 2);
            assert_eq!(it().skip_any(n / 2).count(), n - n / 2);
            assert!(it().take_any_while(|x| *x < 60_000).all(|x| x < 60_000));
            assert_eq!(it().skip_any_while(|_| true).count(), 0);
            let some: Vec<_> = it().map(|x| (x < 60_000).then_some(x)).while_some().collect();
            assert!(some.iter().all(|x| *x < 60_000));
        });
    }

    /// Catches: a last call that combines in another order, or finds another item.
    #[test]
    fn last_calls_agree(
        xs in proptest::collection::vec(any::<u16>(), 0..600),
        bound in any::<u16>(),
        schedule in any_schedule(),
        pool in 0..3_usize,
    ) {
        pools()[pool].run(|_| {
            let it = || xs.par_iter().copied().schedule(schedule);
            let seq = || xs.iter().copied();
            let sum: u64 = seq().map(u64::from).sum();
            assert_eq!(it().map(u64::from).sum::<u64>(), sum);
            assert_eq!(it().map(u64::from).reproducible().sum::<u64>(), sum);
            let small = |x: u16| u64::from(x % 3 + 1);
            let product = |x: u64, y: u64| x.wrapping_mul(y);
            assert_eq!(it().map(small).reduce(|| 1, product), seq().map(small).fold(1, product));
            assert_eq!(it().count(), seq().count());
            assert_eq!(it().filter(|x| *x < bound).count(), seq().filter(|x| *x < bound).count());
            assert_eq!((it().min(), it().max()), (seq().min(), seq().max()));
            let key = |x: &(usize, u16)| x.1 % 7;
            assert_eq!(it().enumerate().min_by_key(key), seq().enumerate().min_by_key(key));
            assert_eq!(it().enumerate().max_by_key(key), seq().enumerate().max_by_key(key));
            let texts = |x: u16| x.to_string();
            let join = |a: String, b: String| a + &b;
            let joined = it().map(texts).reduce(String::new, join);
            assert_eq!(joined, seq().map(texts).collect::<String>());
            assert_eq!(it().map(texts).reduce_with(join), seq().map(texts).reduce(join));
            assert_eq!(it().map(texts).collect::<String>(), seq().map(texts).collect::<String>());
            let is = |x: &u16| *x > bound;
            assert_eq!(it().find_first(is), seq().find(is));
            assert_eq!(it().find_last(is), seq().rfind(is));
            assert_eq!(it().find_any(is).is_some(), seq().any(|x| is(&x)));
            assert_eq!(it().position_first(|x| is(&x)), seq().position(|x| is(&x)));
            assert_eq!(it().position_last(|x| is(&x)), seq().rposition(|x| is(&x)));
            let any = it().position_any(|x| is(&x));
            assert!(any.map_or(!seq().any(|x| is(&x)), |n| is(&xs[n])));
            assert_eq!(it().any(|x| is(&x)), seq().any(|x| is(&x)));
            assert_eq!(it().all(|x| is(&x)), seq().all(|x| is(&x)));
            let filtered = || it().filter(|x| x % 2 == 0);
            assert_eq!(filtered().find_first(is), seq().filter(|x| x % 2 == 0).find(is));
            assert_eq!(filtered().find_last(is), seq().filter(|x| x % 2 == 0).rfind(is));
            let half = it().partition::<Vec<_>, Vec<_>, _>(is);
            assert_eq!(half, seq().partition::<Vec<_>, _>(is));
            let side = |x: u16| if is(&x) { Either::Left(x) } else { Either::Right(u32::from(x)) };
            let mut sides: (Vec<u16>, VecDeque<u32>) = it().map(side).collect();
            let (left, right) = seq().partition::<Vec<_>, _>(is);
            assert_eq!(sides.0, left);
            assert!(sides.1.iter().copied().eq(right.into_iter().map(u32::from)));
            sides.par_extend(it().map(side));
            assert_eq!(sides.0.len() + sides.1.len(), 2 * xs.len());
            assert_eq!(&sides.0[left.len()..], left);
            let pairs: (Vec<u16>, Vec<usize>) = it().enumerate().map(|(n, x)| (x, n)).unzip();
            assert_eq!(pairs, seq().enumerate().map(|(n, x)| (x, n)).unzip());
            assert_eq!(it().collect::<HashSet<_>>(), seq().collect::<HashSet<_>>());
            let map = it().enumerate().collect::<HashMap<_, _>>();
            assert_eq!(map, seq().enumerate().collect::<HashMap<_, _>>());
            let map = it().map(|x| (x, ())).collect::<BTreeMap<_, _>>();
            assert_eq!(map, seq().map(|x| (x, ())).collect::<BTreeMap<_, _>>());
            let lists: Vec<u16> = it().collect_vec_list().into_iter().flatten().collect();
            assert_eq!(lists, xs);
            let positions: Vec<usize> = it().positions(|x| is(&x)).collect();
            assert!(positions.into_iter().eq((0..xs.len()).filter(|n| is(&xs[*n]))));
        });
    }

    /// Catches: a chain that goes on after a failure, and one that returns a value in spite of it.
    #[test]
    fn chains_that_fail_return_a_failure(
        xs in proptest::collection::vec(any::<u16>(), 0..600),
        bound in any::<u16>(),
        schedule in any_schedule(),
        pool in 0..3_usize,
    ) {
        pools()[pool].run(|_| {
            let it = || xs.par_iter().copied().schedule(schedule);
            let fallible = |x: u16| if x < bound { Ok(u64::from(x)) } else { Err(x) };
            let expected: Result<Vec<_>, _> = xs.iter().copied().map(fallible).collect();
            let found: Result<Vec<_>, _> = it().map(fallible).collect();
            assert_eq!(found.as_ref().ok(), expected.as_ref().ok());
            assert!(found.err().is_none_or(|x| x >= bound));
            let found: Option<Vec<_>> = it().map(|x| fallible(x).ok()).collect();
            assert_eq!(found.as_ref(), expected.as_ref().ok());
            let visited = it().try_for_each(|x| fallible(x).map(drop));
            assert_eq!(visited.is_ok(), expected.is_ok());
            let sum = it().map(fallible).try_reduce(|| 0, |a, b| Ok(a + b));
            assert_eq!(sum.ok(), expected.as_ref().ok().map(|all| all.iter().sum()));
            let sum = it().map(fallible).try_reduce_with(|a, b| Ok(a + b));
            assert_eq!(sum.is_none(), xs.is_empty());
            assert!(sum.is_none_or(|sum| sum.is_ok() == expected.is_ok()));
            let sums = it().try_fold(|| 0, |sum, x| fallible(x).map(|x| sum + x));
            let sum = sums.try_reduce(|| 0, |a, b| Ok(a + b));
            assert_eq!(sum.ok(), expected.as_ref().ok().map(|all| all.iter().sum()));
        });
    }

    /// Catches: an element that is dropped twice or never, whatever ends the chain.
    #[test]
    fn owned_elements_are_dropped_once(
        n in 0..300_usize,
        end in 0..400_usize,
        kind in 0..6_u8,
        schedule in any_schedule(),
        pool in 0..3_usize,
    ) {
        struct Counted<'c>(usize, &'c [AtomicUsize]);
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.1[self.0].fetch_add(1, Ordering::Relaxed);
            }
        }
        let drops: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
        let all: Vec<Counted<'_>> = (0..n).map(|number| Counted(number, &drops)).collect();
        let ended = catch_unwind(AssertUnwindSafe(|| pools()[pool].run(|_| {
            let it = all.into_par_iter().schedule(schedule);
            match kind {
                0 => it.for_each(|x| assert_ne!(x.0, end, "planned")),
                1 => drop(it.find_any(|x| x.0 == end)),
                2 => drop(it.skip(end).collect::<Vec<_>>()),
                3 => drop(it.take(end).rev().step_by(3).collect::<Vec<_>>()),
                4 => {
                    let failing = it.map(|x| if x.0 == end { Err(x) } else { Ok(x) });
                    drop(failing.collect::<Result<Vec<_>, _>>());
                }
                _ => drop(it.map(|x| { assert_ne!(x.0, end, "planned"); x }).collect::<Vec<_>>()),
            }
        })));
        prop_assert!(ended.is_ok() || end < n && matches!(kind, 0 | 5));
        let counts: Vec<usize> = drops.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        prop_assert_eq!(counts, vec![1; n]);
    }
}

proptest! {
    /// Catches: a range that is cut into halves below the shortest length.
    #[test]
    fn no_claim_is_shorter_than_the_shortest(n in 1..5_000_usize, min in 0..300_usize) {
        for pool in pools() {
            let lengths = || (0..n).into_par_iter().with_min_len(min).fold(|| 0, |sum, _| sum + 1);
            let (shortest, sum) =
                pool.run(|_| (lengths().min().unwrap(), lengths().sum::<usize>()));
            prop_assert!(shortest >= min.min(n), "{} items of {}", shortest, n);
            prop_assert_eq!(sum, n);
        }
    }
}

/// Catches: a chain under a control that is not cancelled, or returns a part.
#[test]
fn a_control_cancels_a_whole_chain() {
    let control = Control::new();
    let chain = || over(0..100_000_u32).control(&control).filter(|x| x % 3 == 0);
    assert_eq!(chain().map(u64::from).sum(), Ok((0..100_000).filter(|x| x % 3 == 0).sum::<u64>()));
    let cancelling = chain().map(|x| {
        if x == 30_000 {
            control.cancel();
        }
        x
    });
    assert_eq!(cancelling.collect::<Vec<_>>(), Err(Cancelled));
    assert_eq!(chain().max(), Err(Cancelled));
    assert_eq!(chain().map(Some).collect::<Option<HashSet<_>>>(), Err(Cancelled));
}

/// Catches: metrics of another loop, or without the items.
#[test]
fn metrics_come_with_the_value() {
    let (sum, metrics) = over(0..1_000_u32).metrics().map(|x| x / 2).sum::<u32>();
    assert_eq!((sum, metrics.tasks()), ((0..1_000).map(|x| x / 2).sum(), 1_000));
}
