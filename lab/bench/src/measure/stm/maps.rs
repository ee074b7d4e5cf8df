//! Maps in transactions beside maps under locks: of ten operations nine look a key up, and one
//! inserts or removes it.
//!
//! Half of the keys are present at any time. Each call continues a thread's own sequence of
//! pseudo-random keys, so that two threads meet at random.

use super::{Row, drop_box};
use sinew_stm::{THashMap, TMap, atomically};
use sinew_sync::CachePadded;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Mutex;

/// Keys that an operation chooses from.
const KEYS: u64 = 16_384;

/// Operations of one call.
const OPERATIONS: usize = 100;

/// Locks of a sharded map.
const SHARDS: usize = 16;

thread_local! {
    static RANDOM: Cell<u64> = const { Cell::new(0x9e37_79b9_7f4a_7c15) };
}

/// An operation of a map.
#[derive(Clone, Copy)]
enum Op {
    Get,
    Insert,
    Remove,
}

/// The next operation of this thread, and its key.
fn next() -> (Op, u64) {
    let random = RANDOM.with(|random| {
        let mut next = random.get();
        next ^= next << 13;
        next ^= next >> 7;
        next ^= next << 17;
        random.set(next);
        next
    });
    let op = match (random >> 32) % 20 {
        0 => Op::Insert,
        1 => Op::Remove,
        _ => Op::Get,
    };
    (op, random % KEYS)
}

type Sharded<M> = Box<[CachePadded<Mutex<M>>]>;

/// The maps, each with half of the keys.
pub(super) struct Maps {
    tree: TMap<u64, u64>,
    hash: THashMap<u64, u64>,
    locked_tree: Mutex<BTreeMap<u64, u64>>,
    locked_hash: Mutex<HashMap<u64, u64>>,
    sharded_tree: Sharded<BTreeMap<u64, u64>>,
    sharded_hash: Sharded<HashMap<u64, u64>>,
    hasher: BuildHasherDefault<DefaultHasher>,
}

/// Performs an operation on a map of the standard library.
macro_rules! perform {
    ($map:expr, $op:expr, $key:expr) => {
        match $op {
            Op::Get => $map.get(&$key).copied(),
            Op::Insert => $map.insert($key, $key),
            Op::Remove => $map.remove(&$key),
        }
    };
}

/// The same on a map in a transaction of its own.
macro_rules! perform_atomically {
    ($map:expr, $op:expr, $key:expr) => {
        match $op {
            Op::Get => atomically(|tx| $map.get(tx, &$key)),
            Op::Insert => atomically(|tx| $map.insert(tx, $key, $key)),
            Op::Remove => atomically(|tx| $map.remove(tx, &$key)),
        }
    };
}

impl Maps {
    pub(super) fn new() -> Self {
        let sharded = || (0..SHARDS).map(|_| CachePadded(Mutex::default())).collect();
        let maps = Self {
            tree: TMap::new(),
            hash: THashMap::with_buckets(8_192),
            locked_tree: Mutex::default(),
            locked_hash: Mutex::default(),
            sharded_tree: sharded(),
            sharded_hash: (0..SHARDS).map(|_| CachePadded(Mutex::default())).collect(),
            hasher: BuildHasherDefault::default(),
        };
        for key in (0..KEYS).map(|n| n * 7_919 % KEYS).filter(|key| key % 2 == 0) {
            let op = Op::Insert;
            perform_atomically!(maps.tree, op, key);
            perform_atomically!(maps.hash, op, key);
            perform!(maps.locked_tree.lock().expect("nobody panics here"), op, key);
            perform!(maps.locked_hash.lock().expect("nobody panics here"), op, key);
            perform!(shard(&maps.sharded_tree, key).lock().expect("nobody panics"), op, key);
            perform!(maps.hash_shard(key).lock().expect("nobody panics"), op, key);
        }
        maps
    }

    /// The shard of a key in the hash map. A hasher of its own, as the shard's map has one.
    fn hash_shard(&self, key: u64) -> &Mutex<HashMap<u64, u64>> {
        shard(&self.sharded_hash, self.hasher.hash_one(key) >> 48)
    }

    pub(super) fn rows(&self) -> Vec<Row<'_>> {
        let locked_tree = |op, key| perform!(self.locked_tree.lock().expect("no panic"), op, key);
        let locked_hash = |op, key| perform!(self.locked_hash.lock().expect("no panic"), op, key);
        let sharded_tree =
            |op, key| perform!(shard(&self.sharded_tree, key).lock().expect("no panic"), op, key);
        let sharded_hash =
            |op, key| perform!(self.hash_shard(key).lock().expect("no panic"), op, key);
        vec![
            row("sinew: TMap, 90 % reads", |op, key| perform_atomically!(self.tree, op, key)),
            row("std: BTreeMap under a Mutex, 90 % reads", locked_tree),
            row("std: 16 BTreeMaps under Mutexes, 90 % reads", sharded_tree),
            row("sinew: THashMap, 90 % reads", |op, key| perform_atomically!(self.hash, op, key)),
            row("std: HashMap under a Mutex, 90 % reads", locked_hash),
            row("std: 16 HashMaps under Mutexes, 90 % reads", sharded_hash),
        ]
    }
}

fn shard<M>(shards: &[CachePadded<Mutex<M>>], number: u64) -> &Mutex<M> {
    &shards[number as usize % SHARDS].0
}

fn row<'a>(what: &'static str, perform: impl Fn(Op, u64) -> Option<u64> + Sync + 'a) -> Row<'a> {
    Row::new(what, OPERATIONS, move || {
        let found = (0..OPERATIONS).filter_map(|_| {
            let (op, key) = next();
            perform(op, key)
        });
        drop_box(found.fold(0, u64::wrapping_add));
    })
}
