//! Threads that come and go, and their transactions, hold no more memory after many than after few. With `SINEW_DEEP=1`: after a million.

mod memory;

use memory::{holds_no_more, times};
use sinew_stm::{TBox, TVar, atomically};
use std::cell::RefCell;
use std::thread;

const LARGE: usize = 1_000;

fn write_once(text: &TBox<Vec<u8>>) {
    atomically(|tx| text.set(tx, vec![1; LARGE]));
}

/// Catches: versions that only the thread which retired them counts.
#[test]
fn threads_that_write_one_version_each_leave_none_behind() {
    static SHARED: std::sync::LazyLock<TBox<Vec<u8>>> = std::sync::LazyLock::new(TBox::default);
    holds_no_more("threads with one boxed write", times(2_000), || {
        thread::spawn(|| write_once(&SHARED)).join().expect("no panic");
    });
}

/// Catches: the same where all threads have begun before the first ends.
#[test]
fn threads_that_end_together_leave_no_version_behind() {
    static SHARED: std::sync::LazyLock<TBox<Vec<u8>>> = std::sync::LazyLock::new(TBox::default);
    holds_no_more("groups of 16 threads with one boxed write", times(2_000) / 16, || {
        let threads: Vec<_> = (0..16).map(|_| thread::spawn(|| write_once(&SHARED))).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    });
}

/// Writes when the thread ends.
struct Last;

impl Drop for Last {
    fn drop(&mut self) {
        static ENDED: TVar<u64> = TVar::new(0);
        atomically(|tx| ENDED.modify(tx, |ended| ended + 1));
    }
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// Catches: a number and a descriptor for each transaction that runs after the thread's own were given back.
#[test]
fn transactions_in_thread_local_destructors_leave_nothing_behind() {
    static FIRST: TVar<u64> = TVar::new(0);
    holds_no_more("threads with a transaction before and after their end", times(2_000), || {
        let before_the_end = || {
            // Thread-local values are dropped in the reverse order of their first use.
            LAST.with(|last| last.replace(Some(Last)));
            atomically(|tx| FIRST.modify(tx, |n| n + 1));
        };
        thread::spawn(before_the_end).join().expect("no panic");
    });
}

/// Catches: what a million transactions of one thread leave.
#[test]
fn transactions_of_one_thread_leave_nothing_behind() {
    let (var, text) = (TVar::new(0), TBox::new(String::new()));
    holds_no_more("transactions", times(20_000), || {
        atomically(|tx| {
            var.modify(tx, |n| n + 1)?;
            text.modify(tx, |_| "text".repeat(100))
        });
    });
}
