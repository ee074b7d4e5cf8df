//! What the seats of a profiled pool have in common, and how their books are read.
//!
//! Books only ever grow. A profile is the difference between two readings, so that taking one
//! writes nothing that a worker writes.

use sinew_sync::clock::{start_measuring, ticks, ticks_a_ns};
use sinew_sync::lock::Mutex;

use super::books::{Books, Reading};
use super::paths::{BURDENS, Paths};
use super::record::Recording;
use super::report::{Profile, WorkerProfile};
use super::scope::ScopePaths;
use super::sheet::{Ticks, clock_cost};
use crate::inner::Inner;
use crate::pool::Pool;

/// What the seats of a profiled pool have in common.
#[derive(Debug)]
pub(crate) struct Profiling {
    burdens: Paths,
    cost: u64,
    /// When the pool was built, in ticks.
    pub(super) began: u64,
    /// Whether the seats keep diaries.
    timeline: bool,
    strays: Mutex<Strays>,
    /// What the books said when the last profile was taken, or when the pool was built.
    before: Mutex<Vec<Reading>>,
    /// Where the pool records.
    pub(super) recording: Option<Recording>,
}

/// Ways that are part of no call of a worker's.
#[derive(Debug, Clone, Copy, Default)]
struct Strays {
    /// Through scopes whose body runs outside the pool, one after another.
    scopes: Paths,
    /// Through the longest detached task.
    longest: Paths,
}

impl Profiling {
    pub(crate) fn new(burdens: [u64; BURDENS], timeline: bool, records: bool) -> Box<Self> {
        start_measuring();
        Box::new(Self {
            burdens: Paths(burdens),
            cost: clock_cost(),
            began: ticks(),
            timeline,
            strays: Mutex::default(),
            before: Mutex::default(),
            recording: records.then(Recording::new),
        })
    }

    /// Books for one seat.
    pub(crate) fn books(&self) -> Box<Books> {
        let books = Books::new(Ticks, self.cost, self.burdens).diary(self.timeline);
        Box::new(books.recording(self.recording.is_some()))
    }

    /// Once the seats are there: the profile begins.
    pub(crate) fn begin(&self, pool: &Inner) {
        *self.before.lock() = pool.read_books();
    }

    /// A detached task has ended.
    pub(crate) fn stray(&self, path: Paths) {
        let mut strays = self.strays.lock();
        strays.longest = strays.longest.max(path);
    }

    /// A scope has ended whose body ran outside the pool.
    pub(crate) fn end_scope(&self, path: Paths, paths: &ScopePaths) {
        if let Some(recording) = &self.recording {
            // What its body did is nobody's work here.
            recording.note_call(ticks(), paths.marks());
        }
        let mut strays = self.strays.lock();
        strays.scopes = strays.scopes.plus(path);
    }

    /// What was measured since the last time that this was asked with `take`.
    fn profile(&self, pool: &Inner, take: bool) -> Profile {
        let mut before = self.before.lock();
        let mut strays = self.strays.lock();
        let now = pool.read_books();
        let workers = now
            .iter()
            .zip(&*before)
            .map(|(now, before)| WorkerProfile::between(before, now))
            .collect();
        let profile = Profile {
            workers,
            burdens: self.burdens.0,
            scopes: strays.scopes,
            longest_detached: strays.longest,
            ticks_a_ns: ticks_a_ns(),
            clock_cost: self.cost,
        };
        if take {
            *before = now;
            *strays = Strays::default();
        }
        profile
    }
}

impl Inner {
    fn read_books(&self) -> Vec<Reading> {
        self.seats.iter().filter_map(|seat| seat.books()).map(Books::read).collect()
    }
}

impl Pool {
    /// What the pool has measured since it was built, or since the last
    /// [`take_profile`](Self::take_profile); `None` if it was not built to
    /// [`profile`](crate::Builder::profile).
    ///
    /// From any thread, at any time. Counts and times are as of now, spans those of the calls from
    /// outside that have ended.
    ///
    /// ```
    /// let pool = sinew_core::Pool::builder().threads(2).profile(true).build()?;
    /// pool.run(|w| w.join(|_| (), |_| ()));
    /// let profile = pool.profile().unwrap();
    /// assert_eq!(profile.tasks().spawned, 1);
    /// assert!(profile.span(0) <= profile.work());
    /// # Ok::<(), sinew_core::BuildError>(())
    /// ```
    pub fn profile(&self) -> Option<Profile> {
        self.inner.profiling.as_ref().map(|profiling| profiling.profile(&self.inner, false))
    }

    /// What the pool has recorded since it was built or last asked; `None` if it was not built to
    /// [`record`](crate::Builder::record). To be called while nobody uses the pool: what runs
    /// meanwhile is recorded in part.
    ///
    /// ```
    /// let pool = sinew_core::Pool::builder().threads(2).record(true).build()?;
    /// pool.run(|w| w.join(|_| (), |_| ()));
    /// assert_eq!(pool.take_recording().unwrap().calls().len(), 1);
    /// # Ok::<(), sinew_core::BuildError>(())
    /// ```
    pub fn take_recording(&self) -> Option<sinew_policy::graph::Graph> {
        Some(self.inner.profiling.as_ref()?.recording.as_ref()?.take())
    }

    /// [`profile`](Self::profile), from where the next one begins anew.
    ///
    /// ```
    /// let pool = sinew_core::Pool::builder().threads(2).profile(true).build()?;
    /// pool.run(|w| w.join(|_| (), |_| ()));
    /// assert_eq!(pool.take_profile().unwrap().tasks().spawned, 1);
    /// assert_eq!(pool.take_profile().unwrap().tasks().spawned, 0);
    /// # Ok::<(), sinew_core::BuildError>(())
    /// ```
    pub fn take_profile(&self) -> Option<Profile> {
        self.inner.profiling.as_ref().map(|profiling| profiling.profile(&self.inner, true))
    }
}
