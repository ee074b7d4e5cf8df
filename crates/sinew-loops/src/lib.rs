//! Loops, sorts and streams on the pools of `sinew-core`, and the handle that changes them while
//! they run.
//!
//! Most programs use the crate `sinew`, whose builders end here. This crate is the mechanism: it
//! knows workers, joins and scopes, and no pool knows of it.
//!
//! | module | contents |
//! |---|---|
//! | [`source`] | chunk sources: the parts of a loop for its participants |
//! | [`data`] | items, outputs, rows and tiles |
//! | [`loops`] | the loop driver, and every skeleton that is a loop |
//! | [`sort`] | the stable parallel merge sort |
//! | [`stream`] | items that go through stages, several at a time |
//! | `control` | the handle by which loops and other skeletons are changed while they run |
//! | `participants` | the workers that take part in an operation, and how many may |
//! | `affinity` | the pins of threads that work under a control |
//! | `recruit` | a body that recruits more threads for its own loop |

mod affinity;
mod control;
pub mod data;
pub mod loops;
mod participants;
#[cfg(all(test, loom))]
mod planted;
mod recruit;
pub mod sort;
pub mod source;
pub mod stream;

pub use control::{Control, HelperPin, Operation, Participant, Snapshot, Stopped};
pub use participants::{Participants, Registration};
