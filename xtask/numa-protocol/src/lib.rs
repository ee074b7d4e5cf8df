#![forbid(unsafe_code)]
//! The protocol between the NUMA guest and the program that boots it.
//!
//! `cargo xtask numa-guest` describes a machine to the emulator and puts an [`Order`] into the
//! guest's initial RAM disk: that same machine, as the guest should find it. The guest reports over
//! a serial line, one [`Line`] at a time.

mod line;
mod shape;

pub use line::{Line, Outcome};
pub use shape::{Node, Shape};

use serde::{Deserialize, Serialize};

/// The path of the [`Order`] in the guest, as JSON.
pub const ORDER_PATH: &str = "/order.json";

/// The path of hwloc's `lstopo-no-graphics` in the guest, if the host has one.
pub const LSTOPO_PATH: &str = "/hwloc/lstopo";

/// The serial line that [`Line`]s are written to; the kernel has the first one for itself.
pub const ANSWER_PATH: &str = "/dev/ttyS1";

/// The checks that the guest runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The machine that it should find.
    pub shape: Shape,
    /// Beginnings of the names of the checks to run; none for all.
    pub only: Vec<String>,
}
