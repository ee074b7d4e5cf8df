//! What the thieves of a pool share: the choice of a victim policy, and what policies learn.
//!
//! The policies themselves are pure and live in `sinew-policy`; a worker has one of its own. The
//! choice can change at any time. `victim` says how a worker follows it.
//!
//! | file | what lives there |
//! |---|---|
//! | `packages` | who sits where, and which worker of a package is its master |
//! | `classes` | what is learned of the sizes of tasks, for `Victims::Cats` |
//! | `pieces` | which packages have had a piece of what runs, for `Victims::Dealt` |

mod classes;
mod packages;
mod pieces;

use sinew_policy::victim::Victims;
use sinew_sync::atomic::{AtomicU32, Ordering};
use sinew_sync::lock::Mutex;
use sinew_topology::{CpuAssignment, Machine};

use classes::Classes;
pub(crate) use packages::NOBODY;
use packages::Packages;
use pieces::Pieces;

/// How long a worker searches in vain, with work in sight, before it goes where its policy would
/// not have it go. Longer than the silence after which an owner's tasks are exposed.
pub(crate) const WITHHELD_NS: u64 = 200_000;

/// Of interest to the policy: nothing but the stacks.
const NOTHING: u32 = 0;
/// How long stolen tasks take, and where runs end.
pub(crate) const SIZES: u32 = 1;
/// Where runs begin, and who steals from afar.
pub(crate) const PIECES: u32 = 2;

/// What the thieves of a pool share.
#[derive(Debug)]
pub(crate) struct Stealing {
    choice: Mutex<Victims>,
    /// Another number for each choice.
    pub(crate) version: AtomicU32,
    /// `NOTHING`, `SIZES` or `PIECES`.
    interest: AtomicU32,
    /// How long a policy may keep a worker from work in sight.
    pub(crate) withheld_ns: u64,
    pub(crate) packages: Packages,
    pub(crate) classes: Classes,
    pub(crate) pieces: Pieces,
}

impl Stealing {
    pub(crate) fn new(
        victims: Victims,
        withheld_ns: u64,
        machine: &Machine,
        cpu_assignment: &CpuAssignment,
    ) -> Self {
        let packages = Packages::new(machine, cpu_assignment);
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
        // Release: pairs with the load in `Worker::start_policy`, though the lock alone would do.
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
    pub(crate) fn interest(&self) -> u32 {
        self.interest.load(Ordering::Relaxed)
    }

    /// A new choice, with its version, if there is one. Nothing while somebody sets it: a forked
    /// child may have come by a lock that nobody holds.
    pub(crate) fn newer_than(&self, version: u32) -> Option<(u32, Victims)> {
        let choice = self.choice.try_lock()?;
        let now = self.version.load(Ordering::Relaxed);
        (now != version).then_some((now, *choice))
    }
}
