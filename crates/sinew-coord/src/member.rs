//! A program in the table: its row, and the two threads that look after it.
//!
//! The *listener* sleeps on the row's bell, reads the row when it rings, and tells whoever wants to know. The *watcher* sleeps on pidfds of the next few programs in the table, and takes the
//! rows of the dead out; it also sees a coordinator end. They are two, because a futex and a descriptor cannot be waited for at once; a futex as a bell needs no descriptor, no file and no permission, and is
//! gone with its page. The watched are several, so that one stopped watcher does not hide its successor's death.
//!
//! Nothing tells of a process that is stopped (SIGSTOP, a shell's Ctrl-Z, a debugger). So the watcher of a program that has less than it could use asks the system about some of the
//! others every 50 ms, and writes down who is stopped: that one counts as dormant, and the others have its cores. It finds that in its row when it goes on, and says so; for a program that
//! nobody rewrote its keeper asks.
//!
//! # Invariants
//!
//! - M1: the share that a member tells of is within its offer, whatever the table says.
//! - M2: nothing of this blocks a thread of the program: only joining, leaving and changes of demand take the lock, and all of them give up in the end.
//! - M3: a member whose row is missing (damage, a new file) puts it back, unless its program has ended.
//! - M4: a row says that its program is stopped no longer than until it goes on: its listener takes that back, or its keeper's watcher.
//!
//! # Cost
//!
//! Two threads that sleep, and wake once every two seconds to see that the file is still the table. A program that could use more than it has asks the system 20 times a second about up to four others, some
//! 15 µs each. Reading the share when nothing has changed: one load.

use std::fmt;
use std::sync::{Arc, Once, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sinew_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sinew_sync::lock::{Condvar, Mutex};

use crate::error::Error;
use crate::log::Reason;
use crate::offer::{Offer, Share};
use crate::row::{PEERS, Peer, Row, Who};
use crate::state::State;
use crate::sys::{self, Doorbell, Mapping, Process, Ready};
use crate::table::{Change, Live, Table, is_current, live, read};

/// A look at the name of the file, in case nobody rings.
const LOOK_MS: u64 = 2_000;
/// Programs that each one watches.
const WATCHED: usize = 3;
/// Between two looks whether somebody is stopped.
const SUSPECT_MS: i32 = 50;
/// Programs asked about at each.
const SUSPECTS: usize = 4;
/// After a change that could not be made.
const RETRY_MS: i32 = 20;

/// A program in the table. Dropping it leaves.
///
/// ```
/// use sinew_coord::{Member, Offer, Table};
///
/// # let folder = tempfile::tempdir()?;
/// let table = Table::open(&folder.path().join("shared"))?;
/// let member = Member::join(&table, Offer::new("solver"))?;
/// println!("{} threads on {}", member.share().threads, member.share().cores);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Member {
    inner: Arc<Inner>,
    threads: Vec<JoinHandle<()>>,
}

type Listener = Box<dyn Fn(Share) + Send + Sync>;

struct Inner {
    table: Table,
    offer: Offer,
    who: Who,
    keeper: Option<Who>,
    seat: Mutex<Seat>,
    demand: AtomicU64,
    /// The epoch of `share`, for those who want to know whether anything has changed.
    epoch: AtomicU64,
    share: Mutex<Share>,
    changed: Condvar,
    listeners: Mutex<Vec<Listener>>,
    watched: Mutex<Vec<Who>>,
    doorbell: Doorbell,
    leaving: AtomicBool,
    /// Whether the row says that its program is stopped.
    marked: AtomicBool,
    /// Whether the watcher has something to look for: see [`Inner::is_restless`].
    restless: AtomicBool,
}

/// Where the row is.
#[derive(Clone)]
struct Seat {
    mapping: Arc<Mapping>,
    slot: u32,
}

impl Member {
    /// Joins the programs in `table`: takes a row, and with it a share.
    ///
    /// # Errors
    ///
    /// [`Error::Full`]; [`Error::Gone`] if the program that the row is for has ended; [`Error::Busy`], [`Error::Forked`], [`Error::System`].
    ///
    /// # Cost
    ///
    /// Some 100 µs with a few programs: a change of the table and two threads.
    pub fn join(table: &Table, offer: Offer) -> Result<Self, Error> {
        let this = Who::this();
        let who = offer.on_behalf_of.unwrap_or(this);
        let keeper = (who != this).then_some(this);
        let doorbell =
            Doorbell::new().map_err(|error| Error::system("watch programs in", table.path(), error))?;
        let inner = Inner {
            seat: Mutex::new(Seat { mapping: table.mapping(), slot: 0 }),
            demand: AtomicU64::new(u64::from(offer.demand)),
            epoch: AtomicU64::new(0),
            share: Mutex::new(Share::whole(&offer)),
            changed: Condvar::new(),
            listeners: Mutex::new(Vec::new()),
            watched: Mutex::new(Vec::new()),
            leaving: AtomicBool::new(false),
            marked: AtomicBool::new(false),
            restless: AtomicBool::new(false),
            table: table.clone(),
            offer,
            who,
            keeper,
            doorbell,
        };
        inner.enter()?;
        inner.look();
        let mut member = Self { inner: Arc::new(inner), threads: Vec::new() };
        register(&member.inner);
        member.start("sinew-listen", Inner::listen)?;
        member.start("sinew-watch", Inner::watch)?;
        Ok(member)
    }

    fn start(&mut self, name: &str, body: fn(&Inner)) -> Result<(), Error> {
        let inner = Arc::clone(&self.inner);
        let thread = thread::Builder::new().name(name.into()).stack_size(128 << 10);
        let thread = thread.spawn(move || body(&inner));
        let fail = |error| Error::system("start a thread for", self.inner.table.path(), error);
        self.threads.push(thread.map_err(fail)?);
        Ok(())
    }

    /// What the program has now.
    pub fn share(&self) -> Share {
        *self.inner.share.lock()
    }

    /// Counts the shares so far: another number than before means another [`share`](Self::share).
    ///
    /// # Cost
    ///
    /// One load of a line that is hardly ever written.
    #[inline]
    pub fn epoch(&self) -> u64 {
        // Relaxed: the share itself is read under its lock.
        self.inner.epoch.load(Ordering::Relaxed)
    }

    /// Calls `listener` with the present share, and from then on with every new one, on a thread of this crate.
    pub fn on_change(&self, listener: impl Fn(Share) + Send + Sync + 'static) {
        let mut listeners = self.inner.listeners.lock();
        listener(self.share());
        listeners.push(Box::new(listener));
    }

    /// Waits until the share is another one than that of `epoch`, or the time is over. Answers the share then.
    ///
    /// # Blocking
    ///
    /// As said.
    pub fn wait_change(&self, epoch: u64, time: Duration) -> Share {
        let began = std::time::Instant::now();
        let mut share = self.inner.share.lock();
        while share.epoch == epoch {
            let left = time.saturating_sub(began.elapsed());
            if left.is_zero() {
                break;
            }
            let ns = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
            share = self.inner.changed.wait_for(share, ns);
        }
        *share
    }

    /// Says how many threads would find work now; 0 if none would: then others get the cores until it is more again.
    ///
    /// # Cost
    ///
    /// Nothing if it says what it said before; a change of the table if there are neighbours.
    pub fn set_demand(&self, threads: u32) {
        self.inner.set_demand(threads.min(self.inner.offer.max));
    }

    /// Says that the program is done with so many more items of whatever it counts. How fast it is on how many cores is measured by that.
    pub fn report(&self, items: u64) {
        if !self.inner.table.is_of_another_process() {
            let seat = self.inner.seat();
            live(&seat.mapping, seat.slot, Live::Progress).fetch_add(items, Ordering::Relaxed);
        }
    }

    /// Leaves: the row goes, and the others have its cores. The share stays what it was last. Dropping does the same.
    ///
    /// # Cost
    ///
    /// A change of the table, once.
    pub fn leave(&self) {
        if !self.inner.table.is_of_another_process() && !self.inner.is_leaving() {
            self.inner.leave();
        }
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.inner.table
    }

    /// Whose row it is.
    pub fn program(&self) -> Who {
        self.inner.who
    }
}

/// Members of this process, for its end: pools that are never dropped leave as well.
static MEMBERS: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());

fn register(inner: &Arc<Inner>) {
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| sys::at_exit(leave_all));
    let mut members = MEMBERS.lock();
    members.retain(|member| member.strong_count() > 0);
    members.push(Arc::downgrade(inner));
}

extern "C" fn leave_all() {
    // Whoever holds the lock is joining or was at the time of a fork: then the others find out.
    let Some(members) = MEMBERS.try_lock() else { return };
    for member in members.iter().filter_map(Weak::upgrade) {
        if !member.table.is_of_another_process() && !member.is_leaving() {
            member.leave();
        }
        // Its threads are still about.
        std::mem::forget(member);
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if self.inner.table.is_of_another_process() {
            // The row is the parent's, and so are the threads.
            std::mem::take(&mut self.threads).into_iter().for_each(std::mem::forget);
            return;
        }
        self.leave();
        let here = thread::current().id();
        for thread in self.threads.drain(..).filter(|thread| thread.thread().id() != here) {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("name", &self.inner.offer.name)
            .field("program", &self.inner.who)
            .field("share", &self.share())
            .finish_non_exhaustive()
    }
}

impl Inner {
    fn seat(&self) -> Seat {
        self.seat.lock().clone()
    }

    fn is_leaving(&self) -> bool {
        // Acquire: the bell has been rung after it was set; nothing else is read.
        self.leaving.load(Ordering::Acquire)
    }

    /// Takes a row.
    fn enter(&self) -> Result<(), Error> {
        if !self.who.is_there() {
            return Err(Error::Gone);
        }
        let mut slot = 0;
        self.table.change(Reason::Arrived, |state, mapping| {
            slot = state.free_slot().ok_or(Error::Full)?;
            let row = self.row(slot, state);
            live(mapping, slot, Live::Demand).store(self.demand.load(Ordering::Relaxed), Ordering::Relaxed);
            live(mapping, slot, Live::Progress).store(0, Ordering::Relaxed);
            state.put(row.clone());
            Ok(Change { subject: Some(row), everybody: true })
        })?;
        *self.seat.lock() = Seat { mapping: self.table.mapping(), slot };
        Ok(())
    }

    fn row(&self, slot: u32, state: &State) -> Row {
        let Offer { name, min, max, weight, mask, .. } = self.offer;
        let share = *self.share.lock();
        Row {
            slot,
            program: self.who,
            keeper: self.keeper,
            name,
            min,
            max,
            weight,
            mask,
            grant: if share.epoch == 0 { Default::default() } else { share.grant() },
            schedule: None,
            epoch: 0,
            joined_ns: sys::now_ns(),
            demand: 0,
            stopped: false,
            progress: 0,
            curve: state.recall(name),
            ask: None,
            peers: [Peer::default(); PEERS],
        }
    }

    fn listen(&self) {
        while !self.is_leaving() {
            let Seat { mapping, slot } = self.seat();
            let bell = live(&mapping, slot, Live::Bell);
            let seen = bell.load(Ordering::Acquire); // C3
            if !(is_current(self.table.path(), &mapping) && self.look()) {
                self.come_back();
                continue;
            }
            if !self.is_leaving() {
                sys::wait(bell, seen as u32, LOOK_MS);
            }
        }
    }

    /// Reads the row. Answers whether it is there.
    fn look(&self) -> bool {
        let Seat { mapping, slot } = self.seat();
        let Some(state) = read(&mapping) else { return false };
        let Some(row) = state.find(slot, self.who) else { return false };
        if row.stopped && self.keeper.is_none() && self.note_stop(row, false).is_ok() {
            // Whoever reads this goes on (M4). The share of a stopped program is nobody's.
            return self.look_again();
        }
        self.see(&state, row);
        true
    }

    /// Reads the row after this member has changed it.
    fn look_again(&self) -> bool {
        let Seat { mapping, slot } = self.seat();
        let Some(state) = read(&mapping) else { return false };
        let Some(row) = state.find(slot, self.who) else { return false };
        self.see(&state, row);
        true
    }

    fn see(&self, state: &State, row: &Row) {
        self.marked.store(row.stopped, Ordering::Relaxed);
        if self.offer.believes(row) {
            self.take(row, state.rows.len() - 1);
        }
        self.watch_over(state, row.slot);
        self.settle();
    }

    fn take(&self, row: &Row, neighbours: usize) {
        let listeners = self.listeners.lock();
        let mut share = self.share.lock();
        let epoch = share.epoch + 1;
        let (threads, cores) = (row.grant.threads, row.grant.cores);
        let new = Share { threads, cores, schedule: row.schedule, epoch, neighbours };
        if (Share { epoch: share.epoch, ..new }) == *share && share.epoch > 0 {
            return;
        }
        *share = new;
        self.epoch.store(epoch, Ordering::Relaxed);
        drop(share);
        self.changed.notify_all();
        listeners.iter().for_each(|listener| listener(new));
    }

    /// The row is missing, or the file is no longer the table (M3).
    fn come_back(&self) {
        if self.is_leaving() || !self.who.is_there() || self.table.is_of_another_process() {
            return self.idle();
        }
        if self.enter().is_err() {
            self.idle();
        }
    }

    /// Waits a little, or until the member leaves.
    fn idle(&self) {
        let guard = self.share.lock();
        if !self.is_leaving() {
            drop(self.changed.wait_for(guard, LOOK_MS * 1_000_000));
        }
    }

    /// Those who follow this member in the table, around the end, and the coordinator.
    fn watch_over(&self, state: &State, slot: u32) {
        let (before, after): (Vec<&Row>, Vec<&Row>) =
            state.rows.iter().filter(|row| row.slot != slot).partition(|row| row.slot < slot);
        let next = after.into_iter().chain(before).take(WATCHED);
        let rows = next.flat_map(|row| [Some(row.program), row.keeper]).flatten();
        // Everybody watches the coordinator: what it wanted must not outlive it.
        let mut processes: Vec<Who> = rows.chain(state.coordinator).collect();
        processes.retain(|&who| who != self.who && Some(who) != self.keeper);
        processes.dedup();
        let mut watched = self.watched.lock();
        if *watched != processes {
            *watched = processes;
            self.doorbell.ring();
        }
    }

    /// Whether the watcher should look who is stopped, or goes on: the program could use more than it has, or is stopped itself and has a keeper to see when it is not.
    fn is_restless(&self) -> bool {
        let share = *self.share.lock();
        let could_use = self.demand.load(Ordering::Relaxed).min(u64::from(self.offer.max));
        (share.neighbours > 0 && could_use > u64::from(share.threads)) || self.marked.load(Ordering::Relaxed)
    }

    /// Tells the watcher if that has changed.
    fn settle(&self) {
        let restless = self.is_restless();
        if self.restless.swap(restless, Ordering::Relaxed) != restless {
            self.doorbell.ring();
        }
    }

    /// Asks the system about some of the others, and about the program itself if it is another process.
    fn look_for_stopped(&self, turn: usize) {
        let Seat { mapping, slot } = self.seat();
        let Some(state) = read(&mapping) else { return };
        let mine = self.keeper.is_none().then_some(slot);
        for row in state.suspects(mine, turn, SUSPECTS) {
            let stopped = row.program.is_stopped();
            if stopped != row.stopped {
                // What cannot be written now is found again.
                let _ = self.note_stop(row, stopped);
            }
        }
    }

    /// Writes down that a program is stopped, or is not.
    fn note_stop(&self, row: &Row, stopped: bool) -> Result<(), Error> {
        let reason = if stopped { Reason::Stopped } else { Reason::Continued };
        self.table.change(reason, |state, _| {
            // Once more under the lock: it may have gone on meanwhile, and said so.
            let Some(row) = state.find_mut(row.slot, row.program) else { return Err(Error::Gone) };
            row.stopped = stopped && row.program.is_stopped();
            Ok(Change { subject: Some(row.clone()), everybody: false })
        })
    }

    fn watch(&self) {
        let (mut bury_failed, mut turn) = (false, 0_usize);
        while !self.is_leaving() {
            self.doorbell.hush();
            let watched = self.watched.lock().clone();
            let processes: Vec<Process> =
                watched.iter().filter_map(|who| Process::open(who.pid).ok()).collect();
            let is_missing = watched.iter().any(|who| !who.is_there());
            let waits = match bury_failed {
                true => RETRY_MS,
                false if self.is_restless() => SUSPECT_MS,
                false => -1,
            };
            let happened = match is_missing && !bury_failed {
                true => Some(Ready::Process(0)),
                false => sys::first_ready(&processes.iter().collect::<Vec<_>>(), Some(&self.doorbell), waits),
            };
            bury_failed = match happened {
                Some(Ready::Doorbell) => false,
                _ if self.is_leaving() => false,
                None if !bury_failed => {
                    self.look_for_stopped(turn);
                    turn = turn.wrapping_add(1);
                    false
                }
                _ => self.bury().is_err(),
            };
        }
    }

    /// Takes out the rows of the dead.
    fn bury(&self) -> Result<(), Error> {
        self.table.change(Reason::Died, |_, _| Ok(Change { subject: None, everybody: false }))?;
        self.look();
        Ok(())
    }

    fn set_demand(&self, threads: u32) {
        let before = self.demand.swap(u64::from(threads), Ordering::Relaxed);
        if before == u64::from(threads) || self.table.is_of_another_process() {
            return;
        }
        let Seat { mapping, slot } = self.seat();
        live(&mapping, slot, Live::Demand).store(u64::from(threads), Ordering::Relaxed);
        // Alone, it matters only if the program has less than it could use from when it was not.
        let share = *self.share.lock();
        if share.neighbours > 0 || share.threads < threads {
            let _ = self.table.change(Reason::Demand, |state, _| {
                let subject = state.find(slot, self.who).cloned();
                Ok(Change { subject, everybody: false })
            });
        }
        self.settle();
    }

    fn leave(&self) {
        self.leaving.store(true, Ordering::Release);
        let Seat { mapping, slot } = self.seat();
        // What cannot be taken out now the others find when this process has ended.
        let _ = self.table.change(Reason::Left, |state, _| {
            let subject = state.remove(slot, self.who);
            Ok(Change { subject, everybody: true })
        });
        live(&mapping, slot, Live::Bell).fetch_add(1, Ordering::AcqRel);
        sys::wake(live(&mapping, slot, Live::Bell));
        self.doorbell.ring();
        drop(self.share.lock());
        self.changed.notify_all();
    }
}
