//! Values of modules above the scheduler, one for each worker.
//!
//! A [`WorkerLocal`] is a key, declared once as a `static`. The first use of a key gives it a
//! *slot*, a number that is unique in the process. Each worker has a list of values by slot. A
//! value is made at its first use on a worker, and dropped with the worker.
//!
//! # Invariants
//!
//! - L1: a slot belongs to one key for the life of the process, so each value in it has the type of
//!   that key.
//! - L2: only the owner of a worker accesses its values (W1). A pool may be freed by any of its
//!   threads, and an external slot has many owners, one after the other; so values are `Send`.
//!
//! # Orderings
//!
//! `Relaxed`: a slot is a number that publishes nothing else. If two threads use a key for the
//! first time at once, they draw two slots, and both use the one that is stored first; the other
//! stays empty.
//!
//! # Cost
//!
//! Two loads and two comparisons for a value that exists, for the first [`SLOTS`] keys; one more
//! load for each further [`SLOTS`].
//!
//! # Not handled
//!
//! Access of other threads to a value. A module that needs it keeps an `Arc` in the value.
//!
//! # Tests
//!
//! Below; a pool that ends in `tests/pool/locals.rs`. No model: no other thread reaches a value.

use std::any::Any;
use std::cell::OnceCell;
use std::fmt;

use sinew_sync::statics::{AtomicU32, Ordering};

/// Values in one part of a worker's list.
const SLOTS: usize = 8;

/// A slot that is not drawn yet.
const NONE: u32 = 0;

/// The slot that the next key draws.
static NEXT: AtomicU32 = AtomicU32::new(NONE + 1);

/// A key to one value for each worker, for crates that add skeletons to pools.
///
/// ```
/// use std::cell::Cell;
/// use sinew_core::{Pool, WorkerLocal};
///
/// static VISITS: WorkerLocal<Cell<u32>> = WorkerLocal::new(Cell::default);
///
/// let pool = Pool::builder().threads(1).build()?;
/// for visit in 0..3 {
///     pool.run(|w| assert_eq!(w.local(&VISITS).replace(visit + 1), visit));
/// }
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
pub struct WorkerLocal<T: Send + 'static> {
    slot: AtomicU32,
    init: fn() -> T,
}

impl<T: Send + 'static> WorkerLocal<T> {
    /// A key whose values are made by `init`. It is meant for a `static`: a key that is dropped
    /// leaves its slot unused for ever.
    pub const fn new(init: fn() -> T) -> Self {
        Self { slot: AtomicU32::new(NONE), init }
    }

    #[inline]
    fn slot(&self) -> usize {
        // Relaxed, here and below: the number publishes nothing else.
        match self.slot.load(Ordering::Relaxed) {
            NONE => self.draw(),
            slot => slot as usize - 1,
        }
    }

    #[cold]
    fn draw(&self) -> usize {
        let drawn = NEXT.fetch_add(1, Ordering::Relaxed);
        let stored = self.slot.compare_exchange(NONE, drawn, Ordering::Relaxed, Ordering::Relaxed);
        stored.map_or_else(|first| first, |_| drawn) as usize - 1
    }
}

impl<T: Send + 'static> fmt::Debug for WorkerLocal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerLocal").field("slot", &self.slot).finish_non_exhaustive()
    }
}

type Value = Box<dyn Any + Send>;

/// The values of one worker, by slot.
#[derive(Default)]
pub(crate) struct Locals {
    values: [OnceCell<Value>; SLOTS],
    more: OnceCell<Box<Self>>,
}

impl Locals {
    /// The value of `key`, which is made if it does not exist.
    #[inline]
    pub(crate) fn get<T: Send + 'static>(&self, key: &WorkerLocal<T>) -> &T {
        let slot = key.slot();
        let value = match self.values.get(slot).and_then(OnceCell::get) {
            Some(value) => value,
            None => self.find(slot, key.init),
        };
        debug_assert!(value.is::<T>());
        // SAFETY: the value was made for this slot, so by a key of the same type (L1).
        unsafe { &*std::ptr::from_ref(&**value).cast::<T>() }
    }

    #[cold]
    fn find<T: Send + 'static>(&self, slot: usize, init: fn() -> T) -> &Value {
        match self.values.get(slot) {
            Some(value) => value.get_or_init(|| Box::new(init())),
            None => self.more.get_or_init(Box::default).find(slot - SLOTS, init),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::cell::Cell;
    use std::panic::catch_unwind;
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Catches: keys that share a slot, and values that are made again at each use.
    #[test]
    fn each_key_has_a_value_of_its_own_in_each_list() {
        static NUMBER: WorkerLocal<Cell<u32>> = WorkerLocal::new(|| Cell::new(7));
        static TEXT: WorkerLocal<Mutex<String>> = WorkerLocal::new(Mutex::default);
        let lists = [Locals::default(), Locals::default()];
        lists[0].get(&TEXT).lock().unwrap().push('x');
        assert_eq!(lists[0].get(&NUMBER).replace(8), 7);
        assert_eq!(lists.each_ref().map(|list| list.get(&NUMBER).get()), [8, 7]);
        let texts = lists.each_ref().map(|list| list.get(&TEXT).lock().unwrap().clone());
        assert_eq!(texts, ["x", ""]);
    }

    /// Catches: a list that ends, or begins anew, after its first part.
    #[test]
    fn a_list_has_room_for_any_number_of_keys() {
        let keys: [WorkerLocal<Cell<usize>>; 4 * SLOTS] =
            std::array::from_fn(|_| WorkerLocal::new(Cell::default));
        let list = Locals::default();
        keys.iter().enumerate().for_each(|(number, key)| list.get(key).set(number));
        let numbers = keys.each_ref().map(|key| list.get(key).get());
        assert_eq!(numbers, std::array::from_fn(|number| number));
    }

    /// Catches: a value that is leaked, dropped twice, or dropped before its list.
    #[test]
    fn values_are_dropped_with_their_list_in_the_order_of_their_slots() {
        type Log = Arc<Mutex<Vec<u32>>>;
        struct Noted(u32, Mutex<Option<Log>>);
        impl Drop for Noted {
            fn drop(&mut self) {
                let log = self.1.lock().unwrap().take().expect("a log");
                log.lock().unwrap().push(self.0);
            }
        }
        static ONE: WorkerLocal<Noted> = WorkerLocal::new(|| Noted(1, Mutex::default()));
        static TWO: WorkerLocal<Noted> = WorkerLocal::new(|| Noted(2, Mutex::default()));
        let (log, list) = (Log::default(), Locals::default());
        ONE.slot();
        for key in [&TWO, &ONE] {
            *list.get(key).1.lock().unwrap() = Some(Arc::clone(&log));
        }
        assert!(log.lock().unwrap().is_empty());
        drop(list);
        assert_eq!(*log.lock().unwrap(), [1, 2]);
    }

    /// Catches: a slot that holds half a value after a panic.
    #[test]
    fn a_value_whose_making_panics_is_made_at_the_next_use() {
        static CALLS: AtomicU32 = AtomicU32::new(0);
        static FRAIL: WorkerLocal<u32> =
            WorkerLocal::new(|| match CALLS.fetch_add(1, Ordering::Relaxed) {
                0 => std::panic::resume_unwind(Box::new("not yet")),
                calls => calls,
            });
        let list = Mutex::new(Locals::default());
        assert!(catch_unwind(|| *list.lock().unwrap().get(&FRAIL)).is_err());
        let list = list.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        assert_eq!([*list.get(&FRAIL), *list.get(&FRAIL)], [1, 1]);
    }

    /// Catches: threads that take different slots for one key.
    #[test]
    fn threads_that_use_a_key_for_the_first_time_at_once_agree_on_its_slot() {
        for _ in 0..100 {
            let key: WorkerLocal<u8> = WorkerLocal::new(u8::default);
            let slots = std::thread::scope(|s| {
                let threads: Vec<_> = (0..4).map(|_| s.spawn(|| key.slot())).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
            });
            assert!(slots.iter().all(|slot| *slot == slots[0]), "{slots:?}");
        }
    }
}
