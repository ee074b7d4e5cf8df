#![forbid(unsafe_code)]
//! The chores of the workspace: `cargo xtask CHORE`.
//!
//! | chore | contents | module |
//! |---|---|---|
//! | `ci` | everything a change must pass, with the time of each step | [`ci`], [`growth`] |
//! | `tidy` | house rules that no compiler checks | [`tidy`] |
//! | `loom`, `shuttle`, `stress` | the concurrency checkers | [`checkers`] |
//! | `fuzz` | images of the table that programs share a machine by, made up by a fuzzer | [`checkers`] |
//! | `rayon` | the drop-in for rayon-core under rayon's own tests and under programs that use rayon | [`rayon`] |
//! | `tbb` | real TBB programs under `sinew exec` | [`tbb`] |
//! | `numa-guest` | Sinew on a real kernel with several NUMA nodes, emulated | [`numa`] |
//! | `bench` | the side-by-side benchmarks | [`mod@bench`] |
//! | `scale` | one file that measures Sinew on any machine | [`scale`] |
//! | `install-c` | Sinew for C and C++ below a prefix | [`doors`] |
//! | `python` | the Python package, installed and tested | [`doors`] |
//! | `versions` | two versions of the bench program beside each other | [`versions`] |
//! | `weight` | what it costs to depend on Sinew: build time and size | [`weight`] |

mod bench;
mod checkers;
mod ci;
mod command;
mod doors;
mod growth;
mod numa;
mod ranks;
mod rayon;
mod scale;
mod tbb;
mod tidy;
mod versions;
mod weight;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// The chores of the Sinew workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Run everything a change must pass; name steps to run only those.
    Ci {
        /// Steps to run, in the order of the list (default: all of them).
        #[arg(value_name = "STEP", value_parser = ci::step_names())]
        steps: Vec<String>,
    },
    /// Check the house rules that no compiler checks.
    Tidy(tidy::Options),
    /// Run the models: every interleaving of a small program, under loom.
    Loom(checkers::Depth),
    /// Run the whole pool under random schedules, with shuttle.
    Shuttle(checkers::Depth),
    /// Run all tests for longer, with real threads, optimised.
    Stress {
        /// Seconds that each stress test may take.
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
        seconds: u32,
        /// Go further: at least a million changes of loops and skeletons under way (less than a
        /// minute), the published trees, more kills (much longer).
        #[arg(long)]
        deep: bool,
    },
    /// Let a fuzzer make up images of the table by which programs share a machine.
    Fuzz {
        /// Seconds that it takes.
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
        seconds: u32,
    },
    /// Hold the drop-in for rayon-core to rayon's own tests, and to programs that use rayon.
    Rayon(rayon::Options),
    /// Fetch a oneTBB that asks for a manager, and hold TBB programs under `sinew exec` to it.
    Tbb,
    /// Boot emulated machines with several NUMA nodes, and check Sinew inside them.
    NumaGuest(numa::Options),
    /// Install Sinew for C and C++: the library, its headers, files for pkg-config and CMake.
    InstallC(doors::Options),
    /// Install the Python package into an environment below target/, and test it there.
    Python(doors::PythonOptions),
    /// Make one file that measures Sinew on any machine, without a toolchain there.
    Scale(scale::Options),
    /// Compare two versions of the bench program, in interleaved rounds.
    Versions(versions::Options),
    /// Measure build time and size of programs that depend on Sinew, beside rayon.
    Weight(weight::Options),
    /// Compare with other runtimes; the arguments are those of the bench program (`-- --help` lists
    /// them).
    Bench {
        /// Arguments for the bench program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    let done = match Cli::parse().chore {
        Chore::Ci { steps } => ci::run(&steps),
        Chore::Tidy(options) => tidy::run(&command::root(), &options),
        Chore::Loom(depth) => checkers::loom(depth),
        Chore::Shuttle(depth) => checkers::shuttle(depth),
        Chore::Stress { seconds, deep } => checkers::stress(seconds, deep),
        Chore::Fuzz { seconds } => checkers::fuzz(seconds),
        Chore::Rayon(options) => rayon::run(&options),
        Chore::Tbb => {
            tbb::run().map(|reason| reason.iter().for_each(|why| println!("skipped: {why}")))
        }
        Chore::NumaGuest(options) => numa::run(&options),
        Chore::InstallC(options) => doors::install(&options),
        Chore::Python(options) => doors::python(&options).map(|missing| {
            if let Some(reason) = missing {
                println!("skipped: {reason}");
            }
        }),
        Chore::Scale(options) => scale::run(&options),
        Chore::Versions(options) => versions::run(&options),
        Chore::Weight(options) => weight::run(&options),
        Chore::Bench { arguments } => bench::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}
