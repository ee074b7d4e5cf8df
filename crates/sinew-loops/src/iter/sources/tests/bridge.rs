//! Sequential iterators.

use crate::iter::LoopOptions;
use crate::iter::ParIter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;

use sinew_sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::iter::{IterBridge, ParallelBridge, Positions};

/// One type for all tests, because each type compiles its own loops.
type Items<'a> = Box<dyn Iterator<Item = Item<'a>> + Send + 'a>;

/// An item that counts its drops.
struct Item<'d> {
    number: usize,
    drops: &'d [AtomicUsize],
}

impl Drop for Item<'_> {
    fn drop(&mut self) {
        self.drops[self.number].fetch_add(1, Ordering::Relaxed);
    }
}

fn counters(n: usize) -> Vec<AtomicUsize> {
    (0..n).map(|_| AtomicUsize::new(0)).collect()
}

fn counts(counters: &[AtomicUsize]) -> Vec<usize> {
    counters.iter().map(|counter| counter.load(Ordering::Relaxed)).collect()
}

/// Items from 0 to `n`, of which `size_hint` promises all or none. A call after the end panics, and
/// one after `panics` items does.
fn items<'d>(n: usize, promised: bool, panics: usize, drops: &'d [AtomicUsize]) -> Items<'d> {
    let mut ended = false;
    let numbers = (0..=n).map(move |number| {
        assert!(!ended, "called after its end");
        ended = number == n;
        if number == panics {
            std::panic::panic_any(number);
        }
        Item { number, drops }
    });
    // The item with the number `n` is the end.
    struct UntilEnd<I>(I, usize, bool);
    impl<'d, I: Iterator<Item = Item<'d>>> Iterator for UntilEnd<I> {
        type Item = Item<'d>;
        fn next(&mut self) -> Option<Item<'d>> {
            let item = self.0.next().expect("not called after its end");
            if item.number < self.1 { Some(item) } else { None }
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            if self.2 { (self.0.size_hint().0.saturating_sub(1), None) } else { (0, None) }
        }
    }
    Box::new(UntilEnd(numbers, n, promised))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Catches: an item that is lost at the end of a batch, comes twice, or is dropped twice; and
    /// a loop that does not end.
    #[test]
    fn every_item_of_an_iterator_comes_once(n in 0..4_000_usize, promised: bool, way in any_way()) {
        let (visits, drops) = (counters(n + 1), counters(n + 1));
        way.on_pool(|| {
            let chain = items(n, promised, usize::MAX, &drops).par_bridge();
            chain.schedule(way.schedule).for_each(|x| {
                visits[x.number].fetch_add(1, Ordering::Relaxed);
            });
        });
        prop_assert_eq!(&counts(&visits)[..n], vec![1; n]);
        prop_assert_eq!(&counts(&drops)[..n], vec![1; n]);
    }

    /// Catches: a range with more items than positions, and items in another order within it.
    #[test]
    fn a_range_has_at_most_as_many_items_as_positions(
        n in 0..500_usize,
        promised: bool,
        way in any_way(),
    ) {
        let drops = counters(n + 1);
        let chain = items(n, promised, usize::MAX, &drops).par_bridge();
        let mut all = Vec::new();
        for range in way.ranges(4 * n) {
            let (len, before) = (range.len(), all.len());
            // SAFETY: the ranges are disjoint and lie below the number of positions.
            let _ = unsafe {
                chain.run(range, |x| {
                    all.push(x.number);
                    ControlFlow::Continue(())
                })
            };
            prop_assert!(all.len() - before <= len);
        }
        prop_assert!(all.len() <= n);
        let len = all.len();
        prop_assert!(all.into_iter().eq(0..len));
    }

    /// Catches: a panic of the iterator or of the chain's function that is lost or never ends, and
    /// items of a batch that are dropped twice or never.
    #[test]
    fn a_panic_ends_the_loop(
        n in 1..2_000_usize,
        bad in any::<prop::sample::Index>(),
        in_iterator: bool,
        promised: bool,
        way in any_way(),
    ) {
        let bad = bad.index(n);
        let drops = counters(n + 1);
        let result = catch_unwind(AssertUnwindSafe(|| {
            way.on_pool(|| {
                let panics = if in_iterator { bad } else { usize::MAX };
                items(n, promised, panics, &drops).par_bridge().for_each(|x| {
                    if !in_iterator && x.number == bad {
                        std::panic::panic_any(bad);
                    }
                });
            });
        }));
        let payload = result.unwrap_err();
        prop_assert_eq!(payload.downcast_ref(), Some(&bad));
        let drops = counts(&drops);
        prop_assert!(drops.iter().all(|&drops| drops <= 1));
        prop_assert_eq!(&drops[..bad], vec![1; bad]);
    }
}

/// Catches: a participant that waits for another item while it has one in hand, from which the
/// other one would come.
#[test]
fn an_item_may_be_made_by_the_one_before() {
    let drops = counters(1_000);
    for threads in 1..=4 {
        let way = Way { threads, schedule: Schedule::Stealing, cuts: Vec::new() };
        let (sender, receiver) = channel();
        sender.send(0).unwrap();
        let sender = Mutex::new(Some(sender));
        way.on_pool(|| {
            let numbers = receiver.into_iter().map(|number| Item { number, drops: &drops });
            let items: Items<'_> = Box::new(numbers);
            items.par_bridge().for_each(|x| {
                let mut sender = sender.lock().unwrap();
                match x.number {
                    999 => drop(sender.take()),
                    number => sender.as_ref().unwrap().send(number + 1).unwrap(),
                }
            });
        });
        assert_eq!(counts(&drops), vec![threads; 1_000]);
    }
}

/// Catches: a thread that waits for the lock that it holds, and items that are lost because the
/// loop has ended for the others (B3).
#[test]
fn a_thread_that_helps_from_inside_of_the_iterator_leaves_the_rest_to_itself() {
    let drops = counters(100);
    let place = OnceLock::new();
    let numbers = (0..100).map(|number| {
        if number == 3 {
            let chain = *place.get().unwrap() as *const IterBridge<Items<'_>>;
            // SAFETY: the chain outlives the request; its positions were not requested before.
            let flow = unsafe { (*chain).run(50..60, |_| ControlFlow::Continue(())) };
            assert_eq!(flow, ControlFlow::Break(()));
        }
        Item { number, drops: &drops }
    });
    let items: Items<'_> = Box::new(numbers);
    let chain = items.par_bridge();
    place.set(std::ptr::from_ref(&chain) as usize).unwrap();
    let mut all = Vec::new();
    // SAFETY: the positions were not requested before.
    let flow = unsafe {
        chain.run(0..10, |x| {
            all.push(x.number);
            ControlFlow::Continue(())
        })
    };
    assert_eq!(flow, ControlFlow::Break(()));
    assert!(all.into_iter().eq(0..100));
}

/// Catches: options that do not reach the loop; in order, one thread has all items.
#[test]
fn one_thread_and_reproducible_loops_have_the_items_in_order() {
    let drops = counters(5_001);
    let numbers = |chain: IterBridge<Items<'_>>| {
        let append = |mut a: Vec<usize>, mut b: Vec<usize>| {
            a.append(&mut b);
            a
        };
        chain.map(|x| vec![x.number]).reduce(Vec::new, append)
    };
    let chain = || items(5_000, true, usize::MAX, &drops).par_bridge();
    let way = Way { threads: 4, schedule: Schedule::Stealing, cuts: Vec::new() };
    way.on_pool(|| {
        assert!(numbers(chain().threads(1)).into_iter().eq(0..5_000));
        assert!(numbers(chain().reproducible()).into_iter().eq(0..5_000));
    });
}
