//! Loops: skeletons over data whose participants claim ranges from one chunk source.
//!
//! | file | contents |
//! |---|---|
//! | `driver` | the driver, which calls a body with ranges on several workers |
//! | `body`, `serial` | a loop's code, and its ranges; the serial part at its beginning |
//! | `split` | loops that are halved by joins, without a chunk source |
//! | `controlled` | loops with a control, a meter or rounds |
//! | `auto` | `Schedule::Auto`: the tuners of loops |
//! | `ending` | the stop flag and the first panic |
//! | `options`, `phases` | a loop's options; several loops as one operation |
//! | `visit`, `collect`, `fold`, `scan` | skeletons over items |
//! | `blocks`, `sweep` | loops over two and more dimensions; stencils |
//! | `meter` | how each thread spends its time |
//!
//! Functions take the worker that they run on, and their [`Items`](crate::data::Items) by value: a
//! loop requests each index once, and no other code can request it again. Tests of the floors below
//! the iterators call them directly, with the worker and the options that they examine.

#![expect(clippy::needless_pass_by_value, reason = "a loop consumes its items")]

mod auto;
mod blocks;
mod body;
mod collect;
mod controlled;
mod driver;
pub(crate) mod ending;
mod fold;
mod meter;
mod options;
mod phases;
mod scan;
mod serial;
#[cfg(all(test, shuttle))]
pub(crate) mod shuttle;
mod split;
mod sweep;
mod visit;

pub use crate::data::Edge;
pub use auto::Site;
pub use blocks::{fold_blocks, for_each_block};
pub use collect::map;
pub(crate) use driver::drive;
pub(crate) use fold::{BLOCKS, partials};
pub use fold::{fold, fold_ranges};
pub use meter::{LoopMetrics, Meter, ThreadMetrics};
pub use options::{Options, Rounds};
pub use scan::{Kind, scan};
pub use sweep::{Sweeps, sweep_part, sweeps};
pub(crate) use visit::FirstError;
pub use visit::{for_each, for_each_range, try_for_each};

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
