//! Irrevocable transactions, their parts, and the readers beside them.

mod support;

use sinew_stm::{Locking, TArray, TBox, TMap, TVar, Transaction, Tx, TxResult, atomically};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use support::ends;

/// Held by each test: an irrevocable transaction aborts single attempts of all others.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Each kind of variable, with two values that share a record.
struct Shared {
    word: TVar<u64>,
    wide: TVar<[u64; 3]>,
    text: TBox<String>,
    array: TArray<u64>,
    map: TMap<u64, u64>,
}

impl Shared {
    fn new() -> Self {
        let map = TMap::new();
        atomically(|tx| map.insert(tx, 1, 0));
        let (word, wide) = (TVar::new(0), TVar::new([0; 3]));
        Self { word, wide, text: TBox::new("0".to_owned()), array: TArray::new(4, 0), map }
    }

    fn set<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, value: u64) -> TxResult<()> {
        self.word.set(tx, value)?;
        self.wide.set(tx, [value; 3])?;
        self.text.set(tx, value.to_string())?;
        (0..4).try_for_each(|i| self.array.set(tx, i, value))?;
        self.map.insert(tx, 1, value).map(drop)
    }

    /// The value of all variables.
    fn get<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<u64> {
        let value = self.word.get(tx)?;
        let array = (0..4).map(|i| self.array.get(tx, i)).collect::<TxResult<Vec<_>>>()?;
        let rest = (self.wide.get(tx)?, self.text.get(tx)?, array, self.map.get(tx, &1)?);
        assert_eq!(
            rest,
            ([value; 3], value.to_string(), vec![value; 4], Some(value)),
            "half of a commit"
        );
        Ok(value)
    }
}

/// Runs an irrevocable transaction that writes before and after it becomes irrevocable. Another
/// thread reads between the two writes.
fn reads_beside(how: Transaction, reader: Transaction) {
    let (shared, reached) = (Shared::new(), Barrier::new(2));
    std::thread::scope(|s| {
        s.spawn(|| {
            for value in [0, 0, 2] {
                reached.wait();
                assert_eq!(reader.atomically(|tx| shared.get(tx)), value);
                reached.wait();
            }
        });
        let meet = || {
            reached.wait();
            reached.wait();
        };
        how.atomically(|tx| {
            shared.set(tx, 1)?;
            tx.irrevocable()?;
            meet();
            assert_eq!(shared.get(tx)?, 1);
            shared.set(tx, 2)?;
            assert_eq!(shared.get(tx)?, 2);
            meet();
            Ok(())
        });
        meet();
    });
}

/// Catches: locks that an irrevocable transaction keeps, or takes before it commits.
#[test]
fn readers_go_on_beside_an_irrevocable_transaction() {
    let _alone = alone();
    ends(Duration::ZERO, || {
        for reader in [Locking::Encounter, Locking::Commit] {
            for how in [
                Transaction::new(),
                Transaction::new().locking(Locking::Commit),
                Transaction::new().max_aborts(0),
            ] {
                reads_beside(how, Transaction::new().locking(reader));
            }
        }
    });
}

/// Catches: parts of an irrevocable transaction that are not undone, or wrongly.
#[test]
fn parts_of_an_irrevocable_transaction_are_undone() {
    let _alone = alone();
    let shared = Shared::new();
    atomically(|tx| {
        shared.word.set(tx, 1)?;
        tx.irrevocable()?;
        tx.or_else(|tx| shared.set(tx, 7).and_then(|()| tx.retry()), |_| Ok(()))?;
        assert_eq!(shared.word.get(tx)?, 1);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            tx.atomically(|tx| shared.set(tx, 8).map(|()| resume_unwind(Box::new("on purpose"))))
        }));
        assert!(caught.is_err());
        assert_eq!((shared.word.get(tx)?, shared.array.get(tx, 1)?), (1, 0));
        shared.set(tx, 2)
    });
    assert_eq!(atomically(|tx| shared.get(tx)), 2);
}

/// Catches: a search through the whole write set for each access.
#[test]
fn an_irrevocable_transaction_may_write_much() {
    let _alone = alone();
    ends(Duration::ZERO, || {
        const PLACES: usize = 200_000;
        let array = TArray::new(PLACES, 0);
        for locking in [Locking::Encounter, Locking::Commit] {
            Transaction::new().locking(locking).atomically(|tx| {
                if locking == Locking::Encounter {
                    tx.irrevocable()?;
                }
                for _ in 0..2 {
                    for i in 0..PLACES {
                        let value = array.get(tx, i)?;
                        array.set(tx, i, value + 1)?;
                    }
                }
                Ok(())
            });
        }
        assert!(array.load_all().iter().all(|value| *value == 4));
    });
}

/// Catches: a lock time under which a transaction becomes irrevocable only in a second attempt,
/// which a single `attempt` does not make.
#[test]
fn a_single_attempt_can_become_irrevocable_under_each_lock_time() {
    let _alone = alone();
    for locking in [Locking::Encounter, Locking::Commit] {
        let shared = Shared::new();
        let how = Transaction::new().locking(locking);
        let done = how.attempt(|tx| {
            shared.set(tx, 1)?;
            tx.irrevocable()?;
            assert_eq!(shared.get(tx)?, 1);
            shared.set(tx, 2)
        });
        assert_eq!(done, Ok(()), "{locking:?}");
        assert_eq!(atomically(|tx| shared.get(tx)), 2, "{locking:?}");
    }
}
