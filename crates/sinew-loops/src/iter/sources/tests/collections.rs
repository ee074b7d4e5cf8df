//! Collections, and elements that leave them.

use crate::iter::LoopOptions;
use crate::iter::ParIter;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};

use sinew_sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::iter::{
    IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelDrainFull, ParallelDrainRange,
    Positions,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Catches: an element that is left out, comes twice, or comes in another order.
    #[test]
    fn collections_have_the_elements_of_sequential_ones(
        xs in proptest::collection::vec(any::<u16>(), 0..200),
        turn in 0..200_usize,
        way in any_way(),
    ) {
        let mut deque: VecDeque<u16> = xs.iter().copied().collect();
        // The elements are in two parts of the buffer.
        (0..turn.min(xs.len())).for_each(|_| {
            let first = deque.pop_front().unwrap();
            deque.push_back(first);
        });
        way.check_indexed(|| deque.par_iter(), &deque);
        way.check_indexed(|| deque.clone().into_par_iter(), deque.clone());
        let boxed: Box<[u16]> = xs.clone().into();
        way.check_indexed(|| boxed.par_iter(), &boxed);
        way.check_indexed(|| boxed.clone().into_par_iter(), xs.clone());
        let tree: BTreeSet<u16> = xs.iter().copied().collect();
        way.check_indexed(|| tree.par_iter(), &tree);
        way.check_indexed(|| tree.clone().into_par_iter(), tree.clone());
        let list: LinkedList<u16> = xs.iter().copied().collect();
        way.check_indexed(|| list.par_iter(), &list);
        way.check_indexed(|| list.clone().into_par_iter(), list.clone());
        let set: HashSet<u16> = xs.iter().copied().collect();
        way.check_indexed(|| set.par_iter(), &set);
        way.check_indexed(|| set.clone().into_par_iter(), set.clone());
        let heap: BinaryHeap<u16> = xs.iter().copied().collect();
        way.check_indexed(|| heap.par_iter(), &heap);
        way.check_indexed(|| heap.clone().into_par_iter(), heap.clone());
        let map: BTreeMap<u16, usize> = xs.iter().copied().zip(0..).collect();
        way.check_indexed(|| map.par_iter(), &map);
        way.check_indexed(|| map.clone().into_par_iter(), map.clone());
        let hashes: HashMap<u16, usize> = xs.iter().copied().zip(0..).collect();
        way.check_indexed(|| hashes.par_iter(), &hashes);
        way.check_indexed(|| hashes.clone().into_par_iter(), hashes.clone());
    }

    /// Catches: an element that is changed twice or not at all.
    #[test]
    fn mutable_elements_are_visited_once(
        xs in proptest::collection::vec(any::<u16>(), 0..200),
        way in any_way(),
    ) {
        fn increment(x: &mut u16) {
            *x = x.wrapping_add(1);
        }
        let expected: Vec<u16> = xs.iter().map(|x| x.wrapping_add(1)).collect();
        macro_rules! check {
            ($collection:ty) => {
                let mut ours: $collection = xs.iter().copied().collect();
                way.on_pool(|| ours.par_iter_mut().schedule(way.schedule).for_each(increment));
                assert!(ours.into_iter().eq(expected.iter().copied()));
            };
        }
        check!(VecDeque<u16>);
        check!(LinkedList<u16>);
        check!(Box<[u16]>);
        let mut map: HashMap<usize, u16> = xs.iter().copied().enumerate().collect();
        let mut tree: BTreeMap<usize, u16> = xs.iter().copied().enumerate().collect();
        way.on_pool(|| {
            map.par_iter_mut().for_each(|(_, x)| increment(x));
            tree.par_iter_mut().for_each(|(_, x)| increment(x));
        });
        prop_assert!(tree.into_values().eq(expected.iter().copied()));
        prop_assert!(expected.iter().enumerate().all(|(i, x)| map[&i] == *x));
    }

    /// Catches: an element that is dropped twice or never, and a vector that keeps a drained
    /// element or loses another one, after a full run, an early end and a panic.
    #[test]
    fn drained_elements_leave_the_vector_once(
        n in 0..300_usize,
        ends in any::<[prop::sample::Index; 2]>(),
        last in any::<prop::sample::Index>(),
        ending in 0..4_u8,
        way in any_way(),
    ) {
        let [a, b] = ends.map(|end| end.index(n + 1));
        let (start, end) = (a.min(b), a.max(b));
        let drops: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
        let mut xs: Vec<Counted<'_>> =
            (0..n).map(|number| Counted { number, drops: &drops }).collect();
        let stop = start + last.index((end - start).max(1));
        let ran = catch_unwind(AssertUnwindSafe(|| {
            way.on_pool(|| {
                let chain = xs.par_drain(start..end).schedule(way.schedule);
                match ending {
                    0 => {
                        let numbers: Vec<usize> = chain.map(|x| x.number).collect();
                        assert!(numbers.into_iter().eq(start..end));
                    }
                    1 => chain.for_each(|x| assert_ne!(x.number, stop, "planned")),
                    2 => {
                        // SAFETY: the only request.
                        let _ = unsafe {
                            chain.run(0..end - start, |x| match x.number == stop {
                                true => ControlFlow::Break(()),
                                false => ControlFlow::Continue(()),
                            })
                        };
                    }
                    _ => drop(chain),
                }
            });
        }));
        prop_assert_eq!(ran.is_err(), ending == 1 && start < end);
        let rest: Vec<usize> = xs.iter().map(|x| x.number).collect();
        prop_assert!(rest.into_iter().eq((0..start).chain(end..n)));
        for (number, drops) in drops.iter().enumerate() {
            let is_out = (start..end).contains(&number);
            prop_assert_eq!(drops.load(Ordering::Relaxed), usize::from(is_out));
        }
        drop(xs);
        prop_assert!(drops.iter().all(|drops| drops.load(Ordering::Relaxed) == 1));
    }

    /// Catches: an element by value that is dropped twice or never, after an early end and a panic.
    #[test]
    fn elements_by_value_are_dropped_once(
        n in 1..300_usize,
        stop in any::<prop::sample::Index>(),
        panics: bool,
        way in any_way(),
    ) {
        let stop = stop.index(n);
        let drops: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
        let deque: VecDeque<Counted<'_>> =
            (0..n).map(|number| Counted { number, drops: &drops }).collect();
        let ran = catch_unwind(AssertUnwindSafe(|| {
            way.on_pool(|| {
                let chain = deque.into_par_iter().schedule(way.schedule);
                if panics {
                    chain.for_each(|x| assert_ne!(x.number, stop, "planned"));
                } else {
                    // SAFETY: the only request.
                    let _ = unsafe { chain.run(stop..n, |_| ControlFlow::Break(())) };
                }
            });
        }));
        prop_assert_eq!(ran.is_err(), panics);
        prop_assert!(drops.iter().all(|drops| drops.load(Ordering::Relaxed) == 1));
    }
}

struct Counted<'d> {
    number: usize,
    drops: &'d [AtomicUsize],
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.drops[self.number].fetch_add(1, Ordering::Relaxed);
    }
}

/// Catches: bounds that are off by one, and elements that stay.
#[test]
fn other_collections_drain_too() {
    let mut xs: Vec<u32> = (0..10).collect();
    let after_two = (Bound::Excluded(2), Bound::Included(4));
    assert_eq!(xs.par_drain(after_two).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(xs.par_drain(6..).collect::<Vec<_>>(), [8, 9]);
    assert_eq!(xs.par_drain(..=1).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(xs, [2, 5, 6, 7]);
    assert_eq!(xs.par_drain(..).count(), 4);
    let mut deque: VecDeque<u32> = (0..5).collect();
    assert_eq!(deque.par_drain(1..3).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(deque, [0, 3, 4]);
    let mut text = String::from("aßc");
    assert_eq!(text.par_drain(1..3).collect::<Vec<_>>(), ['ß']);
    assert_eq!(text, "ac");
    let mut map: HashMap<u32, u32> = (0..9).map(|x| (x, x)).collect();
    assert_eq!((map.par_drain().map(|(_, x)| x).sum::<u32>(), map.len()), (36, 0));
    let mut heap: BinaryHeap<u32> = (0..9).collect();
    assert_eq!((heap.par_drain().sum::<u32>(), heap.len()), (36, 0));
}

/// Catches: a range beyond the end.
#[test]
#[should_panic(expected = "the range 2..9 is not in a vector of 3")]
fn a_range_outside_of_the_vector_is_refused() {
    drop(vec![1, 2, 3].par_drain(2..9));
}

/// Catches: a missing value that counts, and one that does not.
#[test]
fn options_and_results_have_one_item_or_none() {
    let (mut some, none) = (Some(3), None::<u32>);
    some.par_iter_mut().for_each(|x| *x += 1);
    assert_eq!(some.par_iter().collect::<Vec<_>>(), [&4]);
    assert_eq!((some.into_par_iter().count(), none.into_par_iter().count()), (1, 0));
    let (mut ok, err) = (Ok::<_, String>(3), Err::<u32, _>("no".to_owned()));
    ok.par_iter_mut().for_each(|x| *x += 1);
    assert_eq!((ok.par_iter().sum::<u32>(), err.par_iter().count()), (4, 0));
    assert_eq!((ok.into_par_iter().count(), err.into_par_iter().count()), (1, 0));
}
