//! The machine as a tree: machine → package → NUMA node → L3 → L2 → core → processing unit (PU).
//!
//! Not every level exists everywhere, nor for every PU (the low-power cores of some laptops have no
//! L3), and where a node spans packages or an L3 spans nodes, the larger one stands outside. What
//! holds for every tree:
//!
//! # Invariants
//!
//! I1: PUs are numbered in tree order, so the PUs of any object are a range; [`PuId`] is that
//! number. The operating system's number is [`Pu::cpu`], and only that one is good for pinning. I2:
//! object 0 is the machine; every PU has a package and a core; cores are the innermost objects. I3:
//! an object's PUs are the union of its children's, in order; a core has no children. I4: there is
//! at least one PU.
//!
//! # Tests
//!
//! `tests/trees.rs` holds all of them against faked and random trees.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::cpuset::CpuSet;
use crate::ladder::Ladder;
use crate::warning::Warning;

/// The kinds of objects, from the outside in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "json", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum Level {
    /// The whole machine.
    Machine,
    /// A processor package (socket).
    Package,
    /// A NUMA node: the PUs that are nearest to one part of the memory.
    Node,
    /// The PUs that share a level-3 cache.
    L3,
    /// The PUs that share a level-2 cache.
    L2,
    /// A physical core.
    Core,
    /// A processing unit: what the operating system calls a CPU, one hardware thread.
    Pu,
}

impl Level {
    /// The levels between the machine and the PUs.
    pub(crate) const GROUPS: [Level; 5] =
        [Level::Package, Level::Node, Level::L3, Level::L2, Level::Core];

    /// The index into [`Level::GROUPS`].
    pub(crate) fn slot(self) -> usize {
        self as usize - 1
    }

    /// The name used in descriptions, trees and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Level::Machine => "machine",
            Level::Package => "package",
            Level::Node => "node",
            Level::L3 => "L3",
            Level::L2 => "L2",
            Level::Core => "core",
            Level::Pu => "PU",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A PU of one machine, numbered from 0 in tree order. Not the operating system's number: see
/// [`Pu::cpu`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "json", derive(serde::Serialize), serde(transparent))]
pub struct PuId(pub(crate) u32);

impl PuId {
    /// The index into [`Machine::pus`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A processing unit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize))]
pub struct Pu {
    /// The operating system's number, which affinity masks are made of.
    pub cpu: usize,
    /// The core, as an index into [`Machine::objects`].
    pub core: usize,
    /// 0 for a core's first PU, 1 and up for its siblings.
    pub sibling: usize,
    /// The kind of core, as an index into [`Machine::kinds`].
    pub kind: usize,
    /// The NUMA node, as an index into [`Machine::nodes`].
    pub node: Option<usize>,
}

/// A package, node, cache or core, or the machine itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// What it is.
    pub level: Level,
    /// The system's number for packages and nodes; otherwise counted from 0 among objects of the
    /// same level.
    pub number: usize,
    /// The size of the cache, where this is one and its size is known. Of a core: its level-1 data
    /// cache.
    pub cache_bytes: Option<u64>,
    /// The object around this one; `None` only for the machine.
    pub parent: Option<usize>,
    /// The objects directly inside, as indices into [`Machine::objects`]; none for a core.
    pub children: Vec<usize>,
    /// Indices into [`Machine::pus`].
    pub pus: Range<usize>,
}

/// A NUMA node. Nodes without PUs (memory alone) are listed, too, though they are not in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize))]
pub struct Node {
    /// The system's number.
    pub number: usize,
    /// Its memory, where known.
    pub memory_bytes: Option<u64>,
    /// Its CPUs.
    pub cpus: CpuSet,
}

/// A kind of core; most machines have one. The fastest comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize))]
pub struct CoreKind {
    /// Where the kind is known from: `cpu_core`, `capacity 1024`, `3900 MHz`, or `core` where all
    /// are alike.
    pub name: String,
}

/// Where a machine's description comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum Source {
    /// Linux' sysfs, below this root.
    Sysfs(PathBuf),
    /// A description such as `package:2 core:4`.
    Synthetic(String),
    /// Nothing but a number of CPUs.
    Flat,
}

/// A machine. See [`Machine::host`] for the one at hand, [`Machine::from_sysfs`], [`str::parse`]
/// and [`Machine::flat`] for others.
#[derive(Debug, Clone)]
pub struct Machine {
    pub(crate) source: Source,
    /// The levels that exist, in the order in which they are nested here; the last is `Core`.
    pub(crate) levels: Vec<Level>,
    pub(crate) objects: Vec<Object>,
    pub(crate) pus: Vec<Pu>,
    /// For each PU the object at each of `levels`, or `NONE`.
    pub(crate) paths: Vec<u32>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) kinds: Vec<CoreKind>,
    pub(crate) ladder: Ladder,
    pub(crate) warnings: Vec<Warning>,
}

pub(crate) const NONE: u32 = u32::MAX;

impl Machine {
    /// The machine this process runs on, looked at once: from sysfs on Linux, flat elsewhere.
    ///
    /// # Cost
    ///
    /// The first call reads about twenty small files a CPU; later ones nothing.
    pub fn host() -> &'static Machine {
        static HOST: OnceLock<Machine> = OnceLock::new();
        HOST.get_or_init(|| {
            if cfg!(target_os = "linux") {
                Self::from_sysfs("/")
            } else {
                Self::flat(host_parallelism())
            }
        })
    }

    /// Where this description comes from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// What could not be read or believed, one line each.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The levels between the machine and its PUs, as they are nested here, from the outside in.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// All objects, every object before those inside it; the first is the machine.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// The objects of one level, in tree order; none for [`Level::Pu`].
    pub fn objects_at(&self, level: Level) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(move |object| object.level == level)
    }

    /// The number of objects of one level; for [`Level::Pu`], of PUs.
    pub fn count(&self, level: Level) -> usize {
        if level == Level::Pu { self.pus.len() } else { self.objects_at(level).count() }
    }

    /// All PUs in tree order.
    pub fn pus(&self) -> &[Pu] {
        &self.pus
    }

    /// The numbers of all PUs in tree order.
    pub fn pu_ids(&self) -> impl Iterator<Item = PuId> + use<> {
        (0..self.pus.len() as u32).map(PuId)
    }

    /// A PU by its number in the tree.
    ///
    /// # Panics
    ///
    /// If `id` comes from a larger machine.
    pub fn pu(&self, id: PuId) -> &Pu {
        &self.pus[id.index()]
    }

    /// The PU with the operating system's number `cpu`.
    ///
    /// # Cost
    ///
    /// Looks at every PU.
    pub fn find_cpu(&self, cpu: usize) -> Option<PuId> {
        self.pu_ids().find(|&id| self.pu(id).cpu == cpu)
    }

    /// The operating system's numbers of all PUs.
    pub fn cpus(&self) -> CpuSet {
        self.pus.iter().map(|pu| pu.cpu).collect()
    }

    /// All NUMA nodes; none where the system knows of none.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The kinds of cores, the fastest first; at least one.
    pub fn kinds(&self) -> &[CoreKind] {
        &self.kinds
    }

    /// The object of `level` that holds a PU, as an index into [`Machine::objects`]. `None` where
    /// the PU has none, and for [`Level::Pu`].
    ///
    /// # Panics
    ///
    /// If `id` comes from a larger machine.
    pub fn ancestor(&self, id: PuId, level: Level) -> Option<usize> {
        if level == Level::Machine {
            return Some(0);
        }
        let slot = self.levels.iter().position(|&l| l == level)?;
        let object = self.path(id)[slot];
        (object != NONE).then_some(object as usize)
    }

    /// The level of the outermost cache that is known, `L3` or `L2`: the usual locality domain
    /// below the node.
    pub fn last_level_cache(&self) -> Option<Level> {
        [Level::L3, Level::L2].into_iter().find(|level| self.levels.contains(level))
    }

    pub(crate) fn path(&self, id: PuId) -> &[u32] {
        let depth = self.levels.len();
        &self.paths[id.index() * depth..][..depth]
    }
}

/// What the standard library says, asked once: on a pinned thread it would answer 1.
pub(crate) fn host_parallelism() -> usize {
    static ANSWER: OnceLock<usize> = OnceLock::new();
    *ANSWER.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}
