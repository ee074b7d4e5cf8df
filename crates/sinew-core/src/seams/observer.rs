//! The interface by which a crate above observes a pool: the scheduler reports events to an
//! observer.
//!
//! [`PoolBuilder::observer`](crate::PoolBuilder::observer) gives a pool an [`Observer`]. The
//! observer makes a [`WorkerObserver`] for each worker, and a note for each queued task and each
//! scope.
//!
//! # Invariants
//!
//! - E1: only the owner of a worker (W1) calls its `WorkerObserver`, which may use cells.
//! - E2: events that begin something and events that end it are nested on each worker, also where
//!   the code between them panics.
//! - E3: a thief reports the end of a stolen arm to the observer before it marks the arm as
//!   finished. The owner reports the end of the join after it has seen the mark (M6).
//!
//! # Cost
//!
//! Without an observer: nothing in a join, and one comparison for a queued task, a piece of a loop
//! and each step of a search. With one, every push finds a poll reason, so every join leaves the
//! fast path.
//!
//! # Not handled
//!
//! Pools of one thread that works [`serially`](crate::serially) have no observer.
//!
//! # Tests
//!
//! `tests/pool/observer` checks E1 and E2 on whole pools; `shuttle::observer` checks E3 under
//! random schedules, and finds a planted late report.

use std::any::Any;

/// Observes a pool.
pub trait Observer: Any + Send + Sync {
    /// A pool of so many workers is built with this observer. Returns the observers of the workers,
    /// in their order.
    fn watch(&self, workers: usize) -> Vec<Box<dyn WorkerObserver>>;

    /// A scope begins. Returns a note, which later events of the scope carry.
    fn scope_begins(&self) -> ScopeNote;

    /// A scope ends whose body ran on no worker of the pool.
    fn scope_ends(&self, note: &ScopeNote);
}

/// Observes one worker. Only the thread that owns the worker calls it.
pub trait WorkerObserver: Send {
    /// Gets an event of this worker when it happens.
    fn on(&self, event: Event<'_>);

    /// The worker makes a task for a queue. Returns a note, which [`Event::SpawnedTask`] carries
    /// when a worker runs the task.
    fn spawns(&self) -> TaskNote;
}

/// Four words that an observer keeps with a queued task.
pub type TaskNote = [u64; 4];

/// A value that an observer keeps with a scope.
pub type ScopeNote = Box<dyn Any + Send + Sync>;

/// An event of a worker.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'e> {
    /// A thread becomes the owner of the worker: one from outside, whose call begins, or a thread
    /// of the pool, which searches for work. The hooks of a thread run before this and after
    /// [`Leave`](Event::Leave).
    Enter {
        /// A call begins.
        calls: bool,
    },
    /// That thread leaves the worker.
    Leave,
    /// An activity begins inside of the present one.
    Begin(Activity),
    /// That activity ends.
    End(Activity),
    /// The choice of a victim ends, which began as [`Activity::Choose`]. If there is a victim, an
    /// attempt to steal from it follows.
    Chosen {
        /// There is a victim.
        found: bool,
    },
    /// An attempt to steal ends, which began as [`Activity::Attempt`].
    Attempted {
        /// The worker has found a task.
        success: bool,
    },
    /// The stolen task is finished and reported.
    StealEnd,
    /// The worker found no work: it searches, then parks.
    Idle,
    /// A task begins on top of the worker's present one.
    TaskBegin(Source),
    /// The task that has just begun is one that a worker made.
    SpawnedTask(TaskNote),
    /// The task ends.
    TaskEnd(Source),
    /// A join has pushed its second arm, and will fork.
    Push,
    /// The first arm of a join begins.
    Fork,
    /// The first arm ends; the worker takes the second one back, or waits for its thief.
    FirstArmEnd,
    /// The second arm begins on this worker, since no thief has stolen it.
    SecondArmBegin,
    /// Both arms of the join are over.
    JoinEnd {
        /// The address of the join's frame, if a thief ran the second arm.
        stolen: Option<usize>,
    },
    /// The worker begins to run pieces of a loop.
    LoopBegin {
        /// Other workers may run pieces of it as well.
        is_shared: bool,
    },
    /// A piece of the loop is over; the next one may follow.
    PieceEnd,
    /// The worker leaves the loop.
    LoopEnd,
    /// The running task of a scope is about to end.
    ScopeTaskEnd(&'e ScopeNote),
    /// A scope is over whose body this worker has run.
    ScopeEnd(&'e ScopeNote),
    /// The running detached task is about to end.
    DetachedTaskEnd,
    /// The running call from outside is about to end.
    CallEnd,
}

/// An activity of a worker in the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activity {
    /// Makes a task for a queue.
    Spawn,
    /// Takes tasks of its own back from a queue.
    Take,
    /// Synchronises with thieves: publishes own tasks, or takes a task back that may be stolen.
    Publish,
    /// Searches for work.
    Search,
    /// Chooses a victim, which may include looks at several.
    Choose,
    /// Attempts to steal.
    Attempt,
    /// Waits for another thread.
    Wait,
    /// Sleeps.
    Park,
}

/// The source of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The queue of a worker, this one or another.
    Queue,
    /// The pool's queue for tasks from outside.
    Outside,
    /// The queue of tasks for this worker alone: a part of a broadcast.
    Broadcast,
    /// The task stack of the worker `owner`: the second arm of a join whose frame has this address.
    Join {
        /// The number of the worker.
        owner: usize,
        /// The address.
        frame: usize,
    },
}

/// Reports the end of an activity when it is dropped.
#[must_use]
pub(crate) struct During<'w>(Option<&'w dyn WorkerObserver>, Activity);

impl<'w> During<'w> {
    /// `activity` begins.
    #[inline]
    pub(crate) fn new(observer: Option<&'w dyn WorkerObserver>, activity: Activity) -> Self {
        if let Some(observer) = observer {
            tell_cold(observer, Event::Begin(activity));
        }
        Self(observer, activity)
    }
}

impl Drop for During<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(observer) = self.0 {
            tell_cold(observer, Event::End(self.1));
        }
    }
}

/// The pieces of a loop that one worker runs. Reports the end of its part when it is dropped.
#[must_use]
pub struct Pieces<'w>(Option<&'w dyn WorkerObserver>);

impl<'w> Pieces<'w> {
    #[inline]
    pub(crate) fn new(observer: Option<&'w dyn WorkerObserver>, is_shared: bool) -> Self {
        if let Some(observer) = observer {
            tell_cold(observer, Event::LoopBegin { is_shared });
        }
        Self(observer)
    }

    /// A piece has ended.
    #[inline]
    pub fn ended(&self) {
        if let Some(observer) = self.0 {
            tell_cold(observer, Event::PieceEnd);
        }
    }
}

impl std::fmt::Debug for Pieces<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pieces").field("is_observed", &self.0.is_some()).finish()
    }
}

impl Drop for Pieces<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(observer) = self.0 {
            tell_cold(observer, Event::LoopEnd);
        }
    }
}

/// Not inlined into every loop and spawn of a program.
#[cold]
#[inline(never)]
pub(crate) fn tell_cold(observer: &dyn WorkerObserver, event: Event<'_>) {
    observer.on(event);
}
