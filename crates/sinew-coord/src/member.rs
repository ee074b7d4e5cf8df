//! A program in the table: its row, and the two threads that serve it.
//!
//! The *listener* sleeps on the row's futex word. When the word changes, it reads the row and calls
//! the functions that follow the share. The *watcher* finds programs that have ended or are stopped
//! (`watcher`). They are two threads because no call waits for a futex and a descriptor at once. A
//! futex word needs no descriptor, no file and no permission, and ends with its page.
//!
//! # Invariants
//!
//! - M1: the share that a member reports is within its offer, whatever the table contains.
//! - M2: no thread of the program waits for the table, except to join, to leave and to change the
//!   demand. Those take the lock, and give up in the end.
//! - M3: a member whose row is missing (damage, a new file) adds it again, unless its program has
//!   ended. It has one row at most.
//! - M4: a row stops saying that its program is stopped once the program continues: its listener
//!   changes the row, or its watchdog's watcher does.
//! - M5: with neighbours, shares are computed from the program's last demand and settings. The
//!   program publishes them if it knows of its neighbours; else its listener does when it sees
//!   them.
//! - M6: a table that is damaged again and again costs a member one change every [`CHECK_MS`], and
//!   no busy loop.
//!
//! # Cost
//!
//! Two threads that sleep, and wake once every two seconds to check that the file is still the
//! table. A program that could use more than it has asks the system 20 times a second about up to
//! four others, some 15 µs each. Reading the share when nothing has changed: one load.

mod watcher;

use std::fmt;
use std::sync::{Arc, Once, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sinew_policy::share::LastLoop;
use sinew_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sinew_sync::lock::{Condvar, Mutex};

use crate::copies::{LiveWord, live_word, read};
use crate::decision::Reason;
use crate::error::Error;
use crate::offer::{Offer, Share};
use crate::process::ProcessId;
use crate::row::OwnSettings;
use crate::row::{PEERS, Peer, Row};
use crate::sys::{self, EventFd, Mapping};
use crate::table::{Change, Table, is_current};
use crate::table_state::TableState;

/// Time between two checks of the file's name when no wake-up arrives.
const CHECK_MS: u64 = 2_000;

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
    shared: Arc<MemberState>,
    threads: Vec<JoinHandle<()>>,
}

type Listener = Box<dyn Fn(&Share) + Send + Sync>;

struct MemberState {
    table: Table,
    offer: Offer,
    program: ProcessId,
    watchdog: Option<ProcessId>,
    /// The time at which this member joined; distinct for each member of this process. With
    /// `program` it identifies the member's row, in any slot and after any number of rejoins.
    joined_ns: u64,
    location: Mutex<RowLocation>,
    demand: AtomicU64,
    own_settings: Mutex<OwnSettings>,
    /// A copy of the word in the live line.
    last_loop: AtomicU64,
    /// The epoch of `share`, so that callers can see a change without a lock.
    epoch: AtomicU64,
    share: Mutex<Share>,
    changed: Condvar,
    listeners: Mutex<Vec<Listener>>,
    watched: Mutex<Vec<ProcessId>>,
    interrupt: EventFd,
    leaving: AtomicBool,
    /// Whether the row says that its program is stopped.
    marked_stopped: AtomicBool,
    /// Whether the watcher checks for stops: see [`MemberState::needs_stop_checks`].
    checks_stops: AtomicBool,
}

/// The file and the slot of the row.
#[derive(Clone)]
struct RowLocation {
    mapping: Arc<Mapping>,
    slot: u32,
}

impl Member {
    /// Joins the programs in `table`: takes a row, and with it a share.
    ///
    /// # Errors
    ///
    /// [`Error::Full`]; [`Error::Gone`] if the program that the row is for has ended;
    /// [`Error::Busy`], [`Error::Forked`], [`Error::System`].
    ///
    /// # Cost
    ///
    /// Some 100 µs with a few programs: a change of the table and two threads.
    pub fn join(table: &Table, offer: Offer) -> Result<Self, Error> {
        let shared = MemberState::new(table, offer)?;
        shared.take_row()?;
        shared.follow_row();
        let mut member = Self { shared: Arc::new(shared), threads: Vec::new() };
        register_for_exit(&member.shared);
        member.start("sinew-listen", MemberState::listen)?;
        member.start("sinew-watch", MemberState::watch)?;
        Ok(member)
    }

    fn start(&mut self, name: &str, body: fn(&MemberState)) -> Result<(), Error> {
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name(name.into()).stack_size(128 << 10);
        let thread = thread.spawn(move || body(&shared));
        let fail = |error| Error::system("start a thread for", self.shared.table.path(), error);
        self.threads.push(thread.map_err(fail)?);
        Ok(())
    }

    /// The program's present share.
    pub fn share(&self) -> Share {
        self.shared.share.lock().clone()
    }

    /// Counts the shares so far: it changes with every new [`share`](Self::share).
    ///
    /// # Cost
    ///
    /// One load of a line that is rarely written.
    #[inline]
    pub fn epoch(&self) -> u64 {
        // Relaxed: the share itself is read under its lock.
        self.shared.epoch.load(Ordering::Relaxed)
    }

    /// Calls `listener` with the present share, and later with every new one, on a thread of this
    /// crate.
    pub fn on_change(&self, listener: impl Fn(&Share) + Send + Sync + 'static) {
        let mut listeners = self.shared.listeners.lock();
        listener(&self.share());
        listeners.push(Box::new(listener));
    }

    /// Waits until the share's epoch differs from `epoch`, or until `time` has passed. Returns the
    /// share then.
    ///
    /// # Blocking
    ///
    /// For `time` at most.
    pub fn wait_change(&self, epoch: u64, time: Duration) -> Share {
        let began = std::time::Instant::now();
        let mut share = self.shared.share.lock();
        while share.epoch == epoch {
            let left = time.saturating_sub(began.elapsed());
            if left.is_zero() {
                break;
            }
            let ns = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
            share = self.shared.changed.wait_for(share, ns);
        }
        share.clone()
    }

    /// Sets the number of threads that would find work now. With 0, other programs get the cores
    /// until the demand rises again.
    ///
    /// # Cost
    ///
    /// Nothing if the demand is unchanged; a change of the table if there are neighbours.
    pub fn set_demand(&self, threads: u32) {
        self.shared.set_demand(threads.min(self.shared.offer.max));
    }

    /// Publishes the settings that the program has decided itself: see [`OwnSettings`].
    ///
    /// # Cost
    ///
    /// An uncontended lock if they are unchanged; else a change of the table.
    pub fn set_own_settings(&self, own_settings: OwnSettings) {
        if !self.shared.table.is_of_another_process() {
            self.shared.set_own_settings(own_settings);
        }
    }

    /// Publishes the schedule of the program's last loop; `None` if it has run none.
    ///
    /// # Cost
    ///
    /// An uncontended lock and a store.
    pub fn set_last_loop(&self, last: Option<LastLoop>) {
        if !self.shared.table.is_of_another_process() {
            let location = self.shared.location.lock();
            let word = last.map_or(0, LastLoop::to_word);
            self.shared.last_loop.store(word, Ordering::Relaxed);
            live_word(&location.mapping, location.slot, LiveWord::LastLoop)
                .store(word, Ordering::Relaxed);
        }
    }

    /// Adds to the items that the program has completed, in a unit of its own. A coordinator
    /// measures by them how fast the program is on how many cores.
    pub fn report(&self, items: u64) {
        if !self.shared.table.is_of_another_process() {
            let location = self.shared.location();
            live_word(&location.mapping, location.slot, LiveWord::Progress)
                .fetch_add(items, Ordering::Relaxed);
        }
    }

    /// Leaves: removes the row, so that the other programs get its cores. The share keeps its last
    /// value. Dropping the member leaves, too.
    ///
    /// # Cost
    ///
    /// A change of the table, once.
    pub fn leave(&self) {
        if !self.shared.table.is_of_another_process() && !self.shared.is_leaving() {
            self.shared.leave();
        }
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.shared.table
    }

    /// The program that the row is for.
    pub fn program(&self) -> ProcessId {
        self.shared.program
    }
}

/// Members of this process. Those of pools that are never dropped leave when the process ends.
static MEMBERS: Mutex<Vec<Weak<MemberState>>> = Mutex::new(Vec::new());

fn register_for_exit(shared: &Arc<MemberState>) {
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| sys::at_exit(leave_all));
    let mut members = MEMBERS.lock();
    members.retain(|member| member.strong_count() > 0);
    members.push(Arc::downgrade(shared));
}

extern "C" fn leave_all() {
    // If the lock is held, a thread joins now, or did so at the time of a fork. Then the other
    // programs find out that this process has ended.
    let Some(members) = MEMBERS.try_lock() else { return };
    for member in members.iter().filter_map(Weak::upgrade) {
        if !member.table.is_of_another_process() && !member.is_leaving() {
            member.leave();
        }
        // Its threads are still running.
        std::mem::forget(member);
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if self.shared.table.is_of_another_process() {
            // The row and the threads are the parent's.
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
            .field("name", &self.shared.offer.name)
            .field("program", &self.shared.program)
            .field("share", &self.share())
            .finish_non_exhaustive()
    }
}

/// The present time, but never the same one twice in a process.
fn joined_ns() -> u64 {
    static LAST: Mutex<u64> = Mutex::new(0);
    let mut last = LAST.lock();
    *last = sys::now_ns().max(*last + 1);
    *last
}

impl MemberState {
    fn new(table: &Table, offer: Offer) -> Result<Self, Error> {
        let own_process = table.process();
        let program = offer.on_behalf_of.unwrap_or(own_process);
        let watchdog = (program != own_process).then_some(own_process);
        let interrupt = EventFd::new()
            .map_err(|error| Error::system("watch programs in", table.path(), error))?;
        Ok(Self {
            location: Mutex::new(RowLocation { mapping: table.mapping(), slot: 0 }),
            demand: AtomicU64::new(u64::from(offer.demand)),
            own_settings: Mutex::new(offer.own_settings.clone()),
            last_loop: AtomicU64::new(0),
            epoch: AtomicU64::new(0),
            share: Mutex::new(Share::whole(&offer)),
            changed: Condvar::new(),
            listeners: Mutex::new(Vec::new()),
            watched: Mutex::new(Vec::new()),
            leaving: AtomicBool::new(false),
            marked_stopped: AtomicBool::new(false),
            checks_stops: AtomicBool::new(false),
            table: table.clone(),
            joined_ns: joined_ns(),
            offer,
            program,
            watchdog,
            interrupt,
        })
    }

    fn location(&self) -> RowLocation {
        self.location.lock().clone()
    }

    fn is_leaving(&self) -> bool {
        // Acquire: the futex word changes after the flag was set; nothing else is read.
        self.leaving.load(Ordering::Acquire)
    }

    /// Takes a row.
    fn take_row(&self) -> Result<(), Error> {
        if self.watchdog.is_some() && !self.program.is_alive() {
            return Err(Error::Gone);
        }
        let mut slot = 0;
        self.table.change(Reason::Arrived, |state, mapping| {
            // The row exists if it was unreadable only for a moment, or if an older copy is in
            // force again.
            let row = match state.rows.iter().find(|row| self.is_own(row)) {
                Some(row) => row.clone(),
                None => self.new_row(state.free_slot().ok_or(Error::Full)?, state),
            };
            slot = row.slot;
            live_word(mapping, slot, LiveWord::Demand)
                .store(self.demand.load(Ordering::Relaxed), Ordering::Relaxed);
            live_word(mapping, slot, LiveWord::Progress).store(0, Ordering::Relaxed);
            // An earlier program of this slot may have left a value.
            live_word(mapping, slot, LiveWord::LastLoop).store(0, Ordering::Relaxed);
            state.insert(row.clone());
            Ok(Change { subject: Some(row), wakes_all: true })
        })?;
        let mut location = self.location.lock();
        *location = RowLocation { mapping: self.table.mapping(), slot };
        // Under the lock, so that it is no older than the program's last report.
        let last = self.last_loop.load(Ordering::Relaxed);
        live_word(&location.mapping, slot, LiveWord::LastLoop).store(last, Ordering::Relaxed);
        Ok(())
    }

    fn is_own(&self, row: &Row) -> bool {
        (row.program, row.watchdog, row.joined_ns) == (self.program, self.watchdog, self.joined_ns)
    }

    fn new_row(&self, slot: u32, state: &TableState) -> Row {
        let Offer { name, min, max, weight, .. } = self.offer;
        let share = self.share.lock().clone();
        Row {
            slot,
            program: self.program,
            watchdog: self.watchdog,
            name,
            min,
            max,
            weight,
            mask: self.offer.mask.clone(),
            own_settings: self.own_settings.lock().clone(),
            grant: if share.epoch == 0 { Default::default() } else { share.grant() },
            schedule: None,
            epoch: 0,
            joined_ns: self.joined_ns,
            demand: 0,
            stopped: false,
            progress: 0,
            last_loop: None,
            curve: state.remembered_curve(name),
            ask: None,
            peers: [Peer::default(); PEERS],
        }
    }

    fn listen(&self) {
        let mut has_rejoined = false;
        while !self.is_leaving() {
            let RowLocation { mapping, slot } = self.location();
            let word = live_word(&mapping, slot, LiveWord::Futex);
            let seen = word.load(Ordering::Acquire); // C3
            if !(is_current(self.table.path(), &mapping) && self.follow_row()) {
                // A program that damages the table again and again causes no busy loop here (M6).
                if has_rejoined {
                    self.pause();
                }
                self.rejoin();
                has_rejoined = true;
                continue;
            }
            has_rejoined = false;
            if !self.is_leaving() {
                sys::wait(word, seen as u32, CHECK_MS);
            }
        }
    }

    /// Reads and applies the row. Returns whether it exists.
    fn follow_row(&self) -> bool {
        self.read_row(true)
    }

    /// Reads and applies the row. With `takes_back`, it first corrects a row that says that this
    /// program is stopped.
    fn read_row(&self, takes_back: bool) -> bool {
        let RowLocation { mapping, slot } = self.location();
        let Some(state) = read(&mapping) else { return false };
        let Some(row) = self.own_row(slot, &state) else { return false };
        let is_wrong = takes_back && row.stopped && self.watchdog.is_none();
        if is_wrong && self.write_stopped(row, false).is_ok() {
            // A program that reads this runs (M4). While it was stopped, it had no share.
            return self.read_row(false);
        }
        self.apply_row(&state, row);
        true
    }

    fn own_row<'s>(&self, slot: u32, state: &'s TableState) -> Option<&'s Row> {
        state.find(slot, self.program).filter(|row| self.is_own(row))
    }

    fn apply_row(&self, state: &TableState, row: &Row) {
        self.marked_stopped.store(row.stopped, Ordering::Relaxed);
        if self.offer.believes(row) {
            self.take_share(row, state);
        }
        self.choose_watched(state, row.slot);
        self.update_stop_checks();
        let matters = state.rows.len() > 1
            || u64::from(row.grant.threads) < self.demand.load(Ordering::Relaxed);
        if let Some(reason) = self.unpublished(row).filter(|_| matters) {
            // If the table cannot be written now, the next look at the row tries again.
            let _ = self.publish(reason, |row| self.unpublished(row).is_some());
        }
    }

    /// Whether the shares were computed from another demand or other settings than the present
    /// ones, and which of the two differs (M5).
    fn unpublished(&self, row: &Row) -> Option<Reason> {
        // Relaxed: a later change of them looks for neighbours under the lock of the share, and
        // this thread has taken that lock since it saw the neighbours.
        if u64::from(row.demand) != self.demand.load(Ordering::Relaxed) {
            return Some(Reason::Demand);
        }
        (row.own_settings != *self.own_settings.lock()).then_some(Reason::OwnSettings)
    }

    /// Has the shares computed from the present demand and settings, if `is_news` holds for the
    /// row.
    fn publish(&self, reason: Reason, is_news: impl FnOnce(&Row) -> bool) -> Result<(), Error> {
        let location = self.location();
        self.table.change(reason, |state, mapping| {
            let is_here = std::ptr::eq(mapping, &*location.mapping);
            let row = state.find_mut(location.slot, self.program);
            let row = row.filter(|row| is_here && self.is_own(row));
            let Some(row) = row else { return Ok(Change { subject: None, wakes_all: false }) };
            if !is_news(row) {
                return Err(Error::Gone);
            }
            row.own_settings = self.own_settings.lock().clone();
            self.write_demand(mapping, location.slot);
            Ok(Change { subject: Some(row.clone()), wakes_all: false })
        })
    }

    /// Writes the latest demand into the live line, whichever threads write at the same time.
    fn write_demand(&self, mapping: &Mapping, slot: u32) {
        let shown = live_word(mapping, slot, LiveWord::Demand);
        loop {
            let demand = self.demand.load(Ordering::Relaxed);
            // AcqRel: a thread that writes after another one sees the demand that the other one
            // read. So it finds out here if its own value is older.
            shown.swap(demand, Ordering::AcqRel);
            if self.demand.load(Ordering::Relaxed) == demand {
                return;
            }
        }
    }

    fn set_own_settings(&self, own_settings: OwnSettings) {
        let before = std::mem::replace(&mut *self.own_settings.lock(), own_settings.clone());
        if before != own_settings {
            // If the table cannot be written now, the next look at the row tries again.
            let _ = self.publish(Reason::OwnSettings, |row| row.own_settings != own_settings);
        }
    }

    fn take_share(&self, row: &Row, state: &TableState) {
        let neighbours = state.rows.len() - 1;
        let asked = row.ask.as_ref().is_some_and(|ask| state.policy.goes_by(ask));
        let listeners = self.listeners.lock();
        let mut share = self.share.lock();
        let epoch = share.epoch + 1;
        let (threads, cores) = (row.grant.threads, row.grant.cores.clone());
        let new = Share { threads, cores, schedule: row.schedule, epoch, neighbours, asked };
        if (Share { epoch, ..share.clone() }) == new && share.epoch > 0 {
            return;
        }
        share.clone_from(&new);
        self.epoch.store(epoch, Ordering::Relaxed);
        drop(share);
        self.changed.notify_all();
        listeners.iter().for_each(|listener| listener(&new));
    }

    /// Adds the row again, because it is missing or the file is no longer the table (M3).
    fn rejoin(&self) {
        if self.is_leaving() || self.take_row().is_err() {
            self.pause();
        }
    }

    /// Waits for [`CHECK_MS`], or until the member leaves.
    fn pause(&self) {
        let guard = self.share.lock();
        if !self.is_leaving() {
            drop(self.changed.wait_for(guard, CHECK_MS * 1_000_000));
        }
    }

    fn set_demand(&self, threads: u32) {
        let before = self.demand.swap(u64::from(threads), Ordering::Relaxed);
        if before == u64::from(threads) || self.table.is_of_another_process() {
            return;
        }
        let RowLocation { mapping, slot } = self.location();
        self.write_demand(&mapping, slot);
        // Alone, a program publishes its demand only if it still has fewer threads than it could
        // use. The listener publishes it for neighbours that this thread has not seen yet (M5).
        let has_all = {
            let share = self.share.lock();
            share.neighbours == 0 && share.threads >= threads
        };
        if !has_all {
            let _ = self.publish(Reason::Demand, |_| true);
        }
        self.update_stop_checks();
    }

    fn leave(&self) {
        self.leaving.store(true, Ordering::Release);
        let RowLocation { mapping, slot } = self.location();
        // If the row cannot be removed now, another program removes it once this process has ended.
        let _ = self.table.change(Reason::Left, |state, _| {
            let is_own = self.own_row(slot, state).is_some();
            let subject = is_own.then(|| state.remove(slot, self.program)).flatten();
            Ok(Change { subject, wakes_all: true })
        });
        live_word(&mapping, slot, LiveWord::Futex).fetch_add(1, Ordering::AcqRel);
        sys::wake(live_word(&mapping, slot, LiveWord::Futex));
        self.interrupt.signal();
        drop(self.share.lock());
        self.changed.notify_all();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
