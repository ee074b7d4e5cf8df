//! Ways through tasks that are not strictly nested: those of scopes, and detached ones.
//!
//! A task of a scope begins where its spawner was on the way of the scope, one burden later, and
//! the scope ends where the last of its tasks does. In a pool that profiles every such task is
//! wrapped in one that remembers this, and who made it.
//!
//! # Not handled
//!
//! A task that is spawned into a scope by an arm that was stolen begins, for the profile, where
//! that arm began at the earliest, as if the scope had: the span comes out too short by what lies
//! before. Parts of broadcasts are work, but on no way.
//!
//! # Cost
//!
//! While the pool profiles: an allocation and a locked list a task.

use std::ptr::NonNull;

use sinew_deque::TaskRef;
use sinew_sync::lock::Mutex;

use super::activity::Activity;
use super::paths::Paths;
use super::record::Mark;
use crate::queue::Header;
use crate::worker::Worker;

/// How far the tasks of a scope have come, and, where the pool records, their strands.
#[derive(Debug, Default)]
pub(crate) struct ScopePaths(Mutex<Ended>, Mutex<Vec<usize>>);

#[derive(Debug, Clone, Copy, Default)]
struct Ended {
    /// The farthest end.
    last: Paths,
    /// All tasks, one after another.
    total: Paths,
}

impl ScopePaths {
    /// A task has run from `start` to `end`.
    pub(crate) fn note(&self, start: Paths, end: Paths) {
        let mut ended = self.0.lock();
        ended.last = ended.last.max(end);
        ended.total = ended.total.plus(end.beyond(start));
    }

    /// Its tasks as parts of what spawned them, all begun at its end.
    pub(super) fn marks(&self) -> Vec<Mark> {
        let strands = std::mem::take(&mut *self.1.lock());
        if strands.is_empty() {
            return Vec::new();
        }
        let mut marks: Vec<Mark> =
            strands.into_iter().flat_map(|strand| [Mark::Next, Mark::Strand(strand)]).collect();
        marks[0] = Mark::Fork;
        marks.push(Mark::Join);
        marks
    }

    /// Where the scope ends whose body has come to `body`: no later than if that had run all tasks
    /// itself.
    pub(crate) fn end(&self, body: Paths) -> Paths {
        let ended = *self.0.lock();
        body.max(ended.last.min(body.plus(ended.total)))
    }
}

/// A task, with what the profile must know when it runs.
#[repr(C)]
struct Traced {
    header: Header,
    task: TaskRef,
    /// Where it begins on the way of its scope.
    start: Paths,
    /// The seat of the worker that made it.
    seat: usize,
}

impl Traced {
    /// # Safety
    ///
    /// `header` is the first field of a `Traced` made by [`Worker::trace`]; called once.
    unsafe fn run(header: NonNull<Header>, worker: &Worker) {
        // SAFETY: made by `Box::leak` in `trace`.
        let traced = unsafe { Box::from_raw(header.cast::<Self>().as_ptr()) };
        if let Some(books) = worker.books() {
            if traced.seat == worker.index() {
                books.counts.inlined.add(1);
                books.counts.gets.add(1);
            } else {
                books.counts.stolen.add(1);
            }
            books.begin_at(traced.start);
        }
        // SAFETY: the inner task is run by this one alone, which is run once.
        unsafe { Header::run(traced.task, worker) };
    }
}

impl Worker {
    /// `task`, which this worker has made, so that the profile hears of it; `task` itself where
    /// there is none.
    #[inline]
    pub(crate) fn trace(&self, task: TaskRef) -> TaskRef {
        if self.is_profiled() { self.trace_cold(task) } else { task }
    }

    #[cold]
    fn trace_cold(&self, task: TaskRef) -> TaskRef {
        let Some(books) = self.books() else { return task };
        books.counts.spawned.add(1);
        let start = books.path_now().plus(books.burdens);
        let traced =
            Traced { header: Header { run: Traced::run }, task, start, seat: self.index() };
        TaskRef::new(NonNull::from(Box::leak(Box::new(traced))))
    }

    /// The running task, one of the scope with these paths, is about to end.
    #[cold]
    pub(crate) fn end_scope_task(&self, paths: &ScopePaths) {
        if let Some(books) = self.books() {
            paths.note(books.start(), books.path_now());
            let strand = books.end_strand().zip(self.recording());
            paths.1.lock().extend(strand.map(|((_, marks), recording)| recording.keep(marks)));
        }
    }

    /// The scope with these paths, whose body this worker has run, is over.
    #[cold]
    pub(crate) fn end_scope(&self, paths: &ScopePaths) {
        if let Some(books) = self.books() {
            books.set_path(paths.end(books.path_now()));
            paths.marks().into_iter().for_each(|mark| books.mark(mark));
        }
    }

    fn recording(&self) -> Option<&super::record::Recording> {
        self.pool().profiling.as_ref().and_then(|profiling| profiling.recording.as_ref())
    }

    /// The running detached task is about to end.
    pub(crate) fn end_detached(&self) {
        if let (Some(books), Some(profiling)) = (self.books(), &self.pool().profiling) {
            profiling.stray(books.path_now());
        }
    }

    /// The running call from outside is about to end.
    pub(crate) fn end_call(&self) {
        if let Some(books) = self.books() {
            books.end_call();
            if let (Some((began, marks)), Some(recording)) = (books.end_strand(), self.recording())
            {
                recording.note_call(began, marks);
                books.begin_call();
            }
        }
    }

    /// Runs a queued task on top of what this worker does.
    #[cold]
    pub(crate) fn run_profiled(&self, run: impl FnOnce()) {
        let Some(books) = self.books() else { return run() };
        let before = books.activity();
        let interrupted = books.interrupt();
        run();
        let _ = books.resume(&interrupted, before);
    }

    /// A stolen task begins; answers what is to be given to [`end_stolen`](Self::end_stolen).
    pub(crate) fn begin_stolen(&self, victim: usize) -> Option<super::Interrupted> {
        let books = self.books()?;
        let count =
            if victim == self.index() { &books.counts.inlined } else { &books.counts.stolen };
        count.add(1);
        Some(books.interrupt())
    }

    /// The stolen task of the join at seat `victim` whose frame is at `frame` is over, and not
    /// reported yet.
    pub(crate) fn end_stolen(
        &self,
        interrupted: Option<&super::Interrupted>,
        victim: usize,
        frame: *const (),
    ) {
        let (Some(books), Some(interrupted)) = (self.books(), interrupted) else { return };
        let path = books.resume(interrupted, Activity::Steal);
        let strand = books.recorder.as_ref().zip(self.recording());
        let strand = strand.map(|(recorder, recording)| recording.keep(recorder.take_ended()));
        if let Some(joiner) = self.pool().seats[victim].books() {
            joiner.report(frame, path);
            if let (Some(recorder), Some(strand)) = (&joiner.recorder, strand) {
                recorder.report(frame, strand);
            }
        }
    }
}
