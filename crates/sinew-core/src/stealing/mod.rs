//! State that the thieves of a pool share: the chosen victim policy, and the measurements of
//! policies.
//!
//! The crate `sinew-policy` has the policies, as pure code; each worker has its own instance. The
//! choice can change at any time. `scheduler/victim` describes how a worker follows it.
//!
//! | file | contents |
//! |---|---|
//! | `packages` | the package of each worker slot, and the master of each package |
//! | `classes` | size classes of tasks, for `Victims::Cats` |
//! | `pieces` | which packages have taken a piece of the running root task, for `Victims::PiecePerPackage` |

mod classes;
mod packages;
mod pieces;

use sinew_policy::victim::Victims;
use sinew_sync::atomic::{AtomicU32, Ordering};
use sinew_sync::lock::Mutex;
use sinew_topology::{CpuAssignment, Machine};

use classes::Classes;
pub(crate) use packages::NO_MASTER;
use packages::Packages;
use pieces::Pieces;

/// How long a worker searches in vain, while it sees work, before it steals from victims that its
/// policy excludes. Longer than the silence after which an owner's tasks are exposed.
pub(crate) const WITHHELD_NS: u64 = 200_000;

/// Whether the settings and victim rules of experiments are compiled.
const EXPERIMENTS: bool = cfg!(feature = "experiments");

/// The settings that only experiments change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Experiments {
    /// Ticks that a thief spins between a steal and the stolen task.
    pub(crate) steal_delay: u64,
    /// How long a policy may keep a worker from work that it sees.
    pub(crate) withheld_ns: u64,
}

impl Experiments {
    const NONE: Self = Self { steal_delay: 0, withheld_ns: WITHHELD_NS };
}

impl Default for Experiments {
    fn default() -> Self {
        Self::NONE
    }
}

/// The policy needs nothing but the stacks.
const NOTHING: u32 = 0;
/// The policy needs the times of stolen tasks, and the ends of runs.
pub(crate) const SIZES: u32 = 1;
/// The policy needs the slots where runs begin, and steals from other packages.
pub(crate) const PIECES: u32 = 2;

/// State that the thieves of a pool share.
#[derive(Debug)]
pub(crate) struct Stealing {
    choice: Mutex<Victims>,
    /// A version, raised by each choice.
    pub(crate) version: AtomicU32,
    /// `NOTHING`, `SIZES` or `PIECES`.
    interest: AtomicU32,
    experiments: Experiments,
    pub(crate) packages: Packages,
    pub(crate) classes: Classes,
    pub(crate) pieces: Pieces,
}

impl Stealing {
    pub(crate) fn new(
        victims: Victims,
        experiments: Experiments,
        machine: &Machine,
        cpu_assignment: &CpuAssignment,
    ) -> Self {
        let packages = Packages::new(machine, cpu_assignment);
        let stealing = Self {
            choice: Mutex::new(victims),
            version: AtomicU32::new(0),
            interest: AtomicU32::new(NOTHING),
            experiments,
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

    /// The latest choice.
    pub(crate) fn choice(&self) -> Victims {
        *self.choice.lock()
    }

    fn prepare(&self, victims: Victims) {
        let interest = if let Some(large_us) = victims.large_us() {
            self.classes.learn_anew(large_us);
            SIZES
        } else if victims.uses_pieces() {
            PIECES
        } else {
            NOTHING
        };
        self.interest.store(interest, Ordering::Relaxed);
    }

    /// The settings of an experiment; constants without the feature `experiments`.
    #[inline]
    pub(crate) fn experiments(&self) -> &Experiments {
        if EXPERIMENTS { &self.experiments } else { &Experiments::NONE }
    }

    /// The events that the policy needs; none without the feature `experiments`. Relaxed: a worker
    /// that sees a new choice late reports late.
    #[inline]
    pub(crate) fn interest(&self) -> u32 {
        if EXPERIMENTS { self.interest.load(Ordering::Relaxed) } else { NOTHING }
    }

    /// A new choice with its version, if there is one. `None` while another thread sets it: a
    /// forked child may inherit a lock whose holder does not exist.
    pub(crate) fn newer_than(&self, version: u32) -> Option<(u32, Victims)> {
        let choice = self.choice.try_lock()?;
        let now = self.version.load(Ordering::Relaxed);
        (now != version).then_some((now, *choice))
    }
}
