//! Monotonic time: in nanoseconds, and, where a rough idea is enough, in ticks that cost less to read.
//!
//! Under a model checker time is virtual and made of the model's own steps, so that a wait bounded by time ends after a bounded
//! number of them and a schedule replays the same way.

/// Nanoseconds since some moment before the first call.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub fn now_ns() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Virtual nanoseconds: a microsecond for every step of the present execution.
#[cfg(shuttle)]
pub fn now_ns() -> u64 {
    shuttle::current::context_switches() as u64 * 1_000
}

/// Virtual nanoseconds: 25 µs more at every call.
#[cfg(loom)]
pub fn now_ns() -> u64 {
    static TICKS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    TICKS.fetch_add(25_000, std::sync::atomic::Ordering::Relaxed)
}

/// About how many [`ticks`] a microsecond has: within a factor of two of the truth.
pub const TICKS_A_US: u64 =
    if cfg!(all(target_arch = "x86_64", not(any(loom, shuttle)))) { 2_600 } else { 1_000 };

/// The processor's time-stamp counter where there is one that costs less than the clock, otherwise [`now_ns`]. Good for differences on
/// one thread; the unit is [`TICKS_A_US`].
#[inline]
pub fn ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
    // SAFETY: reads a counter that every x86-64 processor has.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle)))))]
    now_ns()
}
