//! One run of a list: the state that its slots share, and the task of a slot.
//!
//! `worker` is a slot that runs units, `helper` a slot that helps a worker; `team` decides the role
//! of each slot. `rounds` are runs that stop now and then, to be given units.

mod helper;
mod rounds;
mod worker;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use sinew_core::{CancelRegistration, Scope, Worker as PoolWorker};
use sinew_deque::Lookahead;
use sinew_loops::{Operation, Registration};
use sinew_policy::tune::Counts;
use sinew_policy::worklist::{Settings, helpers};
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicUsize, Ordering};
use sinew_sync::clock::now_ns;
use sinew_sync::fence;
use sinew_sync::lock::Mutex;
use sinew_sync::plant::{Bug, planted};
use sinew_sync::statics::AtomicU64 as PlainU64;
use sinew_topology::Machine;

use super::lists::Lists;
use super::order::Order;
use super::parked::{Parked, WaitState, Woken};
use super::places::WorkerCpus;
use super::tally::{Report, Tally};
use super::team::{InForce, Role, Team};
use super::tuning::{ListTuner, SettingsHandle};
use super::work::Run;
use helper::Helper;
pub(super) use rounds::run_in_rounds;
pub use rounds::{Round, Rounds};
use worker::{End, Worker};

/// The state that all slots of a run share.
pub(super) struct RunState<'r, R: Run> {
    run: &'r R,
    lists: Lists<R::Unit>,
    is_lifo: bool,
    parked: Parked<R::Unit>,
    team: Team,
    slots: Box<[CachePadded<Slot<R>>]>,
    worker_cpus: WorkerCpus,
    settings: &'r SettingsHandle,
    /// The run as an operation of its control, if it has one.
    operation: Option<Operation<'r>>,
    /// By which the pool may cancel a run without a control.
    cancel_registration: Option<CancelRegistration>,
    list_tuner: Option<&'r Mutex<ListTuner>>,
    /// The number of cores that the tuner uses.
    cores: AtomicUsize,
    speculative: bool,
    several_nodes: bool,
    woken: &'r Woken,
    /// When the present round ends; [`u64::MAX`] if the run has no rounds. Written between two
    /// rounds only, so models need not try orders of its accesses.
    round_ends_ns: PlainU64,
}

/// The shortest and the longest sleep of a run before it checks for a cancellation and for its
/// worker's tasks.
const SHORTEST_SLEEP_NS: u64 = 50_000;
const LONGEST_SLEEP_NS: u64 = 10_000_000;

/// The versions of the settings and the requests, and the pool's limit. The settings in force
/// follow from these.
type Version = (u64, u64, usize);

/// The state of one slot.
struct Slot<R: Run> {
    tally: Tally,
    local: Mutex<Option<R::Local>>,
    /// The next units of the slot's worker, for its helper.
    lookahead: Lookahead<R::Unit>,
}

impl<R: Run> Slot<R> {
    fn new() -> Self {
        Self { tally: Tally::default(), local: Mutex::new(None), lookahead: Lookahead::new() }
    }
}

/// The parameters of a run.
pub(super) struct Plan<'r, U> {
    pub(super) slots: usize,
    pub(super) order: &'r Order<U>,
    pub(super) settings: &'r SettingsHandle,
    pub(super) woken: &'r Arc<Woken>,
    pub(super) control: Option<&'r sinew_loops::Control>,
    pub(super) list_tuner: Option<&'r Mutex<ListTuner>>,
    pub(super) speculative: bool,
}

impl<'r, R: Run> RunState<'r, R> {
    pub(super) fn new(run: &'r R, count: usize, plan: &Plan<'r, R::Unit>) -> Self {
        let &Plan { slots, order, settings, woken, control, list_tuner, speculative } = plan;
        let team = Team::new(slots);
        let operation = control.and_then(|control| Operation::begin(control, count as u64).ok());
        if control.is_some() && operation.is_none() {
            // Cancelled before it has begun.
            team.stop();
        }
        let cancel_registration = operation.is_none().then(CancelRegistration::register);
        if let Some(list_tuner) = list_tuner {
            list_tuner.lock().start(now_ns());
        }
        Self {
            operation,
            cancel_registration,
            run,
            lists: Lists::new(slots, order),
            is_lifo: order.is_lifo(),
            parked: Parked::new(Arc::clone(woken)),
            team,
            slots: (0..slots).map(|_| CachePadded::new(Slot::new())).collect(),
            worker_cpus: WorkerCpus::new(slots),
            settings,
            list_tuner,
            cores: AtomicUsize::new(0),
            speculative,
            several_nodes: Machine::host().nodes().len() > 1,
            woken,
            round_ends_ns: PlainU64::new(u64::MAX),
        }
    }

    /// Puts the units of the run into the lists.
    fn fill(&self, w: &PoolWorker, units: Vec<R::Unit>) {
        let Settings { threads, stealing, .. } = self.in_force(w).settings;
        or_resume(self.lists.fill(units, threads, stealing, &self.slots[0].tally));
    }

    /// Runs all units until none is left, or the rest waits for a change that no thread will make
    /// (P4 of `parked`). After a panic the units that were not committed are in the lists.
    pub(super) fn run_all(&self, w: &PoolWorker) {
        loop {
            self.run_ready(w);
            if self.is_over() || self.parked.len() == 0 {
                return;
            }
            if self.sleep_until_woken(w) {
                continue;
            }
            if planted(Bug::NoLastRetry) || !self.retry_all(w) {
                return;
            }
        }
    }

    /// Tries all waiting units once more. Returns whether the run goes on: a unit has committed, or
    /// was woken meanwhile.
    fn retry_all(&self, w: &PoolWorker) -> bool {
        let commits = self.counts().commits;
        self.parked.wake_all();
        self.run_ready(w);
        self.counts().commits != commits || self.has_ready()
    }

    /// Sleeps while all units wait, a thread keeps the run alive, and the run is not cancelled.
    /// Returns whether units may have been woken.
    ///
    /// Meanwhile this worker runs only its own tasks, which maybe no other worker can run. Another
    /// task, such as another run of a list, could delay this one.
    fn sleep_until_woken(&self, w: &PoolWorker) -> bool {
        let mut pause = SHORTEST_SLEEP_NS;
        while !self.is_over() {
            match self.woken.wait_state() {
                WaitState::Woken => return true,
                WaitState::Stuck => return false,
                WaitState::KeptAlive if w.yield_local() => {}
                WaitState::KeptAlive => {
                    self.woken.sleep(pause);
                    pause = (2 * pause).min(LONGEST_SLEEP_NS);
                }
            }
        }
        true
    }

    /// Whether a unit can be run.
    fn has_ready(&self) -> bool {
        self.lists.any() || self.parked.any_woken()
    }

    /// Runs units until none can be run.
    fn run_ready(&self, w: &PoolWorker) {
        if !self.has_ready() || self.team.is_stopped() {
            return;
        }
        w.scope(|s| {
            let in_force = self.in_force(w);
            if let Some(slot) = self.team.take_slot(&in_force, 0) {
                self.spawn_missing(s, &in_force, slot.rank() + 1);
                self.run_slot(w, s, slot);
            }
        });
    }

    /// Ends a run: the last calls of the work, and the report.
    pub(super) fn finish(&self, w: &PoolWorker) -> Report<R::Local> {
        let locals = self.finish_locals(w);
        let mut report = Report::of(
            &self.slots.iter().map(|slot| &slot.tally),
            locals,
            self.in_force(w).settings,
        );
        report.cancelled = self.is_cancelled();
        report
    }

    /// Makes the last calls for each worker's local value, on as many workers as are free.
    fn finish_locals(&self, w: &PoolWorker) -> Vec<R::Local> {
        let mut locals: Vec<_> =
            self.slots.iter().filter_map(|slot| slot.local.lock().take()).collect();
        if let Some((first, others)) = locals.split_first_mut() {
            w.scope(|s| {
                others.iter_mut().for_each(|local| s.spawn(move |_| self.run.finish(local)));
                self.run.finish(first);
            });
        }
        locals
    }

    /// Ends the operation. Waiting units leave the control's total; the next run counts them again.
    fn end(&mut self) {
        if let Some(operation) = self.operation.take() {
            operation.remove_items(self.waiting() as u64);
            operation.end();
        }
    }

    /// The number of units that wait for a change that no thread will make; 0 if the run was
    /// stopped.
    fn waiting(&self) -> usize {
        if self.team.is_stopped() { 0 } else { self.parked.len() }
    }

    pub(super) fn into_units(self) -> Vec<R::Unit> {
        self.lists.into_units().chain(self.parked.into_units()).collect()
    }

    /// The settings in force.
    fn in_force(&self, w: &PoolWorker) -> InForce {
        let mut settings = self.settings.settings();
        settings.threads = settings.threads.clamp(1, cores(w, self.operation.as_ref()));
        let slots = allowed(w);
        if !self.speculative || helpers::helpers(settings.threads, slots) == 0 {
            settings.lifespan = 0;
        }
        InForce { settings, slots }
    }

    /// The present version, which differs whenever the settings in force may have changed.
    #[inline]
    fn version(&self, w: &PoolWorker) -> Version {
        let requests = self.operation.as_ref().map_or(0, Operation::version);
        (self.settings.version(), requests, w.allowed_threads())
    }

    /// Passes a changed number of cores to the tuner, if there is one.
    fn update_cores(&self, w: &PoolWorker) {
        let Some(list_tuner) = self.list_tuner else { return };
        // Relaxed: written under the tuner's lock only.
        if self.cores.load(Ordering::Relaxed) == cores(w, self.operation.as_ref()) {
            return;
        }
        let mut list_tuner = list_tuner.lock();
        // Read under the lock, so the last worker to lock passes the latest number; a worker that
        // sees a newer version locks again.
        let cores = cores(w, self.operation.as_ref());
        self.cores.store(cores, Ordering::Relaxed);
        if list_tuner.set_cores(cores, self.counts(), now_ns()) {
            self.settings.set(list_tuner.settings());
        }
    }

    /// Whether workers should leave: one has panicked, or the run is cancelled.
    #[inline]
    fn is_over(&self) -> bool {
        if self.operation.as_ref().is_some_and(Operation::is_cancelled)
            || self.cancel_registration.as_ref().is_some_and(CancelRegistration::is_cancelled)
        {
            self.team.stop();
        }
        self.team.is_stopped()
    }

    /// Counts units that a worker has committed.
    #[inline]
    fn count(&self, w: &PoolWorker, units: usize) {
        if let Some(operation) = &self.operation {
            operation.count(w, units);
        }
    }

    /// Does what is due by the clock under the control, if there is one.
    #[inline]
    fn check_clock(&self) {
        if let Some(operation) = &self.operation {
            operation.check_clock();
        }
    }

    /// Adds units to the control's total.
    #[inline]
    fn add_items(&self, units: usize) {
        if let Some(operation) = &self.operation {
            operation.add_items(units as u64);
        }
    }

    /// Whether the run was stopped before all units had run.
    fn is_cancelled(&self) -> bool {
        (self.lists.any() || self.parked.len() > 0) && self.team.is_stopped()
    }

    /// The commits of one worker between two polls of the tuner: several polls for each epoch.
    fn poll_interval(&self, list_tuner: &Mutex<ListTuner>) -> u64 {
        let length = list_tuner.try_lock().map_or(1, |list_tuner| list_tuner.epoch_length());
        (length / (4 * self.team.slots() as u64)).max(1)
    }

    pub(super) fn counts(&self) -> Counts {
        self.slots.iter().fold(Counts::default(), |sum, slot| sum.plus(&slot.tally.counts()))
    }

    /// Spawns a task for each slot from `first` on that should have one and has none.
    fn spawn_missing<'scope>(
        &'scope self,
        s: &'scope Scope<'scope, '_>,
        in_force: &InForce,
        first: usize,
    ) {
        while let Some(slot) = self.team.take_slot(in_force, first) {
            s.spawn(move |w| self.run_slot(w, s, slot));
        }
    }

    /// The task of a slot.
    fn run_slot<'scope>(
        &'scope self,
        w: &PoolWorker,
        s: &'scope Scope<'scope, '_>,
        slot: Registration<'scope>,
    ) {
        let guard = SlotGuard { team: &self.team, slot };
        let end = self.run_roles(w, s, guard.slot.rank());
        drop(guard);
        if end == End::Replaced || self.has_missed_units() {
            self.spawn_missing(s, &self.in_force(w), 0);
        }
    }

    /// Whether units can be run that no worker was recruited for: this one has left them in its
    /// list, or they became ready when it had not left its slot (E3 of `team`).
    fn has_missed_units(&self) -> bool {
        if self.team.is_any_at_work() {
            fence::heavy();
        }
        !planted(Bug::ForgottenLeaver)
            && self.has_ready()
            && !self.is_over()
            && !self.team.is_paused()
    }

    /// Runs the roles of a slot, one after another, until it has none.
    fn run_roles<'scope>(
        &'scope self,
        w: &PoolWorker,
        s: &'scope Scope<'scope, '_>,
        slot: usize,
    ) -> End {
        loop {
            let end = match self.in_force(w).role(slot) {
                Role::Work => Worker::new(self, w, s, slot).run(),
                Role::Help(worker) => Helper::new(self, w, slot, worker).run(),
                Role::Leave => End::Over,
            };
            if end != End::RoleChanged {
                return end;
            }
        }
    }

    /// Whether another worker of the pool should take this slot, because the limit was lowered
    /// between these versions and this worker is to stand down. The first slot keeps its worker.
    fn is_replaced(slot: usize, w: &PoolWorker, before: Version, now: Version) -> bool {
        now.2 < before.2 && slot > 0 && w.is_to_stand_down()
    }

    /// Passes the counters to the tuner, unless another worker holds its lock.
    #[cold]
    fn poll_tuner(&self, list_tuner: &Mutex<ListTuner>) {
        let Some(mut list_tuner) = list_tuner.try_lock() else { return };
        let began = now_ns();
        let counts = self.counts();
        if list_tuner.is_due(&counts)
            && let Some(settings) = list_tuner.poll(counts, began)
        {
            self.settings.set(settings);
        }
        list_tuner.spent_ns += now_ns() - began;
    }
}

/// The number of the pool's workers that a run may use now, helpers included.
fn allowed(w: &PoolWorker) -> usize {
    w.allowed_threads().min(w.max_threads())
}

/// The maximum number of them that run units.
fn cores(w: &PoolWorker, operation: Option<&Operation<'_>>) -> usize {
    let requested = operation.and_then(Operation::threads).unwrap_or(usize::MAX);
    allowed(w).min(requested)
}

/// A slot with a task. A panic of the task stops the run before the slot is free again.
struct SlotGuard<'r> {
    team: &'r Team,
    slot: Registration<'r>,
}

impl Drop for SlotGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.team.stop();
        }
    }
}

/// The result of a run that did not panic: a report, and the number of units that wait for a change
/// that no thread will make.
pub(super) type Ended<R> = (Report<<R as Run>::Local>, usize);

/// The result of a run or the payload of a panic, and the units that are left.
pub(super) type Outcome<R> = (std::thread::Result<Ended<R>>, Vec<<R as Run>::Unit>);

/// Runs `units`.
pub(super) fn run<R: Run>(
    w: &PoolWorker,
    run: &R,
    units: Vec<R::Unit>,
    plan: &Plan<'_, R::Unit>,
) -> Outcome<R> {
    let mut state = RunState::new(run, units.len(), plan);
    let began = now_ns();
    let report = catch_unwind(AssertUnwindSafe(|| {
        state.fill(w, units);
        state.run_all(w);
        let mut report = state.finish(w);
        report.elapsed = std::time::Duration::from_nanos(now_ns() - began);
        state.end();
        (report, state.waiting())
    }));
    if let Some(list_tuner) = plan.list_tuner {
        list_tuner.lock().end(state.counts(), now_ns());
    }
    (report, state.into_units())
}

/// Rethrows a panic.
pub(super) fn or_resume<T>(result: std::thread::Result<T>) -> T {
    result.unwrap_or_else(|payload| resume_unwind(payload))
}
