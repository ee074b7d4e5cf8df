//! Pools and threads that come and go hold no more memory after many than after few. With
//! `SINEW_DEEP=1`: after a million.

#[path = "../../../../crates/sinew-stm/tests/resident/memory.rs"]
#[expect(dead_code, reason = "some of it is for sinew-stm alone")]
mod memory;

use std::thread;

use memory::{holds_no_more, times};
use rayon_core::{ThreadPool, ThreadPoolBuilder};

fn pool() -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(2).build().unwrap()
}

fn work() {
    assert_eq!(rayon_core::join(|| 1, || 2), (1, 2));
    rayon_core::scope(|s| (0..3).for_each(|_| s.spawn(|_| ())));
}

/// Catches: what a pool keeps when it ends, and what its threads keep.
#[test]
fn pools_leave_nothing_behind() {
    holds_no_more("pools", times(400), || pool().install(work));
    holds_no_more("pools that are dropped with work to do", times(400), || {
        let pool = pool();
        (0..4).for_each(|_| pool.spawn(work));
    });
    holds_no_more("scoped pools", times(400), || {
        let builder = ThreadPoolBuilder::new().num_threads(2);
        builder.build_scoped(|thread| thread.run(), |pool| pool.install(work)).unwrap();
    });
}

/// Catches: what a thread from outside leaves in a pool that lives on.
#[test]
fn threads_that_call_a_pool_leave_nothing_behind() {
    let pool = pool();
    thread::scope(|s| {
        let pool = &pool;
        holds_no_more("threads that install in a pool", times(1_000), || {
            s.spawn(|| pool.install(work)).join().unwrap();
        });
        holds_no_more("threads that use the global pool", times(1_000), || {
            s.spawn(work).join().unwrap();
        });
    });
}
