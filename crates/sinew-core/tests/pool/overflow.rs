//! Recursion deeper than the task stack has slots.

use std::sync::atomic::{AtomicU64, Ordering};

use sinew_core::{Pool, StackKind, Worker};

use crate::support::{ends, message_of};

/// Deeper than the 8,192 slots of a task stack.
const DEPTH: u64 = 20_000;

const STACKS: [StackKind; 2] = [StackKind::Split, StackKind::TwoField];

fn deep_pool(threads: usize) -> Pool {
    deep_pool_on(StackKind::Split, threads)
}

fn deep_pool_on(stack: StackKind, threads: usize) -> Pool {
    Pool::builder().threads(threads).stack(stack).stack_size(128 << 20).build().unwrap()
}

fn left(w: &Worker, depth: u64, arms: &AtomicU64) -> u64 {
    if depth == 0 {
        return 0;
    }
    let (a, b) = w.join(
        |w| left(w, depth - 1, arms),
        |_| {
            arms.fetch_add(1, Ordering::Relaxed);
            depth
        },
    );
    a + b
}

/// Catches: a push beyond the last slot, an arm that is lost or run twice where the stack is
/// full, alone and among thieves.
#[test]
fn a_recursion_deeper_than_the_stack_loses_nothing() {
    ends(|| {
        for (threads, stack) in [2, 3, 5].into_iter().flat_map(|n| STACKS.map(|stack| (n, stack))) {
            let pool = deep_pool_on(stack, threads);
            let arms = AtomicU64::new(0);
            assert_eq!(pool.install(|w| left(w, DEPTH, &arms)), DEPTH * (DEPTH + 1) / 2);
            assert_eq!(arms.into_inner(), DEPTH);
            // Thieves free no slots: the owner joins from the top. So whatever lies deeper than the
            // stack is counted.
            assert!(pool.counters().overflows >= DEPTH - 8_192, "{stack}: {:?}", pool.counters());
            assert_eq!(pool.install(|w| left(w, 100, &AtomicU64::new(0))), 5050);
        }
    });
}

/// Catches: an overflow whose join forgets an arm while it unwinds.
#[test]
fn a_panic_at_the_bottom_still_runs_every_arm() {
    fn fall(w: &Worker, depth: u64, arms: &AtomicU64) {
        if depth == 0 {
            panic!("bottom");
        }
        w.join(|w| fall(w, depth - 1, arms), |_| arms.fetch_add(1, Ordering::Relaxed));
    }
    ends(|| {
        // Unwinding looks at every frame; a little beyond the stack is enough.
        let (pool, depth, arms) = (deep_pool(3), 8_300, AtomicU64::new(0));
        assert_eq!(message_of(|| pool.install(|w| fall(w, depth, &arms))), "bottom");
        assert_eq!(arms.into_inner(), depth);
        assert!(pool.counters().overflows > 0);
        assert_eq!(pool.install(|w| left(w, 100, &AtomicU64::new(0))), 5050);
    });
}

/// Catches: a full stack in a worker that got there by stealing.
#[test]
fn stolen_arms_may_overflow_as_well() {
    ends(|| {
        let pool = deep_pool(4);
        let arms = AtomicU64::new(0);
        let both = pool.install(|w| {
            w.join(
                |w| left(w, DEPTH, &arms),
                |w| w.join(|w| left(w, DEPTH, &arms), |w| left(w, DEPTH, &arms)),
            )
        });
        assert_eq!(both.0 + both.1.0 + both.1.1, 3 * DEPTH * (DEPTH + 1) / 2);
        assert_eq!(arms.into_inner(), 3 * DEPTH);
    });
}
