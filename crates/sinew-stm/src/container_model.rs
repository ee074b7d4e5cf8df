//! All containers, and plain variables, beside their twins of the standard library, for recorded
//! histories of operations on them.

use crate::{
    Boxed, TArray, TBoundedQueue, TBox, TGrid, THashMap, THeap, TList, TMap, TQueue, TVar, Tx,
    TxResult,
};
use std::cell::Cell;
use std::cmp::Ordering;
use std::hash::{BuildHasher, Hasher};
use std::panic::resume_unwind;

/// Keys are below this. The number is small, so that nodes are reused often.
pub(crate) const KEYS: u8 = 6;

/// Far more comparisons than an operation needs.
const ENDLESS: u32 = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    List,
    Hash,
    Map,
    /// A map with the storage `Boxed`.
    BoxedMap,
    Queue,
    /// A queue of at most [`CAPACITY`] values.
    Bounded,
    Heap,
    Grid,
    /// A variable, a wide one, a boxed one and a place of an array for each key, which are always
    /// equal.
    Equal,
}

pub(crate) const KINDS: [Kind; 9] = [
    Kind::List,
    Kind::Hash,
    Kind::Map,
    Kind::BoxedMap,
    Kind::Queue,
    Kind::Bounded,
    Kind::Heap,
    Kind::Grid,
    Kind::Equal,
];

const CAPACITY: usize = 3;

/// An operation. A queue and a heap ignore the key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Put(Kind, u8, u16),
    Take(Kind, u8),
    Look(Kind, u8),
    Walk(Kind),
}

/// The result of an operation: the values, each after its key if it returns keys.
pub(crate) type Answer = Vec<u16>;

#[cfg(shuttle)]
use shuttle::thread_local;

thread_local! {
    static COMPARISONS: Cell<u32> = Cell::default();
    /// The number of the comparison that panics; 0 for none.
    static PANICS_AT: Cell<u32> = Cell::default();
    /// Whether some values panic when they are dropped.
    static DROPS_PANIC: Cell<bool> = Cell::default();
}

/// Counts a comparison, which may panic: on purpose, or because there were too many.
fn compare() {
    let comparisons = COMPARISONS.with(|all| all.replace(all.get() + 1)) + 1;
    assert!(comparisons < ENDLESS, "not opaque: a search that does not end");
    if PANICS_AT.with(Cell::get) == comparisons {
        panic_on_purpose();
    }
    let_others_come_between();
}

/// The payload of a panic on purpose.
pub(crate) struct OnPurpose;

pub(crate) fn panic_on_purpose() -> ! {
    resume_unwind(Box::new(OnPurpose))
}

/// Lets other threads run now and then. Without it real threads seldom interfere within an
/// operation.
fn let_others_come_between() {
    if cfg!(not(any(loom, shuttle))) && fastrand::u8(..8) == 0 {
        std::thread::yield_now();
    }
}

/// A key that turns an endless search into a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key(u8);

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        compare();
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A value of the heap, with the same order as a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Weight(u16);

impl Ord for Weight {
    fn cmp(&self, other: &Self) -> Ordering {
        compare();
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Weight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A boxed value, of which one in 16 panics when it is dropped.
#[derive(Debug)]
struct Fragile(u16);

impl Drop for Fragile {
    fn drop(&mut self) {
        if self.0 % 16 == 5 && DROPS_PANIC.with(Cell::get) {
            panic_on_purpose();
        }
    }
}

/// Calls `f`, in which values may panic when they are dropped.
pub(crate) fn drops_may_panic<R>(f: impl FnOnce() -> R) -> R {
    /// Ends it, unwinding included.
    struct Fragility;
    impl Drop for Fragility {
        fn drop(&mut self) {
            DROPS_PANIC.with(|panic| panic.set(false));
        }
    }
    let _fragility = Fragility;
    DROPS_PANIC.with(|panic| panic.set(true));
    f()
}

/// Sends even keys to one bucket and odd keys to the other.
#[derive(Debug)]
struct Parity;

#[derive(Default)]
struct ParityOf(u64);

impl BuildHasher for Parity {
    type Hasher = ParityOf;

    fn build_hasher(&self) -> ParityOf {
        ParityOf::default()
    }
}

impl Hasher for ParityOf {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(0, |_, byte| u64::from(*byte) << 63);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Sets the value of a key: by its entry if the value is odd.
macro_rules! put {
    ($map:expr, $tx:ident, $key:ident, $value:ident) => {
        Vec::from_iter(if $value.is_multiple_of(2) {
            $map.insert($tx, Key($key), $value)?
        } else {
            $map.entry($tx, Key($key))?.insert($value)?
        })
    };
}

/// Removes a key: by its entry if the key is odd.
macro_rules! take {
    ($map:expr, $tx:ident, $key:ident) => {
        Vec::from_iter(if $key.is_multiple_of(2) {
            $map.remove($tx, &Key($key))?
        } else {
            $map.entry($tx, Key($key))?.remove()?
        })
    };
}

/// The containers.
pub(crate) struct World {
    list: TList<Key, u16>,
    hash: THashMap<Key, u16, Parity>,
    map: TMap<Key, u16>,
    boxed_map: TMap<Key, u16, Boxed>,
    queue: TQueue<u16>,
    bounded: TBoundedQueue<u16, Boxed>,
    heap: THeap<Weight>,
    grid: TGrid<u16>,
    equal: Equal,
}

/// The numbers in a wide value: nine words of them, one word under a model checker.
const WIDE: usize = if cfg!(any(loom, shuttle)) { 4 } else { 36 };

/// Four kinds of variables for each key.
struct Equal {
    vars: Vec<TVar<u16>>,
    wide: Vec<TVar<[u16; WIDE]>>,
    boxes: Vec<TBox<Fragile>>,
    array: TArray<u16>,
}

impl Equal {
    fn new() -> Self {
        let keys = 0..KEYS;
        Self {
            vars: keys.clone().map(|_| TVar::new(0)).collect(),
            wide: keys.clone().map(|_| TVar::new([0; WIDE])).collect(),
            boxes: keys.map(|_| TBox::new(Fragile(0))).collect(),
            array: TArray::new(KEYS.into(), 0),
        }
    }

    /// Sets all four. The one that may panic is first: a panic leaves the others unchanged.
    fn set<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: u8, value: u16) -> TxResult<()> {
        let key = usize::from(key);
        self.boxes[key].set(tx, Fragile(value))?;
        let_others_come_between();
        self.vars[key].set(tx, value)?;
        if value.is_multiple_of(2) {
            self.wide[key].set(tx, [value; WIDE])?;
        } else {
            self.wide[key].update(tx, |wide| {
                assert_eq!(*wide, [wide[0]; WIDE], "not opaque: a wide variable in an update");
                *wide = [value; WIDE];
            })?;
        }
        self.array.set(tx, key, value)
    }

    fn get<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: u8) -> TxResult<u16> {
        let key = usize::from(key);
        let value = self.array.get(tx, key)?;
        let_others_come_between();
        let others = [self.vars[key].get(tx)?, self.boxes[key].with(tx, |value| value.0)?];
        assert_eq!(others, [value; 2], "not opaque: variables that are always equal");
        let wide = self.wide[key].get(tx)?;
        assert_eq!(wide, [value; WIDE], "not opaque: a wide variable");
        Ok(value)
    }
}

fn flat(entries: Vec<(Key, u16)>) -> Answer {
    entries.into_iter().flat_map(|(key, value)| [u16::from(key.0), value]).collect()
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            list: TList::new(),
            hash: THashMap::with_hasher(2, Parity),
            map: TMap::new(),
            boxed_map: TMap::boxed(),
            queue: TQueue::new(),
            bounded: TBoundedQueue::boxed(CAPACITY),
            heap: THeap::new(),
            grid: TGrid::new([usize::from(KEYS), 1, 1], 0),
            equal: Equal::new(),
        }
    }

    /// Performs `op`, whose comparison number `at` panics on purpose.
    pub(crate) fn panic_at<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        op: Op,
        at: u32,
    ) -> TxResult<Answer> {
        /// Resets the panic, also during unwinding.
        struct Armed;
        impl Drop for Armed {
            fn drop(&mut self) {
                PANICS_AT.with(|panics| panics.set(0));
            }
        }
        let _armed = Armed;
        PANICS_AT.with(|panics| panics.set(at));
        self.perform(tx, op)
    }

    pub(crate) fn perform<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, op: Op) -> TxResult<Answer> {
        COMPARISONS.with(|all| all.set(0));
        let_others_come_between();
        let place = |key: u8| [usize::from(key), 0, 0];
        Ok(match op {
            Op::Put(Kind::List, key, value) => put!(self.list, tx, key, value),
            Op::Put(Kind::Hash, key, value) => put!(self.hash, tx, key, value),
            Op::Put(Kind::Map, key, value) => put!(self.map, tx, key, value),
            Op::Put(Kind::BoxedMap, key, value) => put!(self.boxed_map, tx, key, value),
            Op::Put(Kind::Queue, _, value) => self.queue.push(tx, value).map(|()| vec![])?,
            Op::Put(Kind::Bounded, _, value) => Vec::from_iter(self.bounded.push(tx, value)?.err()),
            Op::Put(Kind::Heap, _, value) => self.heap.push(tx, Weight(value)).map(|()| vec![])?,
            Op::Put(Kind::Grid, key, value) => {
                self.grid.set(tx, place(key), value).map(|()| vec![])?
            }
            Op::Put(Kind::Equal, key, value) => self.equal.set(tx, key, value).map(|()| vec![])?,
            Op::Take(Kind::List, key) => take!(self.list, tx, key),
            Op::Take(Kind::Hash, key) => take!(self.hash, tx, key),
            Op::Take(Kind::Map, key) => take!(self.map, tx, key),
            Op::Take(Kind::BoxedMap, key) => take!(self.boxed_map, tx, key),
            Op::Take(Kind::Queue, _) => Vec::from_iter(self.queue.pop(tx)?),
            Op::Take(Kind::Bounded, _) => Vec::from_iter(self.bounded.pop(tx)?),
            Op::Take(Kind::Heap, _) => Vec::from_iter(self.heap.pop(tx)?.map(|weight| weight.0)),
            Op::Look(Kind::List, key) => Vec::from_iter(self.list.get(tx, &Key(key))?),
            Op::Look(Kind::Hash, key) => Vec::from_iter(self.hash.get(tx, &Key(key))?),
            Op::Look(Kind::Map, key) => flat(Vec::from_iter(self.map.at_least(tx, Key(key))?)),
            Op::Look(Kind::BoxedMap, key) => {
                flat(Vec::from_iter(self.boxed_map.at_least(tx, Key(key))?))
            }
            Op::Look(Kind::Queue, _) => vec![u16::from(self.queue.is_empty(tx)?)],
            Op::Look(Kind::Bounded, _) => {
                [self.bounded.is_empty(tx)?, self.bounded.is_full(tx)?].map(u16::from).to_vec()
            }
            Op::Look(Kind::Heap, _) => Vec::from_iter(self.heap.peek(tx)?.map(|weight| weight.0)),
            Op::Look(Kind::Grid, key) | Op::Take(Kind::Grid, key) => {
                vec![self.grid.get(tx, place(key))?]
            }
            Op::Look(Kind::Equal, key) | Op::Take(Kind::Equal, key) => {
                vec![self.equal.get(tx, key)?]
            }
            Op::Walk(kind) => self.walk(tx, kind)?,
        })
    }

    /// Reads all of a container. Searches come first: they count comparisons, which a walk along a
    /// cycle does not.
    fn walk<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, kind: Kind) -> TxResult<Answer> {
        match kind {
            Kind::List => {
                self.list.get(tx, &Key(KEYS))?;
                self.list.to_vec(tx).map(flat)
            }
            Kind::Hash => {
                self.hash.get(tx, &Key(KEYS))?;
                self.hash.get(tx, &Key(KEYS + 1))?;
                let mut entries = self.hash.to_vec(tx)?;
                entries.sort_unstable_by_key(|(key, _)| key.0);
                Ok(flat(entries))
            }
            Kind::Map => {
                (0..KEYS).try_for_each(|key| self.map.get(tx, &Key(key)).map(drop))?;
                self.map.to_vec(tx).map(flat)
            }
            Kind::BoxedMap => {
                (0..KEYS).try_for_each(|key| self.boxed_map.get(tx, &Key(key)).map(drop))?;
                self.boxed_map.to_vec(tx).map(flat)
            }
            Kind::Queue => self.queue.to_vec(tx),
            Kind::Bounded => Ok(vec![self.bounded.len(tx)? as u16]),
            Kind::Heap => Ok(vec![u16::try_from(self.heap.len(tx)?).unwrap_or(u16::MAX)]),
            Kind::Grid => {
                (0..KEYS).map(|key| self.grid.get(tx, [usize::from(key), 0, 0])).collect()
            }
            Kind::Equal => (0..KEYS).map(|key| self.equal.get(tx, key)).collect(),
        }
    }
}

/// The counterparts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Model {
    maps: [[Option<u16>; KEYS as usize]; 4],
    queue: Vec<u16>,
    bounded: Vec<u16>,
    /// Sorted.
    heap: Vec<u16>,
    grid: [u16; KEYS as usize],
    equal: [u16; KEYS as usize],
}

impl Model {
    /// Performs `op`, and returns its result.
    pub(crate) fn perform(&mut self, op: Op) -> Answer {
        match op {
            Op::Put(Kind::Queue, _, value) => self.queue.push(value),
            Op::Put(Kind::Bounded, _, value) if self.bounded.len() == CAPACITY => {
                return vec![value];
            }
            Op::Put(Kind::Bounded, _, value) => self.bounded.push(value),
            Op::Put(Kind::Heap, _, value) => {
                let place = self.heap.partition_point(|other| *other < value);
                self.heap.insert(place, value);
            }
            Op::Put(Kind::Grid, key, value) => self.grid[usize::from(key)] = value,
            Op::Put(Kind::Equal, key, value) => self.equal[usize::from(key)] = value,
            Op::Put(kind, key, value) => {
                return self.entry(kind, key).replace(value).into_iter().collect();
            }
            Op::Take(Kind::Queue, _) => {
                return if self.queue.is_empty() { vec![] } else { vec![self.queue.remove(0)] };
            }
            Op::Take(Kind::Bounded, _) => {
                let any = usize::from(!self.bounded.is_empty());
                return self.bounded.drain(..any).collect();
            }
            Op::Take(Kind::Heap, _) => return self.heap.pop().into_iter().collect(),
            Op::Look(Kind::Queue, _) => return vec![u16::from(self.queue.is_empty())],
            Op::Look(Kind::Bounded, _) => {
                let len = self.bounded.len();
                return [len == 0, len == CAPACITY].map(u16::from).to_vec();
            }
            Op::Look(Kind::Heap, _) => return self.heap.last().copied().into_iter().collect(),
            Op::Look(Kind::Grid, key) | Op::Take(Kind::Grid, key) => {
                return vec![self.grid[usize::from(key)]];
            }
            Op::Look(Kind::Equal, key) | Op::Take(Kind::Equal, key) => {
                return vec![self.equal[usize::from(key)]];
            }
            Op::Take(kind, key) => return self.entry(kind, key).take().into_iter().collect(),
            Op::Look(kind @ (Kind::Map | Kind::BoxedMap), key) => {
                return self.entries(kind, key).take(2).collect();
            }
            Op::Look(kind, key) => return self.entry(kind, key).iter().copied().collect(),
            Op::Walk(Kind::Queue) => return self.queue.clone(),
            Op::Walk(Kind::Bounded) => return vec![self.bounded.len() as u16],
            Op::Walk(Kind::Heap) => {
                return vec![u16::try_from(self.heap.len()).unwrap_or(u16::MAX)];
            }
            Op::Walk(Kind::Grid) => return self.grid.to_vec(),
            Op::Walk(Kind::Equal) => return self.equal.to_vec(),
            Op::Walk(kind) => return self.entries(kind, 0).collect(),
        }
        vec![]
    }

    fn entry(&mut self, kind: Kind, key: u8) -> &mut Option<u16> {
        &mut self.maps[kind as usize][usize::from(key)]
    }

    /// Keys and values in turn, from a key on.
    fn entries(&self, kind: Kind, from: u8) -> impl Iterator<Item = u16> {
        let all = (0..).zip(&self.maps[kind as usize]);
        all.skip(from.into()).filter_map(|(key, value)| value.map(|value| [key, value])).flatten()
    }
}
