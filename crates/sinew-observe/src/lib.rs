#![forbid(unsafe_code)]
//! Profiles of a pool: breakdowns of its workers' time, and the work and span of its programs.
//!
//! A [`Profiler`] is an [`Observer`](sinew_core::observer::Observer) of a pool. At each moment a
//! worker has exactly one of a dozen activities; when the activity changes, the profiler reads the
//! clock once. Two breakdowns of the worker's time follow from that. The paths through joins,
//! scopes and loops give the work and the span.
//!
//! Sources: K.-F. Faxén and J. Ardelius, "Manycore Work Stealing" (2011), for the first breakdown,
//! the granularities and the bounds; a thesis on the work stealing of Intel's TBB for the second;
//! Y. He, C. E. Leiserson and W. M. Leiserson, "The Cilkview Scalability Analyzer" (2010), for
//! spans with a burden.
//!
//! | module | contents |
//! |---|---|
//! | `activity` | the activities of a worker |
//! | `times`, `counts` | the time of each activity; event counters |
//! | `paths`, `forks` | the length of the running task's path, at several burdens |
//! | `state` | all of that for one worker |
//! | `joins`, `scopes` | events of joins and loops; paths through scopes |
//! | `recorder` | the task graph |
//! | `trace`, `timeline` | the activities of a worker in order; the timeline of a pool |
//! | `events` | the observer of a worker |
//! | `pool`, `profiler` | the state that workers share; the handle |
//! | `profile`, `breakdown` | the results |
//!
//! # Cost
//!
//! Five readings of the clock for a join, some 100 ns.
//!
//! # Tests
//!
//! `tests` runs the state with a fake clock, against simple models; `tests/profile` runs pools;
//! `shuttle` searches for schedules in which a task is not counted.

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
