//! Loops, sorts and pipelines on the pools of `sinew-core`, and the handle that changes them while
//! they run.
//!
//! Most programs use the crate `sinew`, whose builders call this one. `sinew-core` does not know
//! this crate. Read `loops/driver.rs` first: how workers join a loop, and how it ends.
//!
//! | module | contents |
//! |---|---|
//! | [`source`] | chunk sources: which iterations each participant runs next |
//! | [`data`] | items, outputs, rows and tiles |
//! | [`iter`] | parallel iterators |
//! | [`loops`] | the loop driver, and every skeleton that is a loop |
//! | [`sort`] | the stable parallel merge sort |
//! | [`stream`] | pipelines: items that go through stages |
//! | `control` | the handle that changes loops and other skeletons while they run |
//! | `participants` | the participants of an operation, and their maximum |
//! | `affinity` | the pins of threads under a control's mapping |
//! | `recruit` | helpers that the body of a loop recruits for its own loop |

mod affinity;
mod control;
pub mod data;
pub mod iter;
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
