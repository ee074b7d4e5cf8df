//! Parts of a transaction, branches and nested transactions, whose panics the closure catches; and
//! attempts that wait without a read.

mod support;

use sinew_stm::{
    Locking, TArray, TBox, TList, TVar, Transaction, Tx, TxResult, atomically, in_transaction,
};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;
use support::ends;

const BOTH: [Locking; 2] = [Locking::Encounter, Locking::Commit];

/// The kinds of variables.
struct Shared {
    old: TVar<u64>,
    new: TVar<u64>,
    wide: TVar<[u64; 3]>,
    text: TBox<String>,
    array: TArray<u64>,
    list: TList<u64, u64>,
}

impl Shared {
    fn new() -> Self {
        Self {
            old: TVar::new(0),
            new: TVar::new(0),
            wide: TVar::new([0; 3]),
            text: TBox::new("0".to_owned()),
            array: TArray::new(4, 0),
            list: TList::new(),
        }
    }

    /// Writes `value` to all variables but `new`.
    fn set<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, value: u64) -> TxResult<()> {
        self.old.set(tx, value)?;
        self.wide.set(tx, [value; 3])?;
        self.text.set(tx, value.to_string())?;
        self.array.set(tx, 1, value)?;
        self.list.insert(tx, 1, value)?;
        self.list.insert(tx, 10 + value, value).map(drop)
    }

    /// Whether all variables are as after `set(1)`.
    fn is_one<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<bool> {
        let words =
            (self.old.get(tx)?, self.new.get(tx)?, self.wide.get(tx)?, self.array.get(tx, 1)?);
        let list = self.list.to_vec(tx)?;
        Ok(words == (1, 0, [1; 3], 1) && self.text.get(tx)? == "1" && list == [(1, 1), (11, 1)])
    }
}

/// How a part that panics is nested.
#[derive(Debug, Clone, Copy)]
enum Nested {
    First,
    Second,
    Plain,
    InOrElse,
}

fn part<'tx>(
    tx: &mut Tx<'tx, '_>,
    how: Nested,
    shared: &'tx Shared,
    log: &'tx RefCell<Vec<&str>>,
) -> TxResult<()> {
    let panics = |tx: &mut Tx<'tx, '_>| {
        shared.set(tx, 2)?;
        shared.new.set(tx, 2)?;
        tx.on_commit(|| log.borrow_mut().push("never"));
        tx.on_abort(|| log.borrow_mut().push("undone"));
        resume_unwind(Box::new("on purpose"))
    };
    match how {
        Nested::First => tx.or_else(panics, |_| panic!("a panic is no retry")),
        Nested::Second => tx.or_else(|tx| shared.set(tx, 3).and_then(|()| tx.retry()), panics),
        Nested::Plain => tx.atomically(panics),
        Nested::InOrElse => {
            tx.or_else(|tx| shared.set(tx, 4).and_then(|()| tx.atomically(panics)), |_| Ok(()))
        }
    }
}

#[test]
fn a_caught_panic_undoes_the_part_it_comes_from_and_no_more() {
    for locking in BOTH {
        for how in [Nested::First, Nested::Second, Nested::Plain, Nested::InOrElse] {
            let (shared, log) = (Shared::new(), RefCell::new(Vec::new()));
            Transaction::new().locking(locking).atomically(|tx| {
                shared.set(tx, 1)?;
                tx.on_commit(|| log.borrow_mut().push("committed"));
                let caught = catch_unwind(AssertUnwindSafe(|| part(tx, how, &shared, &log)));
                assert_eq!(caught.expect_err("a panic").downcast_ref(), Some(&"on purpose"));
                assert!(shared.is_one(tx)?, "{how:?} {locking:?}");
                // Later parts are undone correctly.
                tx.or_else(|tx| shared.set(tx, 5).and_then(|()| tx.retry()), |_| Ok(()))?;
                tx.atomically(|tx| shared.array.set(tx, 2, 7))
            });
            assert!(atomically(|tx| shared.is_one(tx)), "{how:?} {locking:?}");
            assert_eq!(
                (shared.array.load_all()[2], &log.borrow()[..]),
                (7, &["undone", "committed"][..])
            );
        }
    }
}

/// Catches: locks that an undone part keeps.
#[test]
fn a_part_that_is_undone_by_a_panic_holds_no_lock() {
    ends(Duration::ZERO, || {
        let (kept, undone) = (TVar::new(0), TVar::new(0));
        atomically(|tx| {
            kept.set(tx, 1)?;
            let caught = catch_unwind(AssertUnwindSafe(|| {
                tx.atomically(|tx| {
                    undone.set(tx, 1).map(|()| resume_unwind(Box::new("on purpose")))
                })
            }));
            assert!(caught.is_err());
            // Waits for the lock of another thread.
            std::thread::scope(|s| s.spawn(|| undone.store(2)).join().expect("no panic"));
            Ok(())
        });
        assert_eq!((kept.load(), undone.load()), (1, 2));
    });
}

fn message(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("a panic");
    payload.downcast_ref::<&str>().map(ToString::to_string).expect("a message")
}

/// Catches: an attempt that sleeps for ever, under either lock time.
#[test]
fn a_retry_after_writes_alone_panics_under_both_lock_times() {
    ends(Duration::ZERO, || {
        for locking in BOTH {
            let (word, text) = (TVar::new(0), TBox::new(0));
            let how = Transaction::new().locking(locking);
            let wait = || {
                how.atomically(|tx| {
                    word.set(tx, 1).and_then(|()| text.set(tx, 1)).and_then(|()| tx.retry::<()>())
                });
            };
            assert!(message(wait).contains("before anything was read"), "{locking:?}");
            assert_eq!((in_transaction(), word.load(), text.load()), (false, 0, 0));
        }
    });
}

/// Catches: a read under the transaction's own lock whose change does not wake the attempt.
#[test]
fn a_retry_waits_for_what_was_read_under_its_own_lock() {
    ends(Duration::ZERO, || {
        for locking in BOTH {
            let array = TArray::new(2, 0);
            let (tell, told) = std::sync::mpsc::channel();
            std::thread::scope(|s| {
                let array = &array;
                let waits = s.spawn(move || {
                    Transaction::new().locking(locking).atomically(|tx| {
                        // Neighbours have one record, so the second read is under the lock for the
                        // first value.
                        array.set(tx, 0, 1)?;
                        let seen = array.get(tx, 1)?;
                        let _ = tell.send(());
                        if seen == 0 { tx.retry() } else { Ok(seen) }
                    })
                });
                told.recv().expect("it reads");
                atomically(|tx| array.set(tx, 1, 7));
                assert_eq!(waits.join().expect("no panic"), 7);
            });
            assert_eq!(array.load_all(), [1, 7]);
        }
    });
}
