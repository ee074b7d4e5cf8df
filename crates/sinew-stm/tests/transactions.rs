//! Guarantees without concurrent threads: values, nesting, branches, handlers, panics.
//!
//! Tests in which transactions take the token are in `threads.rs`, because a transaction with the
//! token makes all other attempts of the process fail.

use sinew_stm::{
    Cause, ContentionManager, TBox, TVar, Transaction, TxError, atomically, in_transaction,
};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

/// Catches: a read that does not see the transaction's own writes, in a word, in several, and in
/// a box.
#[test]
fn a_transaction_reads_what_it_wrote() {
    let (small, large, boxed) =
        (TVar::new(1_u8), TVar::new([1_u16; 9]), TBox::new("one".to_owned()));
    atomically(|tx| {
        for round in 2..5_u8 {
            small.set(tx, round)?;
            large.set(tx, [u16::from(round); 9])?;
            boxed.set(tx, round.to_string())?;
            assert_eq!(small.get(tx)?, round);
            assert_eq!(large.get(tx)?, [u16::from(round); 9]);
            assert_eq!(boxed.get(tx)?, round.to_string());
        }
        Ok(())
    });
    assert_eq!((small.load(), large.load(), boxed.load()), (4, [4; 9], "4".to_owned()));
    assert_eq!((small.into_inner(), large.into_inner()), (4, [4; 9]));
}

/// Catches: values whose size is no multiple of a word, or that have padding or no size.
#[test]
fn values_of_every_size_survive() {
    let (none, odd, padded, text) =
        (TVar::new(()), TVar::new([7_u8; 3]), TVar::new((1_u8, 2_u64)), TVar::new("x"));
    atomically(|tx| {
        none.set(tx, ())?;
        odd.modify(tx, |[a, b, c]| [c, b, a + 1])?;
        padded.modify(tx, |(a, b)| (a + 1, b + 1))?;
        text.set(tx, "a text")
    });
    assert_eq!(
        (none.load(), odd.load(), padded.load(), text.load()),
        ((), [7, 7, 8], (2, 3), "a text")
    );
}

/// Catches: writes of a panicking transaction, locks that it keeps, and a thread that remains
/// inside a transaction.
#[test]
fn a_panic_takes_everything_back() {
    let (var, boxed) = (TVar::new(1), TBox::new(vec![1]));
    let caught = catch_unwind(AssertUnwindSafe(|| {
        atomically(|tx| {
            var.set(tx, 2)?;
            boxed.set(tx, vec![2])?;
            std::panic::resume_unwind(Box::new("on purpose"));
            #[expect(unreachable_code, reason = "gives the closure its type")]
            Ok(())
        });
    }));
    assert!(caught.is_err() && !in_transaction());
    assert_eq!((var.load(), boxed.load()), (1, vec![1]));
}

/// Catches: a nested transaction whose effects survive the outer one, or are not seen by it.
#[test]
fn a_nested_transaction_is_a_part_of_the_outer_one() {
    let var = TVar::new(1);
    let outcome = Transaction::new().attempt(|tx| {
        tx.atomically(|tx| var.set(tx, 2))?;
        assert_eq!(var.get(tx)?, 2);
        tx.retry::<()>()
    });
    assert_eq!((outcome, var.load()), (Err(Cause::Body), 1));
}

/// Catches: a transaction that starts inside another one and commits separately, or with variables
/// that were dropped.
#[test]
fn an_unrelated_transaction_inside_another_panics_and_names_both() {
    let var = TVar::new(1);
    let inside = || atomically(|tx| var.set(tx, 2));
    let caught = catch_unwind(AssertUnwindSafe(|| {
        atomically(|_| {
            inside();
            Ok(())
        });
    }));
    let message = caught.expect_err("a panic").downcast::<String>().expect("a message");
    assert_eq!(message.matches("transactions.rs").count(), 2, "{message}");
    inside();
    assert_eq!(var.load(), 2);
}

/// Catches: an attempt that commits although its closure hid a conflict or an old error.
#[test]
fn an_attempt_that_hides_its_conflict_does_not_commit() {
    let (var, other) = (TVar::new(0), TVar::new(0));
    let ((tell, locked), (go, told)) = (mpsc::channel(), mpsc::channel::<()>());
    std::thread::scope(|s| {
        let var = &var;
        s.spawn(move || {
            atomically(|tx| {
                var.set(tx, 1)?;
                // The first attempt meets the other thread; a later one need not wait again.
                let _ = tell.send(());
                let _ = told.recv();
                Ok(())
            });
        });
        locked.recv().expect("the lock");
        let hiding = Transaction::new().manager(ContentionManager::Suicide);
        let outcome = hiding.attempt(|tx| {
            other.set(tx, 1)?;
            let _ = var.get(tx);
            Ok(())
        });
        assert_eq!(outcome, Err(Cause::Locked));
        assert_eq!(other.load(), 0);
        drop(go);
    });
    assert_eq!(var.load(), 1);
}

/// Catches: a branch whose writes remain: new ones, or ones that replace earlier writes of the same
/// transaction.
#[test]
fn or_else_undoes_the_first_branch_also_when_nested() {
    let (a, wide, boxed) = (TVar::new(0), TVar::new([0_u64; 3]), TBox::new("0".to_owned()));
    let b = TVar::new(0);
    atomically(|tx| {
        a.set(tx, 1)?;
        wide.set(tx, [1; 3])?;
        boxed.set(tx, "1".to_owned())?;
        tx.or_else(
            |tx| {
                a.set(tx, 2)?;
                wide.set(tx, [2; 3])?;
                boxed.set(tx, "2".to_owned())?;
                tx.or_else(
                    |tx| {
                        a.set(tx, 3)?;
                        b.set(tx, 3)?;
                        boxed.set(tx, "3".to_owned())?;
                        tx.retry()
                    },
                    |tx| {
                        assert_eq!(
                            (a.get(tx)?, b.get(tx)?, boxed.get(tx)?),
                            (2, 0, "2".to_owned())
                        );
                        b.set(tx, 4)
                    },
                )?;
                tx.retry()
            },
            |tx| {
                assert_eq!((a.get(tx)?, wide.get(tx)?, b.get(tx)?), (1, [1; 3], 0));
                assert_eq!(boxed.get(tx)?, "1");
                b.set(tx, 5)
            },
        )
    });
    assert_eq!((a.load(), wide.load(), b.load(), boxed.load()), (1, [1; 3], 5, "1".to_owned()));
}

/// Catches: a first branch that succeeds and is undone nevertheless.
#[test]
fn or_else_keeps_the_branch_that_succeeds() {
    let (a, boxed) = (TVar::new(0), TBox::new(0));
    atomically(|tx| {
        boxed.set(tx, 1)?;
        tx.or_else(|tx| boxed.set(tx, 2).and_then(|()| a.set(tx, 2)), |tx| a.set(tx, 3))
    });
    assert_eq!((a.load(), boxed.load()), (2, 2));
}

/// Catches: handlers called too often, in the wrong order, inside the transaction, or for a
/// branch that was undone.
#[test]
fn handlers_are_called_outside_and_in_order() {
    let (log, failed, var) = (RefCell::new(Vec::new()), Cell::new(false), TVar::new(0));
    let note = |what| {
        assert!(!in_transaction());
        var.store(var.load() + 1);
        log.borrow_mut().push(what);
    };
    let old = RefCell::new(None::<TxError>);
    atomically(|tx| {
        tx.on_commit(|| note("first"));
        tx.on_abort(|| note("lost"));
        tx.or_else(
            |tx| {
                tx.on_commit(|| note("never"));
                tx.on_abort(|| note("undone"));
                let stop = tx.retry::<()>();
                old.replace(stop.err());
                stop
            },
            |_| Ok(()),
        )?;
        tx.on_commit(|| note("second"));
        if !failed.replace(true) {
            var.get(tx)?;
            // Another transaction, in this one's handler, makes the change that this one waits for.
            return tx.retry();
        }
        Ok(())
    });
    assert_eq!(*log.borrow(), ["undone", "lost", "undone", "first", "second"]);
}

/// Catches: a value dropped twice, not at all, or during the transaction.
#[test]
fn every_boxed_value_is_dropped_once_and_outside() {
    static LIVE: AtomicUsize = AtomicUsize::new(0);
    #[derive(Debug)]
    struct Counted;
    impl Counted {
        fn new() -> Self {
            LIVE.fetch_add(1, Ordering::Relaxed);
            Self
        }
    }
    impl Clone for Counted {
        fn clone(&self) -> Self {
            Self::new()
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            LIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let boxed = TBox::new(Counted::new());
    for round in 0..1_000 {
        let outcome = Transaction::new().attempt(|tx| {
            boxed.set(tx, Counted::new())?;
            tx.or_else(
                |tx| {
                    boxed.set(tx, Counted::new())?;
                    if round % 2 == 0 { tx.retry() } else { Ok(()) }
                },
                |tx| boxed.set(tx, Counted::new()),
            )?;
            if round % 3 == 0 { tx.retry() } else { Ok(()) }
        });
        assert_eq!(outcome.is_ok(), round % 3 != 0);
    }
    // Some old versions wait for the next scan of the pins.
    assert!(LIVE.load(Ordering::Relaxed) < 200, "{LIVE:?} values for one variable");
    drop(boxed.load());
    drop(boxed);
    assert_eq!(LIVE.load(Ordering::Relaxed), 0);
}

/// Catches: linked nodes that cannot be walked, or that are gone before the transaction is over.
#[test]
fn linked_nodes_are_walked_by_keeping_them() {
    struct Node {
        value: u32,
        next: TBox<Option<Arc<Node>>>,
    }
    let list = (0..10)
        .rev()
        .fold(None, |next, value| Some(Arc::new(Node { value, next: TBox::new(next) })));
    let first = TBox::new(list);
    let sum = || {
        atomically(|tx| {
            let (mut sum, mut link) = (0, first.get(tx)?);
            while let Some(node) = link {
                let node = tx.keep(node);
                sum += node.value;
                link = node.next.get(tx)?;
            }
            Ok(sum)
        })
    };
    assert_eq!(sum(), 45);
    atomically(|tx| match first.get(tx)? {
        Some(node) => {
            let rest = tx.keep(node).next.get(tx)?;
            first.set(tx, rest)
        }
        None => tx.retry(),
    });
    assert_eq!(sum(), 45);
}

/// Catches: a transaction that would sleep for ever.
#[test]
fn retry_without_a_read_panics() {
    let caught = catch_unwind(|| atomically(|tx| tx.retry::<()>()));
    let message = caught.expect_err("a panic").downcast::<&str>().expect("a message");
    assert!(message.contains("before anything was read") && !in_transaction());
}

/// Catches: a message that names a line of the library.
#[test]
fn a_retry_without_reads_panics_at_the_place_of_its_transaction() {
    let (here, files) = (std::thread::current().id(), Arc::new(Mutex::new(Vec::new())));
    let (before, seen) = (std::panic::take_hook(), Arc::clone(&files));
    std::panic::set_hook(Box::new(move |info| match info.location() {
        Some(place) if std::thread::current().id() == here => {
            seen.lock().unwrap().push(place.file().to_owned());
        }
        _ => before(info),
    }));
    let how = Transaction::new();
    let panics = |attempt: &dyn Fn()| catch_unwind(AssertUnwindSafe(attempt)).is_err();
    assert!(panics(&|| how.atomically(|tx| tx.retry())));
    assert!(panics(&|| drop(how.attempt_or_wait(|tx| tx.retry::<()>()))));
    assert_eq!(*files.lock().unwrap(), [file!(); 2]);
}

/// Catches: counters of other sites, missing counters of ended threads, and exchanged causes.
#[test]
fn a_site_counts_what_its_transactions_do() {
    let (a, b) = (TVar::new(0), TVar::new(0));
    let site = Transaction::new();
    let run = || {
        site.atomically(|tx| {
            a.get(tx).and_then(|n| b.get(tx).map(|m| n + m)).and_then(|n| b.set(tx, n))
        });
    };
    run();
    std::thread::scope(|s| drop(s.spawn(run)));
    assert_eq!(site.attempt(|tx| tx.retry::<()>()), Err(Cause::Body));
    let counters = site.counters();
    assert_eq!((counters.commits, counters.reads, counters.writes), (2, 4, 2));
    assert_eq!((counters.aborts(), counters.body), (1, 1));
    assert_eq!(Transaction::new().counters().commits, 0);
}

/// Catches: a restart that waits for a change, that keeps what the attempt wrote, or that only
/// ends a branch.
#[test]
fn a_restarted_attempt_leaves_no_trace_and_is_repeated_at_once() {
    let (var, mut attempts) = (TVar::new(0), 0);
    atomically(|tx| {
        attempts += 1;
        var.modify(tx, |n| n + 1)?;
        let restart = attempts < 3;
        tx.or_else(
            |tx| if restart { tx.restart() } else { Ok(()) },
            |_| panic!("a restart is no retry"),
        )
    });
    assert_eq!((attempts, var.load()), (3, 1));
    assert_eq!(Transaction::new().attempt(|tx| tx.restart::<()>()), Err(Cause::Body));
}

/// Catches: a sample of an address that was not accessed, and accesses that are never sampled.
#[test]
fn a_transaction_says_where_it_has_been() {
    let (read, written, other) = (TVar::new(1), TVar::new(2), TVar::new(3));
    let lies_in = |address: usize, var: &TVar<i32>| {
        let start = std::ptr::from_ref(var).addr();
        (start..start + size_of_val(var)).contains(&address)
    };
    atomically(|tx| {
        assert_eq!(tx.accessed(7), None);
        read.get(tx)?;
        written.set(tx, 5)?;
        let addresses: Vec<usize> = (0..10).filter_map(|random| tx.accessed(random)).collect();
        for var in [&read, &written] {
            assert!(addresses.iter().any(|&address| lies_in(address, var)));
        }
        assert!(
            addresses.len() == 10 && !addresses.iter().any(|&address| lies_in(address, &other))
        );
        Ok(())
    });
}
