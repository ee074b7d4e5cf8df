//! Operations other than loops: their items, progress and number of participants under a control.
//!
//! `participant` is a worker in an operation, `joins` are operations that consist of joins. Loops
//! follow a control in `loops::controlled`.

use sinew_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sinew_sync::lock::Mutex;

use super::{Control, SOME};
use crate::participants::Participants;
use sinew_core::{CancelRegistration, Cancelled, Worker};

/// A running operation other than a loop that follows a [`Control`]. For authors of skeletons.
///
/// ```
/// use sinew_core::Cancelled;
/// use sinew_loops::{Control, Operation};
///
/// let control = Control::new();
/// let operation = Operation::begin(&control, 10)?;
/// for item in 0..10 {
///     if operation.is_cancelled() {
///         return Err(Cancelled);
///     }
///     sinew_core::run(|w| operation.done(w, 1));
/// }
/// operation.end();
/// assert_eq!(control.snapshot().fraction(), 1.0);
/// # Ok::<(), Cancelled>(())
/// ```
#[derive(Debug)]
pub struct Operation<'c> {
    pub(super) control: &'c Control,
    cancel_registration: CancelRegistration,
    /// The participants that do not wait for a stolen arm.
    pub(super) participants: Participants,
    requested: Requested,
}

/// The requested number of participants. Accesses are `Relaxed`: they publish nothing.
#[derive(Debug)]
struct Requested {
    /// The number without a request.
    default: usize,
    threads: AtomicUsize,
    /// The version of the requests that `threads` is of. Both change under the lock.
    version: AtomicU64,
    setting: Mutex<()>,
}

impl Requested {
    fn new(default: usize) -> Self {
        Self {
            default,
            threads: AtomicUsize::new(default),
            version: AtomicU64::new(0),
            setting: Mutex::default(),
        }
    }
}

impl<'c> Operation<'c> {
    /// Begins an operation with `items` items in the pool of the calling worker. Items may be added
    /// later.
    ///
    /// # Errors
    ///
    /// [`Cancelled`] if the control was cancelled already.
    pub fn begin(control: &'c Control, items: u64) -> Result<Self, Cancelled> {
        if control.is_cancelled() {
            return Err(Cancelled);
        }
        control.state.loops.fetch_add(1, Ordering::Relaxed);
        let operation = Self {
            control,
            cancel_registration: CancelRegistration::register(),
            participants: Participants::new(0),
            requested: Requested::new(usize::MAX),
        };
        operation.add_items(items);
        Ok(operation)
    }

    /// Adds items to the total.
    pub fn add_items(&self, items: u64) {
        self.control.add_items(items);
    }

    /// Removes items from the total, for example because a loop begins that counts them itself.
    pub fn remove_items(&self, items: u64) {
        self.control.remove_items(items);
    }

    /// Counts `items` that the worker `w` has done. To be called between two items, without a lock,
    /// because it calls the callback of [`Control::on_progress`] if that is due, and cancels the
    /// control at its [deadline](Control::cancel_at).
    ///
    /// # Panics
    ///
    /// If the callback does.
    ///
    /// # Cost
    ///
    /// An addition to a word that at most a few other workers write.
    #[inline]
    pub fn done(&self, w: &Worker, items: usize) {
        self.count(w, items);
        self.check_clock();
    }

    /// The first half of [`done`](Self::done): counts the items.
    #[inline]
    pub fn count(&self, w: &Worker, items: usize) {
        self.control.count(w.index(), items);
    }

    /// The second half of [`done`](Self::done): does what is due by the clock.
    ///
    /// # Panics
    ///
    /// If the callback does.
    #[inline]
    pub fn check_clock(&self) {
        self.control.check_clock(self.control.version());
    }

    /// Whether the operation is to end: its control was cancelled, or its pool has
    /// [cancelled](sinew_core::PoolControl::cancel) what it runs.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.control.is_cancelled() || self.cancel_registration.is_cancelled()
    }

    /// A number that changes with every request. Not 0.
    #[inline]
    pub fn version(&self) -> u64 {
        self.control.version() | SOME
    }

    /// Sets the number of participants without a request; by default all workers of the pool.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.requested = Requested::new(threads.max(1));
        self
    }

    /// How many workers may participate, by the latest request that this operation
    /// [follows](Self::follow_request) and by the pool's limit. `None`: all workers of the pool.
    #[inline]
    pub fn maximum(&self, w: &Worker) -> Option<usize> {
        let requested = self.requested.threads.load(Ordering::Relaxed);
        let maximum = requested.min(w.allowed_threads());
        (maximum < w.max_threads()).then_some(maximum)
    }

    /// Follows the latest request for a number of participants.
    #[inline]
    pub fn follow_request(&self) {
        if self.requested.version.load(Ordering::Relaxed) != self.version() {
            let (version, requests) = self.control.requests();
            self.set_requested(version, requests.threads);
        }
    }

    /// Stores the number of participants of the requests of this version, unless a newer one is
    /// stored.
    pub(super) fn set_requested(&self, version: u64, threads: Option<usize>) {
        let requested = &self.requested;
        let _setting = requested.setting.lock();
        if requested.version.load(Ordering::Relaxed) < version | SOME {
            requested.threads.store(threads.unwrap_or(requested.default), Ordering::Relaxed);
            requested.version.store(version | SOME, Ordering::Relaxed);
        }
    }

    /// The requested number of threads, if any. The caller follows it: unless a mapping is
    /// requested as well, the request counts as followed. With a mapping, [`follow`](Self::follow)
    /// does that.
    pub fn threads(&self) -> Option<usize> {
        let (version, requests) = self.control.requests();
        if requests.pinning.is_none() {
            self.control.mark_followed(version);
        }
        requests.threads
    }

    /// Ends the operation, also after a cancellation. A panic just drops it.
    ///
    /// # Panics
    ///
    /// If a callback of [`Control::on_progress`] does.
    pub fn end(self) {
        let control = self.control;
        drop(self);
        control.report_end();
    }
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        self.control.end_loop();
    }
}
