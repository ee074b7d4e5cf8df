//! Loops: many workers, one chunk source.
//!
//! Every skeleton over data is a loop here, with a body that gets ranges: `visit` runs a function
//! for each item, `collect` writes an output, `fold` combines in order, `scan` does both. All of
//! them leave the fan-out to the `driver`, or to `split` where ranges are cut in halves that become
//! arms of joins, and panics and early ends to `ending`. `meter` measures what each thread does.
//! `blocks` are loops over two or more dimensions, `sweep` are stencils.
//!
//! Functions take the worker that they run on, and their [`Items`](crate::data::Items) by value: a
//! loop asks for each index once, and no other code can ask again.

#![expect(clippy::needless_pass_by_value, reason = "a loop uses its items up")]

mod auto;
mod blocks;
mod collect;
mod controlled;
mod driver;
pub(crate) mod ending;
mod fold;
mod meter;
mod options;
mod phases;
mod scan;
#[cfg(all(test, shuttle))]
pub(crate) mod shuttle;
mod split;
mod sweep;
mod visit;

pub use crate::data::Edge;
pub use auto::Site;
pub use blocks::{fold_blocks, for_each_block};
pub use collect::{map, map_blocks, try_map};
pub use fold::fold;
pub use meter::{LoopMetrics, Meter, ThreadMetrics};
pub use options::Options;
pub use scan::{Kind, scan};
pub use sweep::{Sweeps, sweeps};
pub(crate) use visit::FirstError;
pub use visit::{for_each, try_for_each};

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
