//! Many short threads and their transactions hold no more memory than few do. With `SINEW_DEEP=1`:
//! a million.

mod memory;

use memory::{Alone, holds_no_more, times};
use sinew_stm::{TArray, TBox, TVar, Transaction, atomically};
use std::cell::RefCell;
use std::thread;

const LARGE: usize = 1_000;

fn write_once(text: &TBox<Vec<u8>>) {
    atomically(|tx| text.set(tx, vec![1; LARGE]));
}

/// Catches: versions that only the thread that retired them counts.
#[test]
fn threads_that_write_one_version_each_leave_none_behind() {
    static SHARED: std::sync::LazyLock<TBox<Vec<u8>>> = std::sync::LazyLock::new(TBox::default);
    holds_no_more("threads with one boxed write", times(2_000), || {
        thread::spawn(|| write_once(&SHARED)).join().expect("no panic");
    });
}

/// Catches: the same if all threads have begun before the first ends.
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

/// Catches: a number and a descriptor for each transaction that runs after the thread's own were
/// freed.
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

/// Catches: memory that remains after a million transactions of one thread.
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

/// Catches: an entry for each read of the same variables, in any order of a few thousand.
#[test]
fn repeated_reads_take_no_memory() {
    let alone = Alone::new();
    let vars: Vec<_> = (0..3_000_u64).map(TVar::new).collect();
    for few in [1, 2, 3_000] {
        let [most, left] = alone.adds(|| {
            let sum = atomically(|tx| {
                (0..50_000_000)
                    .try_fold(0_u64, |sum, i| Ok(sum.wrapping_add(vars[i % few].get(tx)?)))
            });
            assert_eq!(sum, (0..50_000_000).map(|i| (i % few) as u64).sum::<u64>());
        });
        println!("50 million reads of {few} variables: {most} kB, then {left} kB");
        assert!(most <= 4 << 10 && left <= 2 << 10, "{few} variables: {most} kB, then {left} kB");
    }
}

/// Catches: an entry, or words, for each write of the same variable, alone and in a part that may
/// be undone.
#[test]
fn repeated_writes_take_no_memory() {
    let alone = Alone::new();
    let (word, wide) = (TVar::new(0_u64), TVar::new([0_u64; 4]));
    let [most, left] = alone.adds(|| {
        atomically(|tx| {
            word.set(tx, 1)?;
            wide.set(tx, [1; 4])?;
            for _ in 0..2 {
                (0..2_000_000).try_for_each(|i| word.set(tx, i))?;
                (0..2_000_000).try_for_each(|i| wide.set(tx, [i; 4]))?;
                tx.atomically(|tx| {
                    (0..2_000_000).try_for_each(|i| word.set(tx, i))?;
                    (0..2_000_000).try_for_each(|i| wide.set(tx, [i; 4]))
                })?;
            }
            (0..100_000).try_for_each(|i| {
                tx.or_else(|tx| wide.set(tx, [i; 4]).and_then(|()| tx.retry()), |_| Ok(()))
            })
        });
    });
    println!("16 million writes of 2 variables: {most} kB, then {left} kB");
    assert!(most <= 1 << 10, "{most} kB");
    assert_eq!((word.load(), wide.load()), (1_999_999, [1_999_999; 4]));
}

/// Catches: logs that keep the memory of a large transaction, however it ends.
#[test]
fn a_large_transaction_leaves_little_behind() {
    let alone = Alone::new();
    const PLACES: usize = 1_000_000;
    let array = TArray::new(PLACES, 0_u64);
    let wide = TArray::new(PLACES / 4, [0_u64; 3]);
    // The last one commits as the first does.
    for end in 0..4 {
        let [most, left] = alone.adds(|| {
            let done = Transaction::new().attempt(|tx| {
                if end == 1 {
                    tx.irrevocable()?;
                }
                for i in 0..PLACES {
                    let value = array.get(tx, i)?;
                    array.set(tx, i, value + 1)?;
                }
                for i in 0..PLACES / 4 {
                    wide.set(tx, i, [i as u64; 3])?;
                }
                if end == 2 { tx.restart() } else { Ok(()) }
            });
            assert_eq!(done.is_err(), end == 2);
        });
        println!("a large transaction that ends as number {end}: {most} kB, then {left} kB");
        assert!(most > 16 << 10 && left <= 5 << 10, "{most} kB, then {left} kB");
    }
    assert_eq!(array.load_all(), [3; PLACES]);
}
