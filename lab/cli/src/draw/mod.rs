//! `sinew-lab draw`: pictures of real runs, as SVG. The guide of the library shows them.
//!
//! | file | the picture |
//! |---|---|
//! | `timeline` | each worker's work while its loop is changed |
//! | `chunks` | the iterations that each worker took, by schedule |
//! | `tuning` | the settings that a worklist tries, and its speed under each |

mod chunks;
mod timeline;
mod tuning;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sinew::{Pool, PoolBuilder};
use sinew_console::{Failure, output};
use sinew_reproduce::report::{Plot, svg};

use crate::files::ResultFile;
use crate::values::count;

/// Arguments of `draw`.
#[derive(Debug, Args)]
pub(crate) struct DrawArgs {
    /// The picture
    #[arg(value_enum)]
    pub(crate) picture: Picture,
    /// The file to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Number of workers [default: as many as the process may use]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub(crate) threads: Option<usize>,
}

/// The pictures.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Picture {
    /// The work of each worker over time, in a loop whose threads, schedule and mapping change
    Timeline,
    /// The iterations that each worker takes of an uneven loop, under several schedules
    Chunks,
    /// The threads and the speed of a worklist while it tunes itself
    Tuning,
}

pub(crate) fn perform(args: &DrawArgs) -> Result<(), Failure> {
    // Checked before anything runs.
    let out = args.out.as_deref().map(ResultFile::create).transpose()?;
    let plot = args.picture.plot(args.threads)?;
    let picture = svg(&plot);
    match out {
        Some(file) => file.write(&picture),
        None => Ok(output::print(&picture)?),
    }
}

impl Picture {
    fn plot(self, threads: Option<usize>) -> Result<Plot, Failure> {
        let mut builder = PoolBuilder::from_env();
        if let Some(threads) = threads {
            builder = builder.threads(threads);
        }
        match self {
            Self::Timeline => timeline::plot(&built(builder)?),
            Self::Chunks => chunks::plot(&built(builder)?),
            Self::Tuning => tuning::plot(&built(tuning::placed(builder)?)?),
        }
    }
}

fn built(builder: PoolBuilder) -> Result<Pool, Failure> {
    builder.build().map_err(Failure::usage)
}

/// `1 worker`, `2 workers`.
fn workers(pool: &Pool) -> String {
    match pool.max_threads() {
        1 => "1 worker".to_owned(),
        several => format!("{several} workers"),
    }
}
