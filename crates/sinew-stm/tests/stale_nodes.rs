//! A transaction with an old snapshot allocates a node that another transaction has removed
//! meanwhile.
//!
//! The node's variables are not changed by the removal, so only the allocation itself can detect
//! that the snapshot is too old. Of the maps only a list copies a link without writing the variable
//! that it was read from. The tests run one at a time: a commit of a third transaction would
//! end the attempts under test.

mod support;

use sinew_stm::{Locking, TList, TQueue, Transaction, Tx, TxResult, atomically};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use support::ends;

static ALONE: Mutex<()> = Mutex::new(());

const BOTH: [Locking; 2] = [Locking::Encounter, Locking::Commit];

/// A key whose comparison with one other key waits, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key(u32);

/// A comparison that signals that it has begun, and waits until it may end.
struct Stall {
    keys: [u32; 2],
    begun: Sender<bool>,
    go_on: Receiver<()>,
}

thread_local! {
    static STALL: RefCell<Option<Stall>> = const { RefCell::new(None) };
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let pair = [self.0.min(other.0), self.0.max(other.0)];
        let stall = STALL.with(|stall| stall.borrow_mut().take_if(|stall| stall.keys == pair));
        if let Some(stall) = stall {
            stall.begun.send(true).expect("the test waits");
            stall.go_on.recv().expect("the test goes on");
        }
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The common operations of the maps.
trait Map: Sync {
    fn new() -> Self;
    fn insert<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: u32) -> TxResult<Option<u32>>;
    fn remove<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: u32) -> TxResult<Option<u32>>;
    fn get<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: u32) -> TxResult<Option<u32>>;
    fn to_vec<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Vec<(Key, u32)>>;
}

macro_rules! map {
    ($type:ty, $new:expr) => {
        impl Map for $type {
            fn new() -> Self {
                $new
            }
            fn insert<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: u32) -> TxResult<Option<u32>> {
                self.insert(tx, Key(key), !key)
            }
            fn remove<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: u32) -> TxResult<Option<u32>> {
                self.remove(tx, &Key(key))
            }
            fn get<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: u32) -> TxResult<Option<u32>> {
                self.get(tx, &Key(key))
            }
            fn to_vec<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Vec<(Key, u32)>> {
                self.to_vec(tx)
            }
        }
    };
}

map!(TList<Key, u32>, TList::new());

/// Keys of the map at first.
const KEYS: [u32; 6] = [40, 10, 30, 60, 20, 50];

/// One thread removes `other`, and stops when it compares it with `first`. The transaction `how`
/// removes `first`, lets that thread commit, inserts a key, and reads the map. Returns whether the
/// other thread stopped and then committed.
fn removed_meanwhile<M: Map>(how: Transaction, first: u32, other: u32, new: u32) -> bool {
    let map = M::new();
    atomically(|tx| KEYS.iter().try_for_each(|&key| map.insert(tx, key).map(drop)));
    let with = |keys: &[u32]| keys.iter().map(|&key| (Key(key), !key)).collect::<BTreeMap<_, _>>();
    let rest: Vec<u32> = KEYS.into_iter().filter(|key| *key != first).collect();
    let newer: Vec<u32> = rest.iter().copied().filter(|key| *key != other).collect();
    let (before, after) =
        (with(&[&rest[..], &[new]].concat()), with(&[&newer[..], &[new]].concat()));
    let (begun, stopped) = channel();
    let (go, go_on) = channel();
    std::thread::scope(|s| {
        let remover = s.spawn(|| {
            let end = begun.clone();
            STALL.set(Some(Stall { keys: [first.min(other), first.max(other)], begun, go_on }));
            let done = Transaction::new().attempt(|tx| map.remove(tx, other));
            STALL.set(None);
            end.send(false).expect("the test waits");
            done.is_ok()
        });
        if !stopped.recv().expect("it stops or ends") {
            return false;
        }
        let mut remover = Some(remover);
        let mut removed = false;
        how.atomically(|tx| {
            assert_eq!(map.remove(tx, first)?, Some(!first));
            if let Some(remover) = remover.take() {
                go.send(()).expect("it waits");
                removed = remover.join().expect("no panic");
            }
            map.insert(tx, new)?;
            assert_eq!(map.get(tx, 99)?, None);
            assert_eq!(map.get(tx, new)?, Some(!new));
            let seen = map.to_vec(tx)?;
            assert!(seen.is_sorted(), "not opaque: {seen:?}");
            let seen: BTreeMap<_, _> = seen.into_iter().collect();
            assert!(seen == before || seen == after, "not opaque: {seen:?}");
            Ok(())
        });
        if removed {
            assert_eq!(BTreeMap::from_iter(atomically(|tx| map.to_vec(tx))), after);
        }
        removed
    })
}

/// Tries all pairs of keys and all places of the new one. Some pairs are never compared in a map.
fn try_all<M: Map>() {
    for locking in BOTH {
        let how = Transaction::new().locking(locking);
        let mut removed = 0;
        for first in KEYS {
            for other in KEYS.into_iter().filter(|other| *other != first) {
                for new in [5, 15, 25, 35, 45, 55, 65] {
                    removed += usize::from(removed_meanwhile::<M>(how, first, other, new));
                }
            }
        }
        assert!(removed > 0, "no pair met under {locking:?}");
    }
}

/// Catches: a removed node that is allocated by a transaction whose snapshot still links it. The
/// list becomes a cycle.
#[test]
fn a_list_never_reuses_a_node_that_the_snapshot_links() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    ends(Duration::ZERO, try_all::<TList<Key, u32>>);
}

/// Catches: the same in a queue. A transaction that locks early has locked the link to the node, so
/// it takes late locks.
#[test]
fn a_queue_never_reuses_a_node_that_the_snapshot_links() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    ends(Duration::ZERO, || {
        let queue = TQueue::new();
        atomically(|tx| [1, 2, 3].into_iter().try_for_each(|value| queue.push(tx, value)));
        let mut attempts = 0;
        Transaction::new().locking(Locking::Commit).atomically(|tx| {
            attempts += 1;
            queue.pop(tx)?;
            if attempts == 1 {
                let pop_two = || [(); 2].map(|()| atomically(|tx| queue.pop(tx)));
                std::thread::scope(|s| s.spawn(pop_two).join().expect("no panic"));
            }
            queue.push(tx, 4)?;
            let seen = queue.to_vec(tx)?;
            assert!(seen == [2, 3, 4] || seen == [4], "not opaque: {seen:?}");
            assert!(attempts > 1 || seen != [4], "not opaque: {seen:?}");
            Ok(())
        });
        assert_eq!((attempts, atomically(|tx| queue.to_vec(tx))), (2, vec![4]));
    });
}
