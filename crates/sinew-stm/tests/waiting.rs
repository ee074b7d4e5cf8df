//! Attempts that wait for a change, and the wakers that it calls.

mod support;

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

use sinew_stm::{
    Cause, Change, Locking, TBox, TVar, Transaction, Tx, TxResult, Unfinished, atomically,
};
use support::ends;

#[derive(Default)]
struct Told(AtomicUsize);

impl Told {
    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Told {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The change that an attempt at `f` waits for.
fn wait_for<'env>(
    how: Transaction,
    f: impl for<'tx> FnOnce(&mut Tx<'tx, 'env>) -> TxResult<()>,
) -> Change {
    match how.attempt_or_wait(f) {
        Err(Unfinished::Waits(change)) => change,
        other => panic!("{other:?}"),
    }
}

/// The error, as `?` turns it into a boxed one.
fn failure<E: Error + 'static>(attempt: Result<(), E>) -> Box<dyn Error> {
    attempt.unwrap_err().into()
}

fn both_lock_times() -> [Transaction; 2] {
    [Locking::Encounter, Locking::Commit].map(|locking| Transaction::new().locking(locking))
}

/// Catches: an attempt that is repeated, one whose writes stay although it waits, and a conflict
/// mistaken for a retry.
#[test]
fn an_attempt_commits_is_given_up_or_waits() {
    ends(Duration::ZERO, || {
        for how in both_lock_times() {
            let (var, other) = (TVar::new(1), TVar::new(0));
            assert_eq!(how.attempt_or_wait(|tx| var.replace(tx, 2)).unwrap(), 1);
            let given_up = how.attempt_or_wait(|tx| tx.restart::<()>());
            assert!(matches!(given_up, Err(Unfinished::GivenUp(Cause::Body))));
            let message = failure(how.attempt_or_wait(|tx| tx.restart::<()>())).to_string();
            assert!(
                message.contains("the closure ended") && message.contains("repeat the attempt")
            );
            let message =
                failure(how.attempt_or_wait(|tx| var.get(tx).and_then(|_| tx.retry::<()>())));
            assert!(message.to_string().contains("once its change has happened"), "{message}");
            assert!(failure(how.attempt(|tx| tx.restart::<()>())).is::<Cause>());
            let before = how.counters().retries;
            let change = wait_for(how, |tx| {
                other.set(tx, 7)?;
                var.get(tx).and_then(|_| tx.retry())
            });
            assert_eq!(
                (change.has_happened(), other.load(), how.counters().retries),
                (false, 0, before + 1)
            );
            // A variable that was only written is not waited for.
            other.store(1);
            assert!(!change.has_happened());
            var.store(3);
            assert!(change.has_happened());
        }
    });
}

/// Catches: a waker that is called twice; one that is set late and never called; one that is called
/// although another replaced it or the change was dropped; and one that the table of sleepers
/// keeps.
#[test]
fn a_change_is_told_once_to_the_last_who_asked() {
    ends(Duration::ZERO, || {
        let (vars, told) = ([0, 0].map(TVar::new), [0; 4].map(|_| Arc::new(Told::default())));
        let changes: Vec<Change> = told
            .iter()
            .map(|_| {
                wait_for(Transaction::new(), |tx| {
                    vars.iter().try_for_each(|var| var.get(tx).map(drop))?;
                    tx.retry()
                })
            })
            .collect();
        let waker = |at: usize| Waker::from(Arc::clone(&told[at]));
        changes[0].notify(waker(0));
        changes[1].notify(waker(0));
        changes[1].notify(waker(1));
        changes[2].notify(waker(2));
        let [first, second, third, fourth] = <[Change; 4]>::try_from(changes).unwrap();
        drop(third);
        vars.iter().for_each(|var| var.store(1));
        fourth.notify(waker(3));
        assert_eq!(told.each_ref().map(|told| told.count()), [1, 1, 0, 1]);
        drop((first, second, fourth));
        assert!(told.iter().all(|told| Arc::strong_count(told) == 1));
        vars.iter().for_each(|var| var.store(2));
        assert_eq!(told.each_ref().map(|told| told.count()), [1, 1, 0, 1]);
    });
}

/// Catches: an attempt that waits while it holds the token, or with a variable locked.
#[test]
fn who_waits_holds_up_nobody() {
    ends(Duration::ZERO, || {
        for how in both_lock_times() {
            let (var, text) = (TVar::new(0), TBox::new(String::new()));
            let change = wait_for(how.max_aborts(0), |tx| {
                text.set(tx, "given up".to_owned())?;
                var.modify(tx, |n| n + 1)?;
                var.get(tx).and_then(|_| text.with(tx, String::len)).and_then(|_| tx.retry())
            });
            std::thread::scope(|s| {
                s.spawn(|| {
                    atomically(|tx| text.set(tx, "here".to_owned()).and_then(|()| var.set(tx, 5)));
                });
            });
            change.wait();
            assert_eq!((var.load(), text.load()), (5, "here".to_owned()));
        }
    });
}

/// Catches: handlers that are skipped because no thread sleeps, and kept values that are never
/// released.
#[test]
fn the_attempt_is_over_before_the_change_comes() {
    ends(Duration::ZERO, || {
        let (node, undone) = (Arc::new(TVar::new(0)), AtomicUsize::new(0));
        let change = wait_for(Transaction::new(), |tx| {
            let kept = tx.keep(Arc::clone(&node));
            tx.on_abort(|| {
                undone.fetch_add(1, Ordering::Relaxed);
                // In a transaction of its own.
                node.store(1);
            });
            kept.get(tx).and_then(|_| tx.retry())
        });
        assert_eq!((undone.load(Ordering::Relaxed), Arc::strong_count(&node)), (1, 1));
        // The handler's change counts as well.
        assert!(change.has_happened());
    });
}

/// Catches: an attempt that waits for a change that no other thread can make.
#[test]
fn what_no_change_could_end_panics() {
    ends(Duration::ZERO, || {
        let var = TVar::new(0);
        let text = |f: &dyn Fn() -> bool| {
            let payload = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
            (*payload.downcast_ref::<&str>().unwrap()).to_owned()
        };
        for how in both_lock_times() {
            let unread =
                || how.attempt_or_wait(|tx| var.set(tx, 1).and_then(|()| tx.retry::<()>())).is_ok();
            assert!(text(&unread).contains("before anything was read"));
            let irrevocable = || {
                let attempt = how.max_aborts(0).attempt_or_wait(|tx| {
                    var.get(tx)?;
                    assert!(!tx.is_irrevocable());
                    tx.irrevocable()?;
                    assert!(tx.is_irrevocable());
                    tx.retry::<()>()
                });
                attempt.is_ok()
            };
            assert!(text(&irrevocable).contains("after irrevocable()"));
            assert_eq!(var.load(), 0);
        }
    });
}
