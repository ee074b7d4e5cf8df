//! The builder that came before [`ThreadPoolBuilder`], for programs that still use it.
#![expect(deprecated, reason = "it is deprecated itself")]

use std::any::Any;
use std::error::Error;

use crate::builder::ThreadPoolBuilder;
use crate::pool::ThreadPool;

/// Describes a pool.
#[deprecated(note = "use `ThreadPoolBuilder`")]
#[derive(Debug, Default)]
pub struct Configuration {
    builder: ThreadPoolBuilder,
}

impl Configuration {
    /// A pool with all defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// See [`ThreadPoolBuilder::build`].
    ///
    /// # Errors
    ///
    /// As that.
    pub fn build(self) -> Result<ThreadPool, Box<dyn Error + 'static>> {
        self.builder.build().map_err(Into::into)
    }

    /// See [`ThreadPoolBuilder::thread_name`].
    pub fn thread_name<F>(self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        Self { builder: self.builder.thread_name(closure) }
    }

    /// See [`ThreadPoolBuilder::num_threads`].
    pub fn num_threads(self, num_threads: usize) -> Self {
        Self { builder: self.builder.num_threads(num_threads) }
    }

    /// See [`ThreadPoolBuilder::panic_handler`].
    pub fn panic_handler<H>(self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        Self { builder: self.builder.panic_handler(panic_handler) }
    }

    /// See [`ThreadPoolBuilder::stack_size`].
    pub fn stack_size(self, stack_size: usize) -> Self {
        Self { builder: self.builder.stack_size(stack_size) }
    }

    /// See [`ThreadPoolBuilder::breadth_first`].
    pub fn breadth_first(self) -> Self {
        Self { builder: self.builder.breadth_first() }
    }

    /// See [`ThreadPoolBuilder::start_handler`].
    pub fn start_handler<H>(self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        Self { builder: self.builder.start_handler(start_handler) }
    }

    /// See [`ThreadPoolBuilder::exit_handler`].
    pub fn exit_handler<H>(self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        Self { builder: self.builder.exit_handler(exit_handler) }
    }

    pub(crate) fn into_builder(self) -> ThreadPoolBuilder {
        self.builder
    }
}

/// See [`ThreadPoolBuilder::build_global`].
///
/// # Errors
///
/// As that.
#[deprecated(note = "use `ThreadPoolBuilder::build_global`")]
pub fn initialize(config: Configuration) -> Result<(), Box<dyn Error>> {
    config.into_builder().build_global().map_err(Into::into)
}

impl ThreadPool {
    /// See [`Configuration::build`].
    ///
    /// # Errors
    ///
    /// As that.
    #[deprecated(note = "use `ThreadPoolBuilder::build`")]
    #[expect(deprecated, reason = "it takes what is deprecated")]
    pub fn new(configuration: Configuration) -> Result<Self, Box<dyn Error>> {
        configuration.build()
    }
}
