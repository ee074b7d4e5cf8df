#![forbid(unsafe_code)]
//! The decisions of the runtime as pure code: the victim of a steal, the size of a chunk, the time
//! to spin.
//!
//! This crate reads no clock, starts no thread, reads no file and has no random numbers of its own;
//! the caller passes in everything on which a decision depends. So the runtime and the simulator
//! run the same code, and a test can replay any case.
//!
//! | module | decides |
//! |---|---|
//! | [`victim`] | the worker from which a thief steals next; most rules with the feature `experiments` |
//! | [`chunk`] | how many iterations of a loop a worker takes at once |
//! | [`auto`] | the schedule of a loop with `Schedule::Auto` |
//! | [`affinity`] | the owner of each part of a repeated loop |
//! | [`weighted`] | the shares of workers with different speeds |
//! | [`split`] | where a range of one or more dimensions is cut, and down to which size |
//! | [`idle`] | how long an idle worker spins before it parks |
//! | [`pace`] | how many pieces of work a worker runs between two reads of the clock |
//! | `share` | how many cores, and which, each program on a machine gets; with the feature `share` |
//! | [`Wait`], [`StackKind`], [`LastLoop`], [`schedule`] | nothing; they name choices |
//! | `cuts`, `balance` | how grids and arrays are divided among ranks; with the feature `lifelines` |
//! | `lifelines` | how ranks, which share no memory, steal from each other and find the end; with the feature `lifelines` |
//! | `leases` | which units run again when a rank is lost; with the feature `lifelines` |
//! | `worklist` | how a transactional worklist distributes, steals, pairs and swaps its units; with the feature `worklist` |
//! | `tune` | the settings of a worklist, from counts of its run; with the feature `worklist` |
//! | `graph` | nothing; the format of recorded runs; with the feature `graph` |
//! | `span` | nothing; the bounds for a schedule; with the feature `graph` |

pub mod affinity;
pub mod auto;
#[cfg(feature = "lifelines")]
pub mod balance;
pub mod chunk;
#[cfg(feature = "lifelines")]
pub mod cuts;
#[cfg(feature = "graph")]
pub mod graph;
pub mod idle;
mod last_loop;
#[cfg(feature = "lifelines")]
pub mod leases;
#[cfg(feature = "lifelines")]
pub mod lifelines;
pub mod named;
pub mod pace;
pub mod schedule;
#[cfg(feature = "share")]
pub mod share;
#[cfg(feature = "graph")]
pub mod span;
pub mod split;
mod stack_kind;
#[cfg(feature = "worklist")]
pub mod tune;
pub mod victim;
mod wait;
pub mod weighted;
#[cfg(feature = "worklist")]
pub mod worklist;

pub use last_loop::LastLoop;
pub use named::UnknownName;
pub use stack_kind::StackKind;
pub use wait::Wait;
