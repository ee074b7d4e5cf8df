//! Profiles: how often, how long, and how long at least.
//!
//! A pool that is built to profile sends all its joins off the fast path
//! (`sinew_deque::stack::reason`) and keeps books at every seat. At each moment a worker does
//! exactly one of a dozen things; where it turns to another, it reads the clock once. From that
//! follow two breakdowns of its time, and, by the ways through joins, scopes and loops, the work
//! and the span of what it ran. Sources: K.-F. Faxén and J. Ardelius, "Manycore Work Stealing"
//! (2011), for the first breakdown, the granularities and the bounds; a thesis on the work stealing
//! of Intel's TBB for the second; Y. He, C. E. Leiserson and W. M. Leiserson, "The Cilkview
//! Scalability Analyzer" (2010), for spans with a burden.
//!
//! | room | what lives there |
//! |---|---|
//! | `activity` | what a worker can be doing |
//! | `sheet` | for how long: a state machine whose times sum up to the time that passed |
//! | `paths` | how far it is on its way, at several burdens |
//! | `books` | all of that for one seat |
//! | `hooks` | where the scheduler says what it does |
//! | `record` | what is spawned and worked, as a graph |
//! | `fork`, `scope` | joins and loops; scopes, other tasks, and stolen arms |
//! | `diary`, `timeline` | in which order; a pool's diaries as one timeline |
//! | `pool` | reading the books |
//! | `report`, `breakdown` | what they say |
//!
//! # Cost
//!
//! In a pool that does not profile: nothing in a join, one comparison for a queued task, a piece of
//! a loop, and each step of a search. In one that does: five looks at the clock a join, some 100
//! ns.
//!
//! # Tests
//!
//! `tests` runs the books by a clock of its own, against simple models; `tests/pool/profile` runs
//! pools; `shuttle_tests::profile` looks for schedules in which a task is not counted.

mod activity;
mod books;
mod breakdown;
mod diary;
mod fork;
mod hooks;
mod paths;
mod pool;
mod record;
mod report;
mod scope;
mod sheet;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod timeline;

pub(crate) use activity::Activity;
pub(crate) use books::Books;
pub(crate) use fork::{Fork, Pieces};
pub(crate) use paths::{DEFAULT_BURDENS, Interrupted, Paths};
pub(crate) use pool::Profiling;
pub(crate) use scope::ScopePaths;

pub use breakdown::{Attempts, Breakdown, Function, Functions, Split};
pub use diary::Doing;
pub use paths::BURDENS;
pub use report::{Profile, Tasks, WorkerProfile};
pub use timeline::{Timeline, TimelineSpan};
