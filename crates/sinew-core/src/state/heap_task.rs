//! Queued tasks on the heap, and spawns that run tasks at once.

use std::ptr::NonNull;

use sinew_deque::TaskRef;
use sinew_deque::blocks::{self, Class};

use crate::state::queue::Header;
use crate::state::tls;
use crate::state::worker::Worker;

/// A task on the heap, freed by its run. A small task uses a [block](sinew_deque::Blocks) of a
/// worker's free list.
#[repr(C)]
pub(crate) struct HeapTask<F> {
    header: Header,
    work: F,
}

impl<F> HeapTask<F>
where
    F: for<'w> FnOnce(&'w Worker),
{
    const CLASS: Option<Class> = Class::of::<Self>();

    /// Puts `work`, which must not unwind, on the heap; `here` is the worker that this thread is,
    /// if it is one.
    ///
    /// # Safety
    ///
    /// The task is run once, on any thread, before the borrows of `work` end.
    #[inline]
    pub(crate) unsafe fn on_heap(work: F, here: Option<&Worker>) -> TaskRef
    where
        F: Send,
    {
        let task = Self { header: Header { run: Self::run }, work };
        let Some(class) = Self::CLASS else {
            return TaskRef::new(NonNull::from(Box::leak(Box::new(task))));
        };
        let block =
            here.map_or_else(|| blocks::new(class), |worker| worker.own.blocks.take(class)).cast();
        // SAFETY: this type fits in blocks of the class, and no other code uses the block.
        unsafe { block.write(task) };
        TaskRef::new(block)
    }

    /// # Safety
    ///
    /// `header` is the first field of a `HeapTask<F>` made by `on_heap`; called once.
    unsafe fn run(header: NonNull<Header>, worker: &Worker) {
        let task = header.cast::<Self>();
        let Some(class) = Self::CLASS else {
            // SAFETY: made by `Box::leak` in `on_heap`.
            let task = unsafe { Box::from_raw(task.as_ptr()) };
            return (task.work)(worker);
        };
        // Freed before the call: a task that this one spawns gets the block while it is in the
        // cache. SAFETY: written by `on_heap`, and read once; the block is of that class, and is
        // not used any more.
        let Self { work, .. } = unsafe {
            let task = task.read();
            worker.own.blocks.give(class, header.cast());
            task
        };
        work(worker);
    }
}

/// How many spawns that run tasks may be nested on a thread's stack.
const NESTED_SPAWNS: u32 = 64;

impl Worker {
    /// Calls `f`, which runs tasks in the middle of a spawn and does not unwind. Returns false
    /// instead if too many such spawns are nested, because a chain of tasks that spawn each other
    /// would fill the stack. The caller then queues its task, and the scope runs it at its end.
    pub(crate) fn within_spawn(&self, f: impl FnOnce(&Self)) -> bool {
        let nested = self.own.nested_spawns.get();
        if nested == NESTED_SPAWNS {
            return false;
        }
        self.own.nested_spawns.set(nested + 1);
        tls::with_current(self, f);
        self.own.nested_spawns.set(nested);
        true
    }
}
