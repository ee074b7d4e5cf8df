#![forbid(unsafe_code)]
//! Malleable, locality-aware parallelism: nested tasks for little more than a function call, and
//! skeletons over data.
//!
//! ```
//! use sinew::prelude::*;
//!
//! // Nested tasks. `join` finds the worker; passing it along is the fast path.
//! fn fib(w: &Worker, n: u64) -> u64 {
//!     if n < 2 {
//!         return n;
//!     }
//!     let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
//!     a + b
//! }
//! assert_eq!(sinew::run(|w| fib(w, 20)), 6765);
//!
//! // Parallel iterators, with rayon's names. `over` makes them, too.
//! let xs = vec![1.0, 2.0, 3.0];
//! let squares: Vec<f64> = xs.par_iter().map(|x| x * x).collect();
//! let total = xs.par_iter().map(|x| x * x).sum::<f64>();
//! let prefix = sinew::over(&xs).scan(0.0, |a, b| a + b);
//! assert_eq!((squares, total, prefix), (vec![1.0, 4.0, 9.0], 14.0, vec![1.0, 3.0, 6.0]));
//! ```
//!
//! On NUMA machines, data has a *locality domain*, and tasks are spawned into it, with the feature
//! `locality`. This is Jacobi's method on a field of layers; tasks of a layer run on the workers
//! that first touched it:
//!
//! ```
//! use sinew::prelude::*;
//!
//! let pool = Pool::builder().threads(2).mapping(Mapping::Compact).build()?;
//! let domains = Domains::new(&pool, DomainKind::Node)?;
//! let (side, layer) = (8, 64);
//! pool.run(|_| {
//!     let warm = |i: usize| f64::from(i % layer == 0);
//!     let field = || Placed::options(&domains).fill(side * layer, layer, warm);
//!     let (mut now, mut next) = (field()?, field()?);
//!     for _ in 0..3 {
//!         domain_scope(&domains, |s| {
//!             for (k, (domain, layer_k)) in next.blocks_mut().enumerate().skip(1).take(side - 2) {
//!                 let now_at = |k: usize| &now[k * layer..][..layer];
//!                 let [below, here, above] = [k - 1, k, k + 1].map(now_at);
//!                 s.spawn_into(domain, move |_| {
//!                     for i in side + 1..layer - side - 1 {
//!                         let row = here[i - 1] + here[i + 1];
//!                         let column = here[i - side] + here[i + side];
//!                         layer_k[i] = (row + column + below[i] + above[i]) / 6.0;
//!                     }
//!                 });
//!             }
//!         });
//!         std::mem::swap(&mut now, &mut next);
//!     }
//!     Ok::<(), sinew::locality::PlacementError>(())
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where it runs
//!
//! Skeletons run in the current [`Pool`]: inside [`Pool::run`] and [`Pool::install`] that pool,
//! otherwise the global one, which is built at its first use ([`global_pool`]). The calling thread
//! participates. [`Pool::call`] gives a call from outside a priority, a deadline or a control.
//! [`Pool::control`] changes a running pool.
//!
//! [`guide`] shows the library by kinds of programs.
//!
//! # Files
//!
//! | file | contents |
//! |---|---|
//! | [`iter`] | parallel iterators: [`over`], `par_iter` and the like |
//! | `blocks` | [`over2`] and [`over3`]: blocks of two and three dimensions; [`over_tiles`]: tiles of mutable data |
//! | `pipeline` | [`pipeline`] and [`farm`]: items of an iterator that go through stages |
//! | `stencil` | [`stencil`]: grids whose elements are computed from their neighbourhoods |
//! | `divide` | [`divide_and_conquer`] |
//! | `worklist` | units in any order, as transactions, tuned while they run; with the feature `transactions` |
//! | `profile` | breakdown of time, work and span; with the feature `profile` |
//!
//! The module `locality` has the domains, and the options of their scopes and arrays; with the
//! feature `locality`. The crate `sinew-core` is the scheduler. [`items`], [`stages`], [`skeleton`]
//! and [`topology`] name the types that signatures contain and few programs write.
//!
//! # Features
//!
//! None is on by default: what a program does not use, it does not compile.
//!
//! | feature | adds |
//! |---|---|
//! | `coordinate` | pools that share the machine with other programs; `SINEW_COORDINATE=1` |
//! | `csv` | `LoopMetrics::write_csv` |
//! | `experiments` | what only experiments use: two-field stacks, most victim rules, delayed steals; also for `SINEW_STACK` and `SINEW_VICTIMS` |
//! | `locality` | the module `locality`, `Domains`, `Placed`, `domain_scope` |
//! | `profile` | the module `profile` |
//! | `transactions` | the modules `stm` and `worklist` |

/// The programs of the README, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod blocks;
mod divide;
#[cfg(any(doc, doctest))]
pub mod guide;
pub mod iter;
mod pipeline;
#[cfg(all(test, shuttle))]
mod shuttle;
mod stencil;
#[cfg(feature = "transactions")]
pub mod worklist;

pub use blocks::{OverBlocks, over_tiles, over2, over3};
pub use divide::{DivideAndConquer, Step, divide_and_conquer};
pub use pipeline::{Pipeline, farm, pipeline};
#[cfg(all(feature = "coordinate", not(shuttle)))]
pub use sinew_core::Share;
pub use sinew_core::{
    BroadcastContext, BuildError, CallBuilder, CallError, Cancelled, Counters, Fences, OwnPages,
    Pool, PoolBuilder, PoolControl, PoolSnapshot, Priority, Scope, ScopeBuilder, Spin, StackKind,
    StealsAt, UnknownName, Victims, Wait, Worker, WorkerThread, global_pool, join, run, scope,
    serially, spawn, victims,
};
/// Locality domains, and the options of what runs in them; with the feature `locality`.
#[cfg(feature = "locality")]
pub use sinew_locality as locality;
#[cfg(feature = "locality")]
pub use sinew_locality::{DomainKind, DomainScope, Domains, Placed, domain_scope};
pub use sinew_loops::data::{
    Intent, IntoItems, Items, Neighbourhood, ReadItems, Row, Shape, Streams, Tile, TileMut,
    TileOrder, TilesMut, prefetch, streaming, tiles, wide,
};
pub use sinew_loops::iter::{Controlled, Metered, Mode, Over, Uncontrolled, over};
pub use sinew_loops::loops::{Edge, LoopMetrics, ThreadMetrics};
pub use sinew_loops::source::LoopMemory;
pub use sinew_loops::{Control, Operation, Participant, Snapshot, Stopped};
pub use sinew_policy::chunk::{Schedule, ScheduleError};
/// Transactional variables, for any thread; with the feature `transactions`.
#[cfg(feature = "transactions")]
pub use sinew_stm as stm;
/// The machine: its CPUs, caches and NUMA nodes, places of threads and pages, and limits.
pub use sinew_topology as topology;
pub use sinew_topology::{CpuSet, Machine, Mapping, MappingError, Placement, PlacementError};
pub use stencil::{Stencil, stencil};

/// The items of loops: the traits of what [`over()`] takes, and the types of its adapters.
pub mod items {
    pub use sinew_loops::data::{
        Chunks, ChunksMut, Index, IntoItems, Items, Owned, OwnedPiece, ReadItems, SliceMut,
        TilesMut, TilesPiece,
    };
}

/// The stages of a [`Pipeline`]: their traits and types.
pub mod stages {
    pub use sinew_loops::stream::{
        Identity, Parallel, ParallelSink, Serial, SerialSink, SerialStage, Sink, StageContext,
        Stages,
    };
}

/// Parts of the scheduler, for skeletons, queues, observers and simulations of one's own.
pub mod skeleton {
    pub use sinew_core::open::{OpenScope, OpenScopeFifo};
    pub use sinew_core::{
        Callers, CancelRegistration, Cancellable, Limit, NextTask, Pin, PollReason, PoolHook,
        Preset, Queueing, ScopeQueues, ScopeTask, TaskQueues, WorkerLocal, observer,
    };
    pub use sinew_loops::{HelperPin, Participants, Registration};
    pub use sinew_policy::victim::{Heaviest, Neighbours, Outcome, Reach, VictimPolicy, View};
}

/// Profiles of a pool: the breakdown of its workers' time, work and span; with the feature
/// `profile`.
///
/// ```
/// use sinew::Pool;
/// use sinew::profile::Profiler;
///
/// let profiler = Profiler::new();
/// let pool = Pool::builder().threads(2).observer(profiler.clone()).build()?;
/// pool.run(|w| w.join(|_| (), |_| ()));
/// let profile = profiler.take();
/// println!("parallelism {:.1}", profile.parallelism(0));
/// # assert_eq!(profile.tasks().spawned, 1);
/// # Ok::<(), sinew::BuildError>(())
/// ```
#[cfg(feature = "profile")]
pub mod profile {
    pub use sinew_observe::{
        Attempts, BURDENS, Bounds, Breakdown, Call, Doing, Function, Functions, Graph, GraphError,
        Profile, Profiler, Split, Tasks, Timeline, TimelineSpan, Token, WorkerProfile,
    };
}

/// The names that most programs need: `use sinew::prelude::*;`. `TVar`, `Tuning` and `Worklist` are
/// among them with the feature `transactions`, domains and `Placed` with the feature `locality`.
///
/// ```
/// use sinew::prelude::*;
///
/// // Malleable: a handle to change a run while it runs.
/// let (control, blocks) = (Control::new(), vec![1_u64; 1_000]);
/// control.set_threads(2);
/// control.set_schedule(Schedule::Dynamic { chunk: 64 });
/// let sum: u64 = over(&blocks).control(&control).sum()?;
///
/// // A pool of one's own, and a transactional worklist in it, tuned while it runs.
/// let pool = Pool::builder().mapping(Mapping::Compact).victims(Victims::Nearest).build()?;
/// let balance = TVar::new(sum);
/// let deposits = vec![10_u64; 100];
/// let report = pool.run(|_| {
///     Worklist::from(deposits).tune(Tuning::Auto).run_fold(
///         |tx, amount, _| balance.modify(tx, |b| b + amount),
///         |count: &mut u64, ()| *count += 1,
///     )
/// })?;
/// assert_eq!((balance.load(), report.locals.iter().sum::<u64>()), (2_000, 100));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod prelude {
    pub use crate::iter::{
        FromParallelIterator, IndexedParIter, IndexedParallelIterator, IntoParallelIterator,
        IntoParallelRefIterator, IntoParallelRefMutIterator, LoopOptions, ParIter, ParallelBridge,
        ParallelDrainFull, ParallelDrainRange, ParallelExtend, ParallelIterator, ParallelSlice,
        ParallelSliceMut, ParallelString,
    };
    pub use crate::{
        Cancelled, Control, Edge, LoopMemory, Mapping, Over, Placement, Pool, Schedule, Scope,
        Step, Victims, Wait, Worker, divide_and_conquer, farm, over, pipeline, stencil,
    };
    #[cfg(feature = "locality")]
    pub use crate::{DomainKind, DomainScope, Domains, Placed, domain_scope};
    #[cfg(feature = "transactions")]
    pub use crate::{
        stm::TVar,
        worklist::{Tuning, Worklist},
    };
}
