//! The machine that this process runs on, and the limits of the process: read now, read at most 100
//! ms ago, or read once.

#[cfg(not(any(loom, shuttle)))]
use sinew_sync::lock::Mutex;
use sinew_topology::{Limits, Machine};

/// The machine, and the limits of this process as they are now.
#[cfg(not(shuttle))]
pub(crate) fn machine() -> (&'static Machine, Limits) {
    (Machine::host(), Limits::read())
}

/// The machine, and the limits of this process. Control groups are read at most ten times a second,
/// since a read takes 100 µs.
#[cfg(not(any(loom, shuttle)))]
pub fn machine_cached() -> (&'static Machine, Limits) {
    static CACHED: Mutex<CachedLimits> = Mutex::new(None);
    (Machine::host(), limits_cached(&CACHED, sinew_sync::clock::now_ns))
}

/// The time of the last read of the control groups, and its result.
#[cfg(not(any(loom, shuttle)))]
type CachedLimits = Option<(u64, Limits)>;

/// The clock is read under the lock: a thread that reads the clock first, and then waits for a
/// thread that reads the groups, would find a read in its future.
#[cfg(not(any(loom, shuttle)))]
fn limits_cached(cached: &Mutex<CachedLimits>, now_ns: impl FnOnce() -> u64) -> Limits {
    let mut cached = cached.lock();
    let now = now_ns();
    if let Some((read, limits)) = &*cached
        && now - read < CACHED_FOR_NS
    {
        return limits.clone().with_affinity_of_caller();
    }
    let limits = Limits::read();
    *cached = Some((now, limits.clone()));
    limits
}

/// How long a read of the control groups is reused.
#[cfg(not(any(loom, shuttle)))]
const CACHED_FOR_NS: u64 = 100_000_000;

/// The machine of a model.
#[cfg(any(loom, shuttle))]
pub fn machine_cached() -> (&'static Machine, Limits) {
    machine()
}

/// The same, read at the first call.
#[cfg(not(shuttle))]
pub(crate) fn machine_as_known() -> (&'static Machine, Limits) {
    static LIMITS: std::sync::OnceLock<Limits> = std::sync::OnceLock::new();
    (Machine::host(), sinew_sync::fork::once(&LIMITS, Limits::read).clone())
}

#[cfg(shuttle)]
pub(crate) use machine as machine_as_known;

/// Models do not depend on the machine on which they run.
#[cfg(shuttle)]
pub(crate) fn machine() -> (&'static Machine, Limits) {
    static MACHINE: std::sync::OnceLock<Machine> = std::sync::OnceLock::new();
    let machine = MACHINE.get_or_init(|| Machine::flat(4));
    (machine, Limits::unlimited(machine))
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Catches: a clock that is read before the lock, and groups that are read at each call or
    /// never again.
    #[test]
    fn limits_are_read_again_after_a_while_by_a_clock_that_is_read_under_the_lock() {
        let cached = Mutex::new(None);
        let at = |now: u64| {
            let under_lock = || {
                assert!(cached.try_lock().is_none(), "another thread may come in first");
                now
            };
            limits_cached(&cached, under_lock);
            cached.lock().as_ref().map(|(read, _)| *read)
        };
        assert_eq!(at(7), Some(7));
        assert_eq!(at(7 + CACHED_FOR_NS - 1), Some(7));
        assert_eq!(at(7 + CACHED_FOR_NS), Some(7 + CACHED_FOR_NS));
    }
}
