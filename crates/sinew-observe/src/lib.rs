#![forbid(unsafe_code)]
//! Profiles: how often, how long, and how long at least.
//!
//! A [`Profiler`] is an [`Observer`](sinew_core::observer::Observer) of a pool. At each moment a
//! worker does exactly one of a dozen things; where it turns to another, the profiler reads the
//! clock once. From that follow two breakdowns of the worker's time. The paths through joins,
//! scopes and loops give the work and the span of what it ran.
//!
//! Sources: K.-F. Faxén and J. Ardelius, "Manycore Work Stealing" (2011), for the first breakdown,
//! the granularities and the bounds; a thesis on the work stealing of Intel's TBB for the second;
//! Y. He, C. E. Leiserson and W. M. Leiserson, "The Cilkview Scalability Analyzer" (2010), for
//! spans with a burden.
//!
//! | module | what it contains |
//! |---|---|
//! | `activity` | what a worker can be doing |
//! | `times`, `counts` | for how long, and how often |
//! | `paths`, `forks` | how far it is on its path, at several burdens |
//! | `state` | all of that for one worker |
//! | `joins`, `scopes` | joins and loops; scopes |
//! | `recorder` | what is spawned and worked, as a graph |
//! | `trace`, `timeline` | in which order; the traces of a pool as one timeline |
//! | `events` | the scheduler's events |
//! | `pool`, `profiler` | what the workers have in common; the handle |
//! | `profile`, `breakdown` | the results |
//!
//! # Cost
//!
//! Five looks at the clock a join, some 100 ns.
//!
//! # Tests
//!
//! `tests` runs the state by a clock of its own, against simple models; `tests/profile` runs pools;
//! `shuttle` looks for schedules in which a task is not counted.

mod activity;
mod breakdown;
mod counts;
mod events;
mod forks;
mod joins;
mod paths;
mod pool;
mod profile;
mod profiler;
mod recorder;
mod scopes;
#[cfg(all(test, shuttle))]
mod shuttle;
mod state;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod timeline;
mod times;
mod trace;

pub use breakdown::{Attempts, Breakdown, Function, Functions, Split};
pub use paths::BURDENS;
pub use profile::{Profile, Tasks, WorkerProfile};
pub use profiler::Profiler;
pub use sinew_policy::graph::{Call, Graph, GraphError, Token};
pub use sinew_policy::span::Bounds;
pub use timeline::{Timeline, TimelineSpan};
pub use trace::Doing;
