//! Operations other than loops, as their control sees them.

use sinew_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sinew_sync::lock::Mutex;

use super::{Control, SOME};
use crate::participants::Participants;
use sinew_core::{CancelRegistration, Cancelled, Worker};

/// An operation under way, other than a loop, that follows a [`Control`]: its items, its progress,
/// and its requested settings. For authors of skeletons.
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
    /// Those that do not wait for others.
    pub(super) participants: Participants,
    requested: Requested,
}

/// The requested number of participants. Accesses are `Relaxed`: it only says whether to offer.
#[derive(Debug)]
struct Requested {
    /// The number without a request.
    own: usize,
    threads: AtomicUsize,
    /// The version of the requests by which `threads` was set. The lock keeps the two together.
    version: AtomicU64,
    setting: Mutex<()>,
}

impl Requested {
    fn new(own: usize) -> Self {
        Self {
            own,
            threads: AtomicUsize::new(own),
            version: AtomicU64::new(0),
            setting: Mutex::default(),
        }
    }
}

impl<'c> Operation<'c> {
    /// An operation with so many items begins, in the pool whose worker the calling thread is.
    /// Items may be added later.
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
        operation.expect(items);
        Ok(operation)
    }

    /// So many more items are to be done.
    pub fn expect(&self, items: u64) {
        self.control.expect(items);
    }

    /// So many items less are to be done, for example because a loop begins that counts them
    /// itself.
    pub fn expect_less(&self, items: u64) {
        self.control.expect_less(items);
    }

    /// The worker `w` is done with so many items. Called between two items, without a lock, because
    /// it calls the callback of [`Control::on_progress`] if that is due.
    ///
    /// # Panics
    ///
    /// If the callback does.
    ///
    /// # Cost
    ///
    /// An addition to a word that few others write.
    #[inline]
    pub fn done(&self, w: &Worker, items: usize) {
        self.count(w, items);
        self.tell();
    }

    /// The first half of [`done`](Self::done): counts the items, without the callback.
    #[inline]
    pub fn count(&self, w: &Worker, items: usize) {
        self.control.count(w.index(), items);
    }

    /// The other half: calls the callback, if that is due.
    ///
    /// # Panics
    ///
    /// If the callback does.
    #[inline]
    pub fn tell(&self) {
        self.control.tell(self.control.version());
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
        // Two bits at the bottom say other things.
        self.control.version() | SOME
    }

    /// The number of participants where none is requested; all of the pool by default.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.requested = Requested::new(threads.max(1));
        self
    }

    /// How many workers may take part now, by the latest request that this operation
    /// [follows](Self::follow_request) and by the limit of the pool of `w`. `None`: all of the
    /// pool.
    #[inline]
    pub fn maximum(&self, w: &Worker) -> Option<usize> {
        let requested = self.requested.threads.load(Ordering::Relaxed);
        let maximum = requested.min(w.allowed_threads());
        (maximum < w.max_threads()).then_some(maximum)
    }

    /// Takes up the latest request for a number of participants.
    #[inline]
    pub fn follow_request(&self) {
        if self.requested.version.load(Ordering::Relaxed) != self.version() {
            let (version, requests) = self.control.requests();
            self.set_requested(version, requests.threads);
        }
    }

    /// The request of this version is for so many participants, or for none.
    pub(super) fn set_requested(&self, version: u64, threads: Option<usize>) {
        let requested = &self.requested;
        let _setting = requested.setting.lock();
        if requested.version.load(Ordering::Relaxed) < version | SOME {
            requested.threads.store(threads.unwrap_or(requested.own), Ordering::Relaxed);
            requested.version.store(version | SOME, Ordering::Relaxed);
        }
    }

    /// The requested number of threads, if any, for a worker that takes part from now on. A
    /// requested mapping as well counts as followed only with [`follow`](Self::follow). A mapping
    /// that was taken back counts at once.
    pub fn threads(&self) -> Option<usize> {
        let (version, requests) = self.control.requests();
        if requests.pinning.is_none() {
            self.control.mark_followed(version);
        }
        requests.threads
    }

    /// The operation has ended, in whichever way but a panic.
    ///
    /// # Panics
    ///
    /// If a callback of [`Control::on_progress`] does.
    pub fn end(self) {
        let control = self.control;
        drop(self);
        control.tell_end();
    }
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        self.control.end_loop();
    }
}
