//! rayon: a pool of its own for every sample.

use crate::problem::{Case, Form, Runtime};
pub(crate) use rayon::ThreadPool;

/// A form that runs on a pool of rayon's.
pub(crate) fn form(name: &'static str, program: fn(&mut ThreadPool, &Case) -> u64) -> Form {
    Form::in_process(Runtime::Rayon, name, pool, program)
}

pub(crate) fn pool(threads: usize) -> Result<ThreadPool, String> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| error.to_string())
}
