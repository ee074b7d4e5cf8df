//! A worker: a worker slot of a pool and all its state.
//!
//! # Invariants
//!
//! - W1: at any time at most one thread is the owner of a worker: the pool thread started for it,
//!   or the external thread that holds its slot. Only the owner gets a `&Worker` from this crate,
//!   because a `Worker` is neither `Send` nor `Sync` and arms take it with a lifetime of their own.
//! - W2: other threads access a worker through its pool only, and use only its shared parts: the
//!   thief's side of the stack and the deque, the parker, the flags and the counters.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use sinew_deque::PreferredNode;
use sinew_deque::stack::{Options, TaskStack, reason};
use sinew_deque::{Blocks, Deque, Injector};
use sinew_policy::idle::SpinWindow;
use sinew_policy::victim::{VictimPolicy, Victims};
use sinew_policy::{StackKind, Wait};
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use sinew_sync::parker::Parker;
use sinew_topology::CpuAssignment;

use crate::idle::wake_placement::WorkerPlacement;
use crate::seams::observer::{Activity, WorkerObserver};
use crate::seams::pins::ThreadPin;
use crate::seams::worker_local::{Locals, WorkerLocal};
use crate::state::counters::{Counters, WorkerCounters};
use crate::state::fifo::Fifo;
use crate::state::limit_checks::LimitChecks;
use crate::state::pool_state::PoolState;
use crate::state::work::CurrentWork;

/// A task's handle to the worker that runs it.
///
/// [`Worker::join`] is faster than [`join`](crate::join), which needs an access to thread-local
/// storage. A handle cannot leave its closure or its thread:
///
/// ```compile_fail
/// let mut kept = None;
/// sinew_core::run(|w| kept = Some(w)); // a handle cannot be stored
/// ```
/// ```compile_fail
/// let returned = sinew_core::run(|w| w); // nor returned
/// ```
/// ```compile_fail
/// // nor captured by the arm that another thread may run
/// sinew_core::run(|w| w.join(|_| 1, |_| w.index()));
/// ```
/// ```compile_fail
/// sinew_core::run(|w| std::thread::scope(|s| { s.spawn(|| w.index()); })); // nor sent
/// ```
#[repr(C)]
pub struct Worker {
    pub(crate) stack: TaskStack,
    pub(crate) deque: Deque,
    /// Detached tasks in order; their tokens are in the deque.
    pub(crate) fifo: Fifo,
    /// Tasks for this worker only: its parts of broadcasts.
    pub(crate) inbox: Injector,
    pub(crate) parker: Arc<Parker>,
    pub(crate) placement: WorkerPlacement,
    /// A thread owns the slot and is awake. Exact for sleepers (M9); for victim policies a hint.
    pub(crate) active: AtomicBool,
    /// Its owner searches for work; a hint.
    pub(crate) searching: AtomicBool,
    /// One more than the thief of the task for which its owner waits in a join, under
    /// [`Wait::Transitive`](crate::Wait::Transitive); 0 for none. A hint.
    pub(crate) blocked_on: AtomicUsize,
    /// Its owner is blocked in a join or a scope, though it may run other tasks meanwhile; a hint.
    pub(crate) waits: AtomicBool,
    /// The work of its owner, as calls see it; see `service`.
    pub(crate) work: CurrentWork,
    pub(crate) counters: CachePadded<WorkerCounters>,
    pub(crate) own: Own,
    index: usize,
    pool: *const PoolState,
    pub(crate) observer: Option<Box<dyn WorkerObserver>>,
    not_shared: PhantomData<*const ()>,
}

/// State that only the owner accesses.
pub(crate) struct Own {
    /// Free lists of blocks for the tasks that it spawns.
    pub(crate) blocks: Blocks,
    /// The number of nested spawns that run tasks.
    pub(crate) nested_spawns: Cell<u32>,
    pub(crate) policy: RefCell<Box<dyn VictimPolicy>>,
    /// The version of the chosen policy; see `stealing`.
    pub(crate) victims_version: Cell<u32>,
    /// Whether the policy uses masters of packages.
    pub(crate) has_masters: Cell<bool>,
    /// Whether the policy chooses by the tasks that wait.
    pub(crate) chooses_by_tasks: Cell<bool>,
    /// Since when this worker has searched in vain while it sees work, in nanoseconds; 0 if it does
    /// not.
    pub(crate) in_vain_since: Cell<u64>,
    /// The pin of its thread.
    pub(crate) pin: RefCell<ThreadPin>,
    /// Values of modules above.
    pub(crate) locals: Locals,
    /// The pace of its checks of the limits of the process.
    pub(crate) limit_checks: LimitChecks,
    /// Whether it was notified of waiting calls from outside; see `service`.
    pub(crate) called: Cell<bool>,
    /// The number of nested calls that it serves in the middle of its work.
    pub(crate) serving: Cell<u32>,
    /// How long it has served calls in the middle of its work.
    pub(crate) served_ns: Cell<u64>,
    pub(crate) random: RefCell<fastrand::Rng>,
    pub(crate) window: Cell<SpinWindow>,
    /// The same for waits inside a join or a scope.
    pub(crate) waiting_window: Cell<SpinWindow>,
    /// Stolen tasks in a row that did not pay.
    pub(crate) scraps: Cell<u32>,
    /// Whether it must take tasks that have waited for long, as the external thread's substitute;
    /// see `surplus`.
    pub(crate) relieves: Cell<bool>,
    /// How long it has run stolen tasks since it last slept, in ticks.
    pub(crate) gain: Cell<u64>,
    /// Since when this worker has left work from outside to another, in ticks; 0 if it does not.
    pub(crate) defers_since: Cell<u64>,
    /// How many of the next pushes are published without a request; see [`Worker::be_generous`].
    pub(crate) generous: Cell<u32>,
    /// Whether another thread took this worker's core for a moment at the last yield; see
    /// `backoff`.
    pub(crate) shares_core: Cell<bool>,
    /// The silence after which this worker exposes another's tasks; grows while exposures are
    /// cancelled.
    pub(crate) silence_ns: Cell<u64>,
    /// Whether the last stolen task was long; see `job`.
    pub(crate) tasks_are_long: Cell<bool>,
}

/// Pushes that are published without a request when a large job begins: a loop that is split
/// adaptively on two workers has about as many before its leaves.
const GENEROUS: u32 = 3;

/// The least silence before an exposure.
pub(crate) const SILENCE_NS: u64 = 50_000;

impl Worker {
    pub(crate) fn new(
        pool: *const PoolState,
        index: usize,
        fenced: bool,
        stack: StackKind,
        node: PreferredNode,
        observer: Option<Box<dyn WorkerObserver>>,
        victims: Victims,
    ) -> Self {
        let two_field = stack != StackKind::Split;
        let options = Options { fenced, every_push: observer.is_some(), two_field, node };
        Self {
            stack: TaskStack::new(options),
            deque: Deque::new(),
            fifo: Fifo::new(),
            inbox: Injector::new(),
            parker: Arc::new(Parker::new()),
            placement: WorkerPlacement::default(),
            active: AtomicBool::new(false),
            searching: AtomicBool::new(false),
            blocked_on: AtomicUsize::new(0),
            waits: AtomicBool::new(false),
            work: CurrentWork::default(),
            counters: CachePadded::new(WorkerCounters::default()),
            own: Own {
                blocks: Blocks::default(),
                nested_spawns: Cell::new(0),
                policy: RefCell::new(victims.policy()),
                victims_version: Cell::new(0),
                has_masters: Cell::new(victims.has_masters()),
                chooses_by_tasks: Cell::new(victims.chooses_by_tasks()),
                in_vain_since: Cell::new(0),
                pin: RefCell::default(),
                locals: Locals::default(),
                limit_checks: LimitChecks::default(),
                called: Cell::new(false),
                serving: Cell::new(0),
                served_ns: Cell::new(0),
                random: RefCell::new(fastrand::Rng::with_seed(0x5eed ^ index as u64)),
                window: Cell::new(SpinWindow::new()),
                waiting_window: Cell::new(SpinWindow::new()),
                scraps: Cell::new(0),
                relieves: Cell::new(false),
                gain: Cell::new(0),
                defers_since: Cell::new(0),
                generous: Cell::new(0),
                shares_core: Cell::new(false),
                silence_ns: Cell::new(SILENCE_NS),
                tasks_are_long: Cell::new(false),
            },
            index,
            pool,
            observer,
            not_shared: PhantomData,
        }
    }

    /// The number of this worker's slot, below [`max_threads`](Self::max_threads).
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The number of slots of the pool; never changes.
    #[inline]
    pub fn max_threads(&self) -> usize {
        self.pool().slots.len()
    }

    /// The PU of each worker slot of the pool, and their distances, as when the pool was built.
    pub fn cpu_assignment(&self) -> &CpuAssignment {
        &self.pool().cpu_assignment
    }

    /// The tasks that a waiting worker of the pool may run.
    pub fn wait_policy(&self) -> Wait {
        self.pool().wait
    }

    /// How far the running task is from the root of its task tree. A spawned task is one deeper
    /// than its spawner, a first arm or a stolen second arm one deeper than its join, and a second
    /// arm that was not stolen as deep as its join.
    #[inline]
    pub fn depth(&self) -> u32 {
        self.stack.depth()
    }

    /// This worker's counters.
    pub fn counters(&self) -> Counters {
        self.counters.read()
    }

    /// This worker's value of `key`, which is made at its first use, and dropped with the worker.
    /// The owners of an external slot share a value, one after the other.
    ///
    /// # Panics
    ///
    /// If the key's function panics. The next call calls it again.
    ///
    /// # Cost
    ///
    /// Two loads and two comparisons, once the value exists.
    #[inline]
    pub fn local<T: Send + 'static>(&self, key: &WorkerLocal<T>) -> &T {
        self.own.locals.get(key)
    }

    /// Counts one chunk of a loop. For schedules written outside this crate.
    #[inline]
    pub fn count_chunk(&self) {
        self.counters.chunks.add(1);
    }

    /// Handles poll reasons in a long computation; for example, publishes tasks for thieves. Loops
    /// call it between chunks, and then serve a waiting [call](Self::serve_calls).
    ///
    /// # Cost
    ///
    /// One load and comparison when there is nothing to do.
    #[inline(always)]
    pub fn safe_point(&self) {
        if self.stack.has_poll_reason() {
            self.look_up();
        }
    }

    /// Whether all workers have work: none searches or sleeps, so none would steal a task now. A
    /// hint.
    ///
    /// # Cost
    ///
    /// One load.
    #[inline]
    pub fn all_have_work(&self) -> bool {
        self.pool().sleepers.all_work()
    }

    #[inline]
    pub(crate) fn pool(&self) -> &PoolState {
        // SAFETY: the pool owns its workers, and the holder of a `&Worker`, a thread of the pool or
        // its external thread, keeps the pool alive.
        unsafe { &*self.pool }
    }

    /// Owner: the slot has an owner from now on. The first push will publish, because other workers
    /// may wait for tasks.
    pub(crate) fn activate(&self) {
        // Relaxed: ordered by the fence of the first push, which wakes (M9); for policies a hint.
        self.active.store(true, Ordering::Relaxed);
        if self.pool().relies_on_heavy_fences() {
            // SAFETY: the caller is the owner, and the heavy fence has been found to work.
            unsafe { self.stack.rely_on_heavy_fences() };
        }
        if self.pool().slots.len() > 1 {
            self.stack.set_poll_reason(reason::STEAL_REQUEST);
        }
    }

    /// Owner: the slot has no owner from now on, or its owner sleeps.
    pub(crate) fn deactivate(&self) {
        self.resign_mastership();
        self.own.in_vain_since.set(0);
        self.active.store(false, Ordering::Relaxed);
    }

    /// Owner: sets whether it is blocked; returns the earlier value.
    pub(crate) fn set_waits(&self, waits: bool) -> bool {
        // Relaxed: a hint, and the owner's alone to write.
        let waited = self.waits.load(Ordering::Relaxed);
        self.waits.store(waits, Ordering::Relaxed);
        self.own.in_vain_since.set(0);
        waited
    }

    /// Handles a steal request: publishes half of the private tasks and wakes a sleeper for them.
    pub(crate) fn feed(&self) {
        let _publish = self.begin(Activity::Publish);
        // SAFETY: the caller is the owner.
        match unsafe { self.stack.publish() } {
            Some(true) => self.counters.published.add(1),
            Some(false) if self.deque.is_empty() => {
                // No private task yet: the request stays set for the next push.
                self.stack.set_poll_reason(reason::STEAL_REQUEST);
                return;
            }
            Some(false) => {}
            // A thief is exposing tasks; if it fails, the next push publishes.
            None => self.stack.set_poll_reason(reason::STEAL_REQUEST),
        }
        let more = self.own.generous.get();
        if more > 0 {
            self.own.generous.set(more - 1);
            self.stack.set_poll_reason(reason::STEAL_REQUEST);
        }
        if self.pool().wake_for_push() {
            self.counters.wakes.add(1);
        }
    }

    /// A job begins that may be large. Its first pushes are published without a request: they are
    /// its largest parts, and later this worker may be in a leaf, where it does not poll.
    pub(crate) fn be_generous(&self) {
        if self.pool().slots.len() > 1 {
            self.own.generous.set(GENEROUS);
            self.stack.set_poll_reason(reason::STEAL_REQUEST);
        }
    }

    /// Wakes a sleeper, if there is one and no worker searches.
    pub(crate) fn wake_one(&self) {
        if self.pool().wake_one() {
            self.counters.wakes.add(1);
        }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("index", &self.index)
            .field("depth", &self.depth())
            .finish_non_exhaustive()
    }
}
