//! All workers without work park, and wake up when there is work.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use sinew_core::{Counters, Pool, Spin, Worker};

use crate::support::{ends, meet, pool};

/// The counters that active workers would change.
fn marks(pool: &Pool) -> [u64; 4] {
    let Counters { parks, wakes, failed_steals, parked_ns, .. } = pool.counters();
    [parks, wakes, failed_steals, parked_ns]
}

/// Whether no worker of `pool` does anything while this thread yields its core repeatedly.
fn rests(pool: &Pool, yields: usize) -> bool {
    let before = marks(pool);
    (0..yields).for_each(|_| thread::yield_now());
    pool.awake_threads() == 0 && marks(pool) == before
}

/// Waits until the pool rests for a while; a worker that never does is caught by the time limit of
/// `ends`. A worker that has lost its core before its parker may seem idle and then change a
/// counter once more, which is correct.
pub(crate) fn until_all_park(pool: &Pool) {
    while !rests(pool, 50) {}
}

/// Catches: a worker that searches endlessly or wakes others without work, at the start, after
/// work, and with any spin window.
#[test]
fn every_worker_of_an_idle_pool_parks() {
    ends(|| {
        let spinning = |window| Pool::builder().threads(4).spin(Spin::For(window)).build().unwrap();
        for pool in [pool(2), pool(4), spinning(Duration::ZERO), spinning(Duration::from_millis(1))]
        {
            for _ in 0..10 {
                // The worker that runs this task parks again, before the next one or, at the
                // latest, before the pool is idle below.
                assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
                until_all_park(&pool);
            }
            // A worker is asleep for others just before it counts its park.
            while pool.counters().parks < 10 {
                thread::yield_now();
            }
        }
    });
}

/// Catches: a thread that spins without end while it waits for a blocked join.
#[test]
fn a_blocked_worker_parks_when_there_is_nothing_to_do() {
    use std::sync::Barrier;
    ends(|| {
        let pool = pool(2);
        let barrier = Barrier::new(2);
        pool.run(|w| {
            w.join(
                |_| meet(&barrier),
                |_| {
                    // No thread parks before the barrier, since both threads run an arm.
                    let before = pool.counters().parks;
                    barrier.wait();
                    // The joiner can only wait for this arm, which waits until the joiner parks.
                    while pool.counters().parks == before {
                        thread::yield_now();
                    }
                },
            )
        });
        assert_eq!(pool.counters().blocked_joins, 1);
    });
}

/// Catches: a parked worker that new work does not wake.
#[test]
fn work_wakes_a_parked_pool() {
    use std::sync::Barrier;
    ends(|| {
        for threads in [2, 4] {
            let pool = pool(threads);
            for _ in 0..20 {
                until_all_park(&pool);
                let barrier = Barrier::new(threads);
                pool.run(|_| {
                    sinew_core::scope(|s| {
                        (1..threads).for_each(|_| s.spawn(|_| meet(&barrier)));
                        barrier.wait();
                    });
                });
            }
            assert!(pool.counters().wakes > 0);
        }
    });
}

/// Catches: a sleeping or searching worker that is not seen, and one that counts as idle after it
/// has found work.
#[test]
fn all_have_work_while_each_runs_an_arm_of_a_join() {
    ends(|| {
        let pool = Pool::builder().threads(2).build().unwrap();
        pool.run(|w| {
            // The other worker has nothing to do.
            while w.all_have_work() {
                std::thread::yield_now();
            }
            let (begun, over) = (&Barrier::new(2), &Barrier::new(2));
            let arm = |w: &Worker| {
                begun.wait();
                assert!(w.all_have_work());
                over.wait();
            };
            w.join(arm, arm);
        });
        Pool::builder().threads(1).build().unwrap().run(|w| assert!(w.all_have_work()));
    });
}
