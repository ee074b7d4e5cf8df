//! A profile: the measurements between two moments.

use std::ops::AddAssign;

use sinew_policy::span::{Bounds, ratio};

use crate::activity::{Activity, KINDS, Kind};
use crate::breakdown::{Breakdown, Figures, Functions};
use crate::counts::{Count, Counts};
use crate::paths::{BURDENS, Paths};
use crate::state::Reading;

/// The measurements of a [`Profiler`](crate::Profiler) between two moments, by worker and in sum.
///
/// Times are in *ticks* of the processor's time-stamp counter, which the papers call cycles;
/// [`seconds`](Self::seconds) converts them. (Where there is no such counter, a tick is a
/// nanosecond.) To profile one computation, take the profile before it and after it:
///
/// ```
/// use sinew_core::{Pool, Worker};
/// use sinew_observe::Profiler;
///
/// fn fib(w: &Worker, n: u64) -> u64 {
///     if n < 2 {
///         return n;
///     }
///     let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
///     a + b
/// }
/// let profiler = Profiler::new();
/// let pool = Pool::builder().threads(2).observer(profiler.clone()).build()?;
/// profiler.take();
/// pool.run(|w| fib(w, 12));
/// let profile = profiler.take();
///
/// let tasks = profile.tasks();
/// assert_eq!((tasks.spawned, tasks.inlined + tasks.stolen), (232, 232));
/// let (free, burdened) = (profile.parallelism(0), profile.parallelism(1));
/// println!("parallelism {free:.1}, {burdened:.1} where a steal costs 1000 cycles");
/// let steals = profile.steal_interval();
/// println!("{:.0} cycles a task, {steals:?} a steal", profile.task_granularity());
/// let (on_two, taken) = (profile.bounds(2), profile.wall_seconds());
/// println!("on two workers at least {:.6} s", on_two.lower);
/// println!("and at most {:.6} s and costs; it took {taken:.6} s", on_two.upper);
/// for (name, split) in profile.breakdown().iter() {
///     let (all, inside) = (profile.seconds(split.total()), profile.seconds(split.inside));
///     println!("{name}: {all:.6} s, {inside:.6} s of it in joins");
/// }
/// for (name, function) in profile.functions().iter() {
///     println!("{name}: {} calls, {:.6} s", function.calls, profile.seconds(function.time));
/// }
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
///
/// # Work and span
///
/// The *work* is the time in the application, and the *span* is its critical path. A join has the
/// longer of its arms, a scope ends with the last of its tasks, and a loop is a binary tree of the
/// pieces that were claimed. Neither contains the scheduler or the cost of the clock. With a
/// *burden*, a task that runs in parallel to its spawner begins later by the burden, unless it
/// takes less time to run it in place. Calls from outside count as sequential; detached tasks as
/// begun with the first call.
#[derive(Debug, Clone)]
pub struct Profile {
    pub(crate) workers: Vec<WorkerProfile>,
    pub(crate) burdens: [u64; BURDENS],
    pub(crate) scopes: Paths,
    pub(crate) longest_detached: Paths,
    pub(crate) ticks_per_ns: f64,
    pub(crate) clock_cost: u64,
}

/// The profile of one worker, or of all in sum.
#[derive(Debug, Clone)]
pub struct WorkerProfile {
    pub(crate) elapsed: u64,
    pub(crate) times: [u64; KINDS],
    pub(crate) intervals: [u64; KINDS],
    pub(crate) counts: Counts,
    pub(crate) work: u64,
    pub(crate) spans: Paths,
}

/// Tasks, by how they came to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tasks {
    /// Made by workers: second arms of joins, tasks of scopes, detached ones. Once all have run:
    /// `inlined` + `stolen`.
    pub spawned: u64,
    /// Run by the worker that made them.
    pub inlined: u64,
    /// Run by another one.
    pub stolen: u64,
    /// Came from outside the pool, calls included.
    pub injected: u64,
    /// Sent to one worker alone: parts of broadcasts.
    pub mailed: u64,
}

impl WorkerProfile {
    pub(crate) fn between(before: &Reading, now: &Reading) -> Self {
        // The reader's clock may be slightly ahead of the worker's. So the earlier reading may have
        // counted a little more for the open interval than the worker did later.
        let since = |now: &[u64; KINDS], before: &[u64; KINDS]| {
            std::array::from_fn(|at| now[at].saturating_sub(before[at]))
        };
        let times: [u64; KINDS] = since(&now.times.times, &before.times.times);
        Self {
            elapsed: times.iter().sum(),
            times,
            intervals: since(&now.times.intervals, &before.times.intervals),
            counts: now.counts.since(before.counts),
            work: now.times.work.saturating_sub(before.times.work),
            spans: now.spans.beyond(before.spans),
        }
    }

    fn none() -> Self {
        let (times, intervals) = ([0; KINDS], [0; KINDS]);
        Self {
            elapsed: 0,
            times,
            intervals,
            counts: Counts::default(),
            work: 0,
            spans: Paths::default(),
        }
    }

    /// The time between the two moments, in ticks, as a sum over the workers. The times of
    /// [`breakdown`](Self::breakdown) and `away` sum up to it exactly.
    pub fn elapsed(&self) -> u64 {
        self.elapsed
    }

    /// Time in the application, less the clock's cost, in ticks.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// Tasks that this worker made or ran.
    pub fn tasks(&self) -> Tasks {
        let of = |what| self.counts.of(what);
        Tasks {
            spawned: of(Count::Spawned),
            inlined: of(Count::Inlined),
            stolen: of(Count::Stolen),
            injected: of(Count::Injected),
            mailed: of(Count::Mailed),
        }
    }

    fn figures(&self) -> Figures<'_> {
        Figures { times: &self.times, intervals: &self.intervals, counts: &self.counts }
    }

    /// Wool's breakdown of this worker's time.
    pub fn breakdown(&self) -> Breakdown {
        self.figures().breakdown()
    }

    /// The breakdown of this worker's time by the scheduler's functions.
    pub fn functions(&self) -> Functions {
        self.figures().functions()
    }

    /// How often the clock was read.
    pub fn clock_reads(&self) -> u64 {
        self.intervals.iter().sum()
    }

    /// Subtracts `cost` from every time for each of its intervals. The application's time stays at
    /// least the work, in which an interval shorter than `cost` counts as none.
    fn net(mut self, cost: u64) -> Self {
        let mut to_spare = self.functions().application.saturating_sub(self.work);
        for (number, (time, intervals)) in self.times.iter_mut().zip(self.intervals).enumerate() {
            let mut less = (*time).min(intervals * cost);
            if Kind::of(number as u64).activity() == Activity::Application {
                less = less.min(to_spare);
                to_spare -= less;
            }
            *time -= less;
            self.elapsed -= less;
        }
        self
    }
}

impl AddAssign<&Self> for WorkerProfile {
    fn add_assign(&mut self, other: &Self) {
        self.elapsed += other.elapsed;
        for at in 0..KINDS {
            self.times[at] += other.times[at];
            self.intervals[at] += other.intervals[at];
        }
        self.counts = self.counts.plus(other.counts);
        self.work += other.work;
        self.spans = self.spans.plus(other.spans);
    }
}

impl Profile {
    /// The workers, in their order.
    pub fn workers(&self) -> &[WorkerProfile] {
        &self.workers
    }

    /// All workers in sum.
    pub fn total(&self) -> WorkerProfile {
        let mut sum = WorkerProfile::none();
        for worker in &self.workers {
            sum += worker;
        }
        sum
    }

    /// Tasks of all workers.
    pub fn tasks(&self) -> Tasks {
        self.total().tasks()
    }

    /// Wool's breakdown, of all workers in sum.
    pub fn breakdown(&self) -> Breakdown {
        self.total().breakdown()
    }

    /// The breakdown by the scheduler's functions, of all workers in sum.
    pub fn functions(&self) -> Functions {
        self.total().functions()
    }

    /// The time in the application, of all workers, without the clock's cost, in ticks: the time on
    /// one worker without a scheduler.
    pub fn work(&self) -> u64 {
        self.total().work
    }

    /// The burdens that the span was measured at, in ticks; see
    /// [`Profiler::burdens`](crate::Profiler::burdens).
    pub fn burdens(&self) -> [u64; BURDENS] {
        self.burdens
    }

    /// The span at the burden with this number, in ticks, of the calls from outside that have
    /// ended.
    ///
    /// # Panics
    ///
    /// If there is no such burden.
    #[track_caller]
    pub fn span(&self, burden: usize) -> u64 {
        let calls = self.total().spans.plus(self.scopes);
        calls.max(self.longest_detached).0[burden]
    }

    /// Work per span at the burden with this number: the number of workers that the computation can
    /// keep busy. 1 if there is no span.
    ///
    /// # Panics
    ///
    /// If there is no such burden.
    #[track_caller]
    pub fn parallelism(&self, burden: usize) -> f64 {
        ratio(self.work(), self.span(burden)).unwrap_or(1.0)
    }

    /// Bounds of the time on `workers` workers, in seconds: `max(T∞, T1/p) ≤ Tp ≤ T∞ +
    /// T1/p`, by this profile's work and span without a burden.
    pub fn bounds(&self, workers: usize) -> Bounds {
        self.bounds_at(0, workers)
    }

    /// The same by the span at the burden with this number.
    ///
    /// # Panics
    ///
    /// If there is no such burden.
    #[track_caller]
    pub fn bounds_at(&self, burden: usize, workers: usize) -> Bounds {
        Bounds::new(self.seconds(self.work()), self.seconds(self.span(burden)), workers)
    }

    /// Mean size of a task, *S*_T: work per task, in ticks. A call from outside is a task.
    pub fn task_granularity(&self) -> f64 {
        let counts = self.total().counts;
        ratio(self.work(), counts.of(Count::Spawned) + counts.of(Count::Calls).max(1))
            .unwrap_or(0.0)
    }

    /// Mean interval between steals, *I*_S: work per stolen task, in ticks. `None` if nothing was
    /// stolen.
    pub fn steal_interval(&self) -> Option<f64> {
        ratio(self.work(), self.tasks().stolen)
    }

    /// Calls from outside that have ended.
    pub fn calls(&self) -> u64 {
        self.total().counts.of(Count::Calls)
    }

    /// Time between the two moments of this profile, in seconds.
    pub fn wall_seconds(&self) -> f64 {
        self.seconds(self.total().elapsed) / self.workers.len().max(1) as f64
    }

    /// A time in ticks, in seconds.
    pub fn seconds(&self, ticks: u64) -> f64 {
        self.nanoseconds(ticks as f64) / 1e9
    }

    /// A time in ticks, in nanoseconds.
    pub fn nanoseconds(&self, ticks: f64) -> f64 {
        ticks / self.ticks_per_ns
    }

    /// Ticks a nanosecond, as measured against the clock.
    pub fn ticks_per_ns(&self) -> f64 {
        self.ticks_per_ns
    }

    /// The time that one reading of the clock adds to an interval, in ticks, as measured when the
    /// pool was built.
    pub fn clock_cost(&self) -> u64 {
        self.clock_cost
    }

    /// This profile without the clock's cost, which every interval contains once. Work and span do
    /// not change, because they never contain it.
    #[must_use]
    pub fn net(mut self) -> Self {
        let cost = self.clock_cost;
        self.workers = self.workers.into_iter().map(|worker| worker.net(cost)).collect();
        self
    }
}

/// Profiles of one pool, one after another.
impl AddAssign<&Self> for Profile {
    /// # Panics
    ///
    /// If the profiles are of different numbers of workers.
    fn add_assign(&mut self, other: &Self) {
        assert_eq!(self.workers.len(), other.workers.len(), "profiles of different pools");
        for (sum, more) in self.workers.iter_mut().zip(&other.workers) {
            *sum += more;
        }
        self.scopes = self.scopes.plus(other.scopes);
        self.longest_detached = self.longest_detached.plus(other.longest_detached);
    }
}
