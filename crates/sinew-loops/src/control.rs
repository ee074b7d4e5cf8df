//! The handle that changes loops while they run.
//!
//! A [`Control`] holds requests: a number of threads, a mapping, a schedule, a cancellation, now or
//! at a deadline.
//! Between two slices of work a participant compares one word with the version that it follows, and
//! reads the requests only if they differ. So a change stops no thread, and costs a loop a load of
//! a cache line that is rarely written.
//!
//! | file | contents |
//! |---|---|
//! | `operation`, `joins` | operations other than loops, and those that consist of joins |
//! | `participant`, `helper_pin` | a worker in such an operation; the pin of a helper |
//! | `progress`, `deadline` | the progress callback; the time at which a control is cancelled |
//! | `loops::controlled` | how loops follow requests |
//! | `affinity`, `recruit` | pins by a control's mapping; helpers that a body recruits at once |
//!
//! # Invariants
//!
//! - C1: the version changes with every request that differs from the one before, under the lock of
//!   the requests. Its lowest bit says that the control is cancelled, and is never cleared. The
//!   next two say that there is a progress callback, and a deadline.
//!
//! # Orderings
//!
//! All accesses are `Relaxed`. A thread that has read a version and then takes the lock finds the
//! requests of that version or later ones: the lock orders the store of the version before its own
//! release. The counts are statistics.

mod deadline;
mod helper_pin;
mod joins;
mod operation;
mod participant;
mod progress;
#[cfg(all(test, shuttle))]
mod shuttle;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sinew_policy::chunk::Schedule;
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sinew_sync::lock::Mutex;
use sinew_topology::{Mapping, MappingError};

use crate::affinity::{Pinning, Places};
use crate::recruit::recruit_others;
use sinew_core::Callers;
use sinew_core::{Cancellable, Cancelled};

use deadline::Deadline;
pub use helper_pin::HelperPin;
pub use operation::Operation;
pub use participant::Participant;
use progress::ProgressCallback;

/// Cache lines on which workers count their iterations, so that few workers share one.
const LINES: usize = if cfg!(loom) { 1 } else { 16 };

/// In a version: the control is cancelled.
const CANCELLED: u64 = 1;
/// In a version: there is a progress callback.
const HAS_CALLBACK: u64 = 2;
/// In a version: there is a deadline.
const HAS_DEADLINE: u64 = 4;
/// In a version: one change.
const CHANGE: u64 = 8;
/// A bit that no version has, to tell a version from 0, which stands for none.
const SOME: u64 = 1 << 63;

/// A handle that changes loops while they run: the number of threads, their processors, the
/// schedule; or cancels them.
///
/// Any thread may use it at any time, also a participant of the loop. Each participant follows a
/// change between two slices of work, of about 50 µs, or one item if that takes longer. No thread
/// is stopped, and no item is visited twice.
///
/// Clones are the same handle. Several loops may follow one, nested or in sequence; each of them
/// gets the number of threads.
///
/// ```
/// use sinew_loops::Control;
/// use sinew_policy::chunk::Schedule;
///
/// let control = Control::new();
/// control.set_threads(2);
/// control.set_schedule(Schedule::Dynamic { chunk: 64 });
/// assert_eq!(control.snapshot().threads, Some(2));
/// ```
#[derive(Clone, Default)]
pub struct Control {
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    version: CachePadded<AtomicU64>,
    requests: Mutex<Requests>,
    places: Places,
    /// The latest version that a participant follows.
    followed: AtomicU64,
    total: AtomicU64,
    loops: AtomicUsize,
    working: AtomicUsize,
    progress: ProgressCallback,
    deadline: Deadline,
    /// Callers that wait for a worker; their calls are withdrawn when the control is cancelled.
    callers: Callers,
    done: [CachePadded<AtomicU64>; LINES],
}

/// The requests. `None`: the loop's own setting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Requests {
    pub(crate) threads: Option<usize>,
    pub(crate) schedule: Option<Schedule>,
    pub(crate) pinning: Option<Arc<Pinning>>,
}

/// The progress and the requests of a control; see [`Control::snapshot`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Items of all loops that have begun under the control, outer and inner ones.
    pub total: u64,
    /// The number of finished items.
    pub done: u64,
    /// The number of running loops and other operations.
    pub loops: usize,
    /// The number of their participants.
    pub working: usize,
    /// The requested number of threads, if any.
    pub threads: Option<usize>,
    /// The requested schedule, if any.
    pub schedule: Option<Schedule>,
    /// The requested mapping, if any.
    pub mapping: Option<Mapping>,
    /// The number of changes so far.
    pub changes: u64,
    /// The number of changes that a participant already follows.
    pub changes_applied: u64,
    /// Whether the control is cancelled.
    pub cancelled: bool,
}

impl Snapshot {
    /// The progress from 0 to 1, for a progress bar. 1 if there are no items.
    pub fn fraction(&self) -> f64 {
        if self.total == 0 { 1.0 } else { self.done as f64 / self.total as f64 }
    }
}

impl Control {
    /// A control without requests: loops run as they would without it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of workers for each loop, in place of the loop's own number. All
    /// workers of the pool if `threads` is larger than their number. `None` takes the request back:
    /// each loop has its own number again.
    ///
    /// When the number falls, the participants with the highest ranks leave. When it rises, the
    /// first participant that ends its slice recruits others; if a body of the loop raises it, they
    /// are recruited at once. Skeletons of joins (sorting, divide and conquer) reach a lower number
    /// as their stolen parts end.
    ///
    /// # Panics
    ///
    /// If `threads` is 0.
    #[track_caller]
    pub fn set_threads(&self, threads: impl Into<Option<usize>>) {
        let threads = threads.into();
        assert!(
            threads != Some(0),
            "a loop with 0 threads never ends: use at least 1, or `cancel`"
        );
        self.request(|requests| requests.threads = threads);
        recruit_others(self.identity());
    }

    /// Sets the schedule of the items that are not claimed yet, in place of the loop's own. Until
    /// this is called, a loop without a schedule of its own follows its
    /// [pool's](sinew_core::PoolControl::set_schedule), or the one that a coordinator grants.
    /// `None` takes the request back.
    ///
    /// # Panics
    ///
    /// If a chunk of the schedule is 0.
    #[track_caller]
    pub fn set_schedule(&self, schedule: impl Into<Option<Schedule>>) {
        match schedule.into().map(Schedule::check).transpose() {
            Ok(schedule) => self.request(|requests| requests.schedule = schedule),
            Err(error) => panic!("{error}"),
        }
    }

    /// Pins the participants of the loops, in place of the pool's mapping; see
    /// [`Pool::set_mapping`](sinew_core::Pool::set_mapping).
    ///
    /// The participant of rank *i* is pinned to the *i*-th processor of the mapping. If another
    /// loop under this control uses that processor, and in skeletons other than loops, a
    /// participant is pinned to the first free one. A thread that leaves the loop gets its former
    /// pin again. External threads, such as a caller from outside the pool, are not pinned. Threads
    /// that other code or a user has bound before this call are pinned, too, and get their binding
    /// back when they leave the loop. A later binding stays.
    ///
    /// `None` takes the request back: the threads are pinned as the pool says, each at its next
    /// safe point. In a nested loop a thread stays where the outer loop of the same control pinned
    /// it, until it is back in that loop.
    ///
    /// # Errors
    ///
    /// [`MappingError`] if the mapping names a processor that this process may not use; nothing
    /// changes then.
    ///
    /// # Cost
    ///
    /// A system call, and at most ten times a second some 100 µs to read the limits of the
    /// process's control groups. A CPU that was taken away since then is not noticed; its threads
    /// run on others. A thread moves by one or two system calls.
    ///
    /// ```
    /// use sinew_core::Mapping;
    /// use sinew_loops::Control;
    ///
    /// let control = Control::new();
    /// control.set_mapping(&Mapping::Compact)?;
    /// let error = control.set_mapping(&Mapping::Explicit(vec![123_456])).unwrap_err();
    /// assert!(error.to_string().contains("CPU 123456"));
    /// assert_eq!(control.snapshot().mapping, Some(Mapping::Compact));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_mapping<'m>(
        &self,
        mapping: impl Into<Option<&'m Mapping>>,
    ) -> Result<(), MappingError> {
        self.set_pinning(mapping.into().map(Pinning::new).transpose()?.map(Arc::new));
        Ok(())
    }

    /// [`set_mapping`](Self::set_mapping) for a mapping that was checked, or for none.
    pub(crate) fn set_pinning(&self, pinning: Option<Arc<Pinning>>) {
        self.request(|requests| requests.pinning = pinning);
    }

    /// Cancels the loops that run and those that begin later: they return [`Cancelled`] unless they
    /// were done. Calls [under it](sinew_core::CallBuilder::control) that wait for a worker return
    /// at once. A cancellation is final;
    /// [`PoolControl::cancel`](sinew_core::PoolControl::cancel) cancels only what runs.
    pub fn cancel(&self) {
        let requests = self.state.requests.lock();
        // Relaxed: C1, and the module's orderings.
        self.state.version.fetch_or(CANCELLED, Ordering::Relaxed);
        drop(requests);
        self.state.callers.wake_all();
    }

    /// Whether [`cancel`](Self::cancel) was called, or a [deadline](Self::cancel_at) has passed.
    pub fn is_cancelled(&self) -> bool {
        let version = self.version();
        is_cancelled(version) || version & HAS_DEADLINE != 0 && self.check_deadline_cold()
    }

    /// The progress of the loops, and the requests. The counts may be slightly stale while loops
    /// run.
    ///
    /// # Cost
    ///
    /// A lock and some twenty loads of cache lines that workers write.
    pub fn snapshot(&self) -> Snapshot {
        let State { followed, total, loops, working, done, .. } = &*self.state;
        let (version, Requests { threads, schedule, pinning }) = self.requests();
        let lines = done.iter().map(|line| line.load(Ordering::Relaxed));
        let done = lines.fold(0, u64::saturating_add);
        let total = total.load(Ordering::Relaxed);
        Snapshot {
            total,
            done: done.min(total),
            loops: loops.load(Ordering::Relaxed),
            working: working.load(Ordering::Relaxed),
            threads,
            schedule,
            mapping: pinning.map(|pinning| pinning.mapping().clone()),
            changes: version / CHANGE,
            changes_applied: followed.load(Ordering::Relaxed) / CHANGE,
            cancelled: self.is_cancelled(),
        }
    }

    /// Calls `callback` with the progress: at most once in `every` while loops run under this
    /// control, and when the last one has ended.
    ///
    /// A participant calls it between two slices of work; calls never overlap. A long item may
    /// delay a call. A later callback replaces an earlier one.
    ///
    /// # Panics
    ///
    /// If the callback panics, the skeleton whose participant called it panics, and the callback is
    /// not called again.
    ///
    /// # Cost
    ///
    /// A reading of the clock for each slice of work, or each item if they are claimed one by one.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let control = sinew_loops::Control::new();
    /// control.on_progress(Duration::from_millis(100), |now| {
    ///     eprint!("\r{:3.0} %", 100.0 * now.fraction());
    /// });
    /// ```
    pub fn on_progress(&self, every: Duration, callback: impl FnMut(&Snapshot) + Send + 'static) {
        self.state.progress.set(every, callback);
        let _requests = self.state.requests.lock();
        // Relaxed: C1, and the module's orderings.
        self.state.version.fetch_or(HAS_CALLBACK, Ordering::Relaxed);
    }

    /// Does what is due by the clock between two slices of work: cancels the control at its
    /// deadline, and calls the progress callback. To be called without a lock, because the callback
    /// may panic.
    #[inline]
    pub(crate) fn check_clock(&self, version: u64) {
        if version & HAS_DEADLINE != 0 {
            self.check_deadline_cold();
        }
        if version & HAS_CALLBACK != 0 {
            self.state.progress.call_cold(|| self.snapshot(), false);
        }
    }

    /// Calls the progress callback, if there is one, when the last running skeleton has ended.
    pub(crate) fn report_end(&self) {
        // Relaxed: the last one to end sees that it is the last, by the order of this word's
        // changes.
        if self.version() & HAS_CALLBACK != 0 && self.state.loops.load(Ordering::Relaxed) == 0 {
            self.state.progress.call_cold(|| self.snapshot(), true);
        }
    }

    fn request(&self, change: impl FnOnce(&mut Requests)) {
        let mut requests = self.state.requests.lock();
        let before = requests.clone();
        change(&mut requests);
        if *requests != before {
            self.state.version.fetch_add(CHANGE, Ordering::Relaxed);
        }
    }

    /// A number that changes with every request.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.state.version.load(Ordering::Relaxed)
    }

    /// The requests and their version.
    pub(crate) fn requests(&self) -> (u64, Requests) {
        let requests = self.state.requests.lock();
        (self.version(), requests.clone())
    }

    /// A participant follows this version from now on.
    pub(crate) fn mark_followed(&self, version: u64) {
        self.state.followed.fetch_max(version, Ordering::Relaxed);
    }

    /// A number that no other control has.
    pub(crate) fn identity(&self) -> usize {
        Arc::as_ptr(&self.state).addr()
    }

    pub(crate) fn places(&self) -> &Places {
        &self.state.places
    }

    /// Counts a loop over `n` items that begins.
    pub(crate) fn begin_loop(&self, n: usize) {
        self.add_items(n as u64);
        self.state.loops.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds items to the total, which saturates.
    pub(crate) fn add_items(&self, items: u64) {
        let more = |total: u64| Some(total.saturating_add(items));
        let _ = self.state.total.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    /// Removes items from the total.
    pub(crate) fn remove_items(&self, items: u64) {
        let less = |total: u64| Some(total.saturating_sub(items));
        let _ = self.state.total.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    pub(crate) fn end_loop(&self) {
        self.state.loops.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts a participant that begins to work.
    pub(crate) fn begin_work(&self) {
        self.state.working.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end_work(&self) {
        self.state.working.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts `items` that a worker has done.
    #[inline]
    pub(crate) fn count(&self, worker: usize, items: usize) {
        let (line, items) = (&self.state.done[worker % LINES], items as u64);
        if line.fetch_add(items, Ordering::Relaxed).checked_add(items).is_none() {
            line.store(u64::MAX, Ordering::Relaxed);
        }
    }
}

impl Cancellable for Control {
    fn cancel(&self) {
        Self::cancel(self);
    }

    fn is_cancelled(&self) -> bool {
        Self::is_cancelled(self)
    }

    fn callers(&self) -> &Callers {
        &self.state.callers
    }

    fn deadline_ns(&self) -> Option<u64> {
        Self::deadline_ns(self)
    }
}

/// Whether a version says that the control is cancelled.
#[inline]
pub(crate) fn is_cancelled(version: u64) -> bool {
    version & CANCELLED != 0
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Control").field(&self.snapshot()).finish()
    }
}

/// The reason why a loop that can fail has ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stopped<E> {
    /// Its [control](Control::cancel) or its [pool](sinew_core::PoolControl::cancel) has cancelled
    /// it.
    Cancelled,
    /// The first error.
    Failed(E),
}

impl<E> From<Cancelled> for Stopped<E> {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl<E: fmt::Display> fmt::Display for Stopped<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => Cancelled.fmt(f),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for Stopped<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Cancelled => None,
            Self::Failed(error) => error.source(),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Catches: a request that is lost or undone by the next one, a change that is not counted, and
    /// a repeated request that is.
    #[test]
    fn requests_are_kept_and_changes_counted() {
        let control = Control::new();
        assert_eq!(control.snapshot().fraction(), 1.0);
        let same = control.clone();
        same.set_threads(3);
        control.set_threads(3);
        control.set_schedule(Schedule::Static);
        let Snapshot { threads, schedule, changes, cancelled, .. } = control.snapshot();
        assert_eq!(
            (threads, schedule, changes, cancelled),
            (Some(3), Some(Schedule::Static), 2, false)
        );
        assert_eq!(same.snapshot().changes, 2);
        control.cancel();
        control.cancel();
        control.set_threads(1);
        assert!(control.is_cancelled());
        assert_eq!(control.snapshot().changes, 3);
    }

    /// Catches: a request that cannot be taken back, and one that goes with another.
    #[test]
    fn each_request_is_taken_back_alone() {
        let control = Control::new();
        control.set_threads(3);
        control.set_schedule(Schedule::Static);
        control.set_mapping(&Mapping::None).unwrap();
        let requests = || {
            let Snapshot { threads, schedule, mapping, changes, .. } = control.snapshot();
            (threads.is_some(), schedule.is_some(), mapping.is_some(), changes)
        };
        assert_eq!(requests(), (true, true, true, 3));
        control.set_threads(None);
        control.set_threads(None);
        assert_eq!(requests(), (false, true, true, 4));
        control.set_schedule(None);
        assert_eq!(requests(), (false, false, true, 5));
        control.set_mapping(None).unwrap();
        assert_eq!(requests(), (false, false, false, 6));
    }

    /// Catches: counts that wrap, so that loops of more items than a word holds look done.
    #[test]
    fn counts_saturate() {
        let control = Control::new();
        control.begin_loop(1 << 63);
        control.begin_loop(1 << 63);
        assert_eq!((control.snapshot().total, control.snapshot().fraction()), (u64::MAX, 0.0));
        for worker in [0, 0, 0, 1] {
            control.count(worker, 1 << 63);
        }
        assert_eq!(control.snapshot().done, u64::MAX);
        control.remove_items(u64::MAX);
        control.remove_items(1);
        assert_eq!(control.snapshot().total, 0);
    }

    #[test]
    #[should_panic(expected = "a loop with 0 threads never ends")]
    fn zero_threads_are_refused() {
        Control::new().set_threads(0);
    }

    #[test]
    #[should_panic(expected = "schedule `dynamic:0` has chunks of 0 iterations")]
    fn chunks_of_zero_are_refused() {
        Control::new().set_schedule(Schedule::Dynamic { chunk: 0 });
    }
}
