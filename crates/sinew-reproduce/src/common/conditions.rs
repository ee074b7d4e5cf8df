//! The pool that a case runs in, made for one run and gone after it: the next case finds no thread of this one's.

use sinew::{Mapping, Pool, Victims};

use crate::failure::Failure;

/// How a pool is built.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions {
    pub(crate) workers: usize,
    pub(crate) victims: Victims,
    pub(crate) mapping: Mapping,
}

impl Conditions {
    /// A pool of so many workers, and defaults.
    pub(crate) fn workers(workers: usize) -> Self {
        Self { workers, ..Self::default() }
    }

    pub(crate) fn build(&self) -> Result<Pool, Failure> {
        let builder =
            Pool::builder().threads(self.workers).victims(self.victims).mapping(self.mapping.clone());
        builder.build().map_err(Failure::impossible)
    }
}
