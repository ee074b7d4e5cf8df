//! Extensions to rayon-core: a number of threads that changes while the program runs, pinning,
//! victim policies, wait policies, counters, profiles, and a shutdown that waits.
//!
//! A program that uses it depends on this crate by name, beside rayon.
//!
//! # Locks across parallel calls
//!
//! A thread that waits for a part of a parallel call runs other tasks meanwhile, as upstream does.
//! If it holds a lock that such a task takes, the thread waits for itself. Under
//! [`Wait::Descendants`] a waiting thread runs only parts of the awaited task, and its deeper parts
//! of any broadcast, which no other thread can run. So a lock may be held across a parallel call if
//! no broadcast takes it.
//!
//! ```
//! use rayon_core::ext::{ThreadPoolBuilderExt, Wait};
//! use std::sync::Mutex;
//!
//! let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).wait(Wait::Descendants).build()?;
//! let table = Mutex::new(0);
//! let locked = || {
//!     let mut table = table.lock().unwrap();
//!     rayon_core::join(|| (), || ()); // would run `locked` again, and never end
//!     *table += 1;
//! };
//! pool.scope(|s| (0..100).for_each(|_| s.spawn(|_| locked())));
//! assert_eq!(table.into_inner().unwrap(), 100);
//! # Ok::<(), rayon_core::ThreadPoolBuildError>(())
//! ```
//!
//! For an unmodified program, `SINEW_WAIT=descendants` does the same.

pub use sinew_core::{Counters, Mapping, MappingError, Spin, Victims, Wait};
#[cfg(feature = "profile")]
pub use sinew_observe::Profile;
#[cfg(feature = "profile")]
use sinew_observe::Profiler;

use crate::builder::ThreadPoolBuilder;
use crate::global::global;
use crate::pool::ThreadPool;

/// Additional settings of a pool's builder.
pub trait ThreadPoolBuilderExt {
    /// Which tasks a waiting thread runs. Default: `SINEW_WAIT`, else [`Wait::Any`], as upstream.
    fn wait(self, wait: Wait) -> Self;

    /// The mapping that pins the threads. Default: `SINEW_MAPPING`, else no pinning.
    fn mapping(self, mapping: Mapping) -> Self;

    /// The victim policy. Default: `SINEW_VICTIMS`.
    fn victims(self, victims: Victims) -> Self;

    /// How long an idle thread spins before it parks. Default: `SINEW_SPIN_US`, else adaptive.
    fn spin(self, spin: Spin) -> Self;

    /// Whether the number of active threads follows affinity, cpuset and quota while the program
    /// runs. Default: yes, unless the number was set.
    fn follow_limits(self, follow: bool) -> Self;

    /// Whether the pool shares the machine cooperatively with other programs: it runs as many
    /// threads as it is granted cores. Default: `SINEW_COORDINATE`, else no.
    #[cfg(feature = "coordinate")]
    fn coordinate(self, coordinate: bool) -> Self;

    /// Whether the pool measures where its threads' time goes; see [`ThreadPoolExt::profile`].
    /// Default: `SINEW_PROFILE`, else no. Costs some 100 ns for each task. With the feature
    /// `profile`.
    #[cfg(feature = "profile")]
    fn profile(self, profile: bool) -> Self;
}

impl<S> ThreadPoolBuilderExt for ThreadPoolBuilder<S> {
    fn wait(mut self, wait: Wait) -> Self {
        self.recipe.wait = Some(wait);
        self
    }

    fn mapping(mut self, mapping: Mapping) -> Self {
        self.recipe.mapping = Some(mapping);
        self
    }

    fn victims(mut self, victims: Victims) -> Self {
        self.recipe.victims = Some(victims);
        self
    }

    fn spin(mut self, spin: Spin) -> Self {
        self.recipe.spin = Some(spin);
        self
    }

    fn follow_limits(mut self, follow: bool) -> Self {
        self.recipe.follow_limits = Some(follow);
        self
    }

    #[cfg(feature = "coordinate")]
    fn coordinate(mut self, coordinate: bool) -> Self {
        self.recipe.coordinate = Some(coordinate);
        self
    }

    #[cfg(feature = "profile")]
    fn profile(mut self, profile: bool) -> Self {
        self.recipe.profile = Some(profile);
        self
    }
}

/// Additional methods of a pool.
pub trait ThreadPoolExt {
    /// Limits the number of the pool's threads that work, from their next task on; the others stand
    /// down and park. Returns the limit in force: at least one thread, at most all threads.
    /// [`current_num_threads`](crate::current_num_threads) does not change.
    ///
    /// ```
    /// use rayon_core::ext::ThreadPoolExt;
    ///
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(4).build()?;
    /// assert_eq!((pool.set_active_threads(1), pool.active_threads()), (1, 1));
    /// assert_eq!(pool.install(|| rayon_core::join(|| 1, || 2)), (1, 2));
    /// assert_eq!((pool.set_active_threads(9), pool.current_num_threads()), (4, 4));
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    fn set_active_threads(&self, threads: usize) -> usize;

    /// The limit on working threads.
    fn active_threads(&self) -> usize;

    /// Sets the victim policy, which thieves follow from their next search on.
    fn set_victims(&self, victims: Victims);

    /// The present victim policy.
    fn victims(&self) -> Victims;

    /// Pins the threads by `mapping`, or unpins them with [`Mapping::None`]; each moves before its
    /// next task. A thread that is bound after this call, by the program or with `taskset`, keeps
    /// that binding until the next call.
    ///
    /// ```
    /// use rayon_core::ext::{Mapping, ThreadPoolExt};
    ///
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// pool.set_mapping(&Mapping::Compact)?;
    /// assert_eq!(pool.mapping(), Mapping::Compact);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the mapping names a processor that this process may not use; everything stays as it was.
    fn set_mapping(&self, mapping: &Mapping) -> Result<(), MappingError>;

    /// The mapping that the threads follow.
    fn mapping(&self) -> Mapping;

    /// The threads' counters: steals, parks, waits.
    fn counters(&self) -> Counters;

    /// The breakdown of the threads' time so far, and the parallelism of the program; `None` if the
    /// pool was not built to [`profile`](ThreadPoolBuilderExt::profile). With the feature
    /// `profile`.
    ///
    /// ```
    /// use rayon_core::ext::{ThreadPoolBuilderExt, ThreadPoolExt};
    ///
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).profile(true).build()?;
    /// pool.join(|| (), || ());
    /// assert_eq!(pool.profile().unwrap().tasks().spawned, 1);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    #[cfg(feature = "profile")]
    fn profile(&self) -> Option<Profile>;

    /// Ends the pool when no work is left, and waits until every thread has left it, exit handlers
    /// included.
    ///
    /// # Panics
    ///
    /// If the caller is one of its threads.
    fn shutdown(self);
}

impl ThreadPoolExt for ThreadPool {
    fn set_active_threads(&self, threads: usize) -> usize {
        self.pool().control().set_threads(threads.max(1));
        self.active_threads()
    }

    fn active_threads(&self) -> usize {
        self.pool().threads()
    }

    fn set_victims(&self, victims: Victims) {
        self.pool().set_victims(victims);
    }

    fn victims(&self) -> Victims {
        self.pool().victims()
    }

    fn set_mapping(&self, mapping: &Mapping) -> Result<(), MappingError> {
        self.pool().set_mapping(mapping)
    }

    fn mapping(&self) -> Mapping {
        self.pool().mapping()
    }

    fn counters(&self) -> Counters {
        self.pool().counters()
    }

    #[cfg(feature = "profile")]
    fn profile(&self) -> Option<Profile> {
        Profiler::of(self.pool()).map(Profiler::read)
    }

    fn shutdown(self) {
        Self::shutdown(self);
    }
}

/// [`ThreadPoolExt::set_active_threads`] of the global pool.
pub fn set_active_threads(threads: usize) -> usize {
    global().set_active_threads(threads)
}

/// [`ThreadPoolExt::active_threads`] of the global pool.
pub fn active_threads() -> usize {
    global().active_threads()
}

/// [`ThreadPoolExt::set_victims`] of the global pool.
pub fn set_victims(victims: Victims) {
    global().set_victims(victims);
}

/// [`ThreadPoolExt::set_mapping`] of the global pool.
///
/// # Errors
///
/// As that.
pub fn set_mapping(mapping: &Mapping) -> Result<(), MappingError> {
    global().set_mapping(mapping)
}

/// [`ThreadPoolExt::counters`] of the global pool.
pub fn counters() -> Counters {
    global().counters()
}

/// [`ThreadPoolExt::profile`] of the global pool.
#[cfg(feature = "profile")]
pub fn profile() -> Option<Profile> {
    global().profile()
}
