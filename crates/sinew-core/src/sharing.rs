//! A pool that shares the machine with other programs: its row in their common table. With the
//! feature `coordinate`.
//!
//! A thread of the pool, the *share agent*, takes the row in the background. While no other program
//! has a row, it reports the pool's progress ten times a second. While others do, it counts every
//! 10 ms how many workers could find work, and stores that as the pool's demand. The member's
//! listener receives grants and sets the pool's limit and pins. Parked workers wake for them; other
//! workers follow at their next task or safe point. A grant may name a schedule, which loops
//! without a schedule of their own use (`preset`). The row also holds the settings that the program
//! has made: with a schedule of its own it is granted none, and with processors for its threads
//! only those. It names the schedule of the last loop. A pool that lends, or was idle for a while,
//! is *dormant*: it demands nothing, its share agent sleeps, and the next call wakes it. A pool
//! under `sinew exec` has no row, and follows the command's (`command`).
//!
//! # Invariants
//!
//! - N1: no worker waits for the table, the share agent or the listener.
//! - N2: without a table this file changes no limit, pin or schedule, and the program prints one
//!   line. Without other programs it changes limit and pins only if a script asks for threads or
//!   cores, and schedules only if one is granted.
//! - N4: a thread that the program or its user has bound is never moved (`sinew_topology`'s P1).
//!   An external thread is bound if its mask is narrower than the process's at its first move.
//!
//! # Orderings
//!
//! N3: the share agent stores that it is dormant, `fence(SeqCst)`, reads whether the pool is active
//! or its settings have changed ↔ a caller makes the pool active, or changes a setting,
//! `fence(SeqCst)`, reads whether the share agent is dormant. Without the fences a caller could run
//! without its share to its end.
//!
//! # Cost
//!
//! One load for each call from outside and one for each loop. With other programs a call also reads
//! the number of its core, and makes four system calls if its thread is moved. The share agent
//! reads the counters of all workers, except while the pool is idle.

mod command;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::fmt::Display;
use std::io::{self, Write};
use std::sync::{Arc, Once, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use sinew_coord::{
    Error, Member, Offer, OwnSettings, Table, WEIGHTS, default_folder, layout, layout_of,
};
use sinew_policy::LastLoop;
use sinew_policy::share::{DemandMeter, Layout};
use sinew_sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use sinew_sync::lock::Mutex;
use sinew_sync::parker::Parker;
use sinew_topology::{CpuAssignment, CpuSet, Machine, Mapping, current_cpu, move_current_thread};

pub use sinew_coord::Share;

use crate::build_error::BuildError;
use crate::host::machine;
use crate::pool::Pool;
use crate::requested_share::RequestedShare;
use crate::seams::hook::PoolHook;
use crate::seams::limit::Source;
use crate::seams::pins::{Pins, room};
use crate::state::pool_state::PoolState;

/// Time between two reads of the counters while other programs have rows.
const REPORT_NS: u64 = 10_000_000;

/// The same while no other program has a row, of a pool that works.
const REPORT_ALONE_NS: u64 = 100_000_000;

/// Address space for the three threads of a pool that shares, including the allocator's reservation
/// for each. A thread that finds none when it starts would end the process.
const ROOM: usize = 256 << 20;

/// Whether so much address space is free.
fn has_room() -> io::Result<()> {
    let mut room = Vec::<u8>::new();
    let reserved = room.try_reserve_exact(ROOM);
    // Otherwise the compiler would remove the allocation.
    std::hint::black_box(&room);
    reserved.map_err(|_| io::ErrorKind::OutOfMemory.into())
}

/// The state of a pool that shares the machine.
pub(crate) struct Sharing {
    member: OnceLock<Member>,
    agent: Parker,
    thread: Mutex<Option<JoinHandle<()>>>,
    dormant: AtomicBool,
    /// Whether the program has said since its last call that it waits for something outside.
    lends: AtomicBool,
    ending: AtomicBool,
    /// Whether the granted cores are fewer than the process may use.
    confined: AtomicBool,
    /// The granted cores, one bit each, which external threads read.
    granted_cores: [AtomicU64; 16],
    /// Items that the program has reported as done.
    reported: AtomicU64,
    /// The number of the program's job; 0 if it is a rank of none.
    job: AtomicU64,
    /// The processors that the process may use; `None` on a described machine.
    allowed: Option<CpuSet>,
    table: TableAccess,
}

/// The table, its machine, and the pool's request.
#[derive(Debug, Default)]
struct TableAccess {
    requested_share: RequestedShare,
    /// A described machine, not this one.
    machine: Option<Layout>,
}

impl Sharing {
    fn new(requested_share: RequestedShare, described: Option<&Machine>, allowed: &CpuSet) -> Self {
        Self {
            allowed: described.is_none().then(|| allowed.clone()),
            table: TableAccess { requested_share, machine: described.map(layout_of) },
            member: OnceLock::new(),
            agent: Parker::new(),
            thread: Mutex::new(None),
            dormant: AtomicBool::new(false),
            lends: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            confined: AtomicBool::new(false),
            granted_cores: std::array::from_fn(|_| AtomicU64::new(u64::MAX)),
            reported: AtomicU64::new(0),
            job: AtomicU64::new(0),
        }
    }

    /// The pool has become active.
    #[inline]
    fn called(&self) {
        // Relaxed: a hint; the agent lends nothing while a worker is busy.
        if self.lends.load(Ordering::Relaxed) {
            self.lends.store(false, Ordering::Relaxed);
        }
        self.wake();
    }

    /// Tells the share agent that the pool has become active, or that a setting has changed.
    #[inline]
    fn wake(&self) {
        fence(Ordering::SeqCst); // N3
        if self.dormant.load(Ordering::Relaxed) {
            self.agent.unpark();
        }
    }

    /// Moves an external thread, which is never pinned, to the pool's cores if it runs on another.
    /// Other programs leave these cores free, so the thread mostly stays.
    fn move_to_granted_cores(&self) {
        // Relaxed: a thread that reads an old core set moves at its next call.
        let words = || self.granted_cores.iter().map(|word| word.load(Ordering::Relaxed));
        let Some((cpu, allowed)) = current_cpu().zip(self.allowed.as_ref()) else { return };
        if words().nth(cpu / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 0) {
            let words: Vec<u64> = words().collect();
            move_current_thread(&CpuSet::from_words(&words), allowed);
        }
    }

    #[cfg(test)]
    fn is_dormant(&self) -> bool {
        self.dormant.load(Ordering::Relaxed)
    }

    fn is_ending(&self) -> bool {
        // Acquire: pairs with `end_sharing`.
        self.ending.load(Ordering::Acquire)
    }

    /// The share agent's thread.
    fn run_agent(self: &Arc<Self>, pool: &Weak<PoolState>) {
        let Some(most) = pool.upgrade().map(|pool| pool.slots.len() as u32) else { return };
        let mut state = AgentState::default();
        let mut table = self.table.open();
        if table.as_mut().is_ok_and(|table| self.follow_command(table, pool, &mut state)) {
            return;
        }
        let own_settings = state.published.own_settings.clone();
        let member = match table.and_then(|table| self.table.join(&table, most, own_settings)) {
            Ok(member) => member,
            Err(error) => {
                pool.upgrade().into_iter().for_each(|pool| pool.stay_alone(&error));
                return;
            }
        };
        let member = self.member.get_or_init(|| member);
        let (sharing, theirs) = (Arc::downgrade(self), Weak::clone(pool));
        member.on_change(move |share| {
            if let (Some(sharing), Some(pool)) = (sharing.upgrade(), theirs.upgrade()) {
                pool.take_share(&sharing, share, true);
            }
        });
        while !self.is_ending() {
            if let Some(published) = pool.upgrade().map(|pool| self.published(&pool)) {
                member.set_own_settings(&published.own_settings);
                member.set_last_loop(published.last_loop);
                state.published = published;
            }
            if member.share().neighbours == 0 {
                self.report_alone(member, pool, most, &mut state);
            } else {
                self.report_to_neighbours(member, pool, most, &mut state);
            }
        }
        member.leave();
    }

    fn report_to_neighbours(
        &self,
        member: &Member,
        pool: &Weak<PoolState>,
        most: u32,
        state: &mut AgentState,
    ) {
        let Some(busy) = pool.upgrade().map(|pool| pool.busy()) else { return };
        self.report(member, pool, state);
        // Relaxed: a hint; `lend` unparks the agent.
        if busy == 0 && self.lends.load(Ordering::Relaxed) {
            state.demand = DemandMeter::default();
        }
        let granted = member.share().threads;
        let demand = state.demand.sample(busy, granted, most);
        if demand > 0 {
            member.set_demand(demand);
            self.agent.park_for(REPORT_NS);
            return;
        }
        self.sleep_unless_called(pool, state, || member.set_demand(0));
    }

    /// No other program wants cores: the pool demands all, and reports its progress, from which a
    /// coordinator learns its speed on them. Otherwise its last, smaller demand would remain in its
    /// row.
    fn report_alone(
        &self,
        member: &Member,
        pool: &Weak<PoolState>,
        most: u32,
        state: &mut AgentState,
    ) {
        member.set_demand(most);
        let is_active = pool.upgrade().is_some_and(|pool| pool.is_active());
        if self.report(member, pool, state) > 0 || is_active {
            self.agent.park_for(REPORT_ALONE_NS);
        } else {
            self.sleep_unless_called(pool, state, || ());
        }
    }

    /// Reports the progress since the last report, and returns it.
    fn report(&self, member: &Member, pool: &Weak<PoolState>, state: &mut AgentState) -> u64 {
        let counted = pool.upgrade().map_or(0, |pool| pool.items_done());
        let done = counted + self.reported.load(Ordering::Relaxed);
        let new = done.saturating_sub(std::mem::replace(&mut state.done, done));
        member.report(new);
        new
    }

    /// Parks until a call arrives or a setting changes after `before`; returns at once if one
    /// already has.
    fn sleep_unless_called(
        &self,
        pool: &Weak<PoolState>,
        state: &AgentState,
        before: impl FnOnce(),
    ) {
        self.dormant.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst); // N3
        let is_idle =
            |pool: Arc<PoolState>| !pool.is_active() && self.published(&pool) == state.published;
        if pool.upgrade().is_some_and(is_idle) && !self.is_ending() {
            before();
            self.agent.park();
        }
        self.dormant.store(false, Ordering::Relaxed);
    }

    /// The settings that the row of `pool` should have.
    fn published(&self, pool: &PoolState) -> Published {
        let (preset, cores) = (&pool.limit.schedule, pool.pinned_to().into_iter().collect());
        // Relaxed: N3 orders it.
        let job = self.job.load(Ordering::Relaxed);
        let own_settings = OwnSettings { schedule: preset.chosen(), cores, job };
        Published { own_settings, last_loop: preset.last_loop() }
    }
}

impl TableAccess {
    fn open(&self) -> Result<Table, Error> {
        let folder = self.requested_share.folder.clone().unwrap_or_else(default_folder);
        Table::open_on(&folder, self.machine.clone().unwrap_or_else(layout))
    }

    fn join(
        &self,
        table: &Table,
        threads: u32,
        own_settings: OwnSettings,
    ) -> Result<Member, Error> {
        let RequestedShare { weight, min_threads, .. } = &self.requested_share;
        let offer = match &self.machine {
            Some(machine) => Offer::on(&program_name(), machine.cores(), threads),
            None => Offer::new(&program_name()).max(threads),
        };
        let min = u32::try_from(*min_threads).unwrap_or(u32::MAX);
        Member::join(table, offer.weight(*weight).min(min).own_settings(own_settings))
    }
}

/// The share agent's last reports.
#[derive(Default)]
struct AgentState {
    demand: DemandMeter,
    done: u64,
    /// The settings in the row.
    published: Published,
}

/// The settings that a pool publishes in its row.
#[derive(Debug, Clone, PartialEq, Default)]
struct Published {
    own_settings: OwnSettings,
    last_loop: Option<LastLoop>,
}

fn program_name() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    path.file_stem().map_or_else(|| "sinew".into(), |name| name.to_string_lossy().into_owned())
}

impl PoolState {
    /// Follows the grants of the table, on the member's listener thread. Pins the threads to the
    /// granted cores only if `may_pin`.
    fn take_share(&self, sharing: &Sharing, share: &Share, may_pin: bool) {
        if self.is_of_another_process() {
            return;
        }
        let one_each = share.cores.len() == share.threads as usize;
        let confined = may_pin && share.is_binding() && one_each;
        let words = share.cores.words().iter().copied().chain(std::iter::repeat(0));
        for (granted, word) in sharing.granted_cores.iter().zip(words) {
            granted.store(word, Ordering::Relaxed);
        }
        sharing.confined.store(confined, Ordering::Relaxed);
        self.limit.schedule.grant(share.schedule);
        // First the pins, so that woken workers start on the right cores.
        self.keep_to(confined.then_some(&share.cores));
        let threads = if share.is_binding() { share.threads as usize } else { usize::MAX };
        self.set_limit(Source::Others, threads);
        sharing.agent.unpark();
    }

    /// Continues without sharing, and prints one line for each process.
    fn stay_alone(&self, why: &dyn Display) {
        static SAID: Once = Once::new();
        self.limit.schedule.observe(false);
        self.set_limit(Source::Others, usize::MAX);
        SAID.call_once(|| {
            // One write; a failure is ignored.
            let line = format!("sinew: this program shares the machine with no other: {why}\n");
            let _ = io::stderr().write_all(line.as_bytes());
        });
    }

    /// Pins the threads to the granted cores, or, with `None`, by the mapping alone. An explicit
    /// mapping keeps those of its processors that are granted, in its order, since the first slots
    /// are those that may work.
    fn keep_to(&self, cores: Option<&CpuSet>) {
        if !self.can_pin {
            return;
        }
        let mapping = self.pins.mapping();
        let slots = self.slots.len();
        let (pins, room): (Pins, _) = match (&mapping, cores) {
            (Mapping::Explicit(cpus), cores) => {
                let left = |cpu: &&usize| cores.is_none_or(|cores| cores.contains(**cpu));
                let left: Vec<usize> = cpus.iter().filter(left).copied().collect();
                // No processor is left if the share was computed before the row had the mapping.
                let cpus = if left.is_empty() { cpus } else { &left };
                let pins = (0..slots)
                    .map(|slot| Some(CpuSet::from_iter([cpus[slot % cpus.len()]])))
                    .collect();
                (pins, cpus.iter().copied().collect())
            }
            (Mapping::None, cores) => (vec![cores.cloned(); slots].into(), CpuSet::new()),
            (mapping, cores) => {
                let (machine, limits) = machine();
                let cores = cores.unwrap_or(limits.allowed());
                let Ok(cpu_assignment) = CpuAssignment::new(machine, cores, mapping, slots) else {
                    return;
                };
                ((0..slots).map(|slot| cpu_assignment.pin_of(slot)).collect(), room(mapping, cores))
            }
        };
        self.pins.set_pins(pins, room);
        self.call_to_move();
    }

    /// The processors of an explicit mapping; empty for other mappings.
    fn pinned_to(&self) -> Vec<usize> {
        match self.pins.mapping() {
            Mapping::Explicit(cpus) => cpus.into_iter().take(self.slots.len()).collect(),
            _ => Vec::new(),
        }
    }

    /// How many workers have something to do; a hint.
    fn busy(&self) -> u32 {
        let busy = self.slots.iter().filter(|worker| {
            // Relaxed: hints.
            worker.active.load(Ordering::Relaxed) && !worker.searching.load(Ordering::Relaxed)
        });
        busy.count() as u32
    }

    fn is_active(&self) -> bool {
        self.slots.iter().any(|worker| worker.active.load(Ordering::Relaxed))
            || !self.injector.is_empty()
    }

    /// A measure of progress: calls, tasks and chunks.
    fn items_done(&self) -> u64 {
        let items = |worker: &crate::state::worker::Worker| {
            let counted = worker.counters.read();
            counted.visits + counted.injected + counted.queued_tasks + counted.chunks
        };
        self.slots.iter().map(items).sum()
    }
}

impl PoolHook for Sharing {
    #[inline]
    fn external_thread_came(&self) {
        // Relaxed: a hint; N3 makes it exact below.
        if self.confined.load(Ordering::Relaxed) {
            self.move_to_granted_cores();
        }
        self.called();
    }

    fn work_arrived(&self) {
        self.called();
    }

    /// The share agent looks periodically, unless it sleeps.
    fn settings_changed(&self) {
        self.wake();
    }

    /// Removes the pool's row.
    fn ended(&self, may_wait: bool) {
        self.ending.store(true, Ordering::Release);
        self.agent.unpark();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread.filter(|_| may_wait) {
            let _ = thread.join();
        }
    }
}

/// The sharing state of a pool whose builder requests it. `described` replaces the machine that
/// this process runs on. The process may use the processors `allowed`.
///
/// # Errors
///
/// An invalid weight.
pub(crate) fn requested(
    share: &RequestedShare,
    described: Option<&Machine>,
    allowed: &CpuSet,
) -> Result<Option<Arc<Sharing>>, BuildError> {
    if !WEIGHTS.contains(&share.weight) {
        return Err(BuildError::Weight(share.weight));
    }
    let shares = share.coordinate && (described.is_none() || share.folder.is_some());
    Ok(shares.then(|| Arc::new(Sharing::new(share.clone(), described, allowed))))
}

impl Sharing {
    /// Starts sharing, after the pool has been built.
    pub(crate) fn begin(self: Arc<Self>, pool: &Pool) {
        // On systems without sharing, no line is printed.
        if !cfg!(target_os = "linux") {
            return;
        }
        pool.state.limit.schedule.observe(true);
        let (sharing, inner) = (Arc::clone(&self), Arc::downgrade(&pool.state));
        let thread = std::thread::Builder::new().name("sinew-share".into()).stack_size(256 << 10);
        match has_room().and_then(|()| thread.spawn(move || sharing.run_agent(&inner))) {
            Ok(thread) => *self.thread.lock() = Some(thread),
            Err(error) => pool.state.stay_alone(&error),
        }
    }
}

impl Pool {
    fn sharing(&self) -> Option<&Sharing> {
        let mut hooks = self.state.hooks.iter().map(|hook| &**hook as &dyn Any);
        hooks.find_map(<dyn Any>::downcast_ref)
    }

    /// The pool's share of the machine, once it is in the table, where pools of commands under
    /// `sinew exec` are not: see [`PoolBuilder::coordinate`](crate::PoolBuilder::coordinate).
    pub fn share(&self) -> Option<Share> {
        let member = self.sharing()?.member.get();
        member.filter(|_| !self.is_of_another_process()).map(Member::share)
    }

    /// Says that the program now waits for something outside of the pool, such as a message. Other
    /// programs that share the machine may use the pool's cores at once, until its next call.
    ///
    /// Without this, they may after 80 ms without work. A pool that works lends nothing; nor does
    /// one that does not share.
    ///
    /// # Cost
    ///
    /// A wake-up of the pool's share agent, which changes the table. So wait for some 100 µs first.
    ///
    /// ```
    /// use sinew_core::Pool;
    ///
    /// let pool = Pool::builder().coordinate(true).threads(2).build()?;
    /// pool.lend();
    /// let line = std::io::read_to_string(std::io::empty()).unwrap();
    /// assert_eq!(pool.run(|w| w.join(|_| line.len(), |_| 2)), (0, 2));
    /// # Ok::<(), sinew_core::BuildError>(())
    /// ```
    pub fn lend(&self) {
        if let Some(sharing) = self.sharing() {
            // Relaxed: see `report_to_neighbours`.
            sharing.lends.store(true, Ordering::Relaxed);
            sharing.agent.unpark();
        }
    }

    /// Says that the program is a rank of the job with this number, which is the same on all ranks
    /// of the job; 0 is none. A coordinator over machines sees by it which programs of several
    /// machines belong together.
    pub fn set_job(&self, job: u64) {
        if let Some(sharing) = self.sharing() {
            // Relaxed: N3 orders it.
            sharing.job.store(job, Ordering::Relaxed);
            sharing.wake();
        }
    }

    /// Reports that the program has waited so long for slower ranks of its job. Coordinators
    /// measure by it what part of the job's work each rank has.
    ///
    /// # Cost
    ///
    /// An uncontended lock and an addition; nothing for a pool that does not share.
    pub fn report_wait(&self, time: Duration) {
        if let Some(member) = self.sharing().and_then(|sharing| sharing.member.get()) {
            member.report_wait(time);
        }
    }

    /// Reports that the program has waited so long for a part of its job's work, which other ranks
    /// give it. Coordinators see by it that no rank waits for this one.
    ///
    /// # Cost
    ///
    /// As [`report_wait`](Self::report_wait).
    pub fn report_idle(&self, time: Duration) {
        if let Some(member) = self.sharing().and_then(|sharing| sharing.member.get()) {
            member.report_idle(time);
        }
    }

    /// Reports that the program has finished so many more items, of any kind that it counts.
    /// Coordinators use the count to measure its speed by number of cores. Calls, tasks and chunks
    /// are counted automatically.
    pub fn report(&self, items: u64) {
        if let Some(sharing) = self.sharing() {
            // Relaxed: statistics.
            sharing.reported.fetch_add(items, Ordering::Relaxed);
        }
    }
}
