#![forbid(unsafe_code)]
//! Skeletons over ranks: processes on one machine or many, which MPI starts and connects.
//!
//! A program that uses this crate is started once a rank (SPMD): all ranks run the same `main` and
//! make the same calls of [`World`] in the same order. Closures never travel; data does.
//!
//! ```
//! let world = sinew_dist::init()?;
//! let sum = world.all_reduce(world.rank() + 1, |a, b| a + b);
//! assert_eq!(sum, (1..=world.size()).sum::<u32>());
//! # Ok::<(), sinew_dist::InitError>(())
//! ```
//!
//! `cargo run` runs this as a world of one. Built with the feature `mpi`, `mpirun -n 4 PROGRAM`
//! runs it on four ranks. Each rank has a pool with all that a pool can do ([`World::pool`]).
//!
//! | module | contents |
//! |---|---|
//! | [`World`] | all ranks: broadcast, gather, reduction, barrier; a [report](World::report) |
//! | [`bag`] | units that add units, stolen between ranks ([`World::bag`]) |
//! | [`worklist`] | units with a home rank, as transactions ([`World::worklist`]) |
//! | [`Dist`] | arrays in blocks: map, reduction, scan, redistribution ([`World::block`]) |
//! | [`Grid`] | grids whose halos travel while the rest is swept ([`World::grid`]) |
//! | [`wire`] | values as bytes: plain data, or serde |
//! | [`link`] | the network as a trait |
//! | [`threads`] | ranks as threads of one process, for tests |
//! | `machines` | coordinators of several machines, which decide together; `coordinate` |
//! | `mpi` | the network of MPI; with the feature `mpi` |
//!
//! # Ranks that share a machine
//!
//! Pools of several ranks on one machine share its cores (`PoolBuilder::coordinate`), and a rank
//! that waits lends its own to the others: see [`World::pool_builder`].
//!
//! # Jobs that grow and shrink
//!
//! Between two calls ranks may be added ([`World::grow`]) or rest ([`World::shrink`]). Arrays and
//! grids move with them ([`Dist::spread`], [`Grid::spread`]). A bag may be stopped for it at any
//! time ([`bag::Bag::run_until`]).
//!
//! # When a rank fails
//!
//! The job ends. A panic that leaves the thread of a [`World`] ends all ranks: over MPI one line
//! names the rank and the panic, and the status is not 0. A rank that ends while another needs it
//! ends the job as well, and so does one that catches a panic which left a call. A bag can survive
//! the loss of ranks ([`bag::Bag::survive_losses`]).
//!
//! # Not handled
//!
//! See `docs/distributed.md` for what does not exist yet.

mod array;
pub mod bag;
mod grid;
mod init;
mod init_error;
pub mod link;
#[cfg(all(feature = "coordinate", not(shuttle)))]
pub mod machines;
#[cfg(feature = "mpi")]
pub mod mpi;
#[cfg(feature = "mpi")]
mod pulse;
mod report;
mod share;
pub mod threads;
mod tree;
pub mod wire;
pub mod worklist;
mod world;

pub use array::{Block, Dist};
pub use grid::{Grid, HaloCounts, Shape, Star};
pub use init::{init, launched};
pub use init_error::InitError;
pub use link::Rank;
pub use report::RankReport;
pub use world::{GrowError, Shrunk, Traffic, World};
