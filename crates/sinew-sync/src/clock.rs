//! Monotonic time: in nanoseconds, or in ticks, which cost less to read and are less exact.
//!
//! Under a model checker time is virtual: it advances with the model's own steps. A wait bounded by
//! time then ends after a bounded number of steps, and a schedule replays the same way.

use std::time::{Duration, Instant};

/// Nanoseconds since the first call.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub fn now_ns() -> u64 {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Virtual nanoseconds: a microsecond for each step of the current execution.
#[cfg(shuttle)]
pub fn now_ns() -> u64 {
    shuttle::current::context_switches() as u64 * 1_000
}

/// Virtual nanoseconds: 25 µs more at each call.
#[cfg(loom)]
pub fn now_ns() -> u64 {
    static TICKS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    TICKS.fetch_add(25_000, std::sync::atomic::Ordering::Relaxed)
}

/// The time of [`now_ns`] when `timeout` will have passed; `u64::MAX` if that is too far away.
pub fn ns_after(timeout: Duration) -> u64 {
    now_ns().saturating_add(timeout.as_nanos().try_into().unwrap_or(u64::MAX))
}

/// The time of [`now_ns`] at `deadline`: now, if it is over.
pub fn ns_at(deadline: Instant) -> u64 {
    ns_after(deadline.saturating_duration_since(Instant::now()))
}

/// About how many [`ticks`] a microsecond has; at most a factor of two off.
pub const TICKS_PER_US: u64 =
    if cfg!(all(target_arch = "x86_64", not(any(loom, shuttle)))) { 2_600 } else { 1_000 };

/// The processor's time-stamp counter where one exists that costs less than the clock, otherwise
/// [`now_ns`]. Only differences on one thread mean anything; the unit is [`TICKS_PER_US`].
#[inline]
pub fn ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
    // SAFETY: reads a counter that every x86-64 processor has.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle)))))]
    now_ns()
}

/// How many [`ticks`] a nanosecond has, measured against [`now_ns`].
///
/// The first call takes a millisecond, unless [`start_measuring`] was called at least that long
/// before. Later calls return the same value.
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
pub fn ticks_per_ns() -> f64 {
    use std::sync::OnceLock;
    static RATE: OnceLock<f64> = OnceLock::new();
    *crate::fork::once(&RATE, || {
        let (ns, began) = start_measuring();
        let now = loop {
            let now = now_ns();
            if now - ns >= 1_000_000 {
                break now;
            }
            std::hint::spin_loop();
        };
        ticks().saturating_sub(began) as f64 / (now - ns) as f64
    })
}

/// Starts the measurement for [`ticks_per_ns`], once for the process. Returns the nanoseconds and
/// the ticks at the start.
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
pub fn start_measuring() -> (u64, u64) {
    use std::sync::OnceLock;
    static BEGAN: OnceLock<(u64, u64)> = OnceLock::new();
    *BEGAN.get_or_init(|| (now_ns(), ticks()))
}

/// The processor time of the calling thread in nanoseconds, where the system counts it exactly.
/// Time spent waiting for a core is not included. Costs a system call, some 200 ns.
#[cfg(all(target_os = "linux", not(any(loom, shuttle))))]
pub fn thread_cpu_ns() -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec, to `time`.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    (result == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// `None`: this system does not count it.
#[cfg(not(all(target_os = "linux", not(any(loom, shuttle)))))]
pub fn thread_cpu_ns() -> Option<u64> {
    None
}

/// How many [`ticks`] a nanosecond has: one, on systems where a tick is a nanosecond.
#[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle)))))]
pub fn ticks_per_ns() -> f64 {
    1.0
}

/// Does nothing on systems where a tick is a nanosecond.
#[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle)))))]
pub fn start_measuring() -> (u64, u64) {
    (0, 0)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Catches: a sum that wraps, and a deadline of the past that is far in the future.
    #[test]
    fn deadlines_are_times_of_the_clock() {
        let (began, at) = (Instant::now(), now_ns());
        assert_eq!(ns_after(Duration::MAX), u64::MAX);
        assert!(ns_after(Duration::from_secs(1)) >= at + 1_000_000_000);
        let past = ns_at(began);
        assert!(at <= past && past <= now_ns());
        assert!(ns_at(began + Duration::from_secs(1)) <= now_ns() + 1_000_000_000);
    }

    /// Catches: a clock of anything but this thread's processor time.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_is_given_no_more_processor_time_than_passes() {
        let (begin, before) = (now_ns(), thread_cpu_ns().expect("Linux counts it"));
        while thread_cpu_ns() == Some(before) {
            std::hint::spin_loop();
        }
        let given = thread_cpu_ns().expect("Linux counts it") - before;
        assert!(given > 0 && given <= now_ns() - begin + 1_000, "{given}");
    }

    /// Catches: a rate of anything but the two clocks.
    #[test]
    fn the_rate_of_ticks_is_about_what_is_assumed() {
        start_measuring();
        let rate = ticks_per_ns();
        let assumed = TICKS_PER_US as f64 / 1_000.0;
        let assumed = if cfg!(target_arch = "x86_64") { assumed } else { 1.0 };
        assert!((0.2..5.0).contains(&(rate / assumed)), "{rate} ticks a nanosecond");
        assert_eq!(rate, ticks_per_ns());
        assert!(now_ns() <= now_ns());
    }
}
