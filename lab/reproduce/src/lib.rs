#![forbid(unsafe_code)]
//! The published experiments that Sinew repeats, and the reports about them: what `sinew-lab
//! reproduce` runs.
//!
//! An experiment is a table or a figure of a publication. An experiment lists its cases
//! ([`Experiment::blocks`]) and describes the results ([`Experiment::report`]); everything else is
//! common. The [`runner`] takes all cases in turn, and [`reproduce`] keeps a folder of results up
//! to date. A [`report`] has tables, plots and words, with the publication's values beside ours if
//! there are any, and the limits of this machine.
//!
//! ```
//! use sinew_reproduce::{Origin, Scale, Setting, find, reproduce};
//!
//! let experiment = find("wool-speedup").unwrap();
//! let setting = Setting { repeat: 1, ..Setting::new(Scale::Quick, 1) };
//! let origin = Origin::here("an example".into());
//! let out = std::env::temp_dir().join(format!("sinew-example-{}", std::process::id()));
//! let outcome = reproduce(&experiment, &setting, &origin, &out, |_| ())?;
//! assert!(outcome.results.wrong.is_empty() && out.join("wool-speedup/README.md").exists());
//! # std::fs::remove_dir_all(&out)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! | file | contents |
//! |---|---|
//! | `experiment`, `exhibit/`, `catalogue` | what an experiment is, and what it repeats; all of them |
//! | [`config`], `parameters` | several experiments, queued from a file; their parameters |
//! | `setting`, `worklists`, `origin` | under which conditions it is run, and on which machine |
//! | `runner`, `results`, `statistics` | how it is run, and what may be asked about what came out |
//! | `report/`, `page` | tables and plots; the whole report as text |
//! | `folder`, `session`, `earlier` | what lies on disk, when it is written, and read back |
//! | `reproduction` | a page of all tables and figures beside the results of many runs |
//! | [`process`] | processes that are spoken to by lines |
//! | `paper/` | the publications' values |
//! | `common/` | what experiments share: applications and pools |
//! | `wool/`, `thesis/`, `queues/`, `openskel/`, `plastic/` | the experiments, a folder a publication |
//!
//! # Not handled
//!
//! Printing, and the command line: that is the command's part.

mod catalogue;
mod common;
pub mod config;
mod earlier;
mod exhibit;
pub mod experiment;
mod failure;
mod file;
mod folder;
mod openskel;
mod origin;
mod page;
pub mod paper;
mod parameters;
mod plastic;
pub mod process;
mod queues;
pub mod report;
mod reproduction;
mod results;
pub mod runner;
mod session;
mod setting;
pub mod statistics;
mod thesis;
mod wool;
mod worklists;

pub use catalogue::{all, exhibits, find};
pub use exhibit::{Claim, Exhibit, Repeat, Said, Standing, Unit, Verdict};
pub use experiment::{About, Experiment};
pub use failure::Failure;
pub use file::ResultFile;
pub use openskel::{Chosen, Compared, Effort, Oracle, Summary, averages, search_size};
pub use origin::Origin;
pub use parameters::{Parameter, Values};
pub use plastic::{PROGRAM, run_program};
pub use reproduction::reproduction;
pub use results::{Labels, Metrics, Results, Sample, Which};
pub use session::{Outcome, reproduce};
pub use setting::{Scale, Setting};
pub use worklists::{WorklistOptions, Worklists};
