//! What a pool asks for among the programs that share a machine.

use std::path::PathBuf;

/// A place among programs, as the builder and the environment describe it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RequestedShare {
    /// Whether the pool shares the machine at all.
    pub(crate) coordinate: bool,
    /// Where the table is, if it is not the one for all programs of this user.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) weight: f64,
    pub(crate) min_threads: usize,
}

impl Default for RequestedShare {
    fn default() -> Self {
        Self { coordinate: false, folder: None, weight: 1.0, min_threads: 1 }
    }
}
