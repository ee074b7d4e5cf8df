//! Asking all workers of a pool, and the kernel about threads.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use rustix::thread;
use sinew_core::{Mapping, Pool};
use sinew_topology::CpuSet;

/// Number of times that a worker looks where it runs: a pin that does not hold shows soon, because
/// all others want CPUs meanwhile.
const LOOKS: usize = 200;

/// The places of a thread, and the CPUs that the kernel would allow it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) slot: usize,
    pub(crate) on: CpuSet,
    pub(crate) mask: CpuSet,
}

/// The calling thread's mask, asked of the kernel past Sinew.
pub(crate) fn mask() -> CpuSet {
    let mask = thread::sched_getaffinity(None).expect("the kernel tells a thread its own mask");
    (0..thread::CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).collect()
}

/// Restricts the calling thread past Sinew, as `taskset` would.
pub(crate) fn set_mask(cpus: &CpuSet) -> Result<(), String> {
    let mut mask = thread::CpuSet::new();
    cpus.iter().for_each(|cpu| mask.set(cpu));
    thread::sched_setaffinity(None, &mask).map_err(|error| format!("cannot run on {cpus}: {error}"))
}

/// The CPU on which the calling thread runs.
pub(crate) fn here() -> usize {
    thread::sched_getcpu()
}

/// The CPUs on which the calling thread finds itself, looked at repeatedly.
pub(crate) fn watch() -> CpuSet {
    let look = |_| {
        std::thread::yield_now();
        here()
    };
    (0..LOOKS).map(look).collect()
}

/// Runs `check` on a thread that may use only these CPUs.
pub(crate) fn restricted<R: Send>(
    cpus: &CpuSet,
    check: impl FnOnce() -> Result<R, String> + Send,
) -> Result<R, String> {
    let thread = || set_mask(cpus).and_then(|()| check());
    std::thread::scope(|scope| {
        scope.spawn(thread).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// A pool whose every worker has a thread of its own.
pub(crate) fn pool(threads: usize, mapping: &Mapping) -> Result<Pool, String> {
    let builder = Pool::builder().threads(threads).mapping(mapping.clone()).external_slot(false);
    builder.build().map_err(|error| format!("{mapping}: {error}"))
}

/// The observations of each worker of a pool without external slots, all at the same time, by
/// number.
pub(crate) fn survey(pool: &Pool) -> Vec<Seen> {
    let seen = Mutex::new(Vec::new());
    pool.broadcast(|context| {
        let here = Seen { slot: context.index(), on: watch(), mask: mask() };
        seen.lock().expect("no worker panics").push(here);
    });
    let mut seen = seen.into_inner().expect("no worker panics");
    seen.sort_by_key(|worker| worker.slot);
    seen
}

/// Holds threads up until it is opened.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

/// Much longer than any step here, so a longer wait has failed.
const LIMIT: Duration = Duration::from_secs(60);

impl Gate {
    pub(crate) fn open(&self) {
        *self.open.lock().expect("nobody panics with the lock") = true;
        self.opened.notify_all();
    }

    /// Waits until it is open.
    ///
    /// # Panics
    ///
    /// If that is never.
    pub(crate) fn wait(&self) {
        let open = self.open.lock().expect("nobody panics with the lock");
        let waited = self.opened.wait_timeout_while(open, LIMIT, |open| !*open);
        let opened = *waited.expect("nobody panics with the lock").0;
        assert!(opened, "what should have happened first did not, within {LIMIT:?}");
    }
}
