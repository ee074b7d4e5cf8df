//! The memory of a process: the bytes of its heap, which an allocator counts, and its resident
//! memory, which the system counts.
//!
//! The heap is exact, so that a few thousand repetitions show a leak of a few bytes each. Resident
//! memory includes memory of other sources, such as stacks.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Mutex, MutexGuard};

struct Counting;

#[global_allocator]
static HEAP: Counting = Counting;

static LIVE: AtomicIsize = AtomicIsize::new(0);

/// The most bytes held at one time.
static PEAK: AtomicIsize = AtomicIsize::new(0);

fn count(before: usize, after: usize) {
    // Relaxed: a sum, read while no thread allocates.
    let grown = after as isize - before as isize;
    let live = LIVE.fetch_add(grown, Ordering::Relaxed) + grown;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: every request goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(0, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(layout.size(), 0);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(layout.size(), size);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// The memory in use at one time, in kB.
#[derive(Debug, Clone, Copy)]
struct Held {
    heap: isize,
    /// 0 where the system does not report it.
    resident: isize,
}

fn held() -> Held {
    let resident = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = resident.split(' ').nth(1).and_then(|pages| pages.parse::<isize>().ok());
    Held { heap: LIVE.load(Ordering::Relaxed) / 1024, resident: pages.unwrap_or_default() * 4 }
}

/// `SINEW_STRESS_TIMES` if it is set, else a million with `SINEW_DEEP=1`, else `few`.
pub(crate) fn times(few: usize) -> usize {
    let said = std::env::var("SINEW_STRESS_TIMES").ok().and_then(|text| text.parse().ok());
    let deep = std::env::var_os("SINEW_DEEP").map(|_| 1_000_000);
    said.or(deep).unwrap_or(few)
}

/// Held by one caller at a time, as the counters belong to the process.
pub(crate) struct Alone(#[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Alone {
    pub(crate) fn new() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        Self(ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// The kilobytes that `work` adds to the heap: at most at one time, and when it is over.
    pub(crate) fn adds(&self, work: impl FnOnce()) -> [isize; 2] {
        let before = LIVE.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        work();
        [&PEAK, &LIVE].map(|held| (held.load(Ordering::Relaxed) - before) / 1024)
    }
}

/// Calls `work` `times` times, and panics if the process then holds more than after the first
/// quarter: more than 128 kB of heap, or 2 MB that is resident. `work` must wait for all threads
/// that it starts: else their memory grows with the load of the machine.
pub(crate) fn holds_no_more(what: &str, times: usize, mut work: impl FnMut()) {
    let _alone = Alone::new();
    let start = held();
    let [quarter, half, _, end] = [(); 4].map(|()| {
        (0..times / 4).for_each(|_| work());
        held()
    });
    println!(
        "{what}, {times} times, kB: start {start:?}, quarter {quarter:?}, half {half:?}, \
         end {end:?}"
    );
    assert!(
        end.heap - quarter.heap <= 128,
        "{what}: the heap grew from {} to {} kB",
        quarter.heap,
        end.heap
    );
    let grown = end.resident - quarter.resident;
    assert!(
        grown <= 2 << 10,
        "{what}: resident memory grew from {} to {} kB",
        quarter.resident,
        end.resident
    );
}
