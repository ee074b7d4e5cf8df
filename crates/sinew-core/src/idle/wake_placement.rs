//! Wake placement: waking a worker on another core than its waker's.
//!
//! Some kernels, seen on virtual machines, wake a thread on its waker's core though others are
//! idle. The woken worker then shares the core with the worker it should help, for up to a
//! scheduler's slice (4 ms), and a loop after a pause runs no faster than serial code. A worker
//! that finds itself on its waker's core records that. From then on wakers in its pool exclude
//! their own core from a sleeper's affinity mask before they wake it. The sleeper restores the mask
//! before it runs a task, so no thread that a task starts inherits it. A worker that finds no work
//! keeps the mask during its timed park, since the same core often wakes it again.
//!
//! This is harmful where the other cores are busy with other programs. The sleeper waits for a
//! core, or loses its core in the middle of its work, while its waker's core becomes idle. So a
//! worker that wakes up late, or that has lost its core before it sleeps again, marks the machine
//! as *crowded*. For a while, longer each time, wakers then change no mask. A late worker whose
//! mask was not changed marks nothing: on a crowded machine it should share its waker's core. A
//! waker that parks directly afterwards changes no mask, because its own core becomes free.
//!
//! # Invariants
//!
//! - K1: a worker has its original mask while it runs a task, when it sleeps for longer than a
//!   timed park, and after its thread has left.
//! - K2: a mask is changed only if it was set for the worker here, or is that of its waker as well.
//!   Any other mask is a user's binding, which stays. A mask that both have was set for the whole
//!   process, as `sinew exec` does.
//!
//! # Cost
//!
//! On other kernels, a wake-up reads the number of the core. On such kernels, waker and woken
//! worker execute two system calls each, of about 1 µs. If the last wake-up was in vain and came
//! from the same core, the waker only compares the stored mask. Two system calls of 0.2 µs show
//! whether the core was lost.
//!
//! # Not handled
//!
//! Pools with a mapping, which pins the workers, and pools with more workers than cores. A mask
//! that other code changes is kept, with two exceptions: a change between the two reads of a
//! wake-up, and a change to exactly the mask that the waker has set for a worker in a timed park.

use sinew_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sinew_sync::clock::now_ns;
use sinew_sync::lock::Mutex;
use sinew_topology::{CpuSet, ThreadRef, ThreadUsage, current_cpu, recorded_mask};

/// The state of one worker that wakers use: its thread, and its changed mask.
#[derive(Debug, Default)]
pub(crate) struct WorkerPlacement(Mutex<Sleeper>);

#[derive(Debug, Default)]
struct Sleeper {
    thread: Option<ThreadRef>,
    /// The mask that it began with, or that was last set for it; `None` if it is bound.
    own_mask: Option<CpuSet>,
    asleep: bool,
    /// The time of its last wake-up, and the waker's core.
    woken: Option<(u64, Option<usize>)>,
    excluded: Option<ExcludedCpu>,
    /// Its usage since it woke up on another core than its waker's.
    awake: Option<AwakeTime>,
}

/// An interval in which a thread was awake.
#[derive(Debug, Clone, Copy)]
struct AwakeTime {
    since_ns: u64,
    /// The thread's usage at its beginning.
    before: ThreadUsage,
}

impl AwakeTime {
    fn begin() -> Option<Self> {
        Some(Self { since_ns: now_ns(), before: ThreadUsage::current()? })
    }

    /// Whether another thread computed on the core meanwhile.
    fn was_shared(self) -> bool {
        let lasted_ns = now_ns().saturating_sub(self.since_ns);
        ThreadUsage::current().is_some_and(|now| self.lost_a_share(now, lasted_ns))
    }

    /// Whether the thread, whose usage is `now`, was without its core for much of the time. A
    /// caller that takes the next call uses the core for microseconds only. A thread that blocks in
    /// a task has given up its core itself.
    fn lost_a_share(&self, now: ThreadUsage, lasted_ns: u64) -> bool {
        let used_ns = now.processor_ns.saturating_sub(self.before.processor_ns);
        let lost_ns = lasted_ns.saturating_sub(used_ns);
        let was_interrupted = now.involuntary_switches > self.before.involuntary_switches;
        was_interrupted && lost_ns >= LATE_NS / 2 && lost_ns >= lasted_ns / 8
    }
}

/// A worker whose mask a waker has changed.
#[derive(Debug)]
struct ExcludedCpu {
    thread: ThreadRef,
    cpu: usize,
    /// Its mask before.
    mask: CpuSet,
}

impl ExcludedCpu {
    fn new(thread: ThreadRef, cpu: usize, own_mask: Option<&CpuSet>) -> Option<Self> {
        let mask = thread.affinity()?;
        let has_wakers = || ThreadRef::current()?.affinity();
        if own_mask != Some(&mask) && has_wakers().as_ref() != Some(&mask) {
            return None; // K2
        }
        thread.exclude_cpu(cpu, &mask).then_some(Self { thread, cpu, mask })
    }

    fn restore_affinity(self) {
        self.thread.restore_affinity(self.cpu, &self.mask);
    }
}

impl Sleeper {
    fn restore_affinity(&mut self) {
        if let Some(excluded) = self.excluded.take() {
            excluded.restore_affinity();
        }
    }

    /// Excludes `cpu` from the worker's mask, if its mask can be changed.
    fn exclude_cpu(&mut self, cpu: usize) {
        if self.excluded.as_ref().is_some_and(|excluded| excluded.cpu == cpu) {
            return;
        }
        self.restore_affinity();
        let own_mask = self.own_mask.as_ref();
        self.excluded = self.thread.and_then(|thread| ExcludedCpu::new(thread, cpu, own_mask));
    }
}

impl WorkerPlacement {
    /// The worker's thread has begun.
    pub(crate) fn thread_begins(&self) {
        let mut sleeper = self.0.lock();
        (sleeper.thread, sleeper.own_mask) = (ThreadRef::current(), recorded_mask());
    }

    /// The worker's thread, the calling one, was pinned or unpinned.
    pub(crate) fn thread_moved(&self) {
        self.0.lock().own_mask = recorded_mask();
    }

    /// Whether other code has bound the worker's thread.
    pub(crate) fn is_bound(&self) -> bool {
        let sleeper = self.0.lock();
        match (sleeper.thread, &sleeper.own_mask) {
            (Some(thread), Some(mask)) => sleeper.excluded.is_none() && thread.is_bound(mask),
            (thread, _) => thread.is_some(),
        }
    }

    /// The worker's thread ends.
    pub(crate) fn thread_ends(&self) {
        let mut sleeper = self.0.lock();
        sleeper.restore_affinity();
        *sleeper = Sleeper::default();
    }

    /// The worker is about to park.
    pub(crate) fn before_park(&self, wake_placement: &WakePlacement) {
        let mut sleeper = self.0.lock();
        if sleeper.awake.take().is_some_and(AwakeTime::was_shared) {
            wake_placement.set_crowded(now_ns());
        }
        sleeper.asleep = wake_placement.allowed;
    }

    /// The worker has been woken. It calls [`restore_mask`](Self::restore_mask) before it does
    /// anything but search and park for a limited time (K1).
    pub(crate) fn after_park(&self, wake_placement: &WakePlacement) {
        let mut sleeper = self.0.lock();
        sleeper.asleep = false;
        let Some((woken_ns, from)) = sleeper.woken.take() else { return };
        if sleeper.excluded.is_some() {
            wake_placement.learn(woken_ns, now_ns());
            sleeper.awake = AwakeTime::begin();
        }
        if sleeper.excluded.is_none() && from.is_some() && from == current_cpu() {
            wake_placement.set_needed();
        }
    }

    /// Restores the mask of the worker, asleep or not.
    pub(crate) fn restore_mask(&self) {
        self.0.lock().restore_affinity();
    }

    /// The calling thread is about to wake the worker, if it sleeps.
    fn before_wake(&self, wake_placement: &WakePlacement) {
        let mut sleeper = self.0.lock();
        if !sleeper.asleep || sleeper.woken.is_some() {
            return;
        }
        let (now, here) = (now_ns(), current_cpu());
        sleeper.woken = Some((now, here));
        match here {
            _ if wake_placement.is_crowded(now) => sleeper.restore_affinity(),
            Some(cpu) if wake_placement.is_needed() => sleeper.exclude_cpu(cpu),
            _ => {}
        }
    }
}

/// Whether a pool's wakers must change the masks of sleepers.
#[derive(Debug)]
pub(crate) struct WakePlacement {
    allowed: bool,
    needed: AtomicBool,
    crowded_until_ns: AtomicU64,
    penalty_ns: AtomicU64,
}

/// A worker that wakes up so long after its wake-up had no core.
const LATE_NS: u64 = 1_000_000;
/// How long the machine counts as crowded, at first and at most.
const PENALTY_NS: u64 = 10_000_000;
const PENALTY_MAX_NS: u64 = 1_000_000_000;

impl WakePlacement {
    /// `allowed` if the pool's workers may run anywhere, and there is a core for each.
    pub(crate) fn new(allowed: bool) -> Self {
        Self {
            allowed: allowed && cfg!(not(any(loom, shuttle))),
            needed: AtomicBool::new(false),
            crowded_until_ns: AtomicU64::new(0),
            penalty_ns: AtomicU64::new(PENALTY_NS),
        }
    }

    /// Whether woken workers have recently had no core.
    pub(crate) fn is_crowded(&self, now_ns: u64) -> bool {
        // Relaxed, here and below: hints.
        now_ns < self.crowded_until_ns.load(Ordering::Relaxed)
    }

    /// A worker wakes up whose wake-up was at `woken_ns`, with its waker's core excluded. If it is
    /// late, the other cores are busy.
    fn learn(&self, woken_ns: u64, now_ns: u64) {
        if now_ns.saturating_sub(woken_ns) > LATE_NS {
            self.set_crowded(now_ns);
        } else if !self.is_crowded(now_ns) {
            self.shorten_penalty();
        }
    }

    fn set_crowded(&self, now_ns: u64) {
        let penalty = self.penalty_ns.load(Ordering::Relaxed);
        self.crowded_until_ns.store(now_ns + penalty, Ordering::Relaxed);
        self.penalty_ns.store((2 * penalty).min(PENALTY_MAX_NS), Ordering::Relaxed);
    }

    fn shorten_penalty(&self) {
        let penalty = self.penalty_ns.load(Ordering::Relaxed);
        if penalty > PENALTY_NS {
            self.penalty_ns.store((penalty - penalty / 8).max(PENALTY_NS), Ordering::Relaxed);
        }
    }

    /// The calling thread is about to wake `worker`.
    pub(crate) fn before_wake(&self, worker: &WorkerPlacement) {
        if self.allowed {
            worker.before_wake(self);
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

    use sinew_topology::{Limits, pin_current_thread};

    use super::*;

    /// A parked worker on a thread of its own. It executes commands, and returns how many cores it
    /// may use afterwards.
    struct Worker<'b> {
        placement: &'b WorkerPlacement,
        tell: mpsc::Sender<fn(&WorkerPlacement, &WakePlacement)>,
        told: mpsc::Receiver<usize>,
    }

    impl<'b> Worker<'b> {
        fn new<'s>(
            s: &'s std::thread::Scope<'s, 'b>,
            placement: &'b WorkerPlacement,
            wake_placement: &'b WakePlacement,
        ) -> Self {
            let ((tell, orders), (tells, told)) =
                (mpsc::channel::<fn(&WorkerPlacement, &WakePlacement)>(), mpsc::channel());
            s.spawn(move || {
                placement.thread_begins();
                for order in orders {
                    order(placement, wake_placement);
                    tells.send(Limits::read().affinity().len()).unwrap();
                }
            });
            Self { placement, tell, told }
        }

        fn does(&self, order: fn(&WorkerPlacement, &WakePlacement)) -> usize {
            self.tell.send(order).unwrap();
            self.told.recv().unwrap()
        }

        /// The cores that it may use, read by another thread.
        fn cores(&self) -> usize {
            self.placement.0.lock().thread.and_then(ThreadRef::affinity).unwrap().len()
        }
    }

    /// Calls `test` with a worker that is asleep, its pool's wake placement, and the number of
    /// cores, if there are two.
    fn with_sleeper(test: impl FnOnce(&Worker<'_>, &WakePlacement, usize)) {
        let all = Limits::read().affinity().len();
        if all < 2 {
            println!("skipped: one CPU");
            return;
        }
        let (placement, wake_placement) = (WorkerPlacement::default(), WakePlacement::new(true));
        wake_placement.set_needed();
        std::thread::scope(|s| {
            let worker = Worker::new(s, &placement, &wake_placement);
            assert_eq!(worker.does(WorkerPlacement::before_park), all);
            test(&worker, &wake_placement, all);
        });
    }

    /// Catches: a mask that is not restored before a task runs, or is changed for a worker that
    /// does not sleep.
    #[test]
    fn a_sleeper_is_kept_off_its_wakers_core_until_it_has_work() {
        with_sleeper(|worker, wake_placement, all| {
            wake_placement.before_wake(worker.placement);
            assert_eq!(worker.does(WorkerPlacement::after_park), all - 1);
            assert_eq!(worker.does(|placement, _| placement.restore_mask()), all);
            wake_placement.before_wake(worker.placement);
            assert_eq!((worker.cores(), worker.placement.0.lock().woken), (all, None));
        });
    }

    /// Catches: a mask that shrinks with every wake-up in vain, a wake-up from another core that
    /// leaves the sleeper on that one, and a mask that outlives a long sleep, the thread's last
    /// task, or a crowded machine.
    #[test]
    fn a_sleeper_that_was_woken_in_vain_stays_off_the_core_until_it_sleeps_for_long() {
        with_sleeper(|worker, wake_placement, all| {
            let wake_in_vain = |cpu: usize| {
                worker.does(|placement, wake_placement| {
                    placement.after_park(wake_placement);
                    placement.before_park(wake_placement);
                });
                worker.placement.0.lock().exclude_cpu(cpu);
                let mask = worker.placement.0.lock().thread.and_then(ThreadRef::affinity).unwrap();
                assert_eq!((mask.len(), mask.contains(cpu)), (all - 1, false));
            };
            let cpus: Vec<usize> = Limits::read().affinity().iter().collect();
            [0, 0, 1, 0].into_iter().for_each(|at| wake_in_vain(cpus[at]));
            worker.placement.restore_mask();
            assert_eq!(worker.cores(), all);
            wake_in_vain(cpus[1]);
            assert_eq!(worker.does(WorkerPlacement::before_park), all - 1);
            wake_placement.crowded_until_ns.store(u64::MAX, Ordering::Relaxed);
            wake_placement.before_wake(worker.placement);
            assert_eq!(worker.cores(), all);
            wake_in_vain(cpus[0]);
            assert_eq!(worker.does(|placement, _| placement.thread_ends()), all);
        });
    }

    /// Catches: a sleeper that is moved off its user's binding, and one that stays for no reason.
    #[test]
    fn a_mask_that_is_neither_the_sleepers_own_nor_its_wakers_is_left_alone() {
        with_sleeper(|worker, wake_placement, all| {
            let here = std::iter::once(current_cpu().unwrap()).collect();
            let _pinned = pin_current_thread(&here).unwrap();
            let whole = Limits::read().affinity().clone();
            for (own_mask, left) in [(None, all), (Some(whole), all - 1)] {
                worker.placement.0.lock().own_mask = own_mask;
                // The last wake-up may have been late.
                wake_placement.crowded_until_ns.store(0, Ordering::Relaxed);
                wake_placement.before_wake(worker.placement);
                assert_eq!(worker.cores(), left);
                worker.does(|placement, wake_placement| {
                    placement.after_park(wake_placement);
                    placement.restore_mask();
                    placement.before_park(wake_placement);
                });
            }
        });
    }

    /// Yields the core until another thread has taken it.
    fn lose_the_core() {
        let here = std::iter::once(current_cpu().unwrap()).collect();
        let done = AtomicBool::new(false);
        let pinned = pin_current_thread(&here).unwrap();
        let switches = || ThreadUsage::current().unwrap().involuntary_switches;
        std::thread::scope(|s| {
            s.spawn(|| {
                // Inherits the pin.
                while !done.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
            });
            let before = switches();
            while switches() == before {
                std::thread::yield_now();
            }
            done.store(true, Ordering::Relaxed);
        });
        drop(pinned);
    }

    /// Catches: a worker that wakes up in time, and then repeatedly loses its core in the middle of
    /// its work.
    #[test]
    fn one_who_lost_its_core_says_that_the_machine_is_crowded() {
        with_sleeper(|worker, wake_placement, _| {
            for loses in [false, true] {
                wake_placement.crowded_until_ns.store(0, Ordering::Relaxed);
                wake_placement.before_wake(worker.placement);
                worker.does(WorkerPlacement::after_park);
                worker.does(|placement, _| placement.restore_mask());
                let awake = worker.placement.0.lock().awake.unwrap();
                if loses {
                    worker.does(|_, _| lose_the_core());
                    // As if the thread had used all the time since the beginning.
                    worker.placement.0.lock().awake = Some(AwakeTime { since_ns: 0, ..awake });
                } else {
                    // As if no other thread had run here.
                    let before = ThreadUsage { involuntary_switches: u64::MAX, ..awake.before };
                    worker.placement.0.lock().awake = Some(AwakeTime { since_ns: 0, before });
                }
                // The wake-up may have been late.
                wake_placement.crowded_until_ns.store(0, Ordering::Relaxed);
                worker.does(WorkerPlacement::before_park);
                assert_eq!(wake_placement.crowded_until_ns.load(Ordering::Relaxed) > 0, loses);
            }
        });
    }

    /// Catches: a machine marked as crowded because a caller takes a worker's core for a moment
    /// between two calls, or because a task sleeps.
    #[test]
    fn one_who_passes_by_does_not_make_a_crowd() {
        let awake = AwakeTime {
            since_ns: 0,
            before: ThreadUsage { processor_ns: 7, involuntary_switches: 7 },
        };
        let lost = |used_us: u64, switches: u64, lasted_us: u64| {
            let now = ThreadUsage {
                processor_ns: 7 + used_us * 1_000,
                involuntary_switches: 7 + switches,
            };
            awake.lost_a_share(now, lasted_us * 1_000)
        };
        assert!(!lost(100, 3, 120));
        assert!(!lost(100, 0, 50_000));
        assert!(!lost(99_000, 20, 100_000));
        assert!(lost(100, 1, 3_000));
        assert!(lost(60_000, 12, 100_000));
    }

    /// Catches: an overwritten mask that other code has changed meanwhile.
    #[test]
    fn a_mask_that_another_program_has_changed_is_left_alone() {
        with_sleeper(|worker, wake_placement, _| {
            wake_placement.before_wake(worker.placement);
            let excluded =
                worker.placement.0.lock().excluded.as_ref().map(|excluded| excluded.cpu).unwrap();
            let thread = worker.placement.0.lock().thread.unwrap();
            // A mask without another core than the excluded one, which stays allowed.
            let all = Limits::read().affinity().clone();
            let other = all.iter().find(|&cpu| cpu != excluded).unwrap();
            assert!(thread.exclude_cpu(other, &all));
            assert_eq!(worker.does(|placement, _| placement.restore_mask()), all.len() - 1);
        });
    }
}
