//! Whom thieves ask: the pool's choice of a victim policy, and what its thieves share for it.
//!
//! The policies themselves are pure and live in `sinew-policy`; a worker has one of its own. The
//! choice can change at any time: each worker takes it up at its next search.
//!
//! | file | what lives there |
//! |---|---|
//! | `view` | the pool as a policy sees it |
//! | `packages` | who sits where, and which worker of a package is its master |
//! | `classes` | what is learned of the sizes of tasks, for `Victims::Cats` |
//! | `pieces` | which packages have had a piece of what runs, for `Victims::Dealt` |
//!
//! # Invariants
//!
//! - V1: a worker that has searched in vain for [`WITHHELD_NS`], with work in sight, takes any
//!   task, whether or not it ever parks. The time begins when the worker has found nothing for a
//!   spin window, or for a silence, if that is shorter. So a rule that keeps workers from tasks
//!   delays these, and never strands them, unless an experiment has [asked for
//!   it](crate::Builder::withhold).
//!
//! # Cost
//!
//! One load of a line that nobody writes, at each search, at each stolen task, and at the beginning
//! and end of a guest's stay. Nothing at a join.
//!
//! # Tests
//!
//! `tests/pool/victims.rs`.

mod classes;
mod packages;
mod pieces;
mod view;

use sinew_policy::victim::Victims;
use sinew_sync::atomic::{AtomicU32, Ordering};
use sinew_sync::clock::now_ns;
use sinew_sync::lock::Mutex;
use sinew_topology::{Machine, Seating};

use crate::inner::Inner;
use crate::pool::Pool;
use crate::search::Allowed;
use crate::worker::Worker;
use classes::Classes;
use packages::Packages;
use pieces::Pieces;
use view::PoolView;

/// How long a worker searches in vain, with work in sight, before it goes where its policy would
/// not have it go. Longer than the silence after which an owner's tasks are exposed.
pub(crate) const WITHHELD_NS: u64 = 200_000;

/// Of interest to the policy: nothing but the stacks.
const NOTHING: u32 = 0;
/// How long stolen tasks take, and where runs end.
const SIZES: u32 = 1;
/// Where runs begin, and who steals from afar.
const PIECES: u32 = 2;

/// What the thieves of a pool share.
#[derive(Debug)]
pub(crate) struct Stealing {
    choice: Mutex<Victims>,
    /// Another number for each choice.
    version: AtomicU32,
    /// `NOTHING`, `SIZES` or `PIECES`.
    interest: AtomicU32,
    /// How long a policy may keep a worker from work in sight.
    withheld_ns: u64,
    packages: Packages,
    classes: Classes,
    pieces: Pieces,
}

impl Stealing {
    pub(crate) fn new(
        victims: Victims,
        withheld_ns: u64,
        machine: &Machine,
        seating: &Seating,
    ) -> Self {
        let packages = Packages::new(machine, seating);
        let stealing = Self {
            choice: Mutex::new(victims),
            version: AtomicU32::new(0),
            interest: AtomicU32::new(NOTHING),
            withheld_ns,
            classes: Classes::default(),
            pieces: Pieces::new(packages.count()),
            packages,
        };
        stealing.prepare(victims);
        stealing
    }

    pub(crate) fn set(&self, victims: Victims) {
        let mut choice = self.choice.lock();
        *choice = victims;
        self.prepare(victims);
        // Release: pairs with the load in `start_policy`, though the lock alone would do.
        self.version.fetch_add(1, Ordering::Release);
    }

    /// What was chosen last.
    pub(crate) fn choice(&self) -> Victims {
        *self.choice.lock()
    }

    fn prepare(&self, victims: Victims) {
        let interest = match victims {
            Victims::Cats { large_us } => {
                self.classes.learn_anew(large_us);
                SIZES
            }
            Victims::Dealt => PIECES,
            _ => NOTHING,
        };
        self.interest.store(interest, Ordering::Relaxed);
    }

    /// What the policy wants to hear of. Relaxed: whoever hears of a new choice late, tells late.
    #[inline]
    fn interest(&self) -> u32 {
        self.interest.load(Ordering::Relaxed)
    }

    /// A new choice, with its version, if there is one. Nothing while somebody sets it: a forked
    /// child may have come by a lock that nobody holds.
    fn newer_than(&self, version: u32) -> Option<(u32, Victims)> {
        let choice = self.choice.try_lock()?;
        let now = self.version.load(Ordering::Relaxed);
        (now != version).then_some((now, *choice))
    }
}

impl Pool {
    /// Changes how thieves choose their victims, from their next search on. From any thread, at any
    /// time.
    ///
    /// ```
    /// use sinew_core::{Pool, Victims};
    ///
    /// let pool = Pool::builder().threads(2).build()?;
    /// pool.set_victims(Victims::MostLoaded { every: 5 });
    /// assert_eq!(pool.victims(), Victims::MostLoaded { every: 5 });
    /// # Ok::<(), sinew_core::BuildError>(())
    /// ```
    pub fn set_victims(&self, victims: Victims) {
        self.inner.stealing.set(victims);
    }

    /// How thieves choose their victims now.
    pub fn victims(&self) -> Victims {
        self.inner.stealing.choice()
    }

    /// The greatest depth of tasks that may leave their package under [`Victims::Cats`], once that
    /// has been learned: with the first call from outside that eight tasks were stolen from.
    /// Choosing the policy anew forgets it.
    pub fn class_boundary(&self) -> Option<u32> {
        self.inner.stealing.classes.boundary()
    }
}

impl Inner {
    /// The worker at `seat` begins what came from outside.
    #[inline]
    pub(crate) fn root_begins(&self, seat: usize) {
        if self.stealing.interest() == PIECES {
            self.deal_cold(seat);
        }
    }

    /// It has ended.
    #[inline]
    pub(crate) fn root_ends(&self) {
        if self.stealing.interest() == SIZES {
            self.stealing.classes.end_run(self.stealing.packages.count());
        }
    }
}

impl Worker {
    /// A search begins.
    pub(crate) fn start_policy(&self) {
        let stealing = &self.pool().stealing;
        // Acquire: pairs with `set`.
        if stealing.version.load(Ordering::Acquire) != self.own.victims_version.get() {
            self.renew_policy_cold();
        }
        if self.own.has_masters.get() {
            self.stand_for_mastership();
        }
        let view = PoolView::of(self, Allowed::Any);
        let mut random = self.own.random.borrow_mut();
        self.own.policy.borrow_mut().start(&view, &mut || random.u64(..));
    }

    #[cold]
    fn renew_policy_cold(&self) {
        let choice = self.pool().stealing.newer_than(self.own.victims_version.get());
        let Some((version, victims)) = choice else { return };
        self.resign_mastership();
        *self.own.policy.borrow_mut() = victims.policy();
        self.own.victims_version.set(version);
        self.own.has_masters.set(victims.has_masters());
    }

    /// The policy's next victim, or `None` at the end of a round.
    pub(crate) fn next_victim(&self, allowed: Allowed) -> Option<usize> {
        let view = PoolView::of(self, allowed);
        let mut random = self.own.random.borrow_mut();
        self.own.policy.borrow_mut().next(&view, &mut || random.u64(..))
    }

    /// Whether the policy lets this worker go to `victim`.
    pub(crate) fn policy_allows(&self, victim: usize, allowed: Allowed) -> bool {
        self.own.policy.borrow().allows(&PoolView::of(self, allowed), victim)
    }

    /// A task was stolen from `victim`, on the policy's advice or after an exposure.
    pub(crate) fn has_stolen(&self, victim: usize, allowed: Allowed) {
        self.counters.stolen.add(u64::from(allowed == Allowed::Any));
        self.counters.stolen_waiting.add(u64::from(allowed != Allowed::Any));
        self.own.in_vain_since.set(0);
        let stealing = &self.pool().stealing;
        if stealing.packages.of(victim) != stealing.packages.of(self.index()) {
            self.counters.left_package.add(1);
            if stealing.interest() == PIECES {
                stealing.pieces.serve(stealing.packages.of(self.index()));
            }
        }
    }

    /// A stolen task that lay at `depth` took `ticks`.
    #[inline]
    pub(crate) fn stolen_task_took(&self, depth: u32, ticks: u64) {
        if self.pool().stealing.interest() == SIZES {
            self.pool().stealing.classes.note(depth, ticks);
        }
    }

    /// A search has found nothing, though there is work in sight (V1).
    pub(crate) fn search_was_in_vain(&self) {
        if self.own.in_vain_since.get() == 0 {
            self.own.in_vain_since.set(now_ns().max(1));
        }
    }

    /// Whether it has been so for long (V1).
    fn is_stranded(&self) -> bool {
        let since = self.own.in_vain_since.get();
        since != 0 && now_ns().saturating_sub(since) > self.pool().stealing.withheld_ns
    }
}
