//! Monotonic time in nanoseconds.
//!
//! Under a model checker time is virtual: every look at the clock lets a tick pass, so that a wait bounded by time
//! ends after a bounded number of steps and a schedule replays the same way.

/// Nanoseconds since some moment before the first call.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub fn now_ns() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Virtual nanoseconds: 25 µs more at every call.
#[cfg(any(loom, shuttle))]
pub fn now_ns() -> u64 {
    static TICKS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    TICKS.fetch_add(25_000, std::sync::atomic::Ordering::Relaxed)
}
