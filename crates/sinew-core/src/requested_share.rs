//! The share of the machine that a pool requests.

use std::path::PathBuf;

/// The request, as the builder and the environment describe it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RequestedShare {
    /// Whether the pool shares the machine at all.
    pub(crate) coordinate: bool,
    /// The folder of the table; `None` for the one that all programs of this user share.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) weight: f64,
    pub(crate) min_threads: usize,
}

impl Default for RequestedShare {
    fn default() -> Self {
        Self { coordinate: false, folder: None, weight: 1.0, min_threads: 1 }
    }
}
