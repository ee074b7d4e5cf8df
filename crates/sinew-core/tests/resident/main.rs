//! Pools and threads that come and go hold no more memory after many than after few. With
//! `SINEW_DEEP=1`: after a million.

#[path = "../../../sinew-stm/tests/resident/memory.rs"]
#[expect(dead_code, reason = "some of it is for sinew-stm alone")]
mod memory;

use std::sync::mpsc;
use std::thread;

use memory::{holds_no_more, times};
use sinew_core::{Pool, StackKind, Worker};
use sinew_loops::loops::{Options, for_each};
use sinew_stm::{TBox, TVar, atomically};

fn fib(w: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

/// Joins, a scope, a loop and a broadcast.
fn work(w: &Worker) {
    assert_eq!(fib(w, 8), 21);
    w.scope(|s| (0..3).for_each(|_| s.spawn(|_| ())));
    for_each(w, 0..100_usize, &Options::default(), |_| ()).unwrap();
}

/// Catches: what a pool keeps when it ends, and what its threads keep.
#[test]
fn pools_leave_nothing_behind() {
    holds_no_more("pools with an external slot", times(600), || {
        Pool::builder().threads(2).build().unwrap().run(work);
    });
    holds_no_more("pools with a thread at each slot", times(600), || {
        Pool::builder().threads(2).external_slot(false).build().unwrap().install(work);
    });
    holds_no_more("pools of two-field stacks", times(600), || {
        Pool::builder().threads(2).stack(StackKind::TwoField).build().unwrap().run(work);
    });
    holds_no_more("pools of one", times(600), || {
        Pool::builder().threads(1).build().unwrap().run(work);
    });
}

/// Catches: rows, maps and threads that a pool among other programs keeps.
#[test]
fn pools_that_share_the_machine_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("shared");
    holds_no_more("pools that share the machine", times(200) / 10, || {
        let pool = Pool::builder().threads(2).coordinate_in(&place).build().unwrap();
        pool.run(work);
        drop(pool.control());
    });
}

/// Catches: what a thread from outside leaves in a pool that lives on.
#[test]
fn threads_that_call_a_pool_leave_nothing_behind() {
    let pool = Pool::builder().threads(2).build().unwrap();
    thread::scope(|s| {
        let pool = &pool;
        holds_no_more("threads that run in a pool", times(1_000), || {
            s.spawn(|| pool.run(work)).join().unwrap();
        });
        holds_no_more("threads that install in a pool", times(1_000), || {
            s.spawn(|| pool.install(work)).join().unwrap();
        });
        let (sender, receiver) = mpsc::channel();
        holds_no_more("threads that spawn and go", times(1_000), || {
            let sender = sender.clone();
            let task = move |w: &Worker| {
                work(w);
                sender.send(()).unwrap();
            };
            s.spawn(move || pool.spawn(task)).join().unwrap();
            // Tasks that wait for busy workers would count as memory that is left behind.
            receiver.recv().unwrap();
        });
    });
    pool.run(work);
}

/// Catches: what transactions of a pool's threads keep when the pool ends.
#[test]
fn pools_whose_tasks_run_transactions_leave_nothing_behind() {
    let (count, text) = (TVar::new(0_u64), TBox::new(String::new()));
    holds_no_more("pools with transactions", times(600), || {
        let pool = Pool::builder().threads(2).external_slot(false).build().unwrap();
        let turn = || {
            atomically(|tx| {
                count.modify(tx, |n| n + 1)?;
                text.set(tx, "text".repeat(50))
            });
        };
        pool.run(|w| w.join(|_| turn(), |_| turn()));
    });
}

/// Catches: what each scope, loop or spawned task of a pool leaves in it.
#[test]
fn calls_of_one_pool_leave_nothing_behind() {
    let pool = Pool::builder().threads(2).build().unwrap();
    holds_no_more("calls of a pool", times(4_000), || pool.run(work));
    holds_no_more("caught panics", times(1_000), || {
        let panics =
            || pool.run(|w| w.join(|_| (), |_| std::panic::resume_unwind(Box::new("on purpose"))));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
    });
}
