#![deny(unsafe_code)]
//! The machine as Sinew sees it: packages, NUMA nodes, caches, cores, what the process may use of
//! them, and which seat goes where.
//!
//! Three questions are answered here, in this order:
//!
//! 1. *What is there?* [`Machine`]: a tree read from Linux' sysfs, from a one-line description, or
//!    flat elsewhere, with a [distance](Machine::distance) between any two processing units (PUs).
//! 2. *What of it is ours?* [`Limits`]: affinity mask, cpuset, and the CPU quota of the control
//!    groups.
//! 3. *Who sits where?* [`Mapping`] and [`Seating`]: a PU for each seat of a pool, and how far
//!    apart the seats are. [`pin_current_thread`] carries it out.
//!
//! And a fourth, beside them: *where do pages lie?* [`Placement`] says where they should,
//! [`Memory`] carries it out, and [`where_is`] asks the kernel.
//!
//! [`render`] shows all of it to people, and, with the feature `json`, `to_json` to programs.
//!
//! ```
//! use sinew_topology::{Limits, Machine, Mapping, Seating};
//!
//! let machine: Machine = "package:2 l3:1 core:4 pu:2".parse()?;
//! let limits = Limits::unlimited(&machine);
//! let seating = Seating::new(&machine, limits.allowed(), &Mapping::Scatter, 4)?;
//! assert_eq!(seating.cpus(), [Some(0), Some(8), Some(2), Some(10)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The rooms
//!
//! | file | what lives there |
//! |---|---|
//! | `machine` | the tree and its questions |
//! | `assemble` | facts about single CPUs → tree |
//! | `distance`, `ladder` | how far PUs are apart, and what that is made of |
//! | `sysfs`, `kinds`, `synthetic` | where the facts come from |
//! | `files` | reading the kernel's small files |
//! | `limits`, `cgroup` | what the process may use |
//! | `mapping`, `seating`, `beside` | seats on PUs, and beside others |
//! | `pin` | threads onto CPUs |
//! | `sys` | the system calls of `pin` and `pages`; the only file with `unsafe` |
//! | `pages`, `memory` | pages on nodes |
//! | `render` | the tree for people and for programs |
//!
//! # Not handled
//!
//! Moving pages that have been touched. Dies, core clusters and level-4 caches: no machine was at
//! hand on which they tell apart PUs that packages, nodes and the other caches do not.

mod assemble;
mod beside;
mod cgroup;
mod cpuset;
mod distance;
mod files;
#[cfg(feature = "json")]
mod json;
mod kinds;
mod ladder;
mod limits;
mod machine;
mod mapping;
mod memory;
mod pages;
mod pin;
mod render;
mod seating;
mod synthetic;
mod sys;
mod sysfs;
mod warning;

pub use beside::place_beside;
pub use cgroup::Quota;
pub use cpuset::{CpuSet, ListError, MAX_CPUS};
#[cfg(feature = "json")]
pub use json::to_json;
pub use limits::Limits;
pub use machine::{CoreKind, Level, Machine, Node, Object, Pu, PuId, Source};
pub use mapping::{Mapping, MappingError, place};
pub use memory::Memory;
pub use pages::{
    ParsePlacementError, PlacedThread, Placement, PlacementError, memory_nodes,
    place_pages_of_current_thread, where_is,
};
pub use pin::{PinError, Pinned, ThreadRef, ThreadUsage, current_cpu, pin_current_thread};
pub use render::render;
pub use seating::Seating;
pub use synthetic::DescriptionError;
pub use warning::Warning;
