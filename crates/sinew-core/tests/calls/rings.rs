//! Pools that call each other in a ring: each call comes back to the pool that began it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use sinew_core::{Pool, Wait};

use crate::support::{ends, pool};

/// Wait policies under which a worker that waits for another pool serves its own.
const SERVING: [Wait; 4] = [Wait::Leapfrog, Wait::Any, Wait::Transitive, Wait::Block];

/// How often each caller goes around.
const ROUNDS: usize = 20;

/// Calls the pool at `at`, which calls the next one, and so on for so many calls. Counts the calls.
fn around(ring: &[Pool], at: usize, calls: usize) -> usize {
    ring[at % ring.len()].install(|w| {
        let next = |_: &_| if calls > 1 { around(ring, at + 1, calls - 1) } else { 0 };
        let (more, one) = w.join(next, |_| 1);
        more + one
    })
}

/// One caller for each pool, all at the same time.
fn call_around(ring: &[Pool]) {
    let start = Barrier::new(ring.len());
    thread::scope(|callers| {
        for first in 0..ring.len() {
            let start = &start;
            callers.spawn(move || {
                start.wait();
                for round in 0..ROUNDS {
                    // Back into the pool that the call began in: once in even rounds, else twice.
                    let calls = ring.len() * (1 + round % 2) + 1;
                    assert_eq!(around(ring, first, calls), calls);
                }
            });
        }
    });
}

/// Catches: a thread that holds the external slots of two pools and serves one of them.
#[test]
fn pools_that_call_each_other_in_a_ring_do_not_deadlock() {
    ends(|| {
        for wait in SERVING {
            for pools in 2..=6 {
                for size in 1..=3 {
                    let ring: Vec<Pool> = (0..pools).map(|_| pool(size, wait)).collect();
                    call_around(&ring);
                }
            }
        }
    });
}

/// Catches: the same where the pools of a ring differ in size.
#[test]
fn pools_of_one_may_be_links_of_a_ring_of_larger_ones() {
    ends(|| {
        for wait in SERVING {
            call_around(&[1, 2, 1, 3, 1].map(|size| pool(size, wait)));
        }
    });
}

/// Catches: a thread that a pool of one starts for callers without a pool, and one that it does not
/// start for a worker of another pool.
#[test]
fn a_pool_of_one_starts_its_thread_for_workers_only() {
    ends(|| {
        let started = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&started);
        let name = move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            "stands by".to_owned()
        };
        let one = Pool::builder().threads(1).thread_name(name).build().unwrap();
        for _ in 0..10 {
            assert_eq!((one.install(|w| w.index()), one.run(|w| w.index())), (0, 0));
        }
        assert_eq!(started.load(Ordering::SeqCst), 0);
        let two = pool(2, Wait::default());
        for _ in 0..10 {
            assert_eq!(two.install(|_| one.install(|w| w.index())), 0);
        }
        assert_eq!(started.load(Ordering::SeqCst), 1);
    });
}
