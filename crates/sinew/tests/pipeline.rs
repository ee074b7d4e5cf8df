//! Pipelines and farms: every item through every stage once, serial stages in order, bounds kept,
//! also when cancelled or by a panic.

mod counted;

use counted::Counted;
use proptest::prelude::*;
use sinew::prelude::*;
use sinew::{Snapshot, Stopped};
use sinew_sync::atomic::{AtomicUsize, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Some work whose length follows from the item, so that items overtake each other.
fn dawdle(item: usize) {
    (0..item * 7_919 % 300).for_each(|_| std::hint::spin_loop());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Catches: an item lost, repeated or out of order at a serial stage, more items under way
    /// than allowed, and fewer threads than stages that hang.
    #[test]
    fn items_go_through_all_stages_in_order(
        n in 0..400_usize,
        bound in 1..20_usize,
        threads in 1..5_usize,
    ) {
        let pool = Pool::builder().threads(threads).build().unwrap();
        let (alive, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (mut first, mut last) = (Vec::new(), Vec::new());
        pool.run(|_| {
            sinew::pipeline(0..n)
                .bound(bound)
                .serial(|item| {
                    first.push(item);
                    Counted::new(&alive, item)
                })
                .parallel(|counted| {
                    dawdle(counted.1);
                    most.fetch_max(alive.load(Ordering::Relaxed), Ordering::Relaxed);
                    counted
                })
                .serial(|counted| {
                    last.push(counted.1);
                    counted
                })
                .parallel(|counted| dawdle(counted.1 + 1))
                .for_each(drop);
        });
        prop_assert!(first.into_iter().eq(0..n));
        prop_assert!(last.into_iter().eq(0..n));
        prop_assert!(most.into_inner() <= bound);
        prop_assert_eq!(
            sinew::farm(0..n, |item| {
                dawdle(item);
                item * 2
            })
            .collect(),
            (0..n).map(|item| item * 2).collect::<Vec<_>>()
        );
        let sum = AtomicUsize::new(0);
        sinew::farm(0..n, |item| item).for_each_unordered(|item| {
            sum.fetch_add(item, Ordering::Relaxed);
        });
        prop_assert_eq!(sum.into_inner(), (0..n).sum::<usize>());
    }

    /// Catches: items under way that a cancellation cuts off or leaks, and items that come after
    /// it without end.
    #[test]
    fn a_cancelled_pipeline_ends_with_what_is_under_way(at in 0..300_usize, bound in 1..20_usize) {
        let (control, alive, mut seen) = (Control::new(), AtomicUsize::new(0), Vec::new());
        let ended = sinew::farm(0.., |item| {
            if item == at {
                control.cancel();
            }
            Counted::new(&alive, item)
        })
        .bound(bound)
        .control(&control)
        .for_each(|counted| seen.push(counted.1));
        prop_assert_eq!(ended, Err(Cancelled));
        prop_assert!(seen.len() <= at + bound, "{} after {}", seen.len(), at);
        prop_assert!(seen.iter().copied().eq(0..seen.len()));
        prop_assert_eq!(alive.into_inner(), 0);
        prop_assert_eq!(sinew::farm(0..9, |item| item).control(&control).collect(), Err(Cancelled));
    }

    /// Catches: a panic that is lost, or that leaves the pipeline waiting for the item.
    #[test]
    fn a_panic_comes_out_of_any_stage(
        n in 1..300_usize,
        bad in any::<prop::sample::Index>(),
        stage in 0..4_usize,
    ) {
        let (bad, alive) = (bad.index(n), AtomicUsize::new(0));
        let fail = |here: usize, item: usize| {
            if here == stage && item == bad {
                std::panic::resume_unwind(Box::new(item))
            }
        };
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            sinew::pipeline((0..n).inspect(|&item| fail(0, item)))
                .parallel(|item| {
                    fail(1, item);
                    Counted::new(&alive, item)
                })
                .serial(|counted| {
                    fail(2, counted.1);
                    counted
                })
                .for_each(|counted| fail(3, counted.1));
        }));
        let payload = panicked.unwrap_err();
        prop_assert_eq!(payload.downcast_ref(), Some(&bad));
        prop_assert_eq!(alive.into_inner(), 0);
    }
}

/// Catches: a stage that runs for two items at once or loses one, whatever the order.
#[test]
fn serial_stages_without_an_order_take_one_item_at_a_time() {
    let (mut inside, mut seen) = (0, Vec::new());
    sinew::farm(0..2_000, |item| {
        dawdle(item);
        item
    })
    .serial_unordered(|item| {
        inside += 1;
        dawdle(item);
        inside -= 1;
        assert_eq!(inside, 0);
        item
    })
    .parallel(|item| item)
    .serial_unordered(|item| seen.push(item))
    .for_each_unordered(drop);
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..2_000));
    let mut all = sinew::farm(0..500, |item| {
        dawdle(item);
        item
    })
    .collect_unordered();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..500));
}

/// Catches: a call after the failure, an error that is lost, and one that is taken for a
/// cancellation.
#[test]
fn a_failure_is_the_last_call() {
    for at in [0, 1, 57, 400] {
        let mut calls = 0;
        let failed = sinew::farm(0.., |item: usize| {
            dawdle(item);
            item
        })
        .try_for_each(|item| {
            calls += 1;
            if item == at { Err(item) } else { Ok(()) }
        });
        assert_eq!((failed, calls), (Err(at), at + 1));
    }
    let control = Control::new();
    control.cancel();
    let ended = sinew::farm(0..3, |item| item)
        .control(&control)
        .try_for_each(|item| if item > 9 { Err(item) } else { Ok(()) });
    assert_eq!(ended, Err(Stopped::Cancelled));
}

/// Catches: more workers at once than requested, in a stage that any number may run.
#[test]
fn no_more_workers_run_than_requested() {
    let pool = Pool::builder().threads(4).build().unwrap();
    let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let visit = |item| {
        most.fetch_max(1 + inside.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        dawdle(item);
        inside.fetch_sub(1, Ordering::Relaxed);
    };
    pool.run(|_| sinew::farm(0..3_000, visit).threads(2).for_each(drop));
    assert!(most.swap(0, Ordering::Relaxed) <= 2);
    let control = Control::new();
    control.set_threads(1);
    pool.run(|_| sinew::farm(0..3_000, visit).control(&control).for_each(drop)).unwrap();
    assert_eq!(most.into_inner(), 1);
}

/// Catches: items that the control does not count, and a length that it could know from the
/// beginning.
#[test]
fn a_snapshot_counts_the_items_that_are_through() {
    let control = Control::new();
    let mut totals = Vec::new();
    sinew::pipeline(0..100)
        .control(&control)
        .for_each(|_| totals.push(control.snapshot().total))
        .unwrap();
    assert_eq!((totals[0], control.snapshot().done), (100, 100));
    sinew::pipeline((0..100).filter(|item| item % 2 == 0))
        .control(&control)
        .for_each(drop)
        .unwrap();
    let Snapshot { total, done, loops, working, .. } = control.snapshot();
    assert_eq!((total, done, loops, working), (150, 150, 0, 0));
}

/// Catches: pipelines that wait for each other because one runs within a stage of another.
#[test]
fn pipelines_may_be_nested() {
    let sums = sinew::farm(0..40_usize, |row| {
        sinew::farm(0..row, |item| {
            dawdle(item);
            item
        })
        .bound(3)
        .collect()
        .len()
    })
    .serial(|n| over(0..n).sum::<usize>())
    .collect();
    assert!(sums.into_iter().eq((0..40).map(|n: usize| n * n.saturating_sub(1) / 2)));
}

#[test]
#[should_panic(expected = "a pipeline with a bound of 0 items in flight never ends")]
fn a_bound_of_zero_is_refused() {
    sinew::pipeline(0..3).bound(0).for_each(drop);
}

#[test]
#[should_panic(expected = "a skeleton with 0 threads never ends")]
fn zero_threads_are_refused() {
    sinew::pipeline(0..3).threads(0).for_each(drop);
}
