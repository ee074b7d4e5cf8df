#![forbid(unsafe_code)]
//! Sinew's policies in virtual time: what happens beyond the machine at hand.
//!
//! Workers of a simulated machine run a simulated program, with the very code of [`sinew_policy`]
//! deciding whom they steal from and how loops are cut: what is simulated is what ships. A run is a
//! sequence of discrete events that follows from its [`Setup`] and its program: the same seed gives
//! the same trace on any machine.
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
//! | room | what lives there |
//! |---|---|
//! | [`workload`] | programs: trees of tasks that unfold while they run, or were recorded |
//! | `engine` | workers, their task stacks, steals, joins and exposures |
//! | [`Setup`], [`Costs`], [`machine`] | what a run depends on |
//! | [`Report`], [`Violation`] | what it shows, and the checks that every run passes |
//! | [`Loop`] | loops under every schedule |
//! | [`domains`] | queues of tasks for parts of the machine |
//! | [`programs`] | programs that come and go, and share machines |
//! | [`worklist`] | transactional worklists with a model of conflicts, and their autotuner |
//! | [`figure`] | what sampling does, in the model of the paper that asked first |
//! | `view`, `places`, `seat`, `offers` | a worker, and what others see of it; where it sits; who offers what |
//! | `queue`, `random`, `trace` | whose turn it is; chance that repeats; fingerprints |
//!
//! # Cost
//!
//! On one core of a present-day server, in processor time: 9 million events a second with 1,024
//! workers (`cargo run --release -p sinew-sim --example rate -- 1024 20`); 65,536 workers on a tree
//! of 2²⁰ leaves: 61 million events in 32 s, in 111 MB. Rules that look at all others
//! (`most-loaded`, `sorted`) are told who offers most, at the price of having looked; up to 2,048
//! workers they look.
//!
//! # Not handled
//!
//! Cache lines that several thieves claim at once are not waited for. Programs do not move from
//! machine to machine.

mod costs;
pub mod domains;
mod engine;
pub mod figure;
mod loops;
mod machines;
mod named;
mod offers;
mod places;
pub mod programs;
mod queue;
mod random;
mod report;
mod seat;
mod setup;
mod trace;
mod view;
pub mod worklist;
pub mod workload;

pub use costs::{Costs, CostsError};
pub use engine::{Progress, Simulation};
pub use loops::{Loop, LoopMemory, LoopReport};
pub use machines::machine;
pub use named::{Program, ProgramError, RunError};
pub use queue::Time;
pub use random::{Duration, DurationError, NS};
pub use report::{Activity, Counts, Report, Violation};
pub use setup::{Fault, Idle, MOST_WORKERS, Mishap, Setup, SetupError, Stack, Waiting};
