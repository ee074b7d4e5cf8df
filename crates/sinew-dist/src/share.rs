//! Ranks that share the cores of their machine.
//!
//! The pool of each rank has a row in the table by which programs share a machine
//! (`PoolBuilder::coordinate`), so the ranks of a machine divide its cores, and divide them with
//! programs of other jobs. A rank that has waited for [`PATIENCE`] lends its cores to the others
//! until its next call into the pool ([`sinew::Pool::lend`]). Messages that need no work, such as
//! questions for units of a bag, take no cores back.
//!
//! `World::pool_builder` decides who shares: by default the ranks of a job of which several run
//! on one machine. Without sharing each of them has as many workers as the machine has cores.
//!
//! # Invariants
//!
//! - S1: a rank lends once a wait at most.
//! - S2: what is lent changes the time of a call, never its result.

use std::cell::Cell;
use std::time::{Duration, Instant};

use sinew::{Pool, PoolBuilder};

/// A rank waits for so long before it lends: a table that is changed twice and a neighbour that
/// wakes cost about as much.
pub(crate) const PATIENCE: Duration = Duration::from_micros(300);

/// The number of a job, 0 for none, and whether the rank's pool knows it.
#[derive(Debug, Default)]
pub(crate) struct Job {
    number: Cell<u64>,
    told: Cell<bool>,
}

impl Job {
    pub(crate) fn new(number: u64) -> Self {
        let job = Self::default();
        job.set(number);
        job
    }

    pub(crate) fn set(&self, number: u64) {
        self.number.set(number);
        self.told.set(number == 0);
    }

    pub(crate) fn number(&self) -> u64 {
        self.number.get()
    }

    /// A random number for a new job.
    pub(crate) fn draw() -> u64 {
        fastrand::u64(1..)
    }

    /// Tells the pool, once.
    #[inline]
    pub(crate) fn tell(&self, pool: &Pool) {
        if !self.told.replace(true) {
            set_job(pool, self.number());
        }
    }
}

/// The waits of a rank until now.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Waits {
    pub(crate) waited: Duration,
    pub(crate) lent: u64,
}

/// When a rank began to wait, and whether it has lent its cores since.
#[derive(Debug)]
pub(crate) struct Since {
    began: Instant,
    told: Instant,
    lends: bool,
}

impl Since {
    pub(crate) fn now() -> Self {
        let now = Instant::now();
        Self { began: now, told: now, lends: false }
    }

    /// Whether `long` has passed; then that time begins again.
    pub(crate) fn is_long(&mut self, long: Duration) -> bool {
        let is_long = self.told.elapsed() > long;
        if is_long {
            self.told = Instant::now();
        }
        is_long
    }

    /// The rest of the patience; `None` if the rank lends, or, with `lend`, begins to now.
    pub(crate) fn patience(&mut self, lend: impl FnOnce()) -> Option<Duration> {
        if self.lends {
            return None;
        }
        let left = PATIENCE.saturating_sub(self.began.elapsed());
        if left.is_zero() {
            self.lends = true;
            lend();
            return None;
        }
        Some(left)
    }
}

#[cfg(all(feature = "coordinate", not(shuttle)))]
pub(crate) fn coordinate(builder: PoolBuilder, shared: bool) -> PoolBuilder {
    builder.coordinate(shared)
}

#[cfg(not(all(feature = "coordinate", not(shuttle))))]
pub(crate) fn coordinate(builder: PoolBuilder, _shared: bool) -> PoolBuilder {
    builder
}

#[cfg(all(feature = "coordinate", not(shuttle)))]
fn set_job(pool: &Pool, job: u64) {
    pool.set_job(job);
}

#[cfg(not(all(feature = "coordinate", not(shuttle))))]
fn set_job(_pool: &Pool, _job: u64) {}

/// Reports a wait, if the pool shares its cores: `idle` if others give work to a rank that waits,
/// else it waits because another rank is slower.
#[cfg(all(feature = "coordinate", not(shuttle)))]
pub(crate) fn report_wait(pool: &Pool, idle: bool, time: Duration) {
    match idle {
        true => pool.report_idle(time),
        false => pool.report_wait(time),
    }
}

#[cfg(not(all(feature = "coordinate", not(shuttle))))]
pub(crate) fn report_wait(_pool: &Pool, _idle: bool, _time: Duration) {}

/// Lends the cores of a pool, if it shares them.
#[cfg(all(feature = "coordinate", not(shuttle)))]
pub(crate) fn lend(pool: &Pool) -> bool {
    let shares = pool.share().is_some();
    if shares {
        pool.lend();
    }
    shares
}

#[cfg(not(all(feature = "coordinate", not(shuttle))))]
pub(crate) fn lend(_pool: &Pool) -> bool {
    false
}

/// The name of this machine in the network.
pub(crate) fn machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a rank that lends without patience, or again at each look (S1).
    #[test]
    fn a_rank_lends_once_a_wait_and_only_after_a_while() {
        let mut early = Since { began: Instant::now() + PATIENCE, ..Since::now() };
        let left = early.patience(|| panic!("lends at once"));
        assert_eq!(left, Some(PATIENCE));
        let mut late = Since { began: Instant::now().checked_sub(PATIENCE).unwrap(), ..early };
        let mut lent = 0;
        for _ in 0..3 {
            assert_eq!(late.patience(|| lent += 1), None);
        }
        assert_eq!(lent, 1);
    }
}
