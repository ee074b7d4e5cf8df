//! Values whose `Drop` panics: each is dropped once, the process continues, and one panic reaches
//! the caller.

use sinew_stm::{Prefetch, TBox, Tx, TxResult, atomically};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts its drops, and panics.
struct Bad<'a>(&'a AtomicUsize);

impl Drop for Bad<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        resume_unwind(Box::new("a drop"));
    }
}

/// The text that `f` panics with.
fn panic_of(f: impl FnOnce()) -> Option<&'static str> {
    let payload = catch_unwind(AssertUnwindSafe(f)).err()?;
    Some(payload.downcast_ref::<&str>().expect("a text"))
}

/// Catches: a second `Drop` that panics while the first panic unwinds, which aborts; values that
/// are not dropped after that.
#[test]
fn values_of_different_commits_may_all_panic_when_they_are_dropped() {
    let dropped = AtomicUsize::new(0);
    let boxed = TBox::new(Bad(&dropped));
    let mut caught = 0;
    for _ in 0..300 {
        caught += usize::from(panic_of(|| atomically(|tx| boxed.set(tx, Bad(&dropped)))).is_some());
    }
    let by_commits = dropped.load(Ordering::Relaxed);
    assert!(
        0 < caught && caught < by_commits,
        "{by_commits} drops in {caught} commits: none had several"
    );
    assert_eq!(panic_of(|| drop(boxed)), Some("a drop"));
    assert_eq!(dropped.load(Ordering::Relaxed), 301);
}

/// An attempt that has made versions which it no longer needs, and keeps an `Arc`.
fn untidy<'tx, 'a: 'tx>(
    tx: &mut Tx<'tx, '_>,
    boxed: &'tx TBox<Bad<'a>>,
    dropped: &'a AtomicUsize,
) -> TxResult<()> {
    (0..3).try_for_each(|_| boxed.set(tx, Bad(dropped)))
}

/// Catches: an abort of the process if values panic when they are dropped because the closure or a
/// handler has panicked; a different panic than the closure's or handler's.
#[test]
fn a_drop_that_panics_while_the_thread_unwinds_does_not_end_the_process() {
    let dropped = AtomicUsize::new(0);
    let boxed = TBox::new(Bad(&dropped));
    let closure = || {
        atomically(|tx| {
            untidy(tx, &boxed, &dropped)?;
            if true { resume_unwind(Box::new("the closure")) } else { Ok(()) }
        });
    };
    assert_eq!((panic_of(closure), dropped.load(Ordering::Relaxed)), (Some("the closure"), 3));
    let handler = || {
        atomically(|tx| {
            tx.on_commit(|| resume_unwind(Box::new("a handler")));
            let value = Bad(&dropped);
            tx.on_commit(move || drop(value));
            untidy(tx, &boxed, &dropped)
        });
    };
    assert_eq!((panic_of(handler), dropped.load(Ordering::Relaxed)), (Some("a handler"), 6));
    std::mem::forget(boxed);
}

/// Catches: the same for kept values, also if the transaction retries or only runs ahead.
#[test]
fn what_a_transaction_keeps_may_panic_when_it_is_dropped() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    let (first, second) = (Arc::new(Bad(&DROPPED)), Arc::new(Bad(&DROPPED)));
    let mut values = Some((first, second));
    let keep = || {
        atomically(|tx| {
            let (first, second) = values.take().expect("one attempt");
            tx.keep(first);
            tx.keep(second);
            Ok(())
        });
    };
    assert_eq!((panic_of(keep), DROPPED.load(Ordering::Relaxed)), (Some("a drop"), 2));
    Prefetch::new(9).run(|tx| {
        tx.keep(Arc::new(Bad(&DROPPED)));
        tx.keep(Arc::new(Bad(&DROPPED)));
        Ok(())
    });
    assert_eq!(DROPPED.load(Ordering::Relaxed), 4);
}
