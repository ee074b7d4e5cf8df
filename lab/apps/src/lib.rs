#![forbid(unsafe_code)]
//! Applications written with Sinew. Each has a serial and a parallel version and checks its own
//! result.
//!
//! An application is an entry of [`all`]. [Preparing](App::prepare) it from [`Options`] checks
//! sizes, generates inputs and reads files. The prepared problem runs serially and in a pool, any
//! number of times, and only the computation is timed.
//!
//! ```
//! use sinew_apps::{Options, Size, find};
//!
//! let fib = find("fib").unwrap();
//! let problem = fib.prepare(&Options { size: Size::Tiny, ..Options::default() })?;
//! let pool = sinew::Pool::builder().threads(2).build()?;
//! let parallel = problem.parallel(&pool);
//! problem.check(&parallel.answer)?;
//! problem.agree(&problem.serial().answer, &parallel.answer)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! An application is a file or a folder, and a line of `applications!` below. Its file says at the
//! top what it computes and in which parallel form. It has an `APP` ([`App`]) and implements
//! `Solve` of `problem`: the input, both versions and the check. The demo and the tests run all
//! entries; `loops` in `APP` makes the tests run it under every schedule. The other files serve all
//! applications:
//!
//! | file | contents |
//! |---|---|
//! | `app`, `problem`, `options` | an application's description, runs and options |
//! | `gather`, `processor`, `memory` | all workers awake; the processor time of a run; whether it fits |
//! | `lettered`, `product` | sizes with several numbers |
//! | `dense`, `sorted`, `lines`, `text` | matrices, numbers to sort, input files, source files |
//! | `fork`, `loops`, `each_worker` | one recursion for both versions; schedules; one call per worker |
//! | `balanced` | balanced trees with and without transactions |
//! | `graph` | generated graphs, and searches of them |
//! | `published` | the parameters of published experiments |
//! | `lists`, `record` | worklists as options say; what they and transactions did |
//!
//! # Not handled
//!
//! Deciding how often to run and what to print: that is the command's part.

mod app;
mod balanced;
mod dense;
mod each_worker;
mod fork;
mod gather;
pub mod graph;
mod lettered;
mod lines;
mod lists;
mod loops;
mod memory;
mod options;
mod problem;
mod processor;
mod product;
mod published;
mod record;
mod sorted;
mod text;

pub use app::App;
pub use options::{Error, Maps, Options, Size};
pub use problem::{Answer, Problem, Run, Wrong, last_recording};
pub use published::{Published, published};
pub use record::{Record, Recorded, Transactions, TuningCost};

/// Declares the module of each application, and the table of them in the order in which they are
/// shown.
macro_rules! applications {
    ($($visibility:vis $name:ident,)*) => {
        $($visibility mod $name;)*

        static APPLICATIONS: &[App] = &[$($name::APP),*];
    };
}

// `cargo fmt` does not look into macros; `cargo xtask ci fmt` names these files to it.
applications! {
    fib,
    nqueens,
    pub uts,
    stress,
    ssf,
    quicksort,
    multisort,
    heat,
    gauss,
    floyd,
    matmul,
    strassen,
    cholesky,
    pub jacobi,
    wordcount,
    convex_hull,
    blackscholes,
    swaptions,
    streamcluster,
    fluidanimate,
    numbercount,
    pub collatz,
    pub bfs,
    pub sssp,
    bank,
    intruder,
    vacation,
    kmeans,
    labyrinth,
    yada,
}

/// All applications, in the order in which they are shown.
pub fn all() -> &'static [App] {
    APPLICATIONS
}

/// The application with exactly this name.
pub fn find(name: &str) -> Option<&'static App> {
    all().iter().find(|app| app.name == name)
}
