//! The machine as a tree: machine → package → NUMA node → L3 → L2 → core → processing unit (PU).
//!
//! Not every level exists on every machine, nor for every PU: the low-power cores of some laptops
//! have no L3. If a node spans packages, or an L3 spans nodes, the larger one is outside. All trees
//! satisfy:
//!
//! # Invariants
//!
//! - I1: PUs are numbered in tree order, so the PUs of any object are a range; [`PuId`] is that
//!   number. [`Pu::cpu`] is the operating system's number, by which threads are pinned.
//! - I2: object 0 is the machine; every PU has a package and a core; cores are the innermost
//!   objects.
//! - I3: an object's PUs are the union of its children's, in order; a core has no children.
//! - I4: there is at least one PU.
//!
//! # Tests
//!
//! `tests/machines/trees.rs` checks all of them on faked and random trees.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::distance_table::DistanceTable;
use crate::sys;
use crate::warning::Warning;
use sinew_cpus::CpuSet;

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
    /// The operating system's number, as in affinity masks.
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
    /// Its level.
    pub level: Level,
    /// The system's number for packages and nodes; otherwise counted from 0 among objects of the
    /// same level.
    pub number: usize,
    /// The size of a cache in bytes, if known. For a core: of its level-1 data cache.
    pub cache_bytes: Option<u64>,
    /// The enclosing object; `None` only for the machine.
    pub parent: Option<usize>,
    /// The objects directly inside, as indices into [`Machine::objects`]; none for a core.
    pub children: Vec<usize>,
    /// Indices into [`Machine::pus`].
    pub pus: Range<usize>,
}

/// A NUMA node. Nodes without PUs (only memory) are listed as well, but are not in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize))]
pub struct Node {
    /// The system's number.
    pub number: usize,
    /// The size of its memory, if known.
    pub memory_bytes: Option<u64>,
    /// Its CPUs.
    pub cpus: CpuSet,
}

/// A kind of core; most machines have one. The fastest comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize))]
pub struct CoreKind {
    /// The source of the kind: `cpu_core`, `capacity 1024`, `3900 MHz`, or `core` if all cores are
    /// alike.
    pub name: String,
}

/// The source of a machine's description.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum Source {
    /// Linux' sysfs, below this root.
    Sysfs(PathBuf),
    /// A description such as `package:2 core:4`.
    Synthetic(String),
    /// Only a number of CPUs.
    Flat,
}

/// A machine. [`Machine::host`] describes the one that runs this process; [`Machine::from_sysfs`],
/// [`str::parse`] and [`Machine::flat`] describe others.
#[derive(Debug, Clone)]
pub struct Machine {
    pub(crate) source: Source,
    /// The levels that exist, in their order in this tree; the last is `Core`.
    pub(crate) levels: Vec<Level>,
    pub(crate) objects: Vec<Object>,
    pub(crate) pus: Vec<Pu>,
    /// For each PU the object at each of `levels`, or `NONE`.
    pub(crate) paths: Vec<u32>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) kinds: Vec<CoreKind>,
    pub(crate) distance_table: DistanceTable,
    pub(crate) warnings: Vec<Warning>,
}

pub(crate) const NONE: u32 = u32::MAX;

impl Machine {
    /// The machine that runs this process, read once: from sysfs on Linux, flat on other systems.
    ///
    /// # Cost
    ///
    /// The first call reads about twenty small files per CPU; later calls read nothing.
    pub fn host() -> &'static Machine {
        static HOST: OnceLock<Machine> = OnceLock::new();
        if let Some(host) = HOST.get() {
            return host;
        }
        // Not in `get_or_init`: a forked child would wait for a thread that was reading.
        let host = match cfg!(target_os = "linux") {
            true => Self::from_sysfs("/"),
            false => Self::flat(host_parallelism()),
        };
        HOST.get_or_init(|| host)
    }

    /// The source of this description.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Files that could not be read or made no sense, one line each.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The levels between the machine and its PUs, from the outside in.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// All objects, each before those inside it; the first is the machine.
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
    #[track_caller]
    pub fn pu(&self, id: PuId) -> &Pu {
        &self.pus[id.index()]
    }

    /// The PU with the operating system's number `cpu`.
    ///
    /// # Cost
    ///
    /// Linear in the number of PUs.
    pub fn find_cpu(&self, cpu: usize) -> Option<PuId> {
        self.pu_ids().find(|&id| self.pu(id).cpu == cpu)
    }

    /// The operating system's numbers of all PUs.
    pub fn cpus(&self) -> CpuSet {
        self.pus.iter().map(|pu| pu.cpu).collect()
    }

    /// All NUMA nodes; empty if the system reports none.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The kinds of cores, the fastest first; at least one.
    pub fn kinds(&self) -> &[CoreKind] {
        &self.kinds
    }

    /// The object of `level` that contains a PU, as an index into [`Machine::objects`]. `None` if
    /// there is none, and for [`Level::Pu`].
    ///
    /// # Panics
    ///
    /// If `id` comes from a larger machine.
    #[track_caller]
    pub fn ancestor(&self, id: PuId, level: Level) -> Option<usize> {
        if level == Level::Machine {
            return Some(0);
        }
        let slot = self.levels.iter().position(|&l| l == level)?;
        let object = self.path(id)[slot];
        (object != NONE).then_some(object as usize)
    }

    /// The level of the outermost known cache, `L3` or `L2`: the usual locality domain below the
    /// node.
    pub fn last_level_cache(&self) -> Option<Level> {
        [Level::L3, Level::L2].into_iter().find(|level| self.levels.contains(level))
    }

    pub(crate) fn path(&self, id: PuId) -> &[u32] {
        let depth = self.levels.len();
        &self.paths[id.index() * depth..][..depth]
    }
}

/// The number of CPUs where nothing describes them, read once: on a pinned thread it would be 1.
///
/// On Linux that of the affinity mask. The standard library's count is the same but for the quota,
/// which [`Limits`](crate::Limits) applies, and its reader of control groups adds 10 KB.
pub(crate) fn host_parallelism() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    if let Some(&count) = COUNT.get() {
        return count;
    }
    // Not in `get_or_init`, as in `Machine::host`.
    let count = if cfg!(target_os = "linux") {
        sys::affinity_of(sys::CALLING_THREAD).map_or(1, |cpus| cpus.len().max(1))
    } else {
        std::thread::available_parallelism().map_or(1, usize::from)
    };
    *COUNT.get_or_init(|| count)
}
