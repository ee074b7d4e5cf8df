//! Loops, sorts and streams on the pools of `sinew-core`, and the handle that changes them while
//! they run.
//!
//! Most programs use the crate `sinew`, whose builders end here. This crate is the mechanism: it
//! knows workers, joins and scopes, and no pool knows of it.
//!
//! | module | what lives there |
//! |---|---|
//! | [`source`] | chunk sources: which participant runs which part of a loop |
//! | [`data`] | items, outputs, rows and tiles |
//! | [`loops`] | the loop driver, and every skeleton that is a loop |
//! | [`sort`] | the stable parallel merge sort |
//! | [`stream`] | items that go through stages, several at a time |
//! | `control` | the handle by which loops and other skeletons are changed while they run |
//! | `affinity` | where a thread is pinned while it works under a control |
//! | `recruit` | a body that calls more threads to its own loop |

mod affinity;
mod control;
pub mod data;
pub mod loops;
mod participants;
mod recruit;
pub mod sort;
pub mod source;
pub mod stream;

pub use control::{Control, HelperPin, Operation, Participant, Snapshot, Stopped};
pub use participants::{Participants, Registration};
