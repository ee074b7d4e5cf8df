//! The machine that this process runs on, and what it may use of that: as it is now, as it was a
//! moment ago, or as it was at first.

#[cfg(not(any(loom, shuttle)))]
use sinew_sync::lock::Mutex;
use sinew_topology::{Limits, Machine};

/// The machine, and what this process may use of it now.
#[cfg(not(shuttle))]
pub(crate) fn machine() -> (&'static Machine, Limits) {
    (Machine::host(), Limits::read())
}

/// The machine, and what this process may use of it now, except that control groups are read at
/// most ten times a second: that takes 100 µs.
#[cfg(not(any(loom, shuttle)))]
pub fn machine_cached() -> (&'static Machine, Limits) {
    static CACHED: Mutex<CachedLimits> = Mutex::new(None);
    (Machine::host(), limits_cached(&CACHED, sinew_sync::clock::now_ns))
}

/// When control groups were read last, and what was found.
#[cfg(not(any(loom, shuttle)))]
type CachedLimits = Option<(u64, Limits)>;

/// The clock is read under the lock: a thread that reads it before, and comes in after another one
/// has read the groups anew, would find them read in its future.
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

/// For how long control groups are believed to be as they were.
#[cfg(not(any(loom, shuttle)))]
const CACHED_FOR_NS: u64 = 100_000_000;

/// The machine of a model.
#[cfg(any(loom, shuttle))]
pub fn machine_cached() -> (&'static Machine, Limits) {
    machine()
}

/// The same as it was when it was first asked for.
#[cfg(not(shuttle))]
pub(crate) fn machine_as_known() -> (&'static Machine, Limits) {
    static LIMITS: std::sync::OnceLock<Limits> = std::sync::OnceLock::new();
    (Machine::host(), LIMITS.get_or_init(Limits::read).clone())
}

#[cfg(shuttle)]
pub(crate) use machine as machine_as_known;

/// Models do not look at the machine they run on.
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
