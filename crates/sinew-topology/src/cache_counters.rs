//! Accesses to the last cache and its misses, by the processor's counters.
//!
//! The kernel counts for a thread and for those that the thread starts later. The thread that opens
//! the counters usually prepares what the others work on, so its own counts are taken off.
//!
//! A processor has few counters. If more are open than it has, the kernel lets them take turns; a
//! count is then scaled by the time for which it was really counted.
//!
//! # Tests
//!
//! Scaling of counts; the counters of this machine, or the error that says why there are none.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use crate::sys::open_counter;

/// `PERF_COUNT_HW_CACHE_REFERENCES` and `PERF_COUNT_HW_CACHE_MISSES`.
const EVENTS: [u64; 2] = [2, 3];

/// Counters of the threads that the calling thread starts after [`open`](Self::open).
///
/// ```
/// use sinew_topology::CacheCounters;
///
/// match CacheCounters::open() {
///     Ok(counters) => {
///         std::thread::spawn(|| vec![1_u8; 1 << 20]).join().unwrap();
///         println!("{:?}", counters.counts());
///     }
///     Err(error) => println!("{error}"), // virtual machines often have no counters
/// }
/// ```
#[derive(Debug)]
pub struct CacheCounters {
    /// Of this thread and of those that it starts.
    all: [File; 2],
    /// Of this thread alone.
    own: [File; 2],
}

/// Counts of accesses to the last cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Accesses that reached the last cache.
    pub accesses: u64,
    /// Those that it had to fetch from memory.
    pub misses: u64,
}

/// Why there are no counters.
#[derive(Debug)]
pub struct CacheCountersError(io::Error);

impl fmt::Display for CacheCountersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the kernel gives no counters of cache misses ({}): they need a processor that has \
             them, and /proc/sys/kernel/perf_event_paranoid at 2 or below",
            self.0
        )
    }
}

impl std::error::Error for CacheCountersError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl CacheCounters {
    /// Opens the counters.
    ///
    /// # Errors
    ///
    /// If the machine has no such counters, the kernel refuses them to this process, or the system
    /// is not Linux.
    ///
    /// # Cost
    ///
    /// Four system calls. Threads that are started later count without further calls.
    pub fn open() -> Result<Self, CacheCountersError> {
        let open = |inherited| -> io::Result<[File; 2]> {
            let [accesses, misses] = EVENTS.map(|event| open_counter(event, inherited));
            Ok([accesses?, misses?])
        };
        let both = || Ok(Self { all: open(true)?, own: open(false)? });
        both().map_err(CacheCountersError)
    }

    /// The counts so far; `None` if the kernel has not let the counters count.
    pub fn counts(&self) -> Option<CacheCounts> {
        let others = |event: usize| {
            let [all, own] = [&self.all[event], &self.own[event]].map(read);
            Some(all?.saturating_sub(own?))
        };
        Some(CacheCounts { accesses: others(0)?, misses: others(1)? })
    }
}

impl CacheCounts {
    /// The counts since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            accesses: self.accesses.saturating_sub(earlier.accesses),
            misses: self.misses.saturating_sub(earlier.misses),
        }
    }
}

fn read(mut counter: &File) -> Option<u64> {
    let mut bytes = [0; 24];
    counter.read_exact(&mut bytes).ok()?;
    scaled(&bytes)
}

/// The count in what a read returns: count, time enabled, time counted.
fn scaled(bytes: &[u8; 24]) -> Option<u64> {
    let (words, _) = bytes.as_chunks::<8>();
    let [count, enabled, counted] = [words[0], words[1], words[2]].map(u64::from_ne_bytes);
    let whole = u128::from(count) * u128::from(enabled);
    u64::try_from(whole.checked_div(u128::from(counted))?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: [u64; 3]) -> [u8; 24] {
        let mut bytes = [0; 24];
        for (to, word) in bytes.chunks_mut(8).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// Catches: a count of half the time that passes for the whole, a count of no time, and one
    /// that overflows.
    #[test]
    fn counts_are_scaled_by_the_time_for_which_they_were_counted() {
        assert_eq!(scaled(&bytes([500, 1_000, 1_000])), Some(500));
        assert_eq!(scaled(&bytes([500, 1_000, 250])), Some(2_000));
        assert_eq!(scaled(&bytes([0, 1_000, 0])), None);
        assert_eq!(scaled(&bytes([u64::MAX, 4, 4])), Some(u64::MAX));
        assert_eq!(scaled(&bytes([u64::MAX, 4, 1])), None);
    }

    /// Catches: counters of the thread that opens them, and an error that does not say what is
    /// needed.
    #[test]
    fn other_threads_are_counted_or_the_reason_is_given() {
        let counters = match CacheCounters::open() {
            Ok(counters) => counters,
            Err(error) => {
                assert!(error.to_string().contains("perf_event_paranoid"), "{error}");
                println!("skipped: {error}");
                return;
            }
        };
        let Some(before) = counters.counts() else {
            println!("skipped: the counters do not count");
            return;
        };
        let touched = std::thread::spawn(|| (0..1_u64 << 22).collect::<Vec<_>>()).join().unwrap();
        assert_eq!(touched.len(), 1 << 22);
        let counts = counters.counts().unwrap().since(&before);
        assert!(counts.accesses > 0 && counts.misses <= counts.accesses, "{counts:?}");
    }
}
