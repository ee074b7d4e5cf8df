//! Features for experiments: two-field stacks, transitive leapfrogging, workers that never park,
//! slow steals.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use sinew_core::{Pool, PoolBuilder, Spin, StackKind, Wait, Worker, scope};
use sinew_sync::clock::ticks;

use crate::support::{add, ends, meet};

/// Joins from the root to a leaf, `depth` of them, and two leaves at the end of each.
fn tree(w: &Worker, depth: u32, leaves: &AtomicUsize) {
    if depth == 0 {
        return add(leaves);
    }
    w.join(|w| tree(w, depth - 1, leaves), |w| tree(w, depth - 1, leaves));
}

fn two_field() -> PoolBuilder {
    Pool::builder().threads(2).stack(StackKind::TwoField)
}

/// Catches: a stack that is asked for and not used. Every task can be stolen at once, so nothing
/// is ever exposed, however silent the owner.
#[test]
fn on_two_field_stacks_nothing_is_exposed() {
    ends(|| {
        let pool = two_field().build().unwrap();
        let (begun, leaves) = (Barrier::new(2), AtomicUsize::new(0));
        for _ in 0..100 {
            pool.run(|w| w.join(|_| begun.wait(), |_| begun.wait()));
            pool.run(|w| tree(w, 8, &leaves));
        }
        let counters = pool.counters();
        assert_eq!(leaves.into_inner(), 25_600);
        assert!(counters.stolen >= 100, "{counters:?}");
        assert_eq!(counters.exposures, 0);
    });
}

/// Catches: a task that is refused by its depth and lost, or taken nevertheless.
#[test]
fn a_waiting_worker_takes_deeper_tasks_from_two_field_stacks() {
    ends(|| {
        for wait in [Wait::Leapfrog, Wait::Descendants, Wait::Transitive] {
            let pool =
                Pool::builder().threads(4).stack(StackKind::TwoField).wait(wait).build().unwrap();
            let leaves = AtomicUsize::new(0);
            for _ in 0..50 {
                pool.run(|w| tree(w, 10, &leaves));
            }
            assert_eq!(leaves.into_inner(), 50 << 10, "{wait}");
        }
    });
}

/// The first worker waits for the second, which waits for the third, which has three tasks that
/// must run at the same time: the second takes one, and the first must find the other.
fn chain(w: &Worker) {
    let (second, third, all) = (Barrier::new(2), Barrier::new(2), Barrier::new(3));
    w.join(
        |_| second.wait(),
        |w| {
            second.wait();
            w.join(
                |_| third.wait(),
                |w| {
                    third.wait();
                    w.join(|w| w.join(|_| all.wait(), |_| all.wait()), |_| all.wait());
                },
            );
        },
    );
}

/// Catches: leapfrogging that ends at the thief, where the pool is to follow the thief's own
/// thief.
#[test]
fn transitive_leapfrogging_helps_the_thief_of_the_thief() {
    ends(|| {
        let builder = Pool::builder().threads(3).stack(StackKind::TwoField).wait(Wait::Transitive);
        // A worker that has parked for its thief does not hear of what the thief pushes later.
        let pool = builder.spin(Spin::Forever).build().unwrap();
        for _ in 0..20 {
            pool.run(chain);
        }
        assert!(pool.counters().leapfrogged >= 20);
    });
}

/// Catches: a delay that only join tasks have, or none; and one that is not between the steal
/// and the task. A busy machine only makes it longer.
#[test]
fn stolen_tasks_begin_late_whichever_queue_they_are_from() {
    const DELAY: u32 = 10_000_000;
    fn from_a_stack(w: &Worker, both: &Barrier) {
        w.join(|_| meet(both), |_| meet(both));
    }
    fn from_a_queue(_: &Worker, both: &Barrier) {
        scope(|s| {
            s.spawn(|_| meet(both));
            meet(both);
        });
    }
    ends(|| {
        let both = Barrier::new(2);
        let pool =
            Pool::builder().threads(2).external_slot(false).steal_delay(DELAY).build().unwrap();
        for meet_stolen in [from_a_stack, from_a_queue] {
            // The other one must be a thief's.
            let took = pool.install(|w| {
                let began = ticks();
                meet_stolen(w, &both);
                ticks().saturating_sub(began)
            });
            assert!(took >= u64::from(DELAY), "{took} cycles");
        }
    });
}

/// Catches: a worker that parks although it was told not to, and a pool of such workers that
/// does not end or lets none stand down.
#[test]
fn workers_that_never_park_do_not_park() {
    ends(|| {
        let pool = Pool::builder().threads(3).spin(Spin::Forever).build().unwrap();
        let leaves = AtomicUsize::new(0);
        for _ in 0..20 {
            pool.run(|w| tree(w, 10, &leaves));
        }
        assert_eq!((leaves.load(Ordering::Relaxed), pool.counters().parks), (20 << 10, 0));
        pool.control().set_threads(1);
        pool.run(|w| tree(w, 10, &leaves));
        pool.control().set_threads(3);
        pool.run(|w| tree(w, 10, &leaves));
        assert_eq!(leaves.into_inner(), 22 << 10);
    });
}

/// Catches: a name that is printed and not read.
#[test]
fn stacks_are_parsed_as_they_are_printed() {
    for stack in [StackKind::Split, StackKind::TwoField] {
        assert_eq!(stack.to_string().parse(), Ok(stack));
    }
    let error = "three-field".parse::<StackKind>().unwrap_err().to_string();
    assert_eq!(error, "unknown task stack `three-field`; use one of `split`, `two-field`");
}
