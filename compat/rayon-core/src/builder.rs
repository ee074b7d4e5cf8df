//! Describing a pool.

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;

use crate::error::ThreadPoolBuildError;
use crate::pool::ThreadPool;
use crate::recipe::Recipe;
use crate::spawner::{CustomSpawn, DefaultSpawn, ThreadBuilder, ThreadSpawn};

/// Describes a pool, global or not.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build()?;
/// assert_eq!(pool.install(rayon_core::current_num_threads), 3);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    pub(crate) recipe: Recipe,
    name: Option<Box<dyn FnMut(usize) -> String>>,
    spawn: S,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self { recipe: Recipe::default(), name: None, spawn: DefaultSpawn }
    }
}

impl ThreadPoolBuilder {
    /// A pool with all defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a pool whose threads run inside this call: each calls `wrapper`, which must call
    /// [`ThreadBuilder::run`], and may borrow.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let wrapper = &wrapper;
        thread::scope(|scope| {
            let spawn = |thread: ThreadBuilder| {
                thread.prepare().spawn_scoped(scope, || wrapper(thread)).map(drop)
            };
            // The pool is dropped before the scope ends, also by a panic; the scope then waits for
            // its threads.
            let pool = self.spawn_handler(spawn).build()?;
            Ok(with_pool(&pool))
        })
    }
}

impl<S> ThreadPoolBuilder<S>
where
    S: ThreadSpawn,
{
    /// Builds the pool and starts its threads.
    ///
    /// # Errors
    ///
    /// If the system refuses a thread, or this thread is to be part of the pool and is part of
    /// another one.
    pub fn build(mut self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let mut names = Vec::new();
        let mut name = |index| {
            let name = self.name.as_mut().map(|name| name(index));
            names.resize(index, None);
            names.push(name.clone());
            name
        };
        let pool = self.recipe.build(&mut name, &mut self.spawn)?;
        Ok(ThreadPool::of(pool, self.recipe, names))
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Starts threads through `spawn` instead of the standard library. It gets what each must
    /// [`run`](ThreadBuilder::run).
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder { recipe: self.recipe, name: self.name, spawn: CustomSpawn(spawn) }
    }

    /// Names threads by their number.
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.name = Some(Box::new(closure));
        self
    }

    /// The number of threads; 0, the default: the number of the environment, or else of the
    /// processors that the process may use.
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.recipe.num_threads = num_threads;
        self
    }

    /// Makes the building thread number 0 of the pool, permanently. It runs tasks of the pool while
    /// it waits in it.
    pub fn use_current_thread(mut self) -> Self {
        self.recipe.use_current_thread = true;
        self
    }

    /// Gets the payload of every spawned task that panics. Without one the process aborts.
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.recipe.panic_handler = Some(Arc::new(panic_handler));
        self
    }

    /// Bytes of stack for each thread.
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.recipe.stack_size = Some(stack_size);
        self
    }

    /// Runs the oldest of a thread's own tasks first.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(mut self) -> Self {
        self.recipe.breadth_first = true;
        self
    }

    /// Called on each new thread with its number.
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.recipe.start_handler = Some(Arc::new(start_handler));
        self
    }

    /// Called on each thread with its number when it ends.
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.recipe.exit_handler = Some(Arc::new(exit_handler));
        self
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.recipe.num_threads)
            .field("use_current_thread", &self.recipe.use_current_thread)
            .field("stack_size", &self.recipe.stack_size)
            .field("wait", &self.recipe.wait)
            .field("mapping", &self.recipe.mapping)
            .field("victims", &self.recipe.victims)
            .finish_non_exhaustive()
    }
}
