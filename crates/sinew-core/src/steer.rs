//! Waking a worker on another core than its waker's.
//!
//! Some kernels wake a thread on the core of the thread that wakes it, though others are idle; seen on virtual machines. Then the woken
//! worker takes turns with the one it was to help, for up to a scheduler's slice (4 ms), and a loop that follows a pause runs no faster than
//! serial code. So a worker that finds itself on its waker's core says so, and from then on wakers in its pool take their own core out of a
//! sleeper's affinity mask before they wake it. The sleeper puts the mask back as it gets up, before it runs a task: nothing that a task starts
//! inherits it.
//!
//! That is no help where the other cores are busy with other programs: a sleeper that is kept off its waker's core then waits for a core that it does not get,
//! while its waker's falls idle. So a worker that gets up late says that the machine is *crowded*, and for a while, longer each time, nobody steers. Nor
//! does a thread that parks directly after: its own core is the one that falls free.
//!
//! # Cost
//!
//! Where the kernel behaves: a look at the number of the core a wake-up. Where it does not: two system calls of the waker and two of the woken, each about
//! 1 µs.
//!
//! # Not handled
//!
//! Pools with mappings, which say themselves where workers run, and pools with more workers than cores: they are left alone. A mask that somebody else
//! changes is respected, unless that happens in the moment between a wake-up's two looks at it.

use sinew_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sinew_sync::clock::now_ns;
use sinew_sync::lock::Mutex;
use sinew_topology::{CpuSet, ThreadRef, current_cpu};

/// Where one worker sleeps.
#[derive(Debug, Default)]
pub(crate) struct Bed(Mutex<Sleeper>);

#[derive(Debug, Default)]
struct Sleeper {
    thread: Option<ThreadRef>,
    asleep: bool,
    woken_from: Option<usize>,
    woken_at_ns: Option<u64>,
    /// Its affinity mask, before a waker changed it.
    mask: Option<CpuSet>,
    /// The mask has been changed.
    steered: bool,
}

impl Bed {
    /// The worker's thread has begun.
    pub(crate) fn move_in(&self) {
        self.0.lock().thread = ThreadRef::current();
    }

    /// The worker's thread ends.
    pub(crate) fn move_out(&self) {
        *self.0.lock() = Sleeper::default();
    }

    /// The worker is about to park.
    pub(crate) fn lie_down(&self, steering: &Steering) {
        self.0.lock().asleep = steering.allowed;
    }

    /// The worker has been woken.
    pub(crate) fn get_up(&self, steering: &Steering) {
        let sleeper = {
            let mut sleeper = self.0.lock();
            let awake = Sleeper { thread: sleeper.thread, ..Sleeper::default() };
            std::mem::replace(&mut *sleeper, awake)
        };
        if let Some(woken_ns) = sleeper.woken_at_ns {
            steering.learn(woken_ns, now_ns(), sleeper.steered);
        }
        match (sleeper.thread, sleeper.mask) {
            (Some(thread), Some(mask)) if sleeper.steered => {
                if let Some(cpu) = sleeper.woken_from {
                    thread.let_back(cpu, &mask);
                }
            }
            _ if sleeper.woken_from.is_some() && sleeper.woken_from == current_cpu() => steering.set_needed(),
            _ => {}
        }
    }

    /// The calling thread is about to wake the worker, if it sleeps.
    fn before_wake(&self, steering: &Steering) {
        let mut sleeper = self.0.lock();
        if !sleeper.asleep || sleeper.steered {
            return;
        }
        let now = now_ns();
        sleeper.woken_at_ns = Some(now);
        sleeper.woken_from = current_cpu();
        if steering.is_crowded(now) {
            return;
        }
        let thread = sleeper.thread.filter(|_| steering.is_needed());
        if let (Some(thread), Some(here)) = (thread, sleeper.woken_from)
            && let Some(mask) = thread.affinity()
        {
            sleeper.steered = thread.keep_off(here, &mask);
            sleeper.mask = Some(mask);
        }
    }
}

/// Whether a pool's wakers must steer.
#[derive(Debug)]
pub(crate) struct Steering {
    allowed: bool,
    needed: AtomicBool,
    crowded_until_ns: AtomicU64,
    penalty_ns: AtomicU64,
}

/// A worker that gets up so long after it was woken had no core.
const LATE_NS: u64 = 1_000_000;
/// For how long the machine counts as crowded, at first and at most.
const PENALTY_NS: u64 = 10_000_000;
const PENALTY_MAX_NS: u64 = 1_000_000_000;

impl Steering {
    /// `allowed` if the pool's workers may run anywhere, and there is a core for each.
    pub(crate) fn new(allowed: bool) -> Self {
        Self {
            allowed: allowed && cfg!(not(any(loom, shuttle))),
            needed: AtomicBool::new(false),
            crowded_until_ns: AtomicU64::new(0),
            penalty_ns: AtomicU64::new(PENALTY_NS),
        }
    }

    /// Whether woken workers did not get a core lately.
    pub(crate) fn is_crowded(&self, now_ns: u64) -> bool {
        // Relaxed, here and below: hints.
        now_ns < self.crowded_until_ns.load(Ordering::Relaxed)
    }

    /// A worker that was woken at `woken_ns` gets up. One that comes late although it was kept off its waker's core shows that the others are busy; one that
    /// comes late and was not had better be kept off again.
    fn learn(&self, woken_ns: u64, now_ns: u64, steered: bool) {
        let penalty = self.penalty_ns.load(Ordering::Relaxed);
        let late = now_ns.saturating_sub(woken_ns) > LATE_NS;
        if late && !steered {
            self.crowded_until_ns.store(0, Ordering::Relaxed);
        } else if late {
            self.crowded_until_ns.store(now_ns + penalty, Ordering::Relaxed);
            self.penalty_ns.store((2 * penalty).min(PENALTY_MAX_NS), Ordering::Relaxed);
        } else if penalty > PENALTY_NS && !self.is_crowded(now_ns) {
            self.penalty_ns.store((penalty - penalty / 8).max(PENALTY_NS), Ordering::Relaxed);
        }
    }

    /// The calling thread is about to wake the worker in `bed`.
    pub(crate) fn before_wake(&self, bed: &Bed) {
        if self.allowed {
            bed.before_wake(self);
        }
    }

    fn is_needed(&self) -> bool {
        // Relaxed, here and below: a hint.
        self.needed.load(Ordering::Relaxed)
    }

    fn set_needed(&self) {
        self.needed.store(true, Ordering::Relaxed);
    }
}

#[cfg(all(test, target_os = "linux", not(any(loom, shuttle))))]
mod tests {
    use std::sync::mpsc;

    use sinew_topology::Limits;

    use super::*;

    /// Would miss: a mask that is not put back, or is changed for a worker that does not sleep.
    #[test]
    fn a_sleeper_is_kept_off_its_wakers_core_until_it_gets_up() {
        let (before, after) = (Limits::read(), mpsc::channel());
        if before.affinity().len() < 2 {
            println!("skipped: one CPU");
            return;
        }
        let (bed, steering) = (Bed::default(), Steering::new(true));
        steering.set_needed();
        let (ready, woken) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
        std::thread::scope(|s| {
            s.spawn(|| {
                bed.move_in();
                bed.lie_down(&steering);
                ready.wait();
                woken.wait();
                let asleep = Limits::read().affinity().len();
                bed.get_up(&steering);
                after.0.send((asleep, Limits::read().affinity().len())).unwrap();
            });
            ready.wait();
            steering.before_wake(&bed);
            woken.wait();
        });
        let all = before.affinity().len();
        assert_eq!(after.1.recv().unwrap(), (all - 1, all));
        steering.before_wake(&bed);
        assert!(!bed.0.lock().steered);
    }
}
