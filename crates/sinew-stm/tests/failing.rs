//! Transactions with errors of their own, waits with a deadline, values that are changed in place.

mod support;

use sinew_stm::{
    Abort, Locking, TBox, TList, TMap, TVar, Transaction, Tx, atomically, try_atomically,
};
use std::fmt;
use std::num::ParseIntError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};
use support::ends;

#[derive(Debug, PartialEq)]
enum Failure {
    Overdrawn(u32),
    NoNumber(ParseIntError),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Failure {}

impl From<ParseIntError> for Failure {
    fn from(error: ParseIntError) -> Self {
        Self::NoNumber(error)
    }
}

const BOTH: [Locking; 2] = [Locking::Encounter, Locking::Commit];

/// Takes what `text` says from `account`.
fn withdraw<'tx>(
    tx: &mut Tx<'tx, '_>,
    account: &'tx TVar<u32>,
    text: &str,
) -> Result<(), Abort<Failure>> {
    let (amount, balance) = (text.parse()?, account.get(tx)?);
    let rest = balance.checked_sub(amount).ok_or(Failure::Overdrawn(balance))?;
    Ok(account.set(tx, rest)?)
}

/// Catches: half of a transfer that commits, an error that is converted wrongly, and handlers that
/// are called although the transaction failed.
#[test]
fn a_failed_transaction_leaves_nothing() {
    for locking in BOTH {
        let how = Transaction::new().locking(locking);
        let (from, to) = (TVar::new(10), TVar::new(0_u32));
        let (names, list) = (TBox::new(String::new()), TList::new());
        let handled = std::cell::RefCell::new(Vec::new());
        let transfer = |text: &str| {
            how.try_atomically(|tx| {
                tx.on_commit(|| handled.borrow_mut().push("committed"));
                tx.on_abort(|| handled.borrow_mut().push("undone"));
                to.modify(tx, |sum| sum + 5)?;
                names.update(tx, |names| names.push('x'))?;
                list.insert(tx, 1, 2)?;
                withdraw(tx, &from, text)
            })
        };
        let state = || (from.load(), to.load(), names.load(), atomically(|tx| list.len(tx)));
        assert_eq!(transfer("11"), Err(Failure::Overdrawn(10)));
        assert!(matches!(transfer("eleven"), Err(Failure::NoNumber(_))));
        assert_eq!(state(), (10, 0, String::new(), 0));
        assert_eq!(transfer("5"), Ok(()));
        assert_eq!(state(), (5, 5, "x".to_owned(), 1));
        // Other tests' irrevocable transactions may abort further attempts.
        let handled = handled.into_inner();
        let (last, undone) = handled.split_last().unwrap();
        assert_eq!(*last, "committed");
        assert!(undone.len() >= 2 && undone.iter().all(|handler| *handler == "undone"));
    }
}

/// Catches: a part whose effects stay, one that undoes what was before it, and an error that ends
/// the transaction around the part.
#[test]
fn a_failed_part_is_undone_by_itself() {
    for locking in BOTH {
        let (a, b, text) = (TVar::new(1), TVar::new(1_u32), TBox::new("1".to_owned()));
        let seen = Transaction::new().locking(locking).atomically(|tx| {
            a.set(tx, 2)?;
            text.update(tx, |text| text.push('2'))?;
            let failed = tx.try_atomically(|tx| {
                a.set(tx, 3)?;
                b.set(tx, 3)?;
                text.update(tx, |text| text.push('3'))?;
                text.update(tx, |text| text.push('4'))?;
                assert_eq!(text.get(tx)?, "1234");
                withdraw(tx, &b, "4")
            })?;
            assert_eq!(failed, Err(Failure::Overdrawn(3)));
            let done = tx.try_atomically(|tx| withdraw(tx, &b, "1"))?;
            assert_eq!(done, Ok(()));
            Ok((a.get(tx)?, b.get(tx)?, text.get(tx)?))
        });
        assert_eq!(seen, (2, 0, "12".to_owned()));
        assert_eq!((a.load(), b.load(), text.load()), seen);
    }
}

/// Catches: an error that is returned although it follows from values of different times, and one
/// that is lost.
#[test]
fn an_error_follows_from_one_snapshot() {
    let (a, b) = (TVar::new(0_u64), TVar::new(0_u64));
    let end = Instant::now() + Duration::from_millis(200);
    std::thread::scope(|s| {
        s.spawn(|| {
            while Instant::now() < end {
                atomically(|tx| {
                    a.modify(tx, |n| n + 1)?;
                    b.modify(tx, |n| n + 1)
                });
            }
        });
        let mut failures = 0;
        while Instant::now() < end || failures == 0 {
            let read = try_atomically(|tx| {
                let pair = (a.get(tx)?, b.get(tx)?);
                if pair.0 % 2 == 0 { tx.abort(pair) } else { Ok(pair) }
            });
            let (Ok((a, b)) | Err((a, b))) = read;
            assert_eq!(a, b);
            assert_eq!(read.is_err(), a % 2 == 0);
            failures += u32::from(read.is_err());
        }
    });
}

/// Catches: an error within an irrevocable transaction that keeps its writes or the token.
#[test]
fn an_irrevocable_transaction_may_fail() {
    ends(Duration::ZERO, || {
        let var = TVar::new(1);
        for _ in 0..2 {
            let failed = try_atomically(|tx| {
                tx.irrevocable()?;
                var.set(tx, 2)?;
                tx.abort::<(), _>("failed")
            });
            assert_eq!((failed, var.load()), (Err("failed"), 1));
        }
    });
}

/// Catches: a wait that outlasts its deadline, one that ends before it, a deadline that a later
/// transaction inherits, and a change that wakes nobody.
#[test]
fn a_wait_ends_at_its_deadline_or_with_a_change() {
    ends(Duration::ZERO, || {
        let var = TVar::new(0);
        for locking in BOTH {
            let how = Transaction::new().locking(locking);
            let (begun, tries) = (Instant::now(), std::cell::Cell::new(0));
            let deadline = begun + Duration::from_millis(20);
            let value = how.atomically(|tx| {
                tries.set(tries.get() + 1);
                let value = var.get(tx)?;
                tx.or_else(|tx| tx.retry_until(deadline), |tx| tx.retry())?;
                Ok(value)
            });
            assert_eq!((value, tries.get()), (0, 2));
            assert!(begun.elapsed() >= Duration::from_millis(20));
            // Nothing was read.
            let deadline = Instant::now() + Duration::from_millis(1);
            how.atomically(|tx| tx.retry_until(deadline));
            // The deadline of a branch that commits.
            let soon = Instant::now() + Duration::from_millis(50);
            how.atomically(|tx| tx.or_else(|tx| tx.retry_until(soon), |_| Ok(())));
            let far = Instant::now() + Duration::from_secs(600);
            std::thread::scope(|s| {
                s.spawn(|| {
                    while Instant::now() < soon + Duration::from_millis(30) {
                        std::thread::yield_now();
                    }
                    var.store(1);
                });
                let tries = std::cell::Cell::new(0);
                how.atomically(|tx| {
                    tries.set(tries.get() + 1);
                    if var.get(tx)? == 0 { tx.retry_until(far) } else { Ok(()) }
                });
                assert!(tries.get() <= 2, "woken by a deadline of another transaction");
            });
            var.store(0);
        }
    });
}

/// Catches: clones beyond the first, a version that is changed although others can see it, and one
/// that a panic leaves torn.
#[test]
fn a_box_is_changed_in_place() {
    #[derive(Debug, Default)]
    struct Counted(Vec<u32>, std::sync::Arc<std::sync::atomic::AtomicUsize>);
    impl Clone for Counted {
        fn clone(&self) -> Self {
            self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Self(self.0.clone(), self.1.clone())
        }
    }
    for locking in BOTH {
        let how = Transaction::new().locking(locking);
        let counted = Counted::default();
        let clones = counted.1.clone();
        let count = || clones.swap(0, std::sync::atomic::Ordering::Relaxed);
        let boxed = TBox::new(counted);
        let push = |n: u32| how.atomically(|tx| boxed.update(tx, |counted| counted.0.push(n)));
        push(1);
        push(2);
        assert_eq!(count(), 2);
        how.atomically(|tx| {
            (3..10).try_for_each(|n| boxed.update(tx, |counted| counted.0.push(n)))?;
            assert_eq!(count(), 1);
            // A part that is undone needs the version before it.
            let _ = tx.try_atomically(|tx| {
                (10..20).try_for_each(|n| boxed.update(tx, |counted| counted.0.push(n)))?;
                tx.abort::<(), _>(())
            })?;
            assert_eq!(count(), 1);
            boxed.with(tx, |counted| assert_eq!(counted.0.len(), 9))
        });
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            how.atomically(|tx| {
                boxed.update(tx, |counted| {
                    counted.0.clear();
                    std::panic::resume_unwind(Box::new("on purpose"));
                })
            });
        }));
        assert!(panicked.is_err());
        assert_eq!(boxed.load().0, (1..10).collect::<Vec<u32>>());
    }
}

/// Catches: a failure that another thread sees halfway, or that leaves a lock.
#[test]
fn failures_beside_commits_keep_the_sum() {
    let map = TMap::new();
    atomically(|tx| (0..8_u32).try_for_each(|key| map.insert(tx, key, 100_u32).map(drop)));
    std::thread::scope(|s| {
        for thread in 0..3_u64 {
            let map = &map;
            s.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(thread);
                for _ in 0..2_000 {
                    let (from, to, amount) = (rng.u32(..8), rng.u32(..8), rng.u32(..150));
                    let _ = try_atomically(|tx| {
                        let entry = map.entry(tx, to)?;
                        entry.alter(|balance| balance.map(|balance| balance + amount))?;
                        let balance = map.get(tx, &from)?.unwrap_or(0);
                        let rest =
                            balance.checked_sub(amount).ok_or(Failure::Overdrawn(balance))?;
                        map.insert(tx, from, rest)?;
                        Ok::<_, Abort<Failure>>(())
                    });
                    let sum: u32 =
                        atomically(|tx| map.to_vec(tx)).into_iter().map(|(_, value)| value).sum();
                    assert_eq!(sum, 800);
                }
            });
        }
    });
}
