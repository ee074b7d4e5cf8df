#![deny(unsafe_code)]
//! The machine: packages, NUMA nodes, caches, cores, the process's limits, and a CPU for each
//! worker.
//!
//! The crate has four parts, which build on each other:
//!
//! 1. [`Machine`]: a tree of packages, nodes, caches and cores. It comes from Linux' sysfs or a
//!    one-line description (with the feature `synthetic`), and is flat on other systems. Any two
//!    processing units (PUs) have a [distance](Machine::distance).
//! 2. [`Limits`]: the affinity mask, the cpuset, and the CPU quota of the control groups.
//! 3. [`Mapping`] and [`CpuAssignment`]: a PU for each worker of a pool, and the distances between
//!    workers. [`pin_current_thread`] pins a worker's thread.
//! 4. [`Placement`] and [`Memory`]: pages on NUMA nodes. [`page_nodes`] returns the nodes of pages.
//!
//! With the feature `cache-counters`, `CacheCounters` counts misses of the last cache.
//!
//! With the feature `render`, `render` prints all of it for people; with the feature `json`,
//! `to_json` does so for programs. With the feature `synthetic`, a description such as
//! `package:2 core:4`, or the name of a published machine, is parsed as a [`Machine`].
//!
//! ```
//! use sinew_topology::{Limits, Machine, Mapping, CpuAssignment};
//!
//! let machine: Machine = "package:2 l3:1 core:4 pu:2".parse()?;
//! let limits = Limits::unlimited(&machine);
//! let cpu_assignment = CpuAssignment::new(&machine, limits.allowed(), &Mapping::Scatter, 4)?;
//! assert_eq!(cpu_assignment.cpus(), [Some(0), Some(8), Some(2), Some(10)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Files
//!
//! | file | contents |
//! |---|---|
//! | `machine` | the tree and its accessors |
//! | `assemble` | facts about single CPUs → tree |
//! | `distance`, `distance_table` | distances between PUs; what they are computed from |
//! | `sysfs`, `kinds`, `synthetic` | the sources of facts |
//! | `named` | published machines by name |
//! | `files` | reading the kernel's small files |
//! | `collections` | a map and a sort, compiled once |
//! | `limits`, `cgroup` | the process's limits |
//! | `mapping`, `cpu_assignment`, `helpers` | PUs for workers and for their helpers |
//! | `pin` | pinning threads to CPUs |
//! | `cache_counters` | accesses to the last cache, and its misses |
//! | `sys` | the system calls of `pin`, `pages` and `cache_counters`; the only file with `unsafe` |
//! | `pages`, `memory` | pages on nodes |
//! | `render`, `json` | the tree for people; for programs |
//! | `warning` | one line about a file that could not be used |
//!
//! # Not handled
//!
//! Moving pages that were touched. Dies, core clusters and level-4 caches: on no machine at hand do
//! they separate PUs that packages, nodes and the other caches do not.

mod assemble;
#[cfg(feature = "cache-counters")]
mod cache_counters;
mod cgroup;
mod collections;
mod cpu_assignment;
mod distance;
mod distance_table;
mod files;
mod helpers;
#[cfg(feature = "json")]
mod json;
mod kinds;
mod limits;
mod machine;
mod mapping;
mod memory;
#[cfg(feature = "synthetic")]
mod named;
mod pages;
mod pin;
#[cfg(feature = "render")]
mod render;
#[cfg(feature = "synthetic")]
mod synthetic;
mod sys;
mod sysfs;
mod warning;

#[cfg(feature = "cache-counters")]
pub use cache_counters::{CacheCounters, CacheCountersError, CacheCounts};
pub use cgroup::Quota;
pub use cpu_assignment::CpuAssignment;
pub use helpers::place_helpers;
#[cfg(feature = "json")]
pub use json::to_json;
pub use limits::Limits;
pub use machine::{CoreKind, Level, Machine, Node, Object, Pu, PuId, Source};
pub use mapping::{Mapping, MappingError, place};
pub use memory::Memory;
#[cfg(feature = "synthetic")]
pub use named::machine_names;
pub use pages::{
    ParsePlacementError, PlacedThread, Placement, PlacementError, memory_nodes, page_nodes,
    place_pages_of_current_thread,
};
pub use pin::{
    PinError, Pinned, ThreadRef, ThreadUsage, current_cpu, move_current_thread, override_binding,
    pin_current_thread, record_mask, recorded_mask,
};
#[cfg(feature = "render")]
pub use render::render;
pub use sinew_cpus::{CpuSet, Iter as CpuSetIter, ListError, MAX_CPUS};
#[cfg(feature = "synthetic")]
pub use synthetic::DescriptionError;
pub use warning::Warning;
