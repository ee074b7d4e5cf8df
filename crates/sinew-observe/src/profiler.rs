//! The profiler: the observer that a pool is built with, and the handle that reads profiles.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use sinew_policy::graph::Graph;

use crate::events::WorkerProfiler;
use crate::paths::BURDENS;
use crate::pool::{Options, PoolState};
use crate::profile::Profile;
use crate::scopes::ScopePaths;
use crate::timeline::Timeline;
use sinew_core::Pool;
use sinew_core::observer::{Observer, ScopeNote, WorkerObserver};

/// The variable that requests a profile.
const VARIABLE: &str = "SINEW_PROFILE";

/// Whether a value of the variable requests a profile; `None` for a bad value.
fn wanted(text: &str) -> Option<bool> {
    match text.trim() {
        "1" | "true" | "on" => Some(true),
        "0" | "false" | "off" | "" => Some(false),
        _ => None,
    }
}

/// Measures how the workers of a pool spend their time, and the parallelism of its programs.
///
/// A pool is [built with](sinew_core::PoolBuilder::observer) a profiler. Clones are handles to the
/// same one, and any thread may read it at any time.
///
/// ```
/// use sinew_core::Pool;
/// use sinew_observe::Profiler;
///
/// let profiler = Profiler::new();
/// let pool = Pool::builder().threads(2).observer(profiler.clone()).build()?;
/// pool.run(|w| w.join(|_| (), |_| ()));
/// let profile = profiler.take();
/// assert_eq!(profile.tasks().spawned, 1);
/// assert!(profile.span(0) <= profile.work());
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
///
/// # Cost
///
/// Some 100 ns for a join or task, and calls that are no longer inlined. A join in a pool without a
/// profiler executes nothing of it.
#[derive(Clone, Default)]
pub struct Profiler {
    options: Options,
    pool: Arc<OnceLock<Arc<PoolState>>>,
}

impl Profiler {
    /// A profiler for one pool.
    pub fn new() -> Self {
        Self::default()
    }

    /// A profiler, if `SINEW_PROFILE` is `1`. A value other than `1` and `0` is reported in one
    /// line on standard error.
    pub fn from_env() -> Option<Self> {
        let text = std::env::var(VARIABLE).ok()?;
        match wanted(&text) {
            Some(wanted) => wanted.then(Self::new),
            None => {
                eprintln!("sinew: {VARIABLE}={text} is ignored: use `1` or `0`");
                None
            }
        }
    }

    /// The profiler that `pool` was built with, if any.
    ///
    /// ```
    /// use sinew_core::Pool;
    /// use sinew_observe::Profiler;
    ///
    /// let pool = Pool::builder().threads(2).observer(Profiler::new()).build()?;
    /// assert!(Profiler::of(&pool).is_some());
    /// # Ok::<(), sinew_core::BuildError>(())
    /// ```
    pub fn of(pool: &Pool) -> Option<&Self> {
        let observer: &dyn Any = pool.observer()?;
        observer.downcast_ref()
    }

    /// Whether it also records the task graph; see [`take_recording`](Self::take_recording).
    /// Default: no.
    ///
    /// # Cost
    ///
    /// Some 100 bytes for a join.
    #[must_use]
    pub fn record(mut self, record: bool) -> Self {
        self.options.record = record;
        self
    }

    /// Whether it also keeps a trace of each worker's activities, for a
    /// [timeline](Self::read_timeline). Default: no.
    ///
    /// # Cost
    ///
    /// Some 50 ns for a join or task, and at most 1.5 MiB for a worker.
    #[must_use]
    pub fn timeline(mut self, timeline: bool) -> Self {
        self.options.timeline = timeline;
        self
    }

    /// The burdens at which it measures the span: assumed costs of moving a task to another worker,
    /// in ticks of the time-stamp counter. [`Profile::bounds`] uses the first one. Default: 0, 1000
    /// and 2000.
    #[must_use]
    pub fn burdens(mut self, ticks: [u64; BURDENS]) -> Self {
        self.options.burdens = ticks;
        self
    }

    /// The profile since the pool was built, or since the last [`take`](Self::take). It has no
    /// workers if no pool was built with this profiler.
    ///
    /// Counts and times are as of now, spans those of the calls from outside that have ended.
    pub fn read(&self) -> Profile {
        self.profile(false)
    }

    /// Reads the profile as [`read`](Self::read) does, and begins a new one.
    ///
    /// ```
    /// use sinew_core::Pool;
    /// use sinew_observe::Profiler;
    ///
    /// let profiler = Profiler::new();
    /// let pool = Pool::builder().threads(2).observer(profiler.clone()).build()?;
    /// pool.run(|w| w.join(|_| (), |_| ()));
    /// assert_eq!(profiler.take().tasks().spawned, 1);
    /// assert_eq!(profiler.take().tasks().spawned, 0);
    /// # Ok::<(), sinew_core::BuildError>(())
    /// ```
    pub fn take(&self) -> Profile {
        self.profile(true)
    }

    fn profile(&self, take: bool) -> Profile {
        match self.pool.get() {
            Some(pool) => pool.profile(take),
            None => PoolState::new(0, self.options).profile(take),
        }
    }

    /// The activities of each worker, in order, since the pool was built; `None` if the profiler
    /// keeps no [`timeline`](Self::timeline), or has no pool.
    ///
    /// Any thread may call it, also while the pool works. A span below the resolution of the whole
    /// timeline is merged into its neighbour.
    ///
    /// ```
    /// use sinew_core::Pool;
    /// use sinew_observe::{Doing, Profiler};
    ///
    /// let profiler = Profiler::new().timeline(true);
    /// let pool = Pool::builder().threads(2).observer(profiler.clone()).build()?;
    /// pool.run(|w| w.join(|_| (), |_| ()));
    /// let timeline = profiler.read_timeline().unwrap();
    /// assert_eq!(timeline.workers.len(), 2);
    /// assert!(timeline.workers[0].iter().any(|span| span.doing == Doing::Working));
    /// # Ok::<(), sinew_core::BuildError>(())
    /// ```
    pub fn read_timeline(&self) -> Option<Timeline> {
        self.pool.get()?.timeline()
    }

    /// The recording since the pool was built or this was last called; `None` if the profiler does
    /// not [`record`](Self::record), or has no pool. Call it while nothing runs in the pool: a
    /// running call is recorded in part.
    ///
    /// ```
    /// use sinew_core::Pool;
    /// use sinew_observe::Profiler;
    ///
    /// let profiler = Profiler::new().record(true);
    /// let pool = Pool::builder().threads(2).observer(profiler.clone()).build()?;
    /// pool.run(|w| w.join(|_| (), |_| ()));
    /// assert_eq!(profiler.take_recording().unwrap().calls().len(), 1);
    /// # Ok::<(), sinew_core::BuildError>(())
    /// ```
    pub fn take_recording(&self) -> Option<Graph> {
        self.pool.get()?.take_recording()
    }
}

impl Observer for Profiler {
    /// # Panics
    ///
    /// If another pool was built with this profiler.
    fn watch(&self, workers: usize) -> Vec<Box<dyn WorkerObserver>> {
        let pool = Arc::new(PoolState::new(workers, self.options));
        assert!(
            self.pool.set(Arc::clone(&pool)).is_ok(),
            "a profiler measures one pool: make a new one for each pool"
        );
        let watch = |index| {
            let (state, pool) = (pool.worker(index), Arc::clone(&pool));
            Box::new(WorkerProfiler { state, pool, index }) as Box<dyn WorkerObserver>
        };
        (0..workers).map(watch).collect()
    }

    fn scope_begins(&self) -> ScopeNote {
        Box::new(ScopePaths::default())
    }

    fn scope_ends(&self, note: &ScopeNote) {
        if let (Some(pool), Some(paths)) = (self.pool.get(), note.downcast_ref()) {
            pool.scope_ended(paths);
        }
    }
}

impl fmt::Debug for Profiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profiler").field("options", &self.options).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::wanted;

    /// Catches: a value that other variables of the project accept and this one does not, and a bad
    /// value that is accepted.
    #[test]
    fn the_variable_is_a_boolean() {
        assert_eq!(["1", "true", " on "].map(wanted), [Some(true); 3]);
        assert_eq!(["0", "false", "off", ""].map(wanted), [Some(false); 4]);
        assert_eq!(["perhaps", "2", "-1"].map(wanted), [None; 3]);
    }
}
