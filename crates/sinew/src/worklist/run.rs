//! One run of a list: the shared state of its slots, and the work of each slot.

mod helper;
mod worker;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use sinew_core::{CancelRegistration, Scope, Worker as PoolWorker};
use sinew_loops::{Operation, Registration};
use sinew_policy::tune::Counts;
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicUsize, Ordering};
use sinew_sync::clock::now_ns;
use sinew_sync::lock::Mutex;
use sinew_sync::plant::{Bug, planted};
use sinew_topology::Machine;

use super::ahead::Ahead;
use super::lists::{Entry, Lists};
use super::parked::{Outlook, Parked, Woken};
use super::places::Sites;
use super::steering::{SettingsHandle, Steering};
use super::tally::{Report, Tally};
use super::team::{InForce, Role, Team};
use super::work::Run;
use helper::Helper;
use worker::{End, Worker};

/// The state that all slots of a run share.
pub(super) struct RunState<'r, R: Run> {
    run: &'r R,
    lists: Lists<R::Unit>,
    parked: Parked<R::Unit>,
    team: Team,
    slots: Box<[CachePadded<Slot<R>>]>,
    sites: Sites,
    settings: &'r SettingsHandle,
    /// The run, as seen by a control that may cancel it and limit its workers.
    operation: Option<Operation<'r>>,
    /// Registers the run with the pool, which may cancel all that it runs, if there is no such
    /// control.
    cancel_registration: Option<CancelRegistration>,
    steering: Option<&'r Mutex<Steering>>,
    /// The number of cores that the tuner uses.
    cores: AtomicUsize,
    speculative: bool,
    several_nodes: bool,
    woken: &'r Woken,
}

/// The shortest and the longest time for which a run sleeps before it looks whether it is
/// cancelled, or its worker has got tasks.
const SHORTEST_SLEEP_NS: u64 = 50_000;
const LONGEST_SLEEP_NS: u64 = 10_000_000;

/// The versions of the settings and the requests, and the pool's limit, from which the settings in
/// force follow.
type Version = (u64, u64, usize);

/// The state of one slot.
struct Slot<R: Run> {
    tally: Tally,
    local: Mutex<Option<R::Local>>,
    ahead: Ahead<R::Unit>,
}

impl<R: Run> Slot<R> {
    fn new() -> Self {
        Self { tally: Tally::default(), local: Mutex::new(None), ahead: Ahead::new() }
    }
}

/// How a list is to be run.
pub(super) struct Plan<'r> {
    pub(super) slots: usize,
    pub(super) settings: &'r SettingsHandle,
    pub(super) woken: &'r Arc<Woken>,
    pub(super) control: Option<&'r sinew_loops::Control>,
    pub(super) steering: Option<&'r Mutex<Steering>>,
    pub(super) speculative: bool,
}

impl<'r, R: Run> RunState<'r, R> {
    pub(super) fn new(
        w: &PoolWorker,
        run: &'r R,
        units: Vec<Entry<R::Unit>>,
        plan: &Plan<'r>,
    ) -> Self {
        let &Plan { slots, settings, woken, control, steering, speculative } = plan;
        let now = settings.settings();
        let team = Team::new(slots);
        let operation =
            control.and_then(|control| Operation::begin(control, units.len() as u64).ok());
        let threads = now.threads.clamp(1, cores(w, operation.as_ref()));
        if control.is_some() && operation.is_none() {
            // Cancelled before it has begun.
            team.stop();
        }
        let cancel_registration = operation.is_none().then(CancelRegistration::register);
        let lists = Lists::new(units, slots, threads, now.stealing);
        if let Some(steering) = steering {
            steering.lock().set_off(now_ns());
        }
        Self {
            operation,
            cancel_registration,
            run,
            lists,
            parked: Parked::new(Arc::clone(woken)),
            team,
            slots: (0..slots).map(|_| CachePadded::new(Slot::new())).collect(),
            sites: Sites::new(slots),
            settings,
            steering,
            cores: AtomicUsize::new(0),
            speculative,
            several_nodes: Machine::host().nodes().len() > 1,
            woken,
        }
    }

    /// Runs all units, until none is left or the rest waits for a change that no thread will make
    /// (P4 of `parked`). After a panic the units that were not committed are left in the lists.
    pub(super) fn run_all(&self, w: &PoolWorker) {
        loop {
            self.run_ready(w);
            if self.is_over() || self.parked.len() == 0 || planted(Bug::NoSecondRound) {
                return;
            }
            if self.sleep_until_woken(w) {
                continue;
            }
            if planted(Bug::NoLookBack) || !self.look_back(w) {
                return;
            }
        }
    }

    /// Tries all units that wait once more. Returns whether there is a reason to go on: one has
    /// committed, or was woken meanwhile.
    fn look_back(&self, w: &PoolWorker) -> bool {
        let commits = self.counts().commits;
        self.parked.wake_all();
        self.run_ready(w);
        self.counts().commits != commits || self.has_ready()
    }

    /// Sleeps while all units wait, a thread outside keeps the run alive, and it is not to end.
    /// Returns whether units may have been woken.
    ///
    /// This worker runs nothing meanwhile but its own tasks, which no other worker might run.
    /// Another run of a list, say, would keep this one from going on.
    fn sleep_until_woken(&self, w: &PoolWorker) -> bool {
        let mut pause = SHORTEST_SLEEP_NS;
        while !self.is_over() {
            match self.woken.outlook() {
                Outlook::Woken => return true,
                Outlook::Alone => return false,
                Outlook::Kept if w.yield_local() => {}
                Outlook::Kept => {
                    self.woken.sleep(pause);
                    pause = (2 * pause).min(LONGEST_SLEEP_NS);
                }
            }
        }
        true
    }

    /// Whether there are units that can be run.
    fn has_ready(&self) -> bool {
        self.lists.any() || self.parked.any_woken()
    }

    /// Runs units until none is left that can be run.
    fn run_ready(&self, w: &PoolWorker) {
        while self.has_ready() && !self.team.is_stopped() {
            w.scope(|s| {
                let in_force = self.in_force(w);
                if let Some(slot) = self.team.take_slot(&in_force, 0) {
                    self.spawn_missing(s, &in_force, slot.rank() + 1);
                    self.sit(w, s, slot);
                }
            });
            if planted(Bug::NoSecondRound) {
                return;
            }
        }
    }

    /// Ends a run: the last calls of the work, and the report.
    pub(super) fn finish(&self, w: &PoolWorker) -> Report<R::Local> {
        let mut locals: Vec<_> =
            self.slots.iter().filter_map(|slot| slot.local.lock().take()).collect();
        locals.iter_mut().for_each(|local| self.run.finish(local));
        let mut report = Report::of(
            &self.slots.iter().map(|slot| &slot.tally),
            locals,
            self.in_force(w).settings,
        );
        report.cancelled = self.is_cancelled();
        report
    }

    /// Tells the control that the run is over. Units that wait count again when the list is run
    /// again.
    fn end(&mut self) {
        if let Some(operation) = self.operation.take() {
            operation.remove_items(self.waiting() as u64);
            operation.end();
        }
    }

    /// How many units wait for a change that no thread will make; none of a run that was to end
    /// before.
    fn waiting(&self) -> usize {
        if self.team.is_stopped() { 0 } else { self.parked.len() }
    }

    pub(super) fn into_units(self) -> Vec<Entry<R::Unit>> {
        self.lists.into_units().chain(self.parked.into_units()).collect()
    }

    /// The settings in force.
    fn in_force(&self, w: &PoolWorker) -> InForce {
        let mut settings = self.settings.settings();
        settings.threads = settings.threads.clamp(1, cores(w, self.operation.as_ref()));
        if !self.speculative {
            settings.lifespan = 0;
        }
        InForce { settings, slots: allowed(w) }
    }

    /// The present version, which changes whenever the settings in force may have changed.
    #[inline]
    fn version(&self, w: &PoolWorker) -> Version {
        let requests = self.operation.as_ref().map_or(0, Operation::version);
        (self.settings.version(), requests, w.allowed_workers())
    }

    /// Tells the tuner, if there is one, how many cores there are now.
    fn tell_cores(&self, w: &PoolWorker) {
        let Some(steering) = self.steering else { return };
        // Relaxed: written under the lock of the steering only.
        if self.cores.load(Ordering::Relaxed) == cores(w, self.operation.as_ref()) {
            return;
        }
        let mut steering = steering.lock();
        // Asked for under the lock: who tells it last knows best, and who sees another version
        // later tells it again.
        let cores = cores(w, self.operation.as_ref());
        self.cores.store(cores, Ordering::Relaxed);
        if steering.set_cores(cores, self.counts(), now_ns()) {
            self.settings.set(steering.settings());
        }
    }

    /// Whether workers are to leave: one has panicked, or the run is cancelled.
    #[inline]
    fn is_over(&self) -> bool {
        if self.operation.as_ref().is_some_and(Operation::is_cancelled)
            || self.cancel_registration.as_ref().is_some_and(CancelRegistration::is_cancelled)
        {
            self.team.stop();
        }
        self.team.is_stopped()
    }

    /// A worker has committed so many units.
    #[inline]
    fn count(&self, w: &PoolWorker, units: usize) {
        if let Some(operation) = &self.operation {
            operation.count(w, units);
        }
    }

    /// Tells who follows the run how far it is, if that is due.
    #[inline]
    fn report_progress(&self) {
        if let Some(operation) = &self.operation {
            operation.report_progress();
        }
    }

    /// A worker has added so many units.
    #[inline]
    fn add_items(&self, units: usize) {
        if let Some(operation) = &self.operation {
            operation.add_items(units as u64);
        }
    }

    /// Whether the run was to end before all units had run.
    fn is_cancelled(&self) -> bool {
        (self.lists.any() || self.parked.len() > 0) && self.team.is_stopped()
    }

    /// Commits of one worker after which it is worth looking whether an epoch is over: several
    /// times in each.
    fn look_every(&self, steering: &Mutex<Steering>) -> u64 {
        let length = steering.try_lock().map_or(1, |steering| steering.epoch_length());
        (length / (4 * self.team.slots() as u64)).max(1)
    }

    pub(super) fn counts(&self) -> Counts {
        self.slots.iter().fold(Counts::default(), |sum, slot| sum.plus(&slot.tally.counts()))
    }

    /// Spawns tasks for the slots from `first` on that should have one and do not.
    fn spawn_missing<'scope>(
        &'scope self,
        s: &'scope Scope<'scope, '_>,
        in_force: &InForce,
        first: usize,
    ) {
        while let Some(slot) = self.team.take_slot(in_force, first) {
            s.spawn(move |w| self.sit(w, s, slot));
        }
    }

    /// The task of a slot.
    fn sit<'scope>(
        &'scope self,
        w: &PoolWorker,
        s: &'scope Scope<'scope, '_>,
        slot: Registration<'scope>,
    ) {
        let taken = Taken { team: &self.team, slot };
        let end = self.serve(w, s, taken.slot.rank());
        drop(taken);
        if end == End::Relieved {
            self.spawn_missing(s, &self.in_force(w), 0);
        }
    }

    /// Works at a slot as its role says, until it has none.
    fn serve<'scope>(
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
            if end != End::Moved {
                return end;
            }
        }
    }

    /// Whether another worker of the pool is to have a slot, since this one is to stand down: the
    /// limit was lowered between these versions. The first slot is never given up.
    fn is_relieved(slot: usize, w: &PoolWorker, before: Version, now: Version) -> bool {
        now.2 < before.2 && slot > 0 && w.is_to_stand_down()
    }

    /// Gives the counters to the tuner, unless another worker does so now.
    #[cold]
    fn steer(&self, steering: &Mutex<Steering>) {
        let Some(mut steering) = steering.try_lock() else { return };
        let began = now_ns();
        let counts = self.counts();
        if steering.is_due(&counts)
            && let Some(settings) = steering.look(counts, began)
        {
            self.settings.set(settings);
        }
        steering.spent_ns += now_ns() - began;
    }
}

/// How many workers of its pool a list may have now, helpers included.
fn allowed(w: &PoolWorker) -> usize {
    w.allowed_workers().min(w.max_workers())
}

/// On how many of them units run at most.
fn cores(w: &PoolWorker, operation: Option<&Operation<'_>>) -> usize {
    let wished = operation.and_then(Operation::threads).unwrap_or(usize::MAX);
    allowed(w).min(wished)
}

/// A slot that is taken. A panic of its task ends the run before the slot is free again.
struct Taken<'r> {
    team: &'r Team,
    slot: Registration<'r>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.team.stop();
        }
    }
}

/// The end of a run that did not panic: a report, and how many units wait for a change that no
/// thread will make.
type Ended<R> = (Report<<R as Run>::Local>, usize);

/// The end of a run, or the payload of a panic, and the units that are left.
type Outcome<R> = (std::thread::Result<Ended<R>>, Vec<Entry<<R as Run>::Unit>>);

/// Runs `units`.
pub(super) fn run<R: Run>(
    w: &PoolWorker,
    run: &R,
    units: Vec<Entry<R::Unit>>,
    plan: &Plan<'_>,
) -> Outcome<R> {
    let mut state = RunState::new(w, run, units, plan);
    let began = now_ns();
    let report = catch_unwind(AssertUnwindSafe(|| {
        state.run_all(w);
        let mut report = state.finish(w);
        report.elapsed = std::time::Duration::from_nanos(now_ns() - began);
        state.end();
        (report, state.waiting())
    }));
    if let Some(steering) = plan.steering {
        steering.lock().end(state.counts(), now_ns());
    }
    (report, state.into_units())
}

/// Rethrows a panic.
pub(super) fn or_resume<T>(result: std::thread::Result<T>) -> T {
    result.unwrap_or_else(|payload| resume_unwind(payload))
}
