#![forbid(unsafe_code)]
//! Sinew's policies in virtual time, on machines larger than the one at hand.
//!
//! Workers of a simulated machine run a simulated program. The victims and the chunk sizes are
//! chosen by the same code of [`sinew_policy`] that the runtime uses. A run is a sequence of
//! discrete events that its [`Setup`] and its program determine: the same seed gives the same trace
//! on any machine.
//!
//! ```
//! use sinew_sim::{Duration, Setup, Simulation, workload::Tree};
//!
//! let tree = Tree::new(10, Duration::ns(1_000), 0);
//! let report = Simulation::new(Setup::new(64), &tree)?.run()?;
//! assert_eq!(report.work, 1024 * Duration::ns(1_000).draw(0));
//! assert!(report.speedup() > 16.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`workload`] | programs: trees of tasks that unfold while they run, or were recorded |
//! | `engine` | workers, their task stacks, steals, joins and exposures |
//! | [`Setup`], [`Costs`] | the configuration of a run |
//! | [`Report`], [`Violation`] | results, and the checks that every run passes |
//! | [`Loop`] | loops under every schedule |
//! | [`domains`] | queues of tasks for parts of the machine, each with a memory |
//! | [`models`] | the constants of the models, with their sources |
//! | [`programs`] | programs that arrive, end and share machines |
//! | [`jobs`] | jobs with ranks on several machines, which share their cores |
//! | [`ranks`] | a bag of tasks over ranks that share no memory |
//! | [`worklist`] | transactional worklists with a model of conflicts, and their autotuner |
//! | [`figure`] | the effect of sampling, in the model of the paper that introduced it |
//! | `view`, `places`, `worker`, `offers` | a worker's state, its place, its load, and the victim policy's view of them |
//! | `queue`, `random`, `trace` | event queue; repeatable random numbers; fingerprints |
//!
//! # Cost
//!
//! Measured in processor time on one core of a present-day server:
//!
//! - 9 million events a second with 1,024 workers
//!   (`cargo run --release -p sinew-sim --example rate -- 1024 20`);
//! - 61 million events in 32 s and 111 MB for 65,536 workers on a tree of 2²⁰ leaves.
//!
//! Rules that compare all other workers (`most-loaded`, `sorted`) read a list of loads and pay as
//! if they had sampled all workers; up to 2,048 workers they sample.
//!
//! # Not handled
//!
//! Contention of thieves that claim the same cache line at once. Programs do not migrate between
//! machines.

mod costs;
pub mod domains;
mod engine;
pub mod figure;
pub mod jobs;
mod loops;
pub mod models;
mod named;
mod offers;
mod places;
pub mod programs;
mod queue;
mod random;
pub mod ranks;
mod report;
mod setup;
mod trace;
mod view;
mod worker;
pub mod worklist;
pub mod workload;

pub use costs::{Costs, CostsError};
pub use engine::{Progress, Simulation};
pub use loops::{Loop, LoopMemory, LoopReport};
pub use named::{Program, ProgramError, RunError};
pub use queue::Time;
pub use random::{Duration, DurationError, NS};
pub use report::{Activity, Counts, Report, Violation};
pub use setup::{Fault, Idle, MOST_WORKERS, Mishap, Setup, SetupError, Stack, Waiting};
