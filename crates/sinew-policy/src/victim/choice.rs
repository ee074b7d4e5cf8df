//! [`Victims`]: a victim rule and its parameters as a value; `parse` reads and prints it.

#[cfg(feature = "experiments")]
use super::{
    AfterSuccess, Cats, DistanceWeighted, LoadScope, Loads, MostLoaded, PiecePerPackage, Sample,
    Samples, Sampling, Set, SortedLoads,
};
use super::{Nearest, NearestOrRandom, Random, VictimPolicy};

/// A victim rule, by name and parameters.
///
/// As text; parameters may be left out from the end. All but `random` and the two of `nearest` need
/// the feature `experiments`:
///
/// | text | policy |
/// |---|---|
/// | `random` | [`Random`] |
/// | `set:12,4` | [`Set`]: attempts, thieves |
/// | `sample:sqrt`, `sample:2,past-empty,after-failure` | [`Sample`] over `Random`: how many, and whether it continues past an empty one and after a failure |
/// | `sample-set:sqrt,12,4` | [`Sample`] over `Set`, with the same words |
/// | `nearest`, `nearest-random:4` | [`Nearest`], [`NearestOrRandom`]: one attempt in this many is random |
/// | `most-loaded:5` | [`MostLoaded`]: one attempt in this many |
/// | `sorted:5,machine,stay` | [`SortedLoads`]: refresh; `machine`, `package` or `strict`; `stay` or `restart` |
/// | `distance` | [`DistanceWeighted`] |
/// | `cats:200` | [`Cats`]: the microseconds from which on a task is large |
/// | `piece-per-package` | [`PiecePerPackage`] |
///
/// The table "Which policy at which size" in `docs/simulation.md` compares them by the number of
/// workers.
///
/// ```
/// use sinew_policy::victim::Victims;
///
/// assert_eq!("set".parse(), Ok(Victims::Set { attempts: 12, thieves: 4 }));
/// assert_eq!(Victims::MostLoaded { every: 5 }.to_string(), "most-loaded:5");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Victims {
    /// [`Random`].
    #[default]
    Random,
    /// [`Set`].
    #[cfg(feature = "experiments")]
    Set {
        /// The least length of a walk, in attempts.
        attempts: u32,
        /// The least number of thieves that it meets.
        thieves: u32,
    },
    /// [`Sample`] over [`Random`].
    #[cfg(feature = "experiments")]
    Sample(Sampling),
    /// [`Sample`] over [`Set`].
    #[cfg(feature = "experiments")]
    SampleSet {
        /// How samples are taken.
        sampling: Sampling,
        /// As in [`Set`](Self::Set).
        attempts: u32,
        /// As in [`Set`](Self::Set).
        thieves: u32,
    },
    /// [`Nearest`].
    Nearest,
    /// [`NearestOrRandom`].
    NearestOrRandom {
        /// One attempt in this many is random.
        random_every: u32,
    },
    /// [`MostLoaded`].
    #[cfg(feature = "experiments")]
    MostLoaded {
        /// One attempt in this many goes to the worker with most tasks.
        every: u32,
    },
    /// [`SortedLoads`].
    #[cfg(feature = "experiments")]
    SortedLoads(Loads),
    /// [`DistanceWeighted`].
    #[cfg(feature = "experiments")]
    DistanceWeighted,
    /// [`Cats`].
    #[cfg(feature = "experiments")]
    Cats {
        /// The microseconds from which on a task is large.
        large_us: u32,
    },
    /// [`PiecePerPackage`].
    #[cfg(feature = "experiments")]
    PiecePerPackage,
}

#[cfg(feature = "experiments")]
const SET: (u32, u32) = (12, 4);

/// Every combination of Chasapis' thesis, and the strict form.
#[cfg(feature = "experiments")]
const SORTED: [Victims; 10] = {
    use AfterSuccess::{Restart, Stay};
    use LoadScope::{Machine, Package, StrictlyPackage};
    const fn sorted(refresh: u32, scope: LoadScope, after_success: AfterSuccess) -> Victims {
        Victims::SortedLoads(Loads { refresh, scope, after_success })
    }
    [
        sorted(5, Machine, Stay),
        sorted(5, Machine, Restart),
        sorted(5, Package, Stay),
        sorted(5, Package, Restart),
        sorted(10, Machine, Stay),
        sorted(10, Machine, Restart),
        sorted(10, Package, Stay),
        sorted(10, Package, Restart),
        sorted(5, StrictlyPackage, Stay),
        sorted(5, StrictlyPackage, Restart),
    ]
};

#[cfg(not(feature = "experiments"))]
const PRESETS: &[Victims] =
    &[Victims::Random, Victims::Nearest, Victims::NearestOrRandom { random_every: 4 }];

#[cfg(feature = "experiments")]
const PRESETS: &[Victims] = &[
    Victims::Random,
    Victims::Set { attempts: SET.0, thieves: SET.1 },
    Victims::Sample(Sampling::PAPER),
    Victims::Sample(Sampling { samples: Samples::UpTo(2), ..Sampling::PAPER }),
    Victims::Sample(Sampling::PAIRS),
    Victims::SampleSet { sampling: Sampling::PAPER, attempts: SET.0, thieves: SET.1 },
    Victims::Nearest,
    Victims::NearestOrRandom { random_every: 4 },
    Victims::MostLoaded { every: 1 },
    Victims::MostLoaded { every: 5 },
    SORTED[0],
    SORTED[1],
    SORTED[2],
    SORTED[3],
    SORTED[4],
    SORTED[5],
    SORTED[6],
    SORTED[7],
    SORTED[8],
    SORTED[9],
    Victims::DistanceWeighted,
    Victims::Cats { large_us: 200 },
    Victims::PiecePerPackage,
];

impl Victims {
    /// Every compiled rule with the parameters of its source, for experiments and tests.
    pub const fn all() -> &'static [Self] {
        PRESETS
    }

    /// A fresh rule of this kind for one worker.
    pub fn policy(self) -> Box<dyn VictimPolicy> {
        match self {
            Self::Random => Box::new(Random::new()),
            #[cfg(feature = "experiments")]
            Self::Set { attempts, thieves } => Box::new(Set::new(attempts, thieves)),
            #[cfg(feature = "experiments")]
            Self::Sample(sampling) => Box::new(Sample::new(sampling, Random::new())),
            #[cfg(feature = "experiments")]
            Self::SampleSet { sampling, attempts, thieves } => {
                Box::new(Sample::new(sampling, Set::new(attempts, thieves)))
            }
            Self::Nearest => Box::new(Nearest::new()),
            Self::NearestOrRandom { random_every } => Box::new(NearestOrRandom::new(random_every)),
            #[cfg(feature = "experiments")]
            Self::MostLoaded { every } => Box::new(MostLoaded::new(every)),
            #[cfg(feature = "experiments")]
            Self::SortedLoads(rule) => Box::new(SortedLoads::new(rule)),
            #[cfg(feature = "experiments")]
            Self::DistanceWeighted => Box::new(DistanceWeighted::new()),
            #[cfg(feature = "experiments")]
            Self::Cats { .. } => Box::new(Cats::new()),
            #[cfg(feature = "experiments")]
            Self::PiecePerPackage => Box::new(PiecePerPackage::new()),
        }
    }

    /// Whether the rule scans all workers now and then, so that
    /// [`View::heaviest`](super::View::heaviest) helps in the largest pools.
    pub const fn scans_all(self) -> bool {
        match self {
            #[cfg(feature = "experiments")]
            Self::MostLoaded { .. } | Self::SortedLoads(_) => true,
            _ => false,
        }
    }

    /// Whether the rule uses the workers' distances or packages.
    pub const fn uses_distances(self) -> bool {
        match self {
            Self::Nearest | Self::NearestOrRandom { .. } => true,
            #[cfg(feature = "experiments")]
            Self::DistanceWeighted | Self::Cats { .. } | Self::PiecePerPackage => true,
            #[cfg(feature = "experiments")]
            Self::SortedLoads(rule) => !matches!(rule.scope, LoadScope::Machine),
            _ => false,
        }
    }

    /// Whether the rule uses [`View::reach`](super::View::reach), so that packages need masters.
    pub const fn has_masters(self) -> bool {
        match self {
            Self::Nearest | Self::NearestOrRandom { .. } => true,
            #[cfg(feature = "experiments")]
            Self::PiecePerPackage => true,
            #[cfg(feature = "experiments")]
            Self::SortedLoads(rule) => matches!(rule.scope, LoadScope::Package),
            _ => false,
        }
    }

    /// The microseconds from which on a task is large, if the rule learns the depth of such tasks;
    /// see [`boundary`](super::boundary()).
    pub const fn large_us(self) -> Option<u32> {
        match self {
            #[cfg(feature = "experiments")]
            Self::Cats { large_us } => Some(large_us),
            _ => None,
        }
    }

    /// Whether the rule uses [`View::wants_piece`](super::View::wants_piece).
    pub const fn uses_pieces(self) -> bool {
        match self {
            #[cfg(feature = "experiments")]
            Self::PiecePerPackage => true,
            _ => false,
        }
    }
}
