//! The events that a worker reports to its observer; see [`observer`](crate::observer).
//!
//! # Cost
//!
//! Each call is a comparison in a pool without an observer. With one, a queued task is wrapped in
//! another one that carries its note: an allocation.

use std::ptr::NonNull;

use sinew_deque::TaskRef;

use crate::seams::observer::{
    Activity, During, Event, Pieces, Source, TaskNote, WorkerObserver, tell_cold,
};
use crate::state::queue::Header;
use crate::state::worker::Worker;

impl Worker {
    #[inline]
    pub(crate) fn observer(&self) -> Option<&dyn WorkerObserver> {
        self.observer.as_deref()
    }

    #[inline]
    pub(crate) fn tell(&self, event: Event<'_>) {
        if let Some(observer) = self.observer() {
            tell_cold(observer, event);
        }
    }

    /// `activity` begins, and ends when the returned value is dropped.
    #[inline]
    pub(crate) fn begin(&self, activity: Activity) -> During<'_> {
        During::new(self.observer(), activity)
    }

    /// This worker begins to run pieces of a loop; `is_shared` if other workers may run some too.
    #[inline]
    pub fn pieces(&self, is_shared: bool) -> Pieces<'_> {
        Pieces::new(self.observer(), is_shared)
    }

    /// Chooses a victim.
    #[inline]
    pub(crate) fn choose(&self, choose: impl FnOnce() -> Option<usize>) -> Option<usize> {
        let Some(observer) = self.observer() else { return choose() };
        observer.on(Event::Begin(Activity::Choose));
        let victim = choose();
        observer.on(Event::Chosen { found: victim.is_some() });
        victim
    }

    /// Makes one attempt to steal.
    #[inline]
    pub(crate) fn attempt<T, E>(&self, attempt: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let Some(observer) = self.observer() else { return attempt() };
        observer.on(Event::Begin(Activity::Attempt));
        let result = attempt();
        observer.on(Event::Attempted { success: result.is_ok() });
        result
    }

    /// Runs a task on top of the worker's present one.
    #[inline]
    pub(crate) fn run_observed(&self, source: Source, run: impl FnOnce()) {
        let Some(observer) = self.observer() else { return run() };
        tell_cold(observer, Event::TaskBegin(source));
        run();
        tell_cold(observer, Event::TaskEnd(source));
    }

    /// `task`, which this worker has made, with a note of the observer; `task` itself without an
    /// observer.
    #[inline]
    pub(crate) fn noted(&self, task: TaskRef) -> TaskRef {
        match self.observer() {
            Some(observer) => NotedTask::on_heap(task, observer),
            None => task,
        }
    }
}

/// A task and the observer's note about it.
#[repr(C)]
struct NotedTask {
    header: Header,
    task: TaskRef,
    note: TaskNote,
}

impl NotedTask {
    #[cold]
    fn on_heap(task: TaskRef, observer: &dyn WorkerObserver) -> TaskRef {
        let noted = Self { header: Header { run: Self::run }, task, note: observer.spawns() };
        TaskRef::new(NonNull::from(Box::leak(Box::new(noted))))
    }

    /// # Safety
    ///
    /// `header` is the first field of a `NotedTask` made by [`on_heap`](Self::on_heap); called
    /// once.
    unsafe fn run(header: NonNull<Header>, worker: &Worker) {
        // SAFETY: made by `Box::leak` in `on_heap`, and nothing else frees it.
        let noted = unsafe { Box::from_raw(header.cast::<Self>().as_ptr()) };
        worker.tell(Event::SpawnedTask(noted.note));
        // SAFETY: only this task runs the inner one, and it runs once.
        unsafe { Header::run(noted.task, worker) };
    }
}
