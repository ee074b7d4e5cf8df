//! The guard of a bug that a loom model plants.

use sinew_sync::plant::{Bug, plant};

/// A bug that is planted until this is dropped, also when the model fails.
pub(crate) struct Planted;

impl Planted {
    pub(crate) fn new(bug: Bug) -> Self {
        plant(&[bug]);
        Self
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        plant(&[]);
    }
}
