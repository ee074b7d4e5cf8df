//! Tuning while a program runs: state machines over counters.
//!
//! A tuner takes the counts of an *epoch* and returns the settings for the next one. It has no
//! clock and no counters of its own, so the same tuner runs in a worklist, in a simulation, and in
//! a test with any input. It belongs to no thread: the worker that finds an epoch complete calls
//! it.
//!
//! ```
//! use sinew_policy::tune::{Autotuner, Counts, Epochs, Knobs, Path};
//!
//! let (units, cores) = (1_000_000, 4);
//! let mut tuner = Autotuner::new(cores, Knobs::default())?;
//! tuner.begin(units, cores);
//! let mut epochs = Epochs::new(tuner.epoch_length());
//! let mut path = Path::new(1_000);
//! assert_eq!(epochs.length(), 250);
//! // From time to time, before it takes a unit, a worker adds up all counters since the start
//! // of the run:
//! let totals = Counts { commits: 251, aborts: 2, stalls: 80, elapsed_ns: 125_000 };
//! if let Some(counts) = epochs.poll(&totals) {
//!     path.push(&tuner.epoch(&counts));
//!     epochs.set_length(tuner.epoch_length());
//! }
//! assert_eq!(tuner.settings().threads, 4);
//! # Ok::<(), sinew_policy::tune::KnobError>(())
//! ```
//!
//! | file | contents |
//! |---|---|
//! | [`counts`] | counters and their ratios |
//! | [`epochs`] | the end of an epoch |
//! | [`knobs`] | the tuner's own thresholds |
//! | [`tuner`] | the published autotuner of the transactional worklist |
//! | `climber`, `comparison`, `length` | a tuner by throughput: its settings, its comparisons, its epochs |
//! | [`Autotuner`] | one type for both |
//! | [`path`] | the record of a tuner, as rows for a table or a plot |

pub mod epochs;
pub mod knobs;
pub mod path;
pub mod tuner;

mod autotuner;
mod climber;
mod comparison;
mod confirm;
mod length;
#[cfg(test)]
mod model;

pub use crate::worklist::counts::{self, Counts};
pub use autotuner::Autotuner;
pub use epochs::Epochs;
pub use knobs::{Baseline, KnobError, Knobs, Method};
pub use path::{Path, Row, Settling};
pub use tuner::{State, Step, Tuner};
