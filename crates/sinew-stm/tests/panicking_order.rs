//! Keys whose `Ord` or `Hash` panics inside an operation of a container. The closure catches the
//! panic and continues: the operation has no effect then.

use sinew_stm::{Locking, THashMap, THeap, TList, TMap, Transaction, Tx, TxResult, atomically};
use std::cell::Cell;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    /// Comparisons and hashes until one panics.
    static LEFT: Cell<u32> = const { Cell::new(u32::MAX) };
}

fn count_down() {
    match LEFT.get() {
        0 => resume_unwind(Box::new("on purpose")),
        left => LEFT.set(left - 1),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key(u32);

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        count_down();
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        count_down();
        self.0.hash(state);
    }
}

/// Calls `f`, whose comparison number `at` panics. Returns whether it did.
fn panics_at<R>(at: u32, f: impl FnOnce() -> TxResult<R>) -> TxResult<bool> {
    LEFT.set(at);
    let done = catch_unwind(AssertUnwindSafe(f));
    LEFT.set(u32::MAX);
    done.map_or(Ok(true), |done| done.map(|_| false))
}

#[derive(Debug, Clone, Copy)]
enum Op {
    Put(u32),
    Take(u32),
}

trait Container {
    fn perform<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, op: Op) -> TxResult<()>;
    fn contents<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Vec<u32>>;
}

macro_rules! is_a_map {
    ($map:ty) => {
        impl Container for $map {
            fn perform<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, op: Op) -> TxResult<()> {
                match op {
                    Op::Put(key) => self.insert(tx, Key(key), key).map(drop),
                    Op::Take(key) => self.remove(tx, &Key(key)).map(drop),
                }
            }

            fn contents<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Vec<u32>> {
                let entries = self.to_vec(tx)?;
                assert!(
                    entries.iter().all(|(key, value)| key.0 == *value),
                    "a value of another key"
                );
                Ok(entries.into_iter().map(|(_, value)| value).collect())
            }
        }
    };
}

is_a_map!(TMap<Key, u32>);
is_a_map!(TList<Key, u32>);
is_a_map!(THashMap<Key, u32>);

impl Container for THeap<Key> {
    fn perform<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, op: Op) -> TxResult<()> {
        match op {
            Op::Put(key) => self.push(tx, Key(key)),
            Op::Take(_) => self.pop(tx).map(drop),
        }
    }

    /// Reads the entries in a part that is undone.
    fn contents<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Vec<u32>> {
        let mut keys = Vec::new();
        let all = |tx: &mut Tx<'tx, '_>| {
            while let Some(key) = self.pop(tx)? {
                keys.push(key.0);
            }
            tx.retry()
        };
        tx.or_else(all, |_| Ok(()))?;
        Ok(keys)
    }
}

const KEYS: u32 = 24;

/// A container with every second key.
fn filled<C: Container>(new: impl Fn() -> C) -> C {
    let container = new();
    atomically(|tx| {
        (0..KEYS).step_by(2).try_for_each(|key| container.perform(tx, Op::Put(key * 7 % KEYS)))
    });
    container
}

fn sorted(mut keys: Vec<u32>) -> Vec<u32> {
    keys.sort_unstable();
    keys
}

/// Makes `op` panic at each of its comparisons, first in the transaction and after other
/// operations, under `how`.
fn panics_everywhere<C: Container>(
    new: impl Fn() -> C,
    op: Op,
    how: Transaction,
    irrevocable: bool,
) {
    let mut at = 0;
    loop {
        let (touched, twin) = (filled(&new), filled(&new));
        let panicked = how.atomically(|tx| {
            if irrevocable {
                tx.irrevocable()?;
            }
            let before = touched.contents(tx)?;
            let first = panics_at(at, || touched.perform(tx, op))?;
            if first {
                assert_eq!(touched.contents(tx)?, before, "{op:?} panicked at comparison {at}");
            } else {
                twin.perform(tx, op)?;
            }
            for other in [Op::Put(5), Op::Take(8), Op::Put(11)] {
                touched.perform(tx, other)?;
                twin.perform(tx, other)?;
            }
            let again = panics_at(at, || touched.perform(tx, op))?;
            if !again {
                twin.perform(tx, op)?;
            }
            Ok(first || again)
        });
        let contents = |container: &C| atomically(|tx| container.contents(tx));
        assert_eq!(
            sorted(contents(&touched)),
            sorted(contents(&twin)),
            "{op:?} panicked at comparison {at}"
        );
        // Nodes of undone operations can be reused, and the order is kept.
        atomically(|tx| (100..110).try_for_each(|key| touched.perform(tx, Op::Put(key))));
        assert_eq!(contents(&touched).len(), contents(&twin).len() + 10);
        if !panicked {
            break;
        }
        at += 1;
    }
    assert!(at > 0, "{op:?} compares nothing");
}

fn is_whole_or_nothing<C: Container>(new: impl Fn() -> C) {
    let ways = [(Locking::Encounter, false), (Locking::Commit, false), (Locking::Encounter, true)];
    for (locking, irrevocable) in ways {
        let how = Transaction::new().locking(locking);
        for key in 0..KEYS {
            panics_everywhere(&new, Op::Put(key), how, irrevocable);
            panics_everywhere(&new, Op::Take(key), how, irrevocable);
        }
    }
}

/// Catches: a tree that a caught panic leaves cut in two.
#[test]
fn an_operation_of_a_map_that_panics_does_nothing() {
    is_whole_or_nothing(TMap::new);
}

/// Catches: a wrong length, or a gap, after a caught panic.
#[test]
fn an_operation_of_a_heap_that_panics_does_nothing() {
    is_whole_or_nothing(THeap::new);
}

/// Catches: a node that is linked before the last comparison.
#[test]
fn an_operation_of_a_list_that_panics_does_nothing() {
    is_whole_or_nothing(TList::new);
}

/// Catches: the same, and a hash that is computed after a write.
#[test]
fn an_operation_of_a_hash_map_that_panics_does_nothing() {
    is_whole_or_nothing(|| THashMap::with_buckets(3));
}
