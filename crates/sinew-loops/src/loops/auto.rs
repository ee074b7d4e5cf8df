//! Loops with [`Schedule::Auto`]: what is known about each, and the run that adds to it.
//!
//! A loop is known by where it is called, the order of magnitude of its length, and the number of
//! workers; the decisions are those of [`sinew_policy::auto`]. One run at a time teaches; another
//! that begins meanwhile does what is best as far as is known.
//!
//! # Cost
//!
//! A lock and a look into a table when a loop begins and when it ends, and two looks at the clock;
//! in the first run one for each chunk.
//!
//! # Not handled
//!
//! Loops that are called at one place and have nothing in common, such as those of a function that
//! takes closures: the schedule drifts to the best one for most of them.

use super::options::Options;
use sinew_policy::auto::{Choice, Profile, Tuner, prior};
use sinew_policy::chunk::Schedule;
use sinew_sync::clock::now_ns;
use sinew_sync::lock::Mutex;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::LazyLock;

/// The place in the source where a loop is called.
pub type Site = &'static Location<'static>;

/// The key of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    site: Site,
    /// The number of bits of its length.
    order: u32,
    workers: usize,
}

struct Known {
    tuner: Tuner,
    /// Whether a run under way will report its times.
    taught: bool,
}

static KNOWN: LazyLock<Mutex<HashMap<Key, Known>>> = LazyLock::new(Mutex::default);

/// Models know nothing beforehand: their locks do not outlive an execution.
const NOTHING_IS_KNOWN: bool = cfg!(any(loom, shuttle));

impl Key {
    fn new(options: &Options<'_>, n: usize, workers: usize) -> Option<Self> {
        let site = options.site.filter(|_| !NOTHING_IS_KNOWN && workers > 1)?;
        Some(Self { site, order: usize::BITS - n.leading_zeros(), workers })
    }
}

/// The best known schedule for a loop of `n` iterations.
pub(super) fn best(options: &Options<'_>, n: usize, workers: usize) -> Schedule {
    let Some(key) = Key::new(options, n, workers) else { return Schedule::Stealing };
    KNOWN.lock().get(&key).map_or(Schedule::Stealing, |known| known.tuner.best())
}

/// A run of a loop that leaves the choice.
pub(super) struct Trial {
    key: Option<Key>,
    n: usize,
    workers: usize,
    choice: Choice,
    began_ns: u64,
    /// Iterations that the caller did alone.
    alone: usize,
    profile: Mutex<Profile>,
}

impl Trial {
    /// A loop of `n` iterations begins, for so many workers.
    pub(super) fn begin(options: &Options<'_>, n: usize, workers: usize) -> Self {
        let key = Key::new(options, n, workers);
        let (key, choice) = match key.map(|key| (key, choose(key))) {
            Some((key, (choice, true))) => (Some(key), choice),
            Some((_, (choice, false))) => (None, choice),
            None => (None, Choice::Run(Schedule::Stealing)),
        };
        Self { key, n, workers, choice, began_ns: now_ns(), alone: 0, profile: Mutex::default() }
    }

    /// The schedule to begin with. A loop of which nothing is known, and a short one, are begun as
    /// if they were stealing: by the caller alone.
    pub(super) fn schedule(&self) -> Schedule {
        match self.choice {
            Choice::Run(schedule) => schedule,
            Choice::Look | Choice::Short => Schedule::Stealing,
        }
    }

    /// The schedule to go on with when the caller has done so many iterations alone, which may be
    /// 0.
    pub(super) fn after(&mut self, alone: usize) -> Schedule {
        self.alone = alone;
        match self.choice {
            Choice::Run(schedule) => schedule,
            Choice::Short => Schedule::Static,
            Choice::Look if alone == 0 => Schedule::Stealing,
            Choice::Look => {
                let elapsed = u128::from(now_ns() - self.began_ns);
                let promised = elapsed * self.n as u128 / (alone as u128 * self.workers as u128);
                prior(u64::try_from(promised).unwrap_or(u64::MAX))
            }
        }
    }

    /// Times the chunks of one participant, if that is wanted.
    pub(super) fn watch(&self, served_ns: u64) -> Option<Watch<'_>> {
        let wanted = self.choice == Choice::Look && self.key.is_some();
        wanted.then(|| Watch {
            trial: self,
            profile: Profile::default(),
            since_ns: own_ns(served_ns),
        })
    }

    /// The loop has ended, and `ran` all iterations under what was chosen.
    pub(super) fn end(self, ran: bool) {
        let Some(key) = self.key.filter(|_| ran) else { return };
        let elapsed_ns = now_ns() - self.began_ns;
        let profile = *self.profile.lock();
        let profile =
            (self.choice == Choice::Look && profile.mean_ns().is_some()).then_some(&profile);
        if let Some(known) = KNOWN.lock().get_mut(&key) {
            known.tuner.ran(self.n, elapsed_ns, profile);
        }
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        let Some(key) = self.key else { return };
        if let Some(known) = KNOWN.lock().get_mut(&key) {
            known.taught = false;
        }
    }
}

/// How a loop is to be run, and whether that teaches something.
fn choose(key: Key) -> (Choice, bool) {
    let mut all = KNOWN.lock();
    let known =
        all.entry(key).or_insert_with(|| Known { tuner: Tuner::new(key.workers), taught: false });
    if known.taught {
        return (Choice::Run(known.tuner.best()), false);
    }
    known.taught = true;
    (known.tuner.choice(), true)
}

/// The chunks of one participant in a loop that is looked at.
pub(super) struct Watch<'t> {
    trial: &'t Trial,
    profile: Profile,
    /// When the chunk began, by [`own_ns`].
    since_ns: u64,
}

/// The time, without that in which the worker has served calls from outside: so long in all.
fn own_ns(served_ns: u64) -> u64 {
    now_ns().saturating_sub(served_ns)
}

impl Watch<'_> {
    /// The chunk of so many iterations from `start` on has been run.
    pub(super) fn ran(&mut self, served_ns: u64, start: usize, length: usize) {
        let now = own_ns(served_ns);
        self.profile.add(self.trial.alone + start, length, self.trial.n, now - self.since_ns);
        self.since_ns = now;
    }
}

impl Drop for Watch<'_> {
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

    fn leaving_the_choice(site: Site) -> Options<'static> {
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

    /// Runs the loop until it is settled. On a busy machine costs drift, and it is searched again.
    fn settle(w: &Worker, options: &Options<'_>) {
        let settled = (0..20 * PROBES).any(|_| {
            long_loop(w, options);
            tuner(options, 2).0.is_settled()
        });
        assert!(settled, "{:?}", tuner(options, 2));
    }

    fn tuner(options: &Options<'_>, workers: usize) -> (Tuner, bool) {
        let key = Key::new(options, ITEMS, workers).unwrap();
        let all = KNOWN.lock();
        (all[&key].tuner.clone(), all[&key].taught)
    }

    /// Catches: a product of iterations and workers that wraps: to 0, by which nothing can be
    /// divided.
    #[test]
    fn a_huge_loop_that_was_begun_alone_goes_on() {
        let options = leaving_the_choice(Location::caller());
        for (alone, workers) in [(1 << 63, 2), (1 << 62, 4), (usize::MAX, 64)] {
            let mut trial = Trial::begin(&options, usize::MAX, workers);
            assert!(matches!(trial.after(alone), Schedule::Static | Schedule::Stealing));
        }
    }

    /// Catches: runs that save_to nothing, or the wrong loop, and one that is for ever under way.
    #[test]
    fn a_loop_is_settled_after_some_runs_and_another_is_not() {
        let pool = Pool::builder().threads(2).build().unwrap();
        let (here, there) =
            (leaving_the_choice(Location::caller()), leaving_the_choice(Location::caller()));
        pool.run(|w| {
            settle(w, &here);
            long_loop(w, &there);
        });
        let ((known, taught), (other, _)) = (tuner(&here, 2), tuner(&there, 2));
        assert!(!taught && known.choice() != Choice::Short, "{known:?}");
        assert!(!other.is_settled());
        assert!(
            pool.run(|_| best(&here, 64, 2)) == Schedule::Stealing,
            "of another length nothing is known"
        );
    }

    /// Catches: a loop that ended early and is taken for a fast one, and a panic after which no run
    /// can report any more.
    #[test]
    fn loops_that_did_not_run_to_their_end_teach_nothing() {
        let pool = Pool::builder().threads(2).build().unwrap();
        let options = leaving_the_choice(Location::caller());
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

    /// Catches: controlled loops that leave the choice and learn nothing, or are taken for what
    /// they were changed to.
    #[test]
    fn controlled_loops_teach_unless_they_are_changed() {
        let pool = Pool::builder().threads(2).build().unwrap();
        let (control, site) = (Control::new(), Location::caller());
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
    fn controlled_loops_are_looked_at() {
        let pool = Pool::builder().threads(2).build().unwrap();
        let control = Control::new();
        let options = Options { control: Some(&control), ..leaving_the_choice(Location::caller()) };
        pool.run(|w| {
            for_each(w, 0..ITEMS, &options, |item| spin(if item < ITEMS / 2 { 10_000 } else { 0 }))
        })
        .unwrap();
        assert_eq!(tuner(&options, 2).0.choice(), Choice::Run(Schedule::Stealing));
    }

    /// Catches: short loops under a control that are not handed out in equal shares, which take the
    /// same number of slices whatever their participants are.
    #[test]
    fn short_controlled_loops_get_equal_shares() {
        let pool = Pool::builder().threads(2).build().unwrap();
        let control = Control::new();
        let auto = Options { control: Some(&control), ..leaving_the_choice(Location::caller()) };
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
