//! Ours: a pool of its own for every sample, as for every rival. The calling thread is one of its
//! workers.

use crate::problem::{Case, Form, Runtime};

pub(crate) use sinew::iter::{IndexedParIter, ParIter, ParallelSliceMut};
pub(crate) use sinew::{Control, LoopMemory, Mapping, Pool, Schedule, Worker, over};

/// A form that runs on a pool of ours.
pub(crate) fn form(name: &'static str, program: fn(&mut Pool, &Case) -> u64) -> Form {
    Form::in_process(Runtime::Sinew, name, pool, program)
}

pub(crate) fn pool(threads: usize) -> Result<Pool, String> {
    Pool::builder().threads(threads).build().map_err(|error| error.to_string())
}

/// The same, with its threads pinned.
pub(crate) fn pinned_pool(threads: usize) -> Result<Pool, String> {
    Pool::builder()
        .threads(threads)
        .mapping(Mapping::Compact)
        .build()
        .map_err(|error| error.to_string())
}
