//! Tuning while a program runs: state machines fed with counters.
//!
//! A tuner is told what was counted in an *epoch* and answers the settings for the next one. It
//! reads no clock and no counter of its own, so the same tuner runs in a worklist, in a simulation,
//! and in a test that feeds it anything at all. It belongs to no thread: whichever worker finds an
//! epoch complete may feed it, and when that worker stands down, another goes on.
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
//! // From time to time, before taking a unit, a worker adds up all counters since the run began:
//! let totals = Counts { commits: 251, aborts: 2, stalls: 80, elapsed_ns: 125_000 };
//! if let Some(counts) = epochs.poll(&totals) {
//!     path.push(&tuner.epoch(&counts));
//!     epochs.set_length(tuner.epoch_length());
//! }
//! assert_eq!(tuner.settings().threads, 4);
//! # Ok::<(), sinew_policy::tune::KnobError>(())
//! ```
//!
//! | file | what lives there |
//! |---|---|
//! | [`counts`] | what is counted, and ratios of it |
//! | [`epochs`] | when an epoch is complete |
//! | [`knobs`] | the tuner's own thresholds |
//! | [`tuner`] | the published autotuner of the transactional worklist |
//! | `climber`, `duel`, `length` | one that goes by throughput: which settings are tried, who wins, and how long it takes |
//! | [`Autotuner`] | whichever of the two was asked for |
//! | [`path`] | what it did, as rows for a table or a plot |

pub mod epochs;
pub mod knobs;
pub mod path;
pub mod tuner;

mod autotuner;
mod climber;
mod confirm;
mod duel;
mod length;
#[cfg(test)]
mod model;

pub use crate::worklist::counts::{self, Counts};
pub use autotuner::Autotuner;
pub use epochs::Epochs;
pub use knobs::{KnobError, Knobs, Method, Yardstick};
pub use path::{Path, Row, Settling};
pub use tuner::{State, Step, Tuner};
