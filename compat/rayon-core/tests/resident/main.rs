//! Pools and threads that come and go hold no more memory after many than after few. With
//! `SINEW_DEEP=1`: after a million.

#[path = "../../../../crates/sinew-stm/tests/resident/memory.rs"]
#[expect(dead_code, reason = "some of it is for sinew-stm alone")]
mod memory;

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::{fs, thread};

use memory::{holds_no_more, times};
use rayon_core::{ThreadPool, ThreadPoolBuilder};

const THREADS: usize = 2;

fn pool() -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(THREADS).build().unwrap()
}

/// Calls `f` with a pool, and waits until the pool's threads are gone. As in rayon, the drop of a
/// pool does not wait for them, so a busy machine may hold many ended pools at a time.
fn with_ending_pool(f: impl FnOnce(ThreadPool)) {
    let (tell, told) = mpsc::channel();
    let builder = ThreadPoolBuilder::new().num_threads(THREADS);
    // The handler runs on each thread, also on one that begins after the end of its pool.
    f(builder.exit_handler(move |_| drop(tell.send(own_folder()))).build().unwrap());
    for _ in 0..THREADS {
        let folder = told.recv().expect("each thread says where it is");
        while folder.as_ref().is_some_and(|folder| folder.exists()) {
            thread::yield_now();
        }
    }
}

/// The calling thread's folder, which exists until the thread has ended; `None` where the system
/// has no such folder.
fn own_folder() -> Option<PathBuf> {
    Some(Path::new("/proc").join(fs::read_link("/proc/thread-self").ok()?))
}

fn work() {
    assert_eq!(rayon_core::join(|| 1, || 2), (1, 2));
    rayon_core::scope(|s| (0..3).for_each(|_| s.spawn(|_| ())));
}

/// Catches: what a pool keeps when it ends, and what its threads keep.
#[test]
fn pools_leave_nothing_behind() {
    holds_no_more("pools", times(800), || with_ending_pool(|pool| pool.install(work)));
    holds_no_more("pools that are dropped with work to do", times(800), || {
        with_ending_pool(|pool| (0..4).for_each(|_| pool.spawn(work)));
    });
    holds_no_more("scoped pools", times(800), || {
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
