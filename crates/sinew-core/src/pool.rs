//! Pools: seats, the threads at them, and the ways in.
//!
//! A pool of `n` has `n` seats for good: seat 0 is the guest's, the others have a thread each. A caller from outside takes the guest seat
//! ([`Pool::run`]), or hands its work to the threads and waits ([`Pool::install`], and `run` when the seat is taken).
//!
//! # Shutdown
//!
//! 1. Dropping the pool sets `ending` and wakes every worker.
//! 2. A worker that finds nothing to do any more *resigns* and parks; new work wakes it as ever, and takes it out of the count. So tasks that
//!    need each other still find a second worker, and detached tasks are run first, also those that tasks spawn meanwhile.
//! 3. The last one to resign wakes the others, and all end.
//! 4. The dropping thread joins the workers; if it is one of them, they end by themselves.
//! 5. The seats are freed by the last of the pool's handle and its threads.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use sinew_sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use sinew_sync::fence as asymmetric;
use sinew_sync::lock::Mutex;
use sinew_sync::parker::Parker;
use sinew_sync::thread::JoinHandle;
use sinew_topology::Seating;

use crate::builder::{BuildError, Builder, ThreadSettings};
use crate::counters::Counters;
use crate::fork;
use crate::guest::GuestSeat;
use crate::inject;
use crate::queue::Injector;
use crate::search::{Allowed, Job};
use crate::sleep::Sleepers;
use crate::steer::Steering;
use crate::tls;
use crate::wait::Wait;
use crate::worker::Worker;

/// What to do with the payload of a detached task that panicked.
pub(crate) type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;

/// The workers of a pool.
pub(crate) struct Seats(Box<[Worker]>);

// SAFETY: workers are shared inside the crate by invariant W2: other threads use only their synchronised parts.
unsafe impl Sync for Seats {}
// SAFETY: a worker is bound to no thread; its owner changes with the guest seat.
unsafe impl Send for Seats {}

impl Seats {
    pub(crate) fn new(workers: impl Iterator<Item = Worker>) -> Self {
        Self(workers.collect())
    }
}

impl std::ops::Deref for Seats {
    type Target = [Worker];

    #[inline]
    fn deref(&self) -> &[Worker] {
        &self.0
    }
}

/// What a pool's threads share.
pub(crate) struct Inner {
    pub(crate) seats: Seats,
    pub(crate) sleepers: Sleepers,
    pub(crate) injector: Injector,
    pub(crate) guest: GuestSeat,
    pub(crate) wait: Wait,
    /// A fixed spin window, where the adaptive one is not wanted.
    pub(crate) spin_ns: Option<u64>,
    pub(crate) panic_handler: Option<PanicHandler>,
    /// Wakes the standby thread of a pool of one.
    pub(crate) standby: Parker,
    pub(crate) seating: Seating,
    pub(crate) steering: Steering,
    pub(crate) heavy_fences: bool,
    pub(crate) ending: AtomicBool,
    /// While the pool ends: threads that have not resigned.
    pub(crate) serving: AtomicUsize,
    pub(crate) generation: u32,
}

impl Inner {
    /// Distance level between two seats: 0 is the closest.
    pub(crate) fn distance(&self, a: usize, b: usize) -> u8 {
        self.seating.distance(a, b)
    }

    /// How many may search at once: half of the pool.
    pub(crate) fn most_searchers(&self) -> usize {
        self.seats.len().div_ceil(2)
    }

    /// Whether the pool lets its owners do without full fences once the heavy one works.
    pub(crate) fn may_rely_on_heavy_fences(&self) -> bool {
        self.heavy_fences
    }

    /// Whether owners can do without full fences now. A pool of one has no thieves, and needs none in any case.
    pub(crate) fn relies_on_heavy_fences(&self) -> bool {
        self.heavy_fences && (asymmetric::asymmetric() || self.seats.len() == 1)
    }

    /// Whether this process is a child that came by the pool through a fork.
    pub(crate) fn is_of_another_process(&self) -> bool {
        self.generation != fork::current()
    }

    /// Whether the workers are to end when they find nothing more to do.
    pub(crate) fn is_ending(&self) -> bool {
        // Acquire: pairs with `end`.
        self.ending.load(Ordering::Acquire)
    }

    /// Wakes a sleeper for new work, if one sleeps and nobody searches.
    pub(crate) fn wake_one(&self) -> bool {
        !self.is_of_another_process() && self.unpark(self.sleepers.wake_one())
    }

    /// Wakes a sleeper in any case.
    pub(crate) fn rouse(&self) -> bool {
        !self.is_of_another_process() && self.unpark(self.sleepers.rouse())
    }

    fn unpark(&self, seat: Option<usize>) -> bool {
        let Some(seat) = seat.map(|seat| &self.seats[seat]) else { return false };
        self.steering.before_wake(&seat.bed);
        seat.parker.unpark();
        true
    }

    /// Tells the `threads` of the pool to end. A worker that did not see `ending` before it parked finds the token that is left here.
    fn end(&self, threads: usize) {
        // Relaxed: published by `ending`.
        self.serving.store(threads, Ordering::Relaxed);
        self.ending.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        self.unpark_all();
        self.standby.unpark();
    }

    fn unpark_all(&self) {
        for seat in self.seats.iter() {
            seat.parker.unpark();
        }
    }

    /// A worker has found nothing to do while the pool ends. The last one wakes the others: it is over.
    pub(crate) fn resign(&self) {
        // AcqRel: whoever ends comes after all that the others did.
        if self.serving.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.unpark_all();
        }
    }

    /// A worker that had resigned was woken. False if the pool is over.
    pub(crate) fn serve_again(&self) -> bool {
        let serve = |serving| (serving > 0).then(|| serving + 1);
        self.serving.fetch_update(Ordering::AcqRel, Ordering::Acquire, serve).is_ok()
    }

    /// Runs `f` with the worker at the guest seat, which the caller has taken.
    pub(crate) fn as_guest<R>(&self, f: impl for<'w> FnOnce(&'w Worker) -> R) -> R {
        tls::within(&self.seats[0], || {
            let visit = Visit::begin(self);
            f(visit.worker)
        })
    }
}

/// A guest's stay, from taking the seat to leaving it, also by a panic.
struct Visit<'p> {
    pool: &'p Inner,
    worker: &'p Worker,
}

impl<'p> Visit<'p> {
    fn begin(pool: &'p Inner) -> Self {
        let worker = &pool.seats[0];
        worker.stack.set_depth(0);
        worker.activate();
        Self { pool, worker }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        debug_assert!(self.worker.stack.is_empty());
        if !self.worker.deque.is_empty() {
            self.leave_tasks_cold();
        }
        self.worker.deactivate();
        self.pool.guest.leave();
    }
}

impl Visit<'_> {
    /// Detached tasks stay behind in the guest's queue: the pool's threads take them from there. A pool without threads has only the
    /// guest to run them.
    #[cold]
    fn leave_tasks_cold(&self) {
        if self.pool.is_of_another_process() {
            while let Some(queued) = self.worker.pop_own(Allowed::Any) {
                self.worker.execute(Job::Queued(queued));
            }
            return;
        }
        if self.pool.seats.len() > 1 {
            self.worker.wake_one();
            return;
        }
        while let Some(job) = self.worker.look_around(Allowed::Any, false) {
            self.worker.execute(job);
        }
    }
}

/// A set of workers that run tasks together.
///
/// Dropping a pool runs what was spawned and joins its threads.
///
/// ```
/// use sinew_core::Pool;
///
/// let pool = Pool::builder().threads(2).build()?;
/// let (a, b) = pool.run(|w| w.join(|_| 1, |_| 2));
/// assert_eq!(a + b, 3);
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
pub struct Pool {
    pub(crate) inner: Arc<Inner>,
    pub(crate) threads: Mutex<Vec<JoinHandle<()>>>,
    /// Whether the standby thread of a pool of one runs.
    pub(crate) standby: Mutex<bool>,
    pub(crate) settings: Arc<ThreadSettings>,
}

impl Pool {
    /// A pool with one worker a processor that this process may use, and defaults for the rest.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`].
    pub fn new() -> Result<Self, BuildError> {
        Builder::new().build()
    }

    /// Starts to describe a pool.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Calls `f` with a worker of this pool, which is the current pool for all that happens inside.
    ///
    /// The calling thread stays the same where it can: if it is a worker of this pool already, or else if the guest seat is free. If another
    /// thread from outside holds that seat, `f` is handed to the pool's threads as by [`install`](Self::install).
    ///
    /// A worker of another pool that stays on its thread serves only this pool while it waits in it. Where tasks of two pools call back into
    /// each other, use `install`, whose caller goes on serving its own.
    ///
    /// # Panics
    ///
    /// If `f` panics, with its payload.
    ///
    /// # Cost
    ///
    /// Some 20 ns where the thread stays the same.
    pub fn run<F, R>(&self, f: F) -> R
    where
        F: for<'w> FnOnce(&'w Worker) -> R + Send,
        R: Send,
    {
        if let Some(worker) = tls::current_in(&self.inner) {
            tls::with_current(worker, f)
        } else if self.inner.guest.try_enter() {
            self.inner.as_guest(f)
        } else {
            self.inject(f)
        }
    }

    /// Runs `f` on one of the pool's threads and waits for it; at once, if the calling thread is one.
    ///
    /// A worker of another pool that calls this runs tasks of its own pool while it waits. In a pool without threads (of one worker), the
    /// calling thread takes the guest seat.
    ///
    /// # Panics
    ///
    /// If `f` panics, with its payload.
    ///
    /// # Blocking
    ///
    /// Until `f` has ended.
    pub fn install<F, R>(&self, f: F) -> R
    where
        F: for<'w> FnOnce(&'w Worker) -> R + Send,
        R: Send,
    {
        match tls::current_in(&self.inner) {
            Some(worker) => tls::with_current(worker, f),
            None => self.inject(f),
        }
    }

    fn inject<F, R>(&self, f: F) -> R
    where
        F: for<'w> FnOnce(&'w Worker) -> R + Send,
        R: Send,
    {
        if self.inner.is_of_another_process() {
            // Nobody else is here; whoever held the seat at the fork holds it for ever.
            if !self.inner.guest.try_enter() {
                fork::die_of_lost_workers();
            }
        } else if self.inner.seats.len() > 1 {
            return inject::run(&self.inner, f, || ());
        } else if tls::current().is_none() {
            self.inner.guest.enter();
        } else if !self.inner.guest.try_enter() {
            // The seat's holder may be waiting for this very worker: it serves the pool meanwhile. If it only computes, the standby thread
            // does when it has left.
            return inject::run(&self.inner, f, || self.start_standby());
        }
        self.inner.as_guest(f)
    }

    /// Runs `f` some time, on some worker. Nobody waits for it, except that dropping the pool does.
    ///
    /// # Panics
    ///
    /// Not here. If `f` panics, the pool's panic handler gets the payload; without a handler the process aborts.
    pub fn spawn<F>(&self, f: F)
    where
        F: for<'w> FnOnce(&'w Worker) + Send + 'static,
    {
        if self.inner.is_of_another_process() {
            fork::die_of_lost_workers();
        }
        crate::spawn::spawn_in(&self.inner, f);
        if self.inner.seats.len() == 1 {
            self.start_standby();
        }
    }

    /// The number of seats, including the guest's. Never changes.
    pub fn max_workers(&self) -> usize {
        self.inner.seats.len()
    }

    /// How many seats have somebody awake at them now; a hint.
    pub fn active_workers(&self) -> usize {
        // Relaxed: a hint.
        self.inner.seats.iter().filter(|seat| seat.active.load(Ordering::Relaxed)).count()
    }

    /// The counters of all seats, summed. While tasks run, the sum is of slightly different moments.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        for seat in self.inner.seats.iter() {
            sum += seat.counters.read();
        }
        sum
    }

    /// Bytes a worker takes beside its thread's stack.
    pub fn bytes_per_worker(&self) -> usize {
        size_of::<Worker>() + self.inner.seats[0].stack.bytes()
    }

    /// A pool of one has no threads; detached tasks get one that sits down at the guest seat whenever there is work and nobody else does it.
    #[cold]
    fn start_standby(&self) {
        let mut started = self.standby.lock();
        if *started {
            self.inner.standby.unpark();
            return;
        }
        match self.start_standby_thread() {
            Ok(handle) => {
                self.threads.lock().push(handle);
                *started = true;
            }
            // The next guest runs the task, or the end of the pool does.
            Err(error) => eprintln!(
                "sinew: no thread for detached tasks: {error}; they run at the next call into the pool"
            ),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.inner.is_of_another_process() {
            std::mem::take(&mut *self.threads.lock()).into_iter().for_each(std::mem::forget);
            return;
        }
        let inside = tls::current_in(&self.inner).is_some();
        let threads = std::mem::take(&mut *self.threads.lock());
        self.inner.end(threads.len());
        for thread in threads {
            if !inside {
                // A worker never unwinds; its hooks may have, and their panic has been reported.
                let _ = thread.join();
            }
        }
        if self.inner.seats.len() == 1 && !inside {
            // Nobody else is left to run detached tasks.
            self.inner.guest.enter();
            self.inner.as_guest(|worker| {
                while let Some(job) = worker.look_around(Allowed::Any, false) {
                    worker.execute(job);
                }
            });
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("max_workers", &self.max_workers())
            .field("wait", &self.inner.wait)
            .finish_non_exhaustive()
    }
}
