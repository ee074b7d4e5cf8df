//! Loops with [`Schedule::Auto`]: a table with a tuner for each loop, and the trial runs that feed
//! the tuners.
//!
//! The key of a loop is its call site (in other languages its function), the order of magnitude of
//! its length, and the number of workers. The decisions are those of [`sinew_policy::auto`]. One
//! run at a time is a trial; a run of the same loop that begins meanwhile uses the best schedule
//! known so far.
//!
//! # Cost
//!
//! A lock, a lookup and a reading of the clock when a loop begins, and again when it ends; in the
//! first run also a reading of the clock for each chunk.
//!
//! # Not handled
//!
//! Different loops with one call site, such as those of a function that takes closures: they share
//! a tuner, which settles on the best schedule for most of them.

use super::options::Options;
use sinew_policy::auto::{Choice, Profile, Tuner, prior};
use sinew_policy::chunk::Schedule;
use sinew_sync::clock::now_ns;
use sinew_sync::lock::Mutex;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::LazyLock;

/// The identity of a loop of a program: runs with the same site are runs of one loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Site {
    /// The place in the source where the loop is called.
    Source(&'static Location<'static>),
    /// The address of the loop's function, for callers in other languages.
    Function(usize),
}

impl Site {
    /// The caller's place in the source.
    #[track_caller]
    pub const fn caller() -> Self {
        Self::Source(Location::caller())
    }
}

/// The key of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    site: Site,
    /// The number of bits of its length.
    order: u32,
    workers: usize,
}

struct Entry {
    tuner: Tuner,
    /// Whether a running loop will report its times.
    has_trial: bool,
}

static TUNERS: LazyLock<Mutex<HashMap<Key, Entry>>> = LazyLock::new(Mutex::default);

/// Under a model checker no table is kept: its lock must not outlive an execution.
const NO_HISTORY: bool = cfg!(any(loom, shuttle));

impl Key {
    fn new(options: &Options<'_>, n: usize, workers: usize) -> Option<Self> {
        let site = options.site.filter(|_| !NO_HISTORY && workers > 1)?;
        Some(Self { site, order: usize::BITS - n.leading_zeros(), workers })
    }
}

/// The best known schedule for a loop of `n` iterations.
pub(super) fn best(options: &Options<'_>, n: usize, workers: usize) -> Schedule {
    let Some(key) = Key::new(options, n, workers) else { return Schedule::Stealing };
    TUNERS.lock().get(&key).map_or(Schedule::Stealing, |entry| entry.tuner.best())
}

/// A run of a loop with [`Schedule::Auto`].
pub(super) struct Trial {
    /// The loop whose tuner gets the times; `None` if this run reports none.
    key: Option<Key>,
    n: usize,
    workers: usize,
    choice: Choice,
    began_ns: u64,
    /// Iterations that the caller ran serially.
    serial: usize,
    profile: Mutex<Profile>,
}

impl Trial {
    /// Begins a run of `n` iterations for `workers` workers.
    pub(super) fn begin(options: &Options<'_>, n: usize, workers: usize) -> Self {
        let key = Key::new(options, n, workers);
        let (key, choice) = match key.map(|key| (key, choose(key))) {
            Some((key, (choice, true))) => (Some(key), choice),
            Some((_, (choice, false))) => (None, choice),
            None => (None, Choice::Run(Schedule::Stealing)),
        };
        Self { key, n, workers, choice, began_ns: now_ns(), serial: 0, profile: Mutex::default() }
    }

    /// The schedule to begin with. An unknown loop and a short one begin as stealing loops do, with
    /// a serial part.
    pub(super) fn schedule(&self) -> Schedule {
        match self.choice {
            Choice::Run(schedule) => schedule,
            Choice::Profile | Choice::Short => Schedule::Stealing,
        }
    }

    /// The schedule for the rest, after `serial` iterations that the caller ran serially (maybe 0).
    pub(super) fn schedule_after(&mut self, serial: usize) -> Schedule {
        self.serial = serial;
        match self.choice {
            Choice::Run(schedule) => schedule,
            Choice::Short => Schedule::Static,
            Choice::Profile if serial == 0 => Schedule::Stealing,
            Choice::Profile => {
                let elapsed = u128::from(now_ns() - self.began_ns);
                let predicted = elapsed * self.n as u128 / (serial as u128 * self.workers as u128);
                prior(u64::try_from(predicted).unwrap_or(u64::MAX))
            }
        }
    }

    /// A timer for the chunks of one participant, if this run is the loop's first trial.
    pub(super) fn chunk_timer(&self, served_ns: u64) -> Option<ChunkTimer<'_>> {
        let wanted = self.choice == Choice::Profile && self.key.is_some();
        wanted.then(|| ChunkTimer {
            trial: self,
            profile: Profile::default(),
            since_ns: own_ns(served_ns),
        })
    }

    /// The loop has ended. `ran`: whether all iterations ran under the chosen schedule.
    pub(super) fn end(self, ran: bool) {
        let Some(key) = self.key.filter(|_| ran) else { return };
        let elapsed_ns = now_ns() - self.began_ns;
        let profile = *self.profile.lock();
        let profile =
            (self.choice == Choice::Profile && profile.mean_ns().is_some()).then_some(&profile);
        if let Some(entry) = TUNERS.lock().get_mut(&key) {
            entry.tuner.record(self.n, elapsed_ns, profile);
        }
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        let Some(key) = self.key else { return };
        if let Some(entry) = TUNERS.lock().get_mut(&key) {
            entry.has_trial = false;
        }
    }
}

/// The tuner's choice for a loop, and whether the run is a trial.
fn choose(key: Key) -> (Choice, bool) {
    let mut all = TUNERS.lock();
    let entry = all
        .entry(key)
        .or_insert_with(|| Entry { tuner: Tuner::new(key.workers), has_trial: false });
    if entry.has_trial {
        return (Choice::Run(entry.tuner.best()), false);
    }
    entry.has_trial = true;
    (entry.tuner.choice(), true)
}

/// Times the chunks of one participant.
pub(super) struct ChunkTimer<'t> {
    trial: &'t Trial,
    profile: Profile,
    /// When the chunk began, by [`own_ns`].
    since_ns: u64,
}

/// The time without `served_ns`, the total for which the worker has served calls from outside.
fn own_ns(served_ns: u64) -> u64 {
    now_ns().saturating_sub(served_ns)
}

impl ChunkTimer<'_> {
    /// The chunk of `length` iterations from `start` on has ended.
    pub(super) fn ran(&mut self, served_ns: u64, start: usize, length: usize) {
        let now = own_ns(served_ns);
        self.profile.add(self.trial.serial + start, length, self.trial.n, now - self.since_ns);
        self.since_ns = now;
    }
}

impl Drop for ChunkTimer<'_> {
    fn drop(&mut self) {
        self.trial.profile.lock().merge(&self.profile);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use sinew_policy::auto::PROBES;
    use sinew_sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::Control;
    use crate::loops::{for_each, try_for_each};
    use sinew_core::{Pool, Worker};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const ITEMS: usize = 1_000;

    fn auto_options(site: Site) -> Options<'static> {
        Options { schedule: Schedule::Auto, site: Some(site), ..Options::default() }
    }

    /// A loop that takes four milliseconds of work.
    fn long_loop(w: &Worker, options: &Options<'_>) {
        let visits = AtomicUsize::new(0);
        let ended = for_each(w, 0..ITEMS, options, |_| {
            let began = now_ns();
            while now_ns() - began < 4_000 {
                std::hint::spin_loop();
            }
            visits.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!((ended, visits.into_inner()), (Ok(()), ITEMS));
    }

    /// Runs the loop until its tuner has settled. On a busy machine costs drift, and the search
    /// begins again.
    fn settle(w: &Worker, options: &Options<'_>) {
        let settled = (0..20 * PROBES).any(|_| {
            long_loop(w, options);
            tuner(options, 2).0.is_settled()
        });
        assert!(settled, "{:?}", tuner(options, 2));
    }

    fn tuner(options: &Options<'_>, workers: usize) -> (Tuner, bool) {
        let key = Key::new(options, ITEMS, workers).unwrap();
        let all = TUNERS.lock();
        (all[&key].tuner.clone(), all[&key].has_trial)
    }

    /// Catches: a product of iterations and workers that wraps to 0, a division by zero.
    #[test]
    fn a_huge_loop_that_was_begun_alone_goes_on() {
        let options = auto_options(Site::caller());
        for (serial, workers) in [(1 << 63, 2), (1 << 62, 4), (usize::MAX, 64)] {
            let mut trial = Trial::begin(&options, usize::MAX, workers);
            assert!(matches!(trial.schedule_after(serial), Schedule::Static | Schedule::Stealing));
        }
    }

    /// Catches: runs that save_to nothing, or the wrong loop, and one that is for ever under way.
    #[test]
    fn a_loop_is_settled_after_some_runs_and_another_is_not() {
        let pool = Pool::builder().threads(2).build().unwrap();
        let (here, there) = (auto_options(Site::caller()), auto_options(Site::caller()));
        pool.run(|w| {
            settle(w, &here);
            long_loop(w, &there);
        });
        let ((entry, has_trial), (other, _)) = (tuner(&here, 2), tuner(&there, 2));
        assert!(!has_trial && entry.choice() != Choice::Short, "{entry:?}");
        assert!(!other.is_settled());
        assert!(
            pool.run(|_| best(&here, 64, 2)) == Schedule::Stealing,
            "a loop of another length is unknown"
        );
    }

    /// Catches: a loop that ended early and is taken for a fast one, and a panic after which no run
    /// can report any more.
    #[test]
    fn loops_that_did_not_run_to_their_end_are_no_trials() {
        let pool = Pool::builder().threads(2).build().unwrap();
        let options = auto_options(Site::caller());
        for bad in [0, 10, ITEMS - 1] {
            let failing = |item| if item == bad { Err(item) } else { Ok(()) };
            assert!(pool.run(|w| try_for_each(w, 0..ITEMS, &options, failing)).is_err());
            let panicking = |item| {
                if item == bad {
                    std::panic::resume_unwind(Box::new(item));
                }
            };
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                pool.run(|w| for_each(w, 0..ITEMS, &options, panicking))
            }));
            assert!(panicked.is_err());
        }
        assert_eq!(tuner(&options, 2), (Tuner::new(2), false));
    }

    /// Catches: controlled loops with `Auto` whose times are lost, or are counted for the schedule
    /// that they were changed to.
    #[test]
    fn controlled_loops_are_trials_unless_they_are_changed() {
        let pool = Pool::builder().threads(2).build().unwrap();
        let (control, site) = (Control::new(), Site::caller());
        control.set_schedule(Schedule::Auto);
        let options = Options { control: Some(&control), site: Some(site), ..Options::default() };
        let changed = |item| {
            if item == 0 {
                control.set_schedule(Schedule::Static);
            }
        };
        pool.run(|w| for_each(w, 0..ITEMS, &options, changed)).unwrap();
        assert_eq!(tuner(&options, 2), (Tuner::new(2), false));
        control.set_schedule(Schedule::Auto);
        pool.run(|w| settle(w, &options));
    }

    fn spin(ns: u64) {
        let began = now_ns();
        while now_ns() - began < ns {
            std::hint::spin_loop();
        }
    }

    /// Catches: slices under a control that are not timed, so that equal shares are tried although
    /// the items of the first half take all the time.
    #[test]
    fn controlled_loops_are_timed() {
        let pool = Pool::builder().threads(2).build().unwrap();
        let control = Control::new();
        let options = Options { control: Some(&control), ..auto_options(Site::caller()) };
        pool.run(|w| {
            for_each(w, 0..ITEMS, &options, |item| spin(if item < ITEMS / 2 { 10_000 } else { 0 }))
        })
        .unwrap();
        assert_eq!(tuner(&options, 2).0.choice(), Choice::Run(Schedule::Stealing));
    }

    /// Catches: short loops under a control without equal shares, which take the
    /// same number of slices whatever their participants are.
    #[test]
    fn short_controlled_loops_get_equal_shares() {
        let pool = Pool::builder().threads(2).build().unwrap();
        let control = Control::new();
        let auto = Options { control: Some(&control), ..auto_options(Site::caller()) };
        let claims = |options: &Options<'_>| {
            let before = pool.counters().chunks;
            pool.run(|w| for_each(w, 0..ITEMS, options, |_| ())).unwrap();
            pool.counters().chunks - before
        };
        let is_short = || tuner(&auto, 2).0.choice() == Choice::Short;
        // On a busy machine a run may take long.
        assert!((0..20 * PROBES).any(|_| claims(&auto) > 0 && is_short()));
        let [shares, halves] = [Schedule::Static, Schedule::Stealing]
            .map(|schedule| claims(&Options { schedule, ..auto }));
        assert_eq!(claims(&auto), shares);
        assert_ne!(halves, shares, "nothing tells the schedules apart");
    }
}
