//! The start of a pool's threads: by the standard library, or by a handler of the user.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::thread;

use sinew_core::WorkerThread;

/// The work of a new thread of a pool, which must call [`run`](Self::run).
pub struct ThreadBuilder {
    thread: WorkerThread,
    name: Option<String>,
    stack_size: Option<usize>,
    /// As upstream: it is `Send` and not `Sync`.
    not_shared: PhantomData<Cell<()>>,
}

impl ThreadBuilder {
    pub(crate) fn new(
        thread: WorkerThread,
        name: Option<String>,
        stack_size: Option<usize>,
    ) -> Self {
        Self { thread, name, stack_size, not_shared: PhantomData }
    }

    /// The number of the thread in its pool.
    pub fn index(&self) -> usize {
        self.thread.index()
    }

    /// Its name, if the pool's builder has set one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Bytes of stack, if the pool's builder has set them.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Works for the pool until it ends.
    pub fn run(self) {
        self.thread.run();
    }

    /// A thread of the standard library with this name and stack.
    pub(crate) fn prepare(&self) -> thread::Builder {
        let mut builder = thread::Builder::new();
        if let Some(name) = &self.name {
            builder = builder.name(name.clone());
        }
        if let Some(bytes) = self.stack_size {
            builder = builder.stack_size(bytes);
        }
        builder
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("index", &self.index())
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}

/// Starts threads. Public because it bounds a public method; its module is private.
pub trait ThreadSpawn {
    /// Starts a thread that runs `thread`.
    ///
    /// # Errors
    ///
    /// The system's, if it refuses.
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// Threads of the standard library, which are not joined.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        thread.prepare().spawn(|| thread.run()).map(drop)
    }
}

/// Threads of the user.
#[derive(Debug)]
pub struct CustomSpawn<F>(pub(crate) F);

impl<F> ThreadSpawn for CustomSpawn<F>
where
    F: FnMut(ThreadBuilder) -> io::Result<()>,
{
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}
