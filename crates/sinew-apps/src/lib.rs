#![forbid(unsafe_code)]
//! Applications written with Sinew. Each has a serial and a parallel version and checks its own answer.
//!
//! An application is an entry of [`all`]. It is [prepared](App::prepare) from [`Options`], which is where sizes are
//! checked, inputs generated and files read; what comes out can be run serially and in a pool, any number of times, and
//! only the computation is timed.
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
//! | `problem`, `options`, `gather` | what all of them have in common | |
//!
//! # Not handled
//!
//! Deciding how often to run and what to print: that is the command's part.

mod app;
mod fib;
mod gather;
mod heat;
pub mod jacobi;
mod nqueens;
mod options;
mod problem;
mod quicksort;
mod text;
mod uts;
mod wordcount;

pub use app::{App, all, find};
pub use options::{Error, Options, Size};
pub use problem::{Answer, Problem, Run, Wrong};
