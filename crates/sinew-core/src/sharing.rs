//! A pool among other programs: its row in the table that programs share a machine by. With the
//! feature `coordinate`.
//!
//! A thread of its own, the *share agent*, takes the row in the background. Without neighbours it
//! only says, ten times a second while the pool works, how much is done. What the pool is given
//! comes from the member's listener, which sets the pool's limit and pins: so parked workers are
//! given cores, and workers follow at their next task or safe point. With neighbours the share
//! agent looks at the pool every 10 ms, to say how many workers would find work. A grant may name a
//! schedule: loops that leave theirs open follow it (`preset`). What the program has chosen itself,
//! a schedule or processors for its threads, its row says: then no schedule is granted, and no
//! cores but those. The row also says by which schedule the last loop ran. A pool that has been
//! idle for a while is *dormant*: it asks for nothing, its share agent sleeps, and the next call
//! from outside wakes it.
//!
//! # Invariants
//!
//! - N1: no worker waits for the table, the share agent or the listener.
//! - N2: without a table, limit, pins and schedules are what they are without this file, and the
//!   program says so in one line. Without neighbours so are limit and pins, unless a script asks
//!   for threads or cores, and schedules, unless one is granted.
//!
//! # Orderings
//!
//! N3: the share agent says that it is dormant, `fence(SeqCst)`, looks whether the pool is active
//! or has news for its row ↔ a caller makes the pool active, or chooses, `fence(SeqCst)`, looks
//! whether the share agent is dormant. Losing this race would cost a caller its share for as long
//! as it runs, so it is not left to chance.
//!
//! # Cost
//!
//! A load a call from outside, and one a loop; with neighbours also a look at the number of the
//! core. The share agent's looks read the counters of all workers; a pool that idles has none.

use std::any::Any;
use std::fmt::Display;
use std::io::{self, Write};
use std::sync::{Arc, Once, OnceLock, Weak};
use std::thread::JoinHandle;

use sinew_coord::{
    Error, Member, Offer, OwnSettings, Table, WEIGHTS, default_folder, layout, layout_of,
};
use sinew_policy::share::{DemandMeter, LastLoop, Layout};
use sinew_sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use sinew_sync::lock::Mutex;
use sinew_sync::parker::Parker;
use sinew_topology::{CpuAssignment, CpuSet, Machine, Mapping, current_cpu, pin_current_thread};

pub use sinew_coord::Share;

use crate::build_error::BuildError;
use crate::host::machine;
use crate::pool::Pool;
use crate::requested_share::RequestedShare;
use crate::seams::hook::PoolHook;
use crate::seams::limit::Source;
use crate::seams::pins::{Pins, room};
use crate::state::pool_state::PoolState;

/// Time between two looks at a pool with neighbours.
const REPORT_NS: u64 = 10_000_000;

/// The same without neighbours, of a pool that works.
const REPORT_ALONE_NS: u64 = 100_000_000;

/// Address space for the three threads of a pool that shares, with what the allocator reserves for
/// each. A thread that finds none when it starts would end the process.
const ROOM: usize = 256 << 20;

/// Whether there is as much.
fn has_room() -> io::Result<()> {
    let mut room = Vec::<u8>::new();
    let reserved = room.try_reserve_exact(ROOM);
    // Or the compiler would do without the allocation.
    std::hint::black_box(&room);
    reserved.map_err(|_| io::ErrorKind::OutOfMemory.into())
}

/// What a pool keeps of its place among programs.
pub(crate) struct Sharing {
    member: OnceLock<Member>,
    agent: Parker,
    thread: Mutex<Option<JoinHandle<()>>>,
    dormant: AtomicBool,
    ending: AtomicBool,
    /// Whether the cores are fewer than the process may use.
    confined: AtomicBool,
    /// The cores, a bit each, for external threads to look at.
    granted_cores: [AtomicU64; 16],
    /// Items that the user says are done.
    reported: AtomicU64,
    table: TableAccess,
}

/// Which table, on which machine, and what the pool says of itself there.
#[derive(Debug, Default)]
struct TableAccess {
    requested_share: RequestedShare,
    /// Not the machine at hand.
    machine: Option<Layout>,
}

impl Sharing {
    fn new(requested_share: RequestedShare, machine: Option<&Machine>) -> Self {
        Self {
            table: TableAccess { requested_share, machine: machine.map(layout_of) },
            member: OnceLock::new(),
            agent: Parker::new(),
            thread: Mutex::new(None),
            dormant: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            confined: AtomicBool::new(false),
            granted_cores: std::array::from_fn(|_| AtomicU64::new(u64::MAX)),
            reported: AtomicU64::new(0),
        }
    }

    /// The pool has become active, or has chosen something.
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
        // Relaxed: whoever sees an old core set moves at the next call.
        let words = || self.granted_cores.iter().map(|word| word.load(Ordering::Relaxed));
        let Some(cpu) = current_cpu() else { return };
        if words().nth(cpu / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 0) {
            let words: Vec<u64> = words().collect();
            drop(pin_current_thread(&CpuSet::from_words(&words)));
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

    /// The share agent's life.
    fn run_agent(self: &Arc<Self>, pool: &Weak<PoolState>) {
        let Some((most, published)) =
            pool.upgrade().map(|pool| (pool.slots.len() as u32, pool.published()))
        else {
            return;
        };
        let member = match self.table.join(most, published.own_settings.clone()) {
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
                pool.take_share(&sharing, share);
            }
        });
        let mut state = AgentState { published, ..AgentState::default() };
        while !self.is_ending() {
            if let Some(published) = pool.upgrade().map(|pool| pool.published()) {
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
        let granted = member.share().threads;
        let demand = state.demand.look(busy, granted, most);
        if demand > 0 {
            member.set_demand(demand);
            self.agent.park_for(REPORT_NS);
            return;
        }
        self.sleep_unless_called(pool, state, || member.set_demand(0));
    }

    /// No other program wants cores: the pool demands all, and says what is done, so that a
    /// coordinator learns how fast it is on them. A smaller demand from when it had neighbours
    /// would leave its row with too few.
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

    /// Says what has been done since the last time, and answers how much that is.
    fn report(&self, member: &Member, pool: &Weak<PoolState>, state: &mut AgentState) -> u64 {
        let counted = pool.upgrade().map_or(0, |pool| pool.items_done());
        let done = counted + self.reported.load(Ordering::Relaxed);
        let new = done.saturating_sub(std::mem::replace(&mut state.done, done));
        member.report(new);
        new
    }

    /// Parks until somebody calls, or the program decides something, after `before`; not if that
    /// has happened.
    fn sleep_unless_called(
        &self,
        pool: &Weak<PoolState>,
        state: &AgentState,
        before: impl FnOnce(),
    ) {
        self.dormant.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst); // N3
        let is_idle =
            |pool: Arc<PoolState>| !pool.is_active() && pool.published() == state.published;
        if pool.upgrade().is_some_and(is_idle) && !self.is_ending() {
            before();
            self.agent.park();
        }
        self.dormant.store(false, Ordering::Relaxed);
    }
}

impl TableAccess {
    fn join(&self, threads: u32, own_settings: OwnSettings) -> Result<Member, Error> {
        let RequestedShare { folder, weight, min_threads, .. } = &self.requested_share;
        let folder = folder.clone().unwrap_or_else(default_folder);
        let table = Table::open_on(&folder, self.machine.clone().unwrap_or_else(layout))?;
        let offer = match &self.machine {
            Some(machine) => Offer::on(&program_name(), machine.cores(), threads),
            None => Offer::new(&program_name()).max(threads),
        };
        let min = u32::try_from(*min_threads).unwrap_or(u32::MAX);
        Member::join(&table, offer.weight(*weight).min(min).own_settings(own_settings))
    }
}

/// What the share agent remembers from one look to the next.
#[derive(Default)]
struct AgentState {
    demand: DemandMeter,
    done: u64,
    /// What the row says of the pool.
    published: Published,
}

/// What a pool tells of itself beside how much it does.
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
    /// Follows what the table gives. On the member's listener.
    fn take_share(&self, sharing: &Sharing, share: &Share) {
        if self.is_of_another_process() {
            return;
        }
        let confined = share.is_binding() && share.cores.len() == share.threads as usize;
        let words = share.cores.words().iter().copied().chain(std::iter::repeat(0));
        for (granted, word) in sharing.granted_cores.iter().zip(words) {
            granted.store(word, Ordering::Relaxed);
        }
        sharing.confined.store(confined, Ordering::Relaxed);
        self.limit.schedule.grant(share.schedule);
        // First the pins, so that workers that are called come to the right place.
        self.keep_to(confined.then_some(&share.cores));
        let threads = if share.is_binding() { share.threads as usize } else { usize::MAX };
        self.set_limit(Source::Others, threads);
        sharing.agent.unpark();
    }

    /// Goes on as if nobody had asked to share, and says so once in a process.
    fn stay_alone(&self, why: &dyn Display) {
        static SAID: Once = Once::new();
        self.limit.schedule.observe(false);
        SAID.call_once(|| {
            // In one write, and whether it can be written or not.
            let line = format!("sinew: this program shares the machine with no other: {why}\n");
            let _ = io::stderr().write_all(line.as_bytes());
        });
    }

    /// What its row should say.
    fn published(&self) -> Published {
        let (preset, cores) = (&self.limit.schedule, self.pinned_to().into_iter().collect());
        let own_settings = OwnSettings { schedule: preset.chosen(), cores };
        Published { own_settings, last_loop: preset.last_loop() }
    }

    /// Keeps the threads on the cores that other programs leave, or, with `None`, where the mapping
    /// alone says. Of a mapping that was given for each slot those processors are left, in its
    /// order: the first slots are those that may work.
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
                // None is left where the share was made before the others knew of the mapping.
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

    /// The processors that the program has pinned its threads to by their numbers; none if it has
    /// not.
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

    /// Something that grows with what the pool has done: calls, tasks and chunks.
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
        // Relaxed: a hint, made exact below where it matters.
        if self.confined.load(Ordering::Relaxed) {
            self.move_to_granted_cores();
        }
        self.wake();
    }

    fn work_arrived(&self) {
        self.wake();
    }

    /// The share agent looks now and then, unless it sleeps.
    fn settings_changed(&self) {
        self.wake();
    }

    /// The pool's row goes.
    fn ended(&self, may_wait: bool) {
        self.ending.store(true, Ordering::Release);
        self.agent.unpark();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread.filter(|_| may_wait) {
            let _ = thread.join();
        }
    }
}

/// What accompanies the pool of a builder that asks to share. Programs meet on the machine at hand,
/// unless they are told where else: `described` is another one.
///
/// # Errors
///
/// A weight that is none.
pub(crate) fn requested(
    share: &RequestedShare,
    described: Option<&Machine>,
) -> Result<Option<Arc<Sharing>>, BuildError> {
    if !WEIGHTS.contains(&share.weight) {
        return Err(BuildError::Weight(share.weight));
    }
    let shares = share.coordinate && (described.is_none() || share.folder.is_some());
    Ok(shares.then(|| Arc::new(Sharing::new(share.clone(), described))))
}

impl Sharing {
    /// The pool has been built.
    pub(crate) fn begin(self: Arc<Self>, pool: &Pool) {
        // Where no programs share, nobody is told that they do not.
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

    /// What the pool has been given of the machine, once it is in the table: see
    /// [`PoolBuilder::coordinate`](crate::PoolBuilder::coordinate).
    pub fn share(&self) -> Option<Share> {
        let member = self.sharing()?.member.get();
        member.filter(|_| !self.is_of_another_process()).map(Member::share)
    }

    /// Says that the program is done with so many more items of whatever it counts. Coordinators
    /// measure by that how fast it is on how many cores; calls, tasks and chunks count by
    /// themselves.
    pub fn report(&self, items: u64) {
        if let Some(sharing) = self.sharing() {
            // Relaxed: statistics.
            sharing.reported.fetch_add(items, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use sinew_coord::Table;

    use crate::Pool;

    fn wait_until(mut is_so: impl FnMut() -> bool) {
        while !is_so() {
            std::thread::yield_now();
        }
    }

    /// Catches: a lone pool whose share agent goes on looking while it idles, or sleeps through the
    /// next call.
    #[test]
    fn the_share_agent_of_a_lone_pool_sleeps_while_it_idles() {
        if !cfg!(target_os = "linux") {
            println!("skipped: programs share a table on Linux only");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("shared");
        let pool = Pool::builder().threads(2).coordinate_in(&place).build().unwrap();
        wait_until(|| pool.share().is_some());
        let table = Table::open(&place).unwrap();
        let is_dormant = || pool.sharing().is_some_and(|sharing| sharing.is_dormant());
        for _ in 0..2 {
            wait_until(is_dormant);
            let before = table.read()[0].progress;
            pool.run(|w| w.join(|_| 1, |_| 2));
            wait_until(|| table.read()[0].progress > before);
        }
    }
}
