//! Describing a pool.

use std::any::Any;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sinew_deque::{Injector, PreferredNode};
use sinew_policy::victim::Victims;
use sinew_policy::{StackKind, Wait};
use sinew_sync::atomic::{AtomicBool, AtomicUsize};
use sinew_sync::fence;
use sinew_sync::lock::Mutex;
use sinew_sync::parker::Parker;
use sinew_sync::thread;
use sinew_topology::{Limits, Machine, Mapping, Seating};

use crate::build_error::BuildError;
use crate::environment;
use crate::fork;
use crate::guest::GuestSeat;
use crate::host::{machine, machine_as_known};
use crate::inner::{FirstSeat, Inner, Living, PanicHandler};
use crate::limit::Limit;
use crate::patience::ENDLESS;
use crate::payoff::Payoff;
use crate::pins::Berths;
use crate::pool::Pool;
use crate::profile::{BURDENS, DEFAULT_BURDENS, Profiling};
use crate::seats::Seats;
use crate::sharing::{Sharing, WEIGHTS, Wishes};
use crate::sleep::Sleepers;
use crate::stealing::{Stealing, WITHHELD_NS};
use crate::steer::Steering;
use crate::threads::{SeatThread, ThreadSettings};
use crate::tls;
use crate::worker::Worker;
use crate::worker_memory::preferred_nodes;

/// The most seats a pool can have.
pub const MAX_WORKERS: usize = 1 << 16;

/// Which fences the owners of task stacks execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Fences {
    /// None, once the system has been found to offer `membarrier(2)`; full ones until then, and
    /// elsewhere.
    #[default]
    Auto,
    /// A full fence at every push and pop, and no interruption of other cores: about a nanosecond
    /// more a join.
    Full,
}

/// Describes a pool: [`Pool::builder`]. What is not set has the default named at its method.
///
/// ```
/// use sinew_core::{Pool, Wait};
///
/// let pool = Pool::builder().threads(3).wait(Wait::Block).build()?;
/// assert_eq!(pool.max_workers(), 3);
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
#[derive(Default)]
pub struct Builder {
    threads: Option<usize>,
    /// What somebody who narrows this process's mask says that the machine has.
    usual_threads: Option<usize>,
    mapping: Mapping,
    wait: Wait,
    victims: Victims,
    stack: StackKind,
    steal_delay: u32,
    withhold: Option<Duration>,
    machine: Option<Machine>,
    fences: Fences,
    spin: Option<Duration>,
    first_seat: FirstSeat,
    oldest_first: bool,
    follow_limits: Option<bool>,
    limits_below: Option<PathBuf>,
    coordinate: bool,
    wishes: Wishes,
    profile: bool,
    record: bool,
    timeline: bool,
    burdens: Option<[u64; BURDENS]>,
    panic_handler: Option<PanicHandler>,
    settings: ThreadSettings,
}

impl Builder {
    /// A pool with all defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// A pool as the environment describes it, for the global pool and for programs that want the
    /// same.
    ///
    /// | variable | value | default |
    /// |---|---|---|
    /// | `SINEW_THREADS` | number of workers, at least 1 | the processors this process may use |
    /// | `SINEW_MAPPING` | `none`, `compact`, `scatter`, or a list of processors such as `0,2,4-7` | `none` |
    /// | `SINEW_WAIT` | `leapfrog`, `any`, `descendants`, `transitive` or `block` | `leapfrog` |
    /// | `SINEW_STACK` | `split` or `two-field` | `split` |
    /// | `SINEW_VICTIMS` | a victim policy such as `nearest`, `set:12,4` or `sorted:5,package,stay`; see [`Victims`] | `random` |
    /// | `SINEW_FENCES` | `auto` or `full` | `auto` |
    /// | `SINEW_SPIN_US` | microseconds an idle worker spins before it parks | adaptive, 0 to 40 |
    /// | `SINEW_COORDINATE` | `1` or `0`: whether the pool shares the machine with other programs by agreement | `0` |
    /// | `SINEW_WEIGHT` | the program's part in proportion to others', from 0.01 to 100 | 1 |
    /// | `SINEW_MIN_THREADS` | threads that others leave to the pool at least, if there are cores enough | 1 |
    /// | `SINEW_PROFILE` | `1` or `0`: whether the pool profiles | `0` |
    ///
    /// A value that does not parse is reported in one line on standard error, and the default is
    /// taken. What is set on the builder afterwards beats the environment. The variables count as
    /// they were when the process first asked for them.
    pub fn from_env() -> Self {
        Self::new().set_from_env()
    }

    /// This builder with what the environment sets, as the table at [`from_env`](Self::from_env)
    /// says; the rest stays as it is.
    pub fn set_from_env(self) -> Self {
        environment::set_from_env(self)
    }

    /// The number of workers, the guest seat included. Default: the number of processors that
    /// affinity, cpuset and quota leave to this process.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// The default number of workers, whatever was set before, as by
    /// [`set_from_env`](Self::set_from_env).
    pub fn default_threads(mut self) -> Self {
        self.threads = None;
        self
    }

    /// The number of workers where the program sets none, instead of what the mask leaves at the
    /// moment. As many of them work as affinity, cpuset and quota leave at each time.
    pub(crate) fn usual_threads(mut self, threads: usize) -> Self {
        self.usual_threads = Some(threads);
        self
    }

    /// Where the workers' threads are pinned. Default: nowhere. Guests are never pinned.
    pub fn mapping(mut self, mapping: Mapping) -> Self {
        self.mapping = mapping;
        self
    }

    /// What a worker does while it is blocked. Default: [`Wait::Leapfrog`].
    pub fn wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// How thieves choose their victims. Default: [`Victims::Random`]. [`Pool::set_victims`]
    /// changes it later.
    pub fn victims(mut self, victims: Victims) -> Self {
        self.victims = victims;
        self
    }

    /// Which task stacks workers have. Default: [`StackKind::Split`].
    pub fn stack(mut self, stack: StackKind) -> Self {
        self.stack = stack;
        self
    }

    /// Cycles that a thief does nothing between a successful steal and the stolen task, which may
    /// be one of a join, of a scope or a detached one: for experiments about the cost of steals.
    /// Default: 0.
    pub fn steal_delay(mut self, cycles: u32) -> Self {
        self.steal_delay = cycles;
        self
    }

    /// Whether idle and waiting workers search without end instead of parking, all of them at once,
    /// for experiments. Default: no. A core for each worker is kept busy all the time.
    pub fn never_park(mut self, never: bool) -> Self {
        self.spin = never.then_some(Duration::MAX);
        self
    }

    /// How long a victim policy may keep a worker from work in sight, before that worker takes any
    /// task, whether or not it ever parks. Default: 200 µs. The time begins when the worker has
    /// searched in vain for a spin window, or for 50 to 400 µs, if the window is longer. With a
    /// longer time rules hold more strictly, and tasks may wait for as long: for experiments.
    pub fn withhold(mut self, time: Duration) -> Self {
        self.withhold = Some(time);
        self
    }

    /// Seats the workers on `machine` instead of the machine at hand, for experiments and tests:
    /// distances and packages are that machine's, and no thread is pinned, as its processors need
    /// not exist. Without a [`mapping`](Self::mapping) nobody has a place on it. Default for the
    /// number of workers: its processors.
    ///
    /// ```
    /// use sinew_core::{Mapping, Pool, Victims};
    ///
    /// let machine = "package:4 l3:1 l2:3 core:2".parse()?;
    /// let pool = Pool::builder().machine(machine).mapping(Mapping::Compact).victims(Victims::Nearest).threads(8).build()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn machine(mut self, machine: Machine) -> Self {
        self.machine = Some(machine);
        self
    }

    /// Which fences task stacks execute. Default: [`Fences::Auto`].
    pub fn fences(mut self, fences: Fences) -> Self {
        self.fences = fences;
        self
    }

    /// How long an idle worker spins before it parks. Default: 0 to 40 µs, by what its idle times
    /// have shown.
    pub fn spin(mut self, window: Duration) -> Self {
        self.spin = Some(window);
        self
    }

    /// Whether the pool measures where its workers' time goes, and how parallel its programs are;
    /// see [`Pool::profile`]. Default: no.
    ///
    /// # Cost
    ///
    /// Some 100 ns a join or task, and what the compiler can no longer inline. Without it: nothing
    /// in a join.
    pub fn profile(mut self, profile: bool) -> Self {
        self.profile = profile;
        self
    }

    /// Whether the pool records what is spawned in it and how much is worked between, as a graph;
    /// see [`Pool::take_recording`]. It profiles then, too. Default: no.
    ///
    /// # Cost
    ///
    /// That of a profile, and some 100 bytes a join.
    pub fn record(mut self, record: bool) -> Self {
        self.record = record;
        self.profile |= record;
        self
    }

    /// Whether the pool keeps a diary of what each worker does, and when, for a
    /// [`timeline`](Pool::timeline). Such a pool also [profiles](Self::profile). Default: no.
    ///
    /// # Cost
    ///
    /// Beyond that of a profile, some 50 ns a join or task, and at most 1.5 MiB a worker.
    pub fn timeline(mut self, timeline: bool) -> Self {
        self.timeline = timeline;
        self.profile |= timeline;
        self
    }

    /// The burdens at which a pool that profiles measures the span: what moving a task to another
    /// worker is taken to cost, in ticks of the time-stamp counter. The first is what
    /// [`Profile::bounds`](crate::Profile::bounds) goes by. Default: 0, 1000 and 2000.
    pub fn burdens(mut self, ticks: [u64; BURDENS]) -> Self {
        self.burdens = Some(ticks);
        self
    }

    /// Whether a seat is kept for callers from outside; default: yes. Without it every seat has a
    /// thread of the pool, and callers always hand their work over and wait.
    pub fn guest_seat(mut self, kept: bool) -> Self {
        self.first_seat = if kept { FirstSeat::Guests } else { FirstSeat::Thread };
        self
    }

    /// Makes the thread that builds the pool its worker 0, for good, instead of keeping a guest
    /// seat. That thread works for the pool whenever it waits in it, and calls
    /// [`yield_now`](crate::Worker::yield_now) where it wants to. The pool's memory is never freed.
    pub fn use_current_thread(mut self) -> Self {
        self.first_seat = FirstSeat::Builder;
        self
    }

    /// The pool of a thread that works [`serially`](crate::serially).
    pub(crate) fn serial() -> Self {
        Self { first_seat: FirstSeat::Serial, ..Self::new().threads(1) }
    }

    /// Whether workers run the oldest of their own queued tasks first instead of the newest.
    /// Default: no.
    pub fn oldest_first(mut self, oldest_first: bool) -> Self {
        self.oldest_first = oldest_first;
        self
    }

    /// Whether the number of working threads follows affinity, cpuset and quota of the process
    /// while it runs, up to the number of seats. Default: where the number of threads was not set.
    pub fn follow_limits(mut self, follow: bool) -> Self {
        self.follow_limits = Some(follow);
        self
    }

    /// The same as `follow_limits(true)`, except that the process's groups and their cpuset and
    /// quota are read below `root` instead of `/`: where a container's files are mounted elsewhere,
    /// and for tests. The affinity mask is the thread's that looks, in any case.
    pub fn follow_limits_below(mut self, root: impl Into<PathBuf>) -> Self {
        self.limits_below = Some(root.into());
        self.follow_limits(true)
    }

    /// Whether the pool shares the machine with other programs that do so, by agreement: it takes
    /// part in the table that all programs of this user share (see the crate `sinew-coord`), lets
    /// no more workers work than it is given cores, and keeps its threads on those. Default: no.
    ///
    /// A schedule that somebody asks for on the program's behalf, such as a coordinator's script,
    /// is followed by loops over items that name none or
    /// [`Schedule::Auto`](sinew_policy::chunk::Schedule::Auto), and by those under a
    /// [`Control`](crate::Control) that names none.
    ///
    /// What the program decides itself is left to it: no schedule is granted to a pool that has
    /// [one of its own](crate::PoolControl::set_schedule), and a pool whose
    /// [`mapping`](Self::mapping) is a list of processors is given cores of that list only.
    ///
    /// It does so in the background: until it has been told of neighbours, and whenever there are
    /// none, everything is as without. Only on Linux.
    ///
    /// Several pools of one process share in the same way, as if they were programs: each that
    /// coordinates has a row of its own, and they get equal parts of the cores, by weight, of which
    /// none keeps more than it has work for. In proportion to demand only where a coordinator has
    /// chosen that rule (`sinew coordinator --policy proportional`). Pools that do not coordinate,
    /// and all on other systems, share nothing: each has all its threads, which start with it and
    /// sleep while it has no work, and the kernel divides the cores among those that run.
    ///
    /// # Cost
    ///
    /// Three threads that sleep; with neighbours, a look at the pool every 10 ms while it has work.
    pub fn coordinate(mut self, coordinate: bool) -> Self {
        self.coordinate = coordinate;
        self
    }

    /// The same, among the programs that share the table in `folder`, which is made if need be,
    /// instead of all programs of this user: for experiments and tests. Programs on different
    /// machines, such as described ones, must not share a table.
    pub fn coordinate_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.coordinate = true;
        self.wishes.folder = Some(folder.into());
        self
    }

    /// The program's part of the machine in proportion to others', from 0.01 to 100, where it
    /// [shares](Self::coordinate) one: of two programs with work for all cores, the one of weight 2
    /// has twice as many as the one of weight 1. Default: 1. `sinew top` changes it while the
    /// program runs.
    ///
    /// ```
    /// use sinew_core::Pool;
    ///
    /// let pool = Pool::builder().coordinate(true).weight(2.0).min_threads(2).threads(4).build()?;
    /// assert_eq!(pool.run(|w| w.join(|_| 1, |_| 2)), (1, 2));
    /// # Ok::<(), sinew_core::BuildError>(())
    /// ```
    pub fn weight(mut self, weight: f64) -> Self {
        self.wishes.weight = weight;
        self
    }

    /// How many threads other programs leave to the pool at least, where it
    /// [shares](Self::coordinate) the machine and there are cores enough for what all have asked
    /// for so; no more than it has. Default: 1. The most that it takes is its number of
    /// [`threads`](Self::threads).
    pub fn min_threads(mut self, threads: usize) -> Self {
        self.wishes.min_threads = threads;
        self
    }

    /// Names the threads, by seat. Default: `sinew-1`, `sinew-2`, …
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        self.settings.name = Some(Arc::new(name));
        self
    }

    /// Bytes of stack for each thread. Default: the standard library's, 2 MiB.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.settings.stack_size = Some(bytes);
        self
    }

    /// Called on each thread before it works, with the number of its seat. A panic in it goes to
    /// the panic handler. Not called for guests.
    pub fn on_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.settings.on_start = Some(Arc::new(hook));
        self
    }

    /// Called on each thread when it ends. A panic in it goes to the panic handler.
    pub fn on_exit(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.settings.on_exit = Some(Arc::new(hook));
        self
    }

    /// Gets the payload of every detached task, and every hook, that panics. Default: the process
    /// aborts.
    pub fn panic_handler(
        mut self,
        handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    ) -> Self {
        self.panic_handler = Some(Box::new(handler));
        self
    }

    /// Builds the pool and starts its threads.
    ///
    /// # Errors
    ///
    /// [`BuildError::Threads`] for 0 workers or more than [`MAX_WORKERS`]; [`BuildError::Weight`]
    /// for a weight that is none; [`BuildError::Mapping`] if the mapping names a processor that
    /// this process may not use; [`BuildError::Spawn`] if the system refuses a thread: those
    /// started before end again.
    ///
    /// # Cost
    ///
    /// A quarter of a MiB of address space a worker, touched as it is needed, and a thread each.
    pub fn build(self) -> Result<Pool, BuildError> {
        let handles = Arc::new(Mutex::new(Vec::new()));
        let started = Arc::clone(&handles);
        let settings = self.settings.clone();
        let pool = self.build_with(move |seat| {
            let thread = settings.start(seat.index(), move || seat.run())?;
            started.lock().push(thread);
            Ok(())
        })?;
        pool.threads.lock().append(&mut handles.lock());
        Ok(pool)
    }

    /// Builds the pool with threads that `start` provides: it gets what a thread must
    /// [`run`](SeatThread::run), once for each seat in order.
    ///
    /// Nothing waits for such threads but [`Pool::shutdown`]. A seat whose [`SeatThread`] is
    /// dropped stays empty.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build), with what `start` answered as the cause of [`BuildError::Spawn`].
    pub fn build_with(
        mut self,
        mut start: impl FnMut(SeatThread) -> io::Result<()>,
    ) -> Result<Pool, BuildError> {
        let described = self.machine.take();
        let (machine, limits) = match &described {
            Some(described) => (described, Limits::unlimited(described)),
            // Reading the limits takes longer than all the rest: a pool that needs none of them
            // takes the last ones read.
            None if self.threads.is_some() && self.mapping == Mapping::None => machine_as_known(),
            None => machine(),
        };
        let threads =
            self.threads.or(self.usual_threads).unwrap_or_else(|| limits.effective_threads());
        if threads == 0 || threads > MAX_WORKERS {
            return Err(BuildError::Threads(threads));
        }
        if !WEIGHTS.contains(&self.wishes.weight) {
            return Err(BuildError::Weight(self.wishes.weight));
        }
        if self.first_seat == FirstSeat::Builder && tls::current().is_some() {
            return Err(BuildError::AlreadyWorker);
        }
        let seating = Seating::new(machine, limits.allowed(), &self.mapping, threads)
            .map_err(BuildError::Mapping)?;
        let settings = Arc::new(self.settings.clone());
        let place = Place { seating, machine, limits: &limits, is_real: described.is_none() };
        let inner = self.seats(threads, place);
        let pool = Pool {
            inner,
            threads: Mutex::new(Vec::new()),
            standby: Mutex::new(false),
            settings: Arc::clone(&settings),
        };
        if let Some(profiling) = &pool.inner.profiling {
            profiling.begin(&pool.inner);
        }
        for index in pool.inner.threaded_seats() {
            start(SeatThread::new(&pool.inner, index, &settings)).map_err(BuildError::Spawn)?;
        }
        pool.start_sharing();
        if pool.inner.first_seat == FirstSeat::Builder {
            tls::settle(&pool.inner);
        }
        Ok(pool)
    }

    fn seats(self, threads: usize, place: Place<'_>) -> Arc<Inner> {
        let Place { seating, machine, limits, is_real } = place;
        let cores = limits.allowed().len();
        let heavy_fences = self.fences == Fences::Auto;
        let fenced = threads > 1 && !(heavy_fences && (fence::asymmetric() || register_fence()));
        let profiling = self.profile.then(|| {
            Profiling::new(self.burdens.unwrap_or(DEFAULT_BURDENS), self.timeline, self.record)
        });
        let homes = match is_real {
            true => preferred_nodes(machine, &seating, self.first_seat),
            false => vec![PreferredNode::OnlyNode; threads],
        };
        Arc::new_cyclic(|pool| Inner {
            seats: Seats::new(&homes, |index, home| {
                let books = profiling.as_ref().map(|profiling| profiling.books());
                Worker::new(pool.as_ptr(), index, fenced, self.stack, home, books, self.victims)
            }),
            sleepers: Sleepers::new(),
            injector: Injector::new(),
            last_taker: AtomicUsize::new(usize::MAX),
            guest: GuestSeat::new(),
            standby: Parker::new(),
            first_seat: self.first_seat,
            oldest_first: self.oldest_first,
            // Programs meet on the machine at hand, unless they are told where else.
            sharing: (self.coordinate && (is_real || self.wishes.folder.is_some()))
                .then(|| Arc::new(Sharing::new(self.wishes, (!is_real).then_some(machine)))),
            limit: Limit::new(
                self.follow_limits
                    .unwrap_or(is_real && self.threads.is_none())
                    .then(|| self.limits_below.unwrap_or_else(|| "/".into())),
            ),
            roll: Arc::default(),
            wait: self.wait,
            spin_ns: self.spin.map(|window| u64::try_from(window.as_nanos()).unwrap_or(ENDLESS)),
            steal_delay: u64::from(self.steal_delay),
            cores,
            panic_handler: self.panic_handler,
            payoff: Payoff::new(),
            steering: Steering::new(is_real && self.mapping == Mapping::None && threads <= cores),
            stealing: Stealing::new(
                self.victims,
                self.withhold
                    .map_or(WITHHELD_NS, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
                machine,
                &seating,
            ),
            pins: is_real,
            berths: Berths::new(self.mapping, &seating, limits.allowed(), is_real),
            seating,
            heavy_fences,
            threads: Living::default(),
            ending: AtomicBool::new(false),
            serving: AtomicUsize::new(0),
            generation: fork::generation(),
            profiling,
        })
    }
}

/// Where the seats of a pool are.
struct Place<'m> {
    seating: Seating,
    machine: &'m Machine,
    limits: &'m Limits,
    /// It is the machine at hand.
    is_real: bool,
}

/// Asks for the heavy fence: at once where that is quick, else on a thread of its own. Answers
/// whether it can be relied on now.
fn register_fence() -> bool {
    if fence::register_is_quick() {
        return fence::register();
    }
    // Without the thread, owners go on executing full fences.
    let _ = thread::Builder::new().name("sinew-fence".into()).spawn(|| {
        fence::register();
    });
    false
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("threads", &self.threads)
            .field("usual_threads", &self.usual_threads)
            .field("mapping", &self.mapping)
            .field("wait", &self.wait)
            .field("victims", &self.victims)
            .field("stack", &self.stack)
            .field("fences", &self.fences)
            .field("spin", &self.spin)
            .field("first_seat", &self.first_seat)
            .field("coordinate", &self.coordinate)
            .field("wishes", &self.wishes)
            .field("profile", &self.profile)
            .field("timeline", &self.timeline)
            .finish_non_exhaustive()
    }
}
