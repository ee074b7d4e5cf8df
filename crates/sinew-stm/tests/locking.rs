//! Transactions that lock at the commit: the same outcomes as under early locks, found later.

mod support;

use sinew_stm::{Locking, TArray, TBox, TMap, TVar, Transaction, in_transaction};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;
use support::ends;

const BOTH: [Locking; 2] = [Locking::Encounter, Locking::Commit];

/// Catches: a value that late locks read or write differently: the transaction's own, wide,
/// neighbours under one record, boxes, branches that are undone.
#[test]
fn late_locks_change_no_outcome() {
    ends(Duration::ZERO, || {
        let outcome = |locking| {
            let how = Transaction::new().locking(locking);
            let (word, wide, array) =
                (TVar::new(1_u64), TVar::new([1_u64; 3]), TArray::new(6, 1_u64));
            let (text, map) = (TBox::new(String::new()), TMap::new());
            let mut seen = Vec::new();
            for turn in 0..40_u64 {
                seen.push(how.atomically(|tx| {
                    word.modify(tx, |n| n + turn)?;
                    wide.set(tx, [turn; 3])?;
                    wide.modify(tx, |[a, b, c]| [a + 1, b + 2, c + 3])?;
                    (0..6).try_for_each(|i| array.modify(tx, i, |n| n * 3 + turn))?;
                    text.modify(tx, |text| text + "a")?;
                    tx.or_else(
                        |tx| {
                            word.set(tx, 0)?;
                            wide.set(tx, [0; 3])?;
                            text.set(tx, "lost".to_owned())?;
                            map.insert(tx, 99, 99)?;
                            tx.retry()
                        },
                        |tx| map.insert(tx, turn % 7, turn).map(drop),
                    )?;
                    if turn % 5 == 0 {
                        map.remove(tx, &(turn % 3))?;
                    }
                    Ok((
                        word.get(tx)?,
                        wide.get(tx)?,
                        array.get(tx, 3)?,
                        text.get(tx)?,
                        map.to_vec(tx)?,
                    ))
                }));
            }
            (seen, word.load(), wide.load(), array.load_all(), text.load())
        };
        assert_eq!(outcome(Locking::Encounter), outcome(Locking::Commit));
    });
}

/// Catches: a lock that is taken at the first write, and an update that is lost because a
/// validation is missing.
#[test]
fn who_locks_late_gives_way_to_who_commits_first() {
    ends(Duration::ZERO, || {
        let (var, how) = (TVar::new(0), Transaction::new().locking(Locking::Commit));
        let mut attempts = 0;
        how.atomically(|tx| {
            attempts += 1;
            let before = var.get(tx)?;
            var.set(tx, before + 10)?;
            if attempts == 1 {
                // Another thread, whose transaction would wait for a lock.
                std::thread::scope(|s| s.spawn(|| var.store(1)).join().expect("no panic"));
            }
            assert_eq!(var.get(tx)?, before + 10);
            Ok(())
        });
        assert_eq!((var.load(), attempts, how.counters().changed), (11, 2, 1));
    });
}

/// Catches: a write without a read that is refused because another variable has changed, though no
/// variable that was read has.
#[test]
fn a_blind_late_write_is_the_last_one() {
    ends(Duration::ZERO, || {
        let (var, how) = (TVar::new(0), Transaction::new().locking(Locking::Commit));
        how.atomically(|tx| {
            var.set(tx, 7)?;
            std::thread::scope(|s| s.spawn(|| var.store(1)).join().expect("no panic"));
            Ok(())
        });
        assert_eq!((var.load(), how.counters().aborts()), (7, 0));
    });
}

/// Catches: writes, locks or a mode that remain after an attempt that panics, restarts or hides its
/// error.
#[test]
fn whatever_ends_a_late_attempt_nothing_is_left() {
    ends(Duration::ZERO, || {
        for locking in BOTH {
            let (var, text) = (TVar::new(0), TBox::new("kept".to_owned()));
            let how = Transaction::new().locking(locking);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                how.atomically(|tx| {
                    var.set(tx, 1)?;
                    text.set(tx, "lost".to_owned())?;
                    if var.get(tx)? == 1 { resume_unwind(Box::new("wanted")) } else { Ok(()) }
                });
            }));
            assert!(caught.is_err() && !in_transaction());
            let mut attempts = 0;
            how.atomically(|tx| {
                attempts += 1;
                var.modify(tx, |n| n + 1)?;
                if attempts < 3 { tx.restart() } else { Ok(()) }
            });
            assert_eq!((var.load(), text.load().as_str(), attempts), (1, "kept", 3), "{locking:?}");
            Transaction::new().atomically(|tx| var.modify(tx, |n| n + 1));
            assert_eq!(var.load(), 2);
        }
    });
}

/// Catches: a sleeper that is not woken because its writes hide its reads.
#[test]
fn a_late_transaction_waits_for_a_change() {
    ends(Duration::ZERO, || {
        let (slot, how) = (TVar::new(None), Transaction::new().locking(Locking::Commit));
        std::thread::scope(|s| {
            s.spawn(|| {
                for value in 0..100 {
                    how.atomically(|tx| match slot.replace(tx, Some(value))? {
                        Some(_) => tx.retry(),
                        None => Ok(()),
                    });
                }
            });
            for value in 0..100 {
                let taken =
                    how.atomically(|tx| slot.replace(tx, None)?.map_or_else(|| tx.retry(), Ok));
                assert_eq!(taken, value);
            }
        });
    });
}
