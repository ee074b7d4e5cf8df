//! Loom models: every interleaving, and every order that the memory model allows, of two small
//! transactions.

use crate::{
    ContentionManager, Locking, Prefetch, PrefetchEnd, TBox, TVar, Transaction, Unfinished,
};
use ::loom::thread;
use sinew_sync::atomic::{AtomicUsize, Ordering};
use sinew_sync::cell::Cell;
use sinew_sync::plant::{Bug, plant};
use std::sync::Arc;
use std::task::{Wake, Waker};

/// Takes the token soon, so that a model ends.
fn brief() -> Transaction {
    Transaction::new().manager(ContentionManager::Suicide).max_aborts(1)
}

/// Two variables that are always equal; one thread changes them and one reads them.
fn commit_against_read() {
    let shared = Arc::new((TVar::new(0_u64), TVar::new(0_u64)));
    let other = Arc::clone(&shared);
    let writer = thread::spawn(move || {
        brief().atomically(|tx| other.0.set(tx, 1).and_then(|()| other.1.set(tx, 1)));
    });
    brief().atomically(|tx| {
        let pair = (shared.1.get(tx)?, shared.0.get(tx)?);
        assert_eq!(pair.0, pair.1, "half of a commit");
        Ok(())
    });
    writer.join().unwrap();
}

/// Catches: a memory order in which a reader sees half of a commit.
#[test]
fn loom_a_reader_sees_all_of_a_commit_or_nothing() {
    ::loom::model(commit_against_read);
}

/// Catches: a model that does not check the order of value and record.
#[test]
#[should_panic(expected = "half of a commit")]
fn loom_finds_a_relaxed_release() {
    plant(&[Bug::RelaxedRelease]);
    ::loom::model(|| {
        let var = Arc::new((TVar::new([0_u64; 1]), TVar::new(0_u64)));
        let other = Arc::clone(&var);
        let writer = thread::spawn(move || {
            brief().atomically(|tx| other.0.set(tx, [1]).and_then(|()| other.1.set(tx, 1)));
        });
        brief().atomically(|tx| {
            let pair = (var.1.get(tx)?, var.0.get(tx)?);
            assert_eq!(pair.0, pair.1[0], "half of a commit");
            Ok(())
        });
        writer.join().unwrap();
    });
}

/// Catches: a model that does not switch threads between the parts of a read.
#[test]
#[should_panic(expected = "half of a commit")]
fn loom_finds_a_read_without_a_second_look() {
    plant(&[Bug::NoSecondCheck]);
    ::loom::model(commit_against_read);
}

/// Two variables that are always equal; one thread changes them and a helper runs ahead.
fn commit_against_run_ahead() {
    let shared = Arc::new((TVar::new(0_u64), TVar::new(0_u64)));
    let other = Arc::clone(&shared);
    let writer = thread::spawn(move || {
        brief().atomically(|tx| other.0.set(tx, 1).and_then(|()| other.1.set(tx, 1)));
    });
    let mut pair = (0, 0);
    Prefetch::new(10).run(|tx| {
        let seen = (shared.1.get(tx)?, shared.0.get(tx)?);
        pair = seen;
        Ok(())
    });
    assert_eq!(pair.0, pair.1, "half of a commit");
    writer.join().unwrap();
}

/// Catches: a memory order in which a run ahead sees half of a commit.
#[test]
fn loom_a_run_ahead_sees_all_of_a_commit_or_nothing() {
    ::loom::model(commit_against_run_ahead);
}

/// Catches: a model that does not switch threads between the parts of a read ahead.
#[test]
#[should_panic(expected = "half of a commit")]
fn loom_finds_a_read_ahead_without_a_second_look() {
    plant(&[Bug::NoSecondCheck]);
    ::loom::model(commit_against_run_ahead);
}

/// Two threads that add to one variable.
fn increments() {
    let shared = Arc::new(TVar::new(0_u64));
    let other = Arc::clone(&shared);
    let adder = thread::spawn(move || brief().atomically(|tx| other.modify(tx, |n| n + 1)));
    brief().atomically(|tx| shared.modify(tx, |n| n + 1));
    adder.join().unwrap();
    assert_eq!(shared.load(), 2, "a lost update");
}

/// Catches: a record that two transactions own, a lock that does not acquire the value.
#[test]
fn loom_no_update_is_lost() {
    ::loom::model(increments);
}

/// Catches: a lock at the commit that does not acquire the value, or that misses a change since the
/// read.
#[test]
fn loom_no_update_is_lost_under_late_locks() {
    ::loom::model(|| {
        let shared = Arc::new(TVar::new(0_u64));
        let other = Arc::clone(&shared);
        let late = || brief().locking(Locking::Commit);
        let adder = thread::spawn(move || brief().atomically(|tx| other.modify(tx, |n| n + 1)));
        late().atomically(|tx| shared.modify(tx, |n| n + 1));
        adder.join().unwrap();
        assert_eq!(shared.load(), 2, "a lost update");
    });
}

/// Catches: a commit under late locks of which a reader sees half, and a late reader that does.
#[test]
fn loom_a_late_commit_is_seen_as_a_whole() {
    ::loom::model(|| {
        let shared = Arc::new((TVar::new(0_u64), TVar::new(0_u64)));
        let other = Arc::clone(&shared);
        let writer = thread::spawn(move || {
            let late = brief().locking(Locking::Commit);
            late.atomically(|tx| other.0.set(tx, 1).and_then(|()| other.1.set(tx, 1)));
        });
        brief().locking(Locking::Commit).atomically(|tx| {
            let pair = (shared.1.get(tx)?, shared.0.get(tx)?);
            assert_eq!(pair.0, pair.1, "half of a commit");
            Ok(())
        });
        writer.join().unwrap();
    });
}

/// A value whose drop is a write, so that the model detects concurrent readers.
struct Probe(Cell<u64>);

// SAFETY: the model checks whether this holds.
unsafe impl Send for Probe {}
// SAFETY: as above.
unsafe impl Sync for Probe {}

impl Drop for Probe {
    fn drop(&mut self) {
        self.0.with_mut(|_| ());
    }
}

fn versions() {
    let shared = Arc::new(TBox::new(Probe(Cell::new(0))));
    let other = Arc::clone(&shared);
    let writer = thread::spawn(move || {
        for value in 1..3 {
            brief().atomically(|tx| other.set(tx, Probe(Cell::new(value))));
        }
    });
    // SAFETY: nothing writes the value before its drop.
    brief().atomically(|tx| shared.with(tx, |probe| probe.0.with(|value| unsafe { *value })));
    writer.join().unwrap();
}

/// Catches: a version dropped while a run ahead reads it.
#[test]
fn loom_versions_outlive_runs_ahead() {
    ::loom::model(|| {
        let shared = Arc::new(TBox::new(Probe(Cell::new(0))));
        let other = Arc::clone(&shared);
        let writer = thread::spawn(move || {
            for value in 1..3 {
                brief().atomically(|tx| other.set(tx, Probe(Cell::new(value))));
            }
        });
        let ahead = Prefetch::new(10).run(|tx| {
            // SAFETY: nothing writes the value before its drop.
            shared.with(tx, |probe| probe.0.with(|value| unsafe { *value }))
        });
        assert_ne!(ahead.ended, PrefetchEnd::Panicked);
        writer.join().unwrap();
    });
}

/// Catches: a version dropped while a reader uses it.
#[test]
fn loom_versions_outlive_their_readers() {
    ::loom::model(versions);
}

/// Catches: a model that does not detect a version's readers.
#[test]
#[should_panic(expected = "Causality violation")]
fn loom_finds_a_reader_without_a_pin() {
    plant(&[Bug::NoPin]);
    ::loom::model(versions);
}

/// Catches: a memory order in which a mark is set and the committer does not find the sleeper.
#[test]
fn loom_a_sleeper_is_woken() {
    ::loom::model(|| {
        let shared = Arc::new(TVar::new(0_u64));
        let other = Arc::clone(&shared);
        let waker = thread::spawn(move || brief().atomically(|tx| other.set(tx, 1)));
        brief().atomically(|tx| if shared.get(tx)? == 0 { tx.retry() } else { Ok(()) });
        waker.join().unwrap();
    });
}

/// An irrevocable transaction that writes before and after it becomes irrevocable, and a reader.
fn irrevocable_commit_against_read() {
    let shared = Arc::new((TVar::new(0_u64), TVar::new(0_u64)));
    let other = Arc::clone(&shared);
    let writer = thread::spawn(move || {
        brief().atomically(|tx| {
            other.0.set(tx, 1)?;
            tx.irrevocable()?;
            assert_eq!((other.0.get(tx)?, other.1.get(tx)?), (1, 0), "its own write");
            other.1.set(tx, 1)
        });
    });
    brief().atomically(|tx| {
        let pair = (shared.1.get(tx)?, shared.0.get(tx)?);
        assert_eq!(pair.0, pair.1, "half of a commit");
        Ok(())
    });
    writer.join().unwrap();
    assert_eq!((shared.0.load(), shared.1.load()), (1, 1));
}

/// Catches: a reader beside an irrevocable transaction that sees half of its commit.
#[test]
fn loom_an_irrevocable_commit_is_seen_as_a_whole() {
    ::loom::model(irrevocable_commit_against_read);
}

/// Catches: a model that does not check the second locks.
#[test]
#[should_panic(expected = "half of a commit")]
fn loom_finds_an_irrevocable_commit_without_locks() {
    plant(&[Bug::UnlockedStore]);
    ::loom::model(irrevocable_commit_against_read);
}

/// Counts its calls.
#[derive(Default)]
struct Told(AtomicUsize);

impl Wake for Told {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A waiting transaction registers a waker while another one makes the change.
fn change_is_told() {
    let shared = Arc::new(TVar::new(0_u64));
    let other = Arc::clone(&shared);
    let changer = thread::spawn(move || brief().atomically(|tx| other.set(tx, 1)));
    let told = Arc::new(Told::default());
    let attempt =
        brief().attempt_or_wait(|tx| if shared.get(tx)? == 0 { tx.retry() } else { Ok(()) });
    if let Err(Unfinished::Waits(change)) = &attempt {
        change.notify(Waker::from(Arc::clone(&told)));
    }
    changer.join().unwrap();
    if let Err(Unfinished::Waits(change)) = attempt {
        assert_eq!((change.has_happened(), told.0.load(Ordering::Relaxed)), (true, 1), "told once");
    }
}

/// Catches: a change that is reported never or twice, if it comes before or after the registration.
#[test]
fn loom_a_change_is_told() {
    ::loom::model(change_is_told);
}

/// Catches: a model in which no change comes before the registration.
#[test]
#[should_panic(expected = "told once")]
fn loom_finds_a_change_that_is_forgotten() {
    plant(&[Bug::ForgottenChange]);
    ::loom::model(change_is_told);
}

/// Catches: a commit that an irrevocable transaction does not see, or an attempt that it repeats.
#[test]
fn loom_nothing_changes_under_an_irrevocable_transaction() {
    ::loom::model(|| {
        let shared = Arc::new(TVar::new(0_u64));
        let other = Arc::clone(&shared);
        let adder = thread::spawn(move || brief().atomically(|tx| other.modify(tx, |n| n + 1)));
        let mut effects = 0;
        brief().atomically(|tx| {
            let before = shared.get(tx)?;
            tx.irrevocable()?;
            effects += 1;
            assert_eq!(shared.get(tx)?, before);
            shared.set(tx, before + 1)
        });
        adder.join().unwrap();
        assert_eq!((shared.load(), effects), (2, 1));
    });
}
