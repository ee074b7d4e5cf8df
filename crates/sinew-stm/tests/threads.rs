//! Guarantees beside other threads: waiting, irrevocability.

mod support;

use sinew_stm::{Locking, TVar, Transaction, atomically};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::ends;

/// Catches: a variable that cannot be a static, and one that cannot be shared by scoped threads.
#[test]
fn variables_can_be_static_or_borrowed() {
    ends(Duration::ZERO, || {
        static TOTAL: TVar<u64> = TVar::new(0);
        let own = TVar::new(0_u64);
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    for _ in 0..1_000 {
                        atomically(|tx| {
                            TOTAL.modify(tx, |n| n + 1)?;
                            own.modify(tx, |n| n + 1)
                        });
                    }
                });
            }
        });
        assert_eq!((TOTAL.load(), own.load()), (2_000, 2_000));
    });
}

/// Catches: a sleeper that is not woken, and values that are lost or arrive in another order.
#[test]
fn retry_hands_values_from_thread_to_thread() {
    ends(Duration::ZERO, || {
        let cell = TVar::new(None::<u32>);
        let rounds = 2_000;
        std::thread::scope(|s| {
            s.spawn(|| {
                for value in 0..rounds {
                    atomically(|tx| match cell.get(tx)? {
                        Some(_) => tx.retry(),
                        None => cell.set(tx, Some(value)),
                    });
                }
            });
            for expected in 0..rounds {
                let take =
                    || atomically(|tx| cell.replace(tx, None)?.map_or_else(|| tx.retry(), Ok));
                assert_eq!(take(), expected);
            }
        });
    });
}

/// Catches: an irrevocable transaction that runs twice, or others that commit in between,
/// whenever it locks.
#[test]
fn an_irrevocable_transaction_runs_its_effects_once() {
    ends(Duration::ZERO, || {
        let (var, effects) = (TVar::new(0_u64), AtomicUsize::new(0));
        std::thread::scope(|s| {
            for locking in [Locking::Encounter, Locking::Encounter, Locking::Commit] {
                let how = Transaction::new().locking(locking);
                let (var, effects) = (&var, &effects);
                s.spawn(move || {
                    for _ in 0..200 {
                        how.atomically(|tx| var.modify(tx, |n| n + 1));
                        how.atomically(|tx| {
                            let before = var.get(tx)?;
                            tx.irrevocable()?;
                            effects.fetch_add(1, Ordering::Relaxed);
                            std::thread::yield_now();
                            assert_eq!(var.get(tx)?, before);
                            var.set(tx, before + 1)
                        });
                    }
                });
            }
        });
        assert_eq!((var.load(), effects.load(Ordering::Relaxed)), (1_200, 600));
    });
}

/// Catches: a wait of an irrevocable transaction, which could not end, and a token that it keeps.
#[test]
fn an_irrevocable_transaction_must_not_retry_or_restart() {
    ends(Duration::ZERO, || {
        let var = TVar::new(0);
        let wait = || {
            atomically(|tx| {
                var.get(tx).and_then(|_| tx.irrevocable()).and_then(|()| tx.retry::<()>())
            });
        };
        assert!(catch_unwind(AssertUnwindSafe(wait)).is_err());
        let restart = || atomically(|tx| tx.irrevocable().and_then(|()| tx.restart::<()>()));
        assert!(catch_unwind(AssertUnwindSafe(restart)).is_err());
        var.store(1);
        atomically(|tx| tx.irrevocable().and_then(|()| var.set(tx, 2)));
        assert_eq!(var.load(), 2);
    });
}

/// Catches: effects that are executed twice, and a refusal that keeps the token.
#[test]
fn a_branch_that_became_irrevocable_must_not_retry() {
    ends(Duration::ZERO, || {
        let (var, second) = (TVar::new(0), AtomicUsize::new(0));
        let branch = || {
            atomically(|tx| {
                tx.or_else(
                    |tx| {
                        tx.irrevocable()
                            .and_then(|()| var.set(tx, 1))
                            .and_then(|()| tx.retry::<()>())
                    },
                    |_| {
                        second.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    },
                )
            });
        };
        assert!(catch_unwind(AssertUnwindSafe(branch)).is_err());
        assert_eq!((var.load(), second.load(Ordering::Relaxed)), (0, 0));
        // A transaction that was irrevocable before can take the other branch.
        atomically(|tx| {
            tx.irrevocable()?;
            tx.or_else(
                |tx| var.set(tx, 2).and_then(|()| tx.retry()),
                |tx| var.modify(tx, |n| n + 3),
            )
        });
        assert_eq!(var.load(), 3);
    });
}
