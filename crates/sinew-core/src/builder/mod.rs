//! Builders of pools: by methods, from the environment, the global pool, and a thread's own pool.
//!
//! | file | contents |
//! |---|---|
//! | `environment` | the environment variables that describe a pool |
//! | `experiments` | settings that only experiments make, with the feature `experiments` |
//! | `global` | the global pool |
//! | `serially` | a thread's own pool, which runs everything serially |

pub(crate) mod environment;
#[cfg(feature = "experiments")]
mod experiments;
pub(crate) mod global;
pub(crate) mod serially;

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
use sinew_topology::{CpuAssignment, Limits, Machine, Mapping};

use crate::build_error::{BuildError, MAX_THREADS};
use crate::fork;
use crate::host::{machine, machine_as_known};
use crate::idle::backoff::ENDLESS;
use crate::idle::sleep::Sleepers;
use crate::idle::wake_placement::WakePlacement;
use crate::idle::wake_up_cost::WakeUpCost;
use crate::pool::Pool;
use crate::pool::threads::{ThreadSettings, WorkerThread, spawn};
#[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
use crate::requested_share::RequestedShare;
use crate::seams::hook::PoolHook;
use crate::seams::limit::Limit;
use crate::seams::observer::Observer;
use crate::seams::pins::PoolPins;
#[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
use crate::sharing;
use crate::state::external_slot::ExternalSlot;
use crate::state::pool_state::{FirstSlot, Living, PanicHandler, PoolState};
use crate::state::tls;
use crate::state::worker::Worker;
use crate::state::worker_memory::preferred_nodes;
use crate::state::worker_slots::WorkerSlots;
use crate::stealing::{Experiments, Stealing};

/// Which fences the owners of task stacks execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Fences {
    /// No full fences, once the system is known to have `membarrier(2)`; full fences until then,
    /// and on other systems.
    #[default]
    Auto,
    /// A full fence at every push and pop, and no interruption of other cores: about a nanosecond
    /// more for each join.
    Full,
}

/// How long an idle worker spins before it parks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Spin {
    /// 0 to 40 µs, adapted to its idle times.
    #[default]
    Adaptive,
    /// This time.
    For(Duration),
    /// Without end: idle and waiting workers search instead of parking, for experiments, and
    /// thieves do not pause after short steals. Each worker keeps a core busy all the time.
    Forever,
}

impl Spin {
    /// The window in nanoseconds; `None` if it adapts.
    fn window_ns(self) -> Option<u64> {
        match self {
            Self::Adaptive => None,
            Self::For(window) => Some(u64::try_from(window.as_nanos()).unwrap_or(ENDLESS)),
            Self::Forever => Some(ENDLESS),
        }
    }
}

/// Describes a pool; see [`Pool::builder`]. Each method names its default.
///
/// ```
/// use sinew_core::{Pool, Wait};
///
/// let pool = Pool::builder().threads(3).wait(Wait::Block).build()?;
/// assert_eq!(pool.max_threads(), 3);
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
#[derive(Default)]
pub struct PoolBuilder {
    threads: Option<usize>,
    /// The number of CPUs of the machine, as given by `sinew exec`, which narrows this process's
    /// mask.
    usual_threads: Option<usize>,
    mapping: Mapping,
    wait: Wait,
    victims: Victims,
    stack: StackKind,
    experiments: Experiments,
    machine: Option<Machine>,
    fences: Fences,
    spin: Spin,
    first_slot: FirstSlot,
    oldest_first: bool,
    follow_limits: Option<bool>,
    limits_below: Option<PathBuf>,
    #[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
    pub(crate) share: RequestedShare,
    hooks: Vec<Arc<dyn PoolHook>>,
    observer: Option<Arc<dyn Observer>>,
    panic_handler: Option<PanicHandler>,
    settings: ThreadSettings,
}

impl PoolBuilder {
    /// A pool with all defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of threads, the external slot included. Default: the number of processors that
    /// affinity, cpuset and quota leave to this process.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// The default number of threads, whatever was set before, as by
    /// [`set_from_env`](Self::set_from_env).
    pub fn default_threads(mut self) -> Self {
        self.threads = None;
        self
    }

    /// The default number of threads, instead of the CPUs of the present mask. Affinity, cpuset and
    /// quota limit how many of them work at each time.
    pub(crate) fn usual_threads(mut self, threads: usize) -> Self {
        self.usual_threads = Some(threads);
        self
    }

    /// The mapping that pins the workers' threads. Default: no pinning. External threads are never
    /// pinned.
    pub fn mapping(mut self, mapping: Mapping) -> Self {
        self.mapping = mapping;
        self
    }

    /// Which tasks a blocked worker runs. Default: [`Wait::Leapfrog`].
    pub fn wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// The victim policy. Default: [`Victims::Random`]. [`Pool::set_victims`] changes it later.
    pub fn victims(mut self, victims: Victims) -> Self {
        self.victims = victims;
        self
    }

    /// The kind of the workers' task stacks. Default: [`StackKind::Split`].
    pub fn stack(mut self, stack: StackKind) -> Self {
        self.stack = stack;
        self
    }

    /// Describes another machine, for experiments and tests: distances and packages are those of
    /// `machine`. No thread is pinned, because its processors need not exist. Without a
    /// [`mapping`](Self::mapping) no worker has a place on it. Default for the number of threads:
    /// its processors.
    ///
    /// ```
    /// use sinew_core::{Mapping, Pool, Victims};
    ///
    /// let machine = "package:4 l3:1 l2:3 core:2".parse()?;
    /// let builder = Pool::builder().machine(machine).mapping(Mapping::Compact).threads(8);
    /// let pool = builder.victims(Victims::Nearest).build()?;
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

    /// How long an idle worker spins before it parks. Default: [`Spin::Adaptive`].
    pub fn spin(mut self, spin: Spin) -> Self {
        self.spin = spin;
        self
    }

    /// Sets an observer, which gets the events of the workers. Default: none.
    ///
    /// # Cost
    ///
    /// The cost of the observer, and some 20 ns for each join or task. Without an observer: nothing
    /// in a join.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Whether the pool has a slot for callers from outside; default: yes. Without it every slot
    /// has a thread of the pool, and callers always queue their call and wait.
    pub fn external_slot(mut self, kept: bool) -> Self {
        self.first_slot = if kept { FirstSlot::ExternalThreads } else { FirstSlot::Thread };
        self
    }

    /// Makes the thread that builds the pool its worker 0, permanently, instead of an external
    /// slot. That thread runs tasks of the pool whenever it waits in it, and when it calls
    /// [`yield_now`](crate::Worker::yield_now). The pool's memory is never freed.
    pub fn use_current_thread(mut self) -> Self {
        self.first_slot = FirstSlot::Builder;
        self
    }

    /// The pool of a thread that works [`serially`](crate::serially).
    pub(crate) fn serial() -> Self {
        Self { first_slot: FirstSlot::Serial, ..Self::new().threads(1) }
    }

    /// Whether workers run the oldest of their own queued tasks first instead of the newest.
    /// Default: no.
    pub fn oldest_first(mut self, oldest_first: bool) -> Self {
        self.oldest_first = oldest_first;
        self
    }

    /// Whether the number of working threads follows affinity, cpuset and quota of the process
    /// while it runs, up to the number of slots. Default: yes, unless the number of threads was
    /// set.
    pub fn follow_limits(mut self, follow: bool) -> Self {
        self.follow_limits = Some(follow);
        self
    }

    /// The same as `follow_limits(true)`, except that the process's groups and their cpuset and
    /// quota are read below `root` instead of `/`: for containers whose files are mounted in
    /// another folder, and for tests. The affinity mask is always that of the thread that reads it.
    pub fn follow_limits_below(mut self, root: impl Into<PathBuf>) -> Self {
        self.limits_below = Some(root.into());
        self.follow_limits(true)
    }

    /// Adds a hook, which is called until the pool ends.
    pub fn hook(mut self, hook: impl PoolHook) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Names the threads, by slot. Default: `sinew-1`, `sinew-2`, …
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        self.settings.name = Some(Arc::new(name));
        self
    }

    /// Bytes of stack for each thread. Default: the standard library's, 2 MiB.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.settings.stack_size = Some(bytes);
        self
    }

    /// Called on each thread before it works, with the number of its slot. A panic in it goes to
    /// the panic handler. Not called for external threads.
    pub fn on_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.settings.on_start = Some(Arc::new(hook));
        self
    }

    /// Called on each thread when it ends. A panic in it goes to the panic handler.
    pub fn on_exit(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.settings.on_exit = Some(Arc::new(hook));
        self
    }

    /// Sets the handler for panics of detached tasks and of hooks; it gets the payload. Default:
    /// the process aborts.
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
    /// [`BuildError::Threads`] for 0 threads or more than [`MAX_THREADS`]; `BuildError::Weight`
    /// for an invalid weight; [`BuildError::Mapping`] if the mapping names a processor that this
    /// process may not use; [`BuildError::Spawn`] if the system refuses a thread; threads that were
    /// started before end again.
    ///
    /// # Cost
    ///
    /// A thread and a quarter of a MiB of address space for each worker; pages are touched when
    /// they are used.
    pub fn build(self) -> Result<Pool, BuildError> {
        let handles = Arc::new(Mutex::new(Vec::new()));
        let started = Arc::clone(&handles);
        let settings = self.settings.clone();
        let pool = self.build_with(move |slot| {
            let thread = settings.start(slot.index(), move || slot.run())?;
            started.lock().push(thread);
            Ok(())
        })?;
        pool.threads.lock().append(&mut handles.lock());
        Ok(pool)
    }

    /// Builds the pool with threads that `start` provides: it is called once for each slot in
    /// order, with a value whose [`run`](WorkerThread::run) the thread must call.
    ///
    /// Only [`Pool::shutdown`] waits for such threads. A slot whose [`WorkerThread`] is dropped
    /// stays empty.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build), with the error of `start` as the cause of [`BuildError::Spawn`].
    pub fn build_with(
        mut self,
        mut start: impl FnMut(WorkerThread) -> io::Result<()>,
    ) -> Result<Pool, BuildError> {
        let described = self.machine.take();
        let (machine, limits) = match &described {
            Some(described) => (described, Limits::unlimited(described)),
            // Reading the limits takes longer than all other steps: a pool that needs none of them
            // uses the last ones read.
            None if self.threads.is_some() && self.mapping == Mapping::None => machine_as_known(),
            None => machine(),
        };
        let threads =
            self.threads.or(self.usual_threads).unwrap_or_else(|| limits.effective_threads());
        if threads == 0 || threads > MAX_THREADS {
            return Err(BuildError::Threads(threads));
        }
        #[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
        let sharing = sharing::requested(&self.share, described.as_ref(), limits.allowed())?;
        #[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
        self.hooks.extend(sharing.clone().map(|sharing| sharing as Arc<dyn PoolHook>));
        if self.first_slot == FirstSlot::Builder && tls::current().is_some() {
            return Err(BuildError::AlreadyWorker);
        }
        let cpu_assignment = CpuAssignment::new(machine, limits.allowed(), &self.mapping, threads)
            .map_err(BuildError::Mapping)?;
        let settings = Arc::new(self.settings.clone());
        let place =
            Place { cpu_assignment, machine, limits: &limits, is_real: described.is_none() };
        let state = self.state(threads, place);
        let pool = Pool {
            state,
            threads: Mutex::new(Vec::new()),
            standby: Mutex::new(false),
            settings: Arc::clone(&settings),
        };
        for index in pool.state.threaded_slots() {
            start(WorkerThread::new(&pool.state, index, &settings)).map_err(BuildError::Spawn)?;
        }
        #[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
        sharing.into_iter().for_each(|sharing| sharing.begin(&pool));
        if pool.state.first_slot == FirstSlot::Builder {
            tls::settle(&pool.state);
        }
        Ok(pool)
    }

    fn state(self, threads: usize, place: Place<'_>) -> Arc<PoolState> {
        let Place { cpu_assignment, machine, limits, is_real } = place;
        let cores = limits.allowed().len();
        let heavy_fences = self.fences == Fences::Auto;
        let fenced = threads > 1 && !(heavy_fences && (fence::is_asymmetric() || register_fence()));
        let observer = self.observer;
        let mut observers = observer.as_ref().map(|observer| observer.watch(threads).into_iter());
        let nodes = match is_real {
            true => preferred_nodes(machine, &cpu_assignment, self.first_slot),
            false => vec![PreferredNode::OnlyNode; threads],
        };
        Arc::new_cyclic(|pool| PoolState {
            slots: WorkerSlots::new(&nodes, |index, node| {
                let observer = observers.as_mut().and_then(Iterator::next);
                Worker::new(pool.as_ptr(), index, fenced, self.stack, node, observer, self.victims)
            }),
            sleepers: Sleepers::new(threads),
            injector: Injector::new(),
            last_taker: AtomicUsize::new(usize::MAX),
            external_slot: ExternalSlot::new(),
            standby: Parker::new(),
            first_slot: self.first_slot,
            oldest_first: self.oldest_first,
            hooks: self.hooks.into(),
            limit: Limit::new(
                self.follow_limits
                    .unwrap_or(is_real && self.threads.is_none())
                    .then(|| self.limits_below.unwrap_or_else(|| "/".into())),
            ),
            cancel_scope: Arc::default(),
            wait: self.wait,
            spin_ns: self.spin.window_ns(),
            cores,
            panic_handler: self.panic_handler,
            wake_up_cost: WakeUpCost::new(),
            wake_placement: WakePlacement::new(
                is_real && self.mapping == Mapping::None && threads <= cores,
            ),
            stealing: Stealing::new(self.victims, self.experiments, machine, &cpu_assignment),
            can_pin: is_real,
            pins: PoolPins::new(self.mapping, &cpu_assignment, limits.allowed(), is_real),
            cpu_assignment,
            heavy_fences,
            threads: Living::default(),
            ending: AtomicBool::new(false),
            serving: AtomicUsize::new(0),
            generation: fork::generation(),
            observer,
            serial_worker: serially::alone,
        })
    }
}

impl Pool {
    /// A pool with one worker for each processor that this process may use, and defaults for other
    /// settings.
    ///
    /// # Errors
    ///
    /// As [`PoolBuilder::build`].
    pub fn new() -> Result<Self, BuildError> {
        PoolBuilder::new().build()
    }

    /// A builder with all defaults.
    pub fn builder() -> PoolBuilder {
        PoolBuilder::new()
    }
}

/// The placement of a pool's slots.
struct Place<'m> {
    cpu_assignment: CpuAssignment,
    machine: &'m Machine,
    limits: &'m Limits,
    /// Whether it is the machine on which the process runs.
    is_real: bool,
}

/// Registers for the heavy fence: at once if that is quick, else on a thread of its own. Returns
/// whether the heavy fence works now.
fn register_fence() -> bool {
    if fence::register_is_quick() {
        return fence::register();
    }
    // Without the thread, owners continue to execute full fences.
    let builder = thread::Builder::new().name("sinew-fence".into());
    let _ = spawn(
        builder,
        Box::new(|| {
            fence::register();
        }),
    );
    false
}

impl fmt::Debug for PoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("PoolBuilder");
        text.field("threads", &self.threads)
            .field("usual_threads", &self.usual_threads)
            .field("mapping", &self.mapping)
            .field("wait", &self.wait)
            .field("victims", &self.victims)
            .field("stack", &self.stack)
            .field("fences", &self.fences)
            .field("spin", &self.spin)
            .field("first_slot", &self.first_slot)
            .field("experiments", &self.experiments)
            .field("is_observed", &self.observer.is_some());
        #[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
        text.field("share", &self.share);
        text.finish_non_exhaustive()
    }
}
