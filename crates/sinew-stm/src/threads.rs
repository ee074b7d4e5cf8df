//! The threads that run transactions: their numbers in records, and their data for other threads.
//!
//! A thread gets a number with its first transaction and returns it when it ends. Numbers are
//! reused, so they stay small. The shared part of a thread outlives it, because another thread may
//! be reading it.
//!
//! A thread that ends also adds the number of versions that it has retired since its last scan of
//! the pins (`grace`) to a sum. So the pins are scanned often enough in a program whose threads are
//! all short.

use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::lock::Mutex;
use sinew_sync::statics::AtomicBool;
use std::cell::Cell;
#[cfg(not(shuttle))]
use std::io::Write;
use std::sync::Arc;

/// Versions that a thread retires before it scans the pins.
pub(crate) const OFTEN: usize = if cfg!(any(loom, shuttle)) { 1 } else { 64 };

/// The age of a transaction without priority: younger than all others.
pub(crate) const AGELESS: u64 = u64::MAX;

/// The data of a thread for other threads, on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Shared {
    /// The time since which its transaction may see old versions, plus one; 0 if it sees none. See
    /// `grace`.
    pub(crate) pinned: AtomicU64,
    /// The time of its transaction's first attempt, or [`AGELESS`].
    age: AtomicU64,
}

impl Shared {
    fn new() -> Self {
        Self { pinned: AtomicU64::new(0), age: AtomicU64::new(AGELESS) }
    }

    pub(crate) fn set_age(&self, age: u64) {
        // Relaxed: an age that is read a little early or late changes which thread waits, and no
        // wait lasts for ever.
        self.age.store(age, Ordering::Relaxed);
    }

    pub(crate) fn age(&self) -> u64 {
        self.age.load(Ordering::Relaxed)
    }
}

/// Whether threads were lost in a fork.
static ARE_LOST: AtomicBool = AtomicBool::new(false);

#[cfg(shuttle)]
use shuttle::thread_local;

thread_local! {
    static OWN: Cell<Option<u32>> = Cell::default();
}

/// The number of this thread, if it has one.
pub(crate) fn own_number() -> Option<u32> {
    OWN.with(Cell::get)
}

/// Stores the number of this thread. A forked child reads it while the descriptor is borrowed.
pub(crate) fn note_own_number(number: Option<u32>) {
    OWN.with(|own| own.set(number));
}

/// Every thread that has run a transaction and has not ended.
#[derive(Debug)]
pub(crate) struct Threads {
    shared: Vec<Arc<Shared>>,
    free: Vec<u32>,
    /// Whether a thread was lost in a fork, by its number. Such a number is not reused.
    lost: Vec<bool>,
    /// Versions retired by ended threads, since one of them last scanned the pins.
    retired: usize,
}

impl Threads {
    pub(crate) const fn new() -> Self {
        Self { shared: Vec::new(), free: Vec::new(), lost: Vec::new(), retired: 0 }
    }

    /// A number for a thread, and its shared part.
    ///
    /// # Panics
    ///
    /// If there are 2³¹ threads.
    pub(crate) fn join(&mut self) -> (u32, Arc<Shared>) {
        if let Some(number) = self.free.pop() {
            return (number, Arc::clone(&self.shared[number as usize]));
        }
        let number = u32::try_from(self.shared.len()).expect("as many threads as numbers");
        assert!(number < 1 << 31, "2^31 threads run transactions; a record has room for fewer");
        self.shared.push(Arc::new(Shared::new()));
        (number, Arc::clone(&self.shared[number as usize]))
    }

    /// Frees the number of a thread that ends, with `retired` versions since its last scan of the
    /// pins. Returns whether the thread should scan them once more.
    pub(crate) fn leave(&mut self, number: u32, retired: usize) -> bool {
        self.free.push(number);
        self.retired += retired;
        let due = self.retired >= OFTEN;
        if due {
            self.retired = 0;
        }
        due
    }

    /// Marks all threads but number `own` as lost, in the child of a fork. The child's thread may
    /// have no number.
    pub(crate) fn lose_all_but(&mut self, own: Option<u32>) {
        let mut lost = vec![true; self.shared.len()];
        self.free.iter().chain(&own).for_each(|number| lost[*number as usize] = false);
        for (shared, _) in self.shared.iter().zip(&lost).filter(|(_, lost)| **lost) {
            // Relaxed: the process has one thread.
            shared.pinned.store(0, Ordering::Relaxed);
        }
        self.lost = lost;
        // Relaxed: as above.
        ARE_LOST.store(true, Ordering::Relaxed);
    }

    fn is_lost(&self, number: u32) -> bool {
        self.lost.get(number as usize).is_some_and(|lost| *lost)
    }

    pub(crate) fn find(&self, number: u32) -> Option<&Arc<Shared>> {
        self.shared.get(number as usize)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Shared>> {
        self.shared.iter()
    }
}

/// Ends the child if `number` is a lost thread: it has locked a record that the child needs.
pub(crate) fn die_if_lost(threads: &Mutex<Threads>, number: u32) {
    // Relaxed: it changes only while the process has one thread.
    if ARE_LOST.load(Ordering::Relaxed) && threads.lock().is_lost(number) {
        die()
    }
}

#[cfg(not(shuttle))]
fn die() -> ! {
    let line = b"sinew: a forked child needs a variable that a transaction of a thread of its \
            parent had locked; fork while no other thread is in a transaction, or exec in the \
            child\n";
    // Bypasses a test harness; an error cannot be handled.
    let _ = std::io::stderr().write_all(line);
    std::process::abort()
}

/// The payload of the panic by which a child ends in a model.
#[cfg(shuttle)]
pub(crate) struct NeedsLost;

#[cfg(shuttle)]
fn die() -> ! {
    std::panic::resume_unwind(Box::new(NeedsLost))
}
