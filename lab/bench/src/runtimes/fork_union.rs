//! fork_union: a pool of its own for every sample. Flat loops only; it has no nested tasks. Its
//! idle threads spin.

use crate::problem::{Case, Form, Runtime};

pub(crate) use fork_union::ThreadPool;

/// A form that runs on a pool of fork_union's.
pub(crate) fn form(name: &'static str, program: fn(&mut ThreadPool, &Case) -> u64) -> Form {
    Form::in_process(Runtime::ForkUnion, name, pool, program)
}

pub(crate) fn pool(threads: usize) -> Result<ThreadPool, String> {
    ThreadPool::try_spawn(threads).map_err(|error| error.to_string())
}
