//! Entries of maps, and changes of large values in place: several in one transaction, panics in
//! their closures, attempts that abort or wait.

mod support;

use sinew_stm::{
    Locking, TArray, THashMap, TList, TMap, TVar, Transaction, Tx, TxResult, atomically,
    try_atomically,
};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;
use support::ends;

/// How a step changes an entry.
#[derive(Debug, Clone, Copy)]
enum How {
    OrInsert,
    Insert,
    Remove,
    Alter,
}

const HOW: [How; 4] = [How::OrInsert, How::Insert, How::Remove, How::Alter];

/// Every third result is none.
fn altered(value: Option<u32>) -> Option<u32> {
    Some(value.unwrap_or(0) + 1).filter(|value| !value.is_multiple_of(3))
}

trait Map {
    fn change<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: u32, how: How, value: u32)
    -> TxResult<()>;

    /// Panics in the closure of an entry, whose key is present or not.
    fn panic<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: u32) -> TxResult<()>;

    fn contents<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Vec<(u32, u32)>>;
}

macro_rules! is_a_map {
    ($map:ty) => {
        impl Map for $map {
            fn change<'tx>(
                &'tx self,
                tx: &mut Tx<'tx, '_>,
                key: u32,
                how: How,
                value: u32,
            ) -> TxResult<()> {
                let entry = self.entry(tx, key)?;
                match how {
                    How::OrInsert => entry.or_insert(value).map(drop),
                    How::Insert => entry.insert(value).map(drop),
                    How::Remove => entry.remove().map(drop),
                    How::Alter => entry.alter(altered).map(drop),
                }
            }

            fn panic<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: u32) -> TxResult<()> {
                let entry = self.entry(tx, key)?;
                if entry.value().is_some() {
                    entry.alter(|_| resume_unwind(Box::new("on purpose"))).map(drop)
                } else {
                    entry.or_insert_with(|| resume_unwind(Box::new("on purpose"))).map(drop)
                }
            }

            fn contents<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Vec<(u32, u32)>> {
                let mut entries = self.to_vec(tx)?;
                entries.sort_unstable();
                Ok(entries)
            }
        }
    };
}

is_a_map! { TMap<u32, u32> }
is_a_map! { THashMap<u32, u32> }
is_a_map! { TList<u32, u32> }

fn change_model(model: &mut BTreeMap<u32, u32>, key: u32, how: How, value: u32) {
    match how {
        How::OrInsert => _ = model.entry(key).or_insert(value),
        How::Insert => _ = model.insert(key, value),
        How::Remove => _ = model.remove(&key),
        How::Alter => {
            let after = altered(model.remove(&key));
            model.extend(after.map(|value| (key, value)));
        }
    }
}

/// Random transactions of several entries each, of which some abort, some panic inside, some in a
/// part that is undone.
fn is_as_the_model(map: &impl Map, how: Transaction) {
    let (mut model, mut rng) = (BTreeMap::new(), fastrand::Rng::with_seed(11));
    for _ in 0..400 {
        let steps: Vec<_> = (0..rng.usize(1..30))
            .map(|_| (rng.u32(..60), HOW[rng.usize(..4)], rng.u32(..100)))
            .collect();
        let (aborts, panics_at, undone) = (rng.u8(..4) == 0, rng.usize(..60), rng.usize(..60));
        let mut after = model.clone();
        let result = how.try_atomically(|tx| {
            after.clone_from(&model);
            for (at, &(key, how, value)) in steps.iter().enumerate() {
                map.change(tx, key, how, value)?;
                change_model(&mut after, key, how, value);
                if at == panics_at {
                    let panicked = catch_unwind(AssertUnwindSafe(|| map.panic(tx, value)));
                    assert!(panicked.is_err());
                }
                if at == undone {
                    tx.or_else(
                        |tx| map.change(tx, value, How::Alter, 0).and_then(|()| tx.retry()),
                        |_| Ok(()),
                    )?;
                }
            }
            assert_eq!(map.contents(tx)?, Vec::from_iter(after.clone()));
            if aborts { tx.abort(()) } else { Ok(()) }
        });
        if result.is_ok() {
            model = after;
        }
        assert_eq!(atomically(|tx| map.contents(tx)), Vec::from_iter(model.clone()));
    }
}

/// Catches: an entry that is changed at another position than it was found at, one that a full or
/// missing node is lost for, and a panic or an abort that leaves part of a change.
#[test]
fn entries_of_one_transaction_do_what_those_of_the_standard_library_do() {
    ends(Duration::ZERO, || {
        for locking in [Locking::Encounter, Locking::Commit] {
            let how = Transaction::new().locking(locking);
            is_as_the_model(&TMap::new(), how);
            is_as_the_model(&THashMap::with_buckets(3), how);
            is_as_the_model(&TList::new(), how);
        }
    });
}

/// Catches: an entry that waits for a change and does not see it.
#[test]
fn an_entry_that_is_missing_can_be_waited_for() {
    ends(Duration::ZERO, || {
        let map: TMap<u32, u32> = TMap::new();
        std::thread::scope(|s| {
            let waiting = s.spawn(|| {
                atomically(|tx| {
                    let entry = map.entry(tx, 5)?;
                    match entry.remove()? {
                        Some(value) => Ok(value),
                        None => tx.retry(),
                    }
                })
            });
            atomically(|tx| map.entry(tx, 5)?.or_insert(7).map(drop));
            assert_eq!(waiting.join().unwrap(), 7);
        });
        assert!(atomically(|tx| map.is_empty(tx)));
    });
}

type Wide = [u64; 9];

/// Catches: a value that is changed in part by a panic, an update that does not see the one before
/// it or loses it, and one that an undone part leaves.
#[test]
fn an_update_changes_all_of_a_value_or_nothing() {
    ends(Duration::ZERO, || {
        for locking in [Locking::Encounter, Locking::Commit] {
            let how = Transaction::new().locking(locking);
            let (var, array) = (TVar::new([0; 9]), TArray::new(2, [0; 9]));
            for round in 1..=20 {
                let add = |wide: &mut Wide| wide.iter_mut().for_each(|n| *n += 1);
                how.atomically(|tx| {
                    var.update(tx, add)?;
                    array.update(tx, 1, add)?;
                    for caught in [0, 3] {
                        let panicked = catch_unwind(AssertUnwindSafe(|| {
                            var.update(tx, |wide| {
                                wide[..caught].fill(99);
                                resume_unwind(Box::new("on purpose"))
                            })
                        }));
                        assert!(panicked.is_err());
                    }
                    tx.or_else(
                        |tx| var.update(tx, |wide| wide.fill(77)).and_then(|()| tx.retry()),
                        |tx| array.update(tx, 0, add),
                    )?;
                    assert_eq!(
                        var.update(tx, |wide| {
                            add(wide);
                            wide[4]
                        })?,
                        2 * round
                    );
                    array.modify(tx, 1, |wide| wide.map(|n| n + 1))
                });
                let failed = how.try_atomically(|tx| {
                    var.update(tx, |wide| wide[8] = 0)?;
                    tx.abort::<(), _>(())
                });
                assert_eq!(failed, Err(()));
                assert_eq!(var.load(), [2 * round; 9]);
                assert_eq!(array.load_all(), [[round; 9], [2 * round; 9]]);
            }
            let failed: Result<(), _> = try_atomically(|tx| {
                let result = catch_unwind(AssertUnwindSafe(|| {
                    array.update(tx, 0, |_| resume_unwind(Box::new("on purpose")))
                }));
                assert!(result.is_err());
                tx.abort("nothing")
            });
            assert_eq!(failed, Err("nothing"));
            assert_eq!(array.load_all()[0], [20; 9]);
        }
    });
}

/// Catches: updates of one variable by several threads of which some are lost, with extensions of
/// snapshots that are kept from one transaction to the next.
#[test]
fn no_update_in_place_is_lost() {
    const ROUNDS: u64 = 3_000;
    ends(Duration::ZERO, || {
        let (var, map) = (TVar::new([0_u64; 9]), THashMap::with_buckets(1));
        std::thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    for _ in 0..ROUNDS {
                        atomically(|tx| {
                            var.update(tx, |wide| wide.iter_mut().for_each(|n| *n += 1))?;
                            map.entry(tx, 3)?.alter(|n: Option<u64>| Some(n.unwrap_or(0) + 1))
                        });
                        let wide = var.load();
                        assert_eq!(wide, [wide[0]; 9]);
                    }
                });
            }
        });
        assert_eq!(var.load(), [3 * ROUNDS; 9]);
        assert_eq!(atomically(|tx| map.get(tx, &3)), Some(3 * ROUNDS));
    });
}
