//! chili: a pool of its own for every sample. A thread that calls in counts as one of its threads.

use crate::problem::{Case, Form, Runtime};
use std::num::NonZero;

pub(crate) use chili::{Scope, ThreadPool};

/// A form that runs on a pool of chili's.
pub(crate) fn form(name: &'static str, program: fn(&mut ThreadPool, &Case) -> u64) -> Form {
    Form::in_process(Runtime::Chili, name, pool, program)
}

pub(crate) fn pool(threads: usize) -> Result<ThreadPool, String> {
    let thread_count = Some(NonZero::new(threads).ok_or("it needs a thread")?);
    Ok(ThreadPool::with_config(chili::Config { thread_count, ..chili::Config::default() }))
}
