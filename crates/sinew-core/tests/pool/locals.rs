//! Values that workers keep for modules above them.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use sinew_core::{Pool, WorkerLocal};

static LIVING: AtomicUsize = AtomicUsize::new(0);

struct Counted(Cell<usize>);

impl Default for Counted {
    fn default() -> Self {
        LIVING.fetch_add(1, Ordering::Relaxed);
        Self(Cell::new(0))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        LIVING.fetch_sub(1, Ordering::Relaxed);
    }
}

static VISITS: WorkerLocal<Counted> = WorkerLocal::new(Counted::default);

/// Catches: a value that several workers or pools share, that a worker makes anew, or that outlives
/// its pool.
#[test]
fn each_worker_of_each_pool_has_a_value_until_its_pool_ends() {
    let visit = || {
        sinew_core::run(|w| {
            let visits = &w.local(&VISITS).0;
            visits.set(visits.get() + 1);
            visits.get()
        })
    };
    let build = |threads| Pool::builder().threads(threads).external_slot(false).build().unwrap();
    let pools = [1, 2, 3].map(build);
    for round in 1..=3 {
        for pool in &pools {
            assert_eq!(pool.broadcast(|_| visit()), vec![round; pool.max_threads()]);
        }
    }
    assert_eq!(LIVING.load(Ordering::Relaxed), 6);
    pools.into_iter().for_each(Pool::shutdown);
    assert_eq!(LIVING.load(Ordering::Relaxed), 0);
}

/// Catches: an external thread that does not find what the external thread before it has left.
#[test]
fn the_owners_of_a_external_slot_share_its_value_one_after_the_other() {
    static EXTERNAL_THREADS: WorkerLocal<Cell<u32>> = WorkerLocal::new(Cell::default);
    let pool = Pool::builder().threads(1).build().unwrap();
    for before in 0..3 {
        std::thread::scope(|s| {
            s.spawn(|| {
                pool.run(|w| assert_eq!(w.local(&EXTERNAL_THREADS).replace(before + 1), before));
            });
        });
    }
}
