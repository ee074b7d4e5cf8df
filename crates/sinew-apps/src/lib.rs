#![forbid(unsafe_code)]
//! Applications written with Sinew. Each has a serial and a parallel version and checks its own
//! answer.
//!
//! An application is an entry of [`all`]. It is [prepared](App::prepare) from [`Options`], which is
//! where sizes are checked, inputs generated and files read; what comes out can be run serially and
//! in a pool, any number of times, and only the computation is timed.
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
//! # The rooms
//!
//! | file | what lives there | the parallel form |
//! |---|---|---|
//! | `fib` | Fibonacci numbers by the definition | nested joins, a task a call |
//! | `nqueens` | queens that do not attack each other | nested joins, a task a queen |
//! | `uts` | the unbalanced tree search benchmark | nested joins, a task a tree node |
//! | `quicksort` | sorting in place | nested joins above a cutoff |
//! | `heat` | a 5-point stencil on a square plate | a loop over rows, once a time step |
//! | [`jacobi`] | a six-point stencil on a cube | a task a block, in the queues of locality domains |
//! | `wordcount`, `text` | words of all source files below a folder | a loop over pieces of text, maps merged |
//! | `convex_hull` | the hull of points in the plane | loops over what is left, nested joins |
//! | `blackscholes` | prices of European options | a loop over options, again and again |
//! | `swaptions` | prices of swaptions by simulation | a loop over blocks of trials |
//! | `streamcluster` | clustering by local search | thousands of short loops over blocks of points |
//! | `fluidanimate` | water made of particles | loops over particles, six a time step |
//! | `numbercount` | numbers in a matrix | a loop over rows, maps merged |
//! | [`collatz`] | tasks that repeat a Collatz sequence, or read a table | a map-array |
//! | `problem`, `options`, `loops`, `memory`, `gather` | what all of them have in common | |
//! | `stress` | a balanced tree of leaves that count | nested joins, a task a node |
//! | `ssf` | the longest substrings that occur twice | a loop over positions, once a repetition |
//! | `multisort`, `sorted` | merge sort with parallel merges | nested joins above a cutoff |
//! | `gauss` | a system of linear equations | a loop over rows, once an unknown |
//! | `floyd` | shortest paths between all pairs | a loop over rows, once a block of stations |
//! | `matmul`, `dense` | the product of two dense matrices | a loop over bands of rows |
//! | `strassen` | the same by seven smaller products | nested joins above a cutoff |
//! | `cholesky` | a sparse matrix as the product of a triangle and its transpose | nested joins down to blocks |
//! | `bank` | deposits, transfers and audits | a transaction an order |
//! | `intruder` | attacks in a stream of packets | transactions that put packets together |
//! | `vacation` | a travel agency's bookings | a transaction a session |
//! | `kmeans` | points around centres | transactions that add points up, a list of points once a step |
//! | `labyrinth` | paths through a grid that do not cross | a transaction a path |
//! | `yada` | a mesh refined until it has no small angles | a transaction a bad triangle |
//! | `problem`, `options`, `gather` | what all of them have in common | |
//! | `lettered`, `lines`, `crew` | sizes and input files of the STAMP suite; a call a worker | |
//! | `product`, `fork`, `memory` | sizes with repetitions; one recursion for both versions; whether it fits | |
//! | `published` | the parameters of published experiments | |
//! | `processor` | the processor time that a run takes |
//! | `lists`, `record` | worklists as options say; what they and transactions did | |
//!
//! # Not handled
//!
//! Deciding how often to run and what to print: that is the command's part.

mod app;
mod bank;
mod blackscholes;
mod cholesky;
pub mod collatz;
mod convex_hull;
mod crew;
mod dense;
mod fib;
mod floyd;
mod fluidanimate;
mod fork;
mod gather;
mod gauss;
mod heat;
mod intruder;
pub mod jacobi;
mod kmeans;
mod labyrinth;
mod lettered;
mod lines;
mod lists;
mod loops;
mod matmul;
mod memory;
mod multisort;
mod nqueens;
mod numbercount;
mod options;
mod problem;
mod processor;
mod product;
mod published;
mod quicksort;
mod record;
mod sorted;
mod ssf;
mod strassen;
mod streamcluster;
mod stress;
mod swaptions;
mod text;
mod uts;
mod vacation;
mod wordcount;
mod yada;

pub use app::{App, all, find};
pub use options::{Error, Options, Size};
pub use problem::{Answer, Problem, Run, Wrong};
pub use published::{Published, published};
pub use record::{Record, Recorded, Transactions, TuningCost};
