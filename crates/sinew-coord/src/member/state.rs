//! The state of a member, and its listener.
//!
//! M1 to M6 are explained in [`member`](super).

use std::sync::Arc;

use sinew_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sinew_sync::lock::{Condvar, Mutex};

use crate::copies::{LiveWord, live_word, read};
use crate::decision::Reason;
use crate::error::Error;
use crate::offer::{Offer, Share};
use crate::process::ProcessId;
use crate::row::{OwnSettings, PEERS, Peer, Row};
use crate::sys::{self, EventFd, Mapping};
use crate::table::{Change, Table, is_current};
use crate::table_state::TableState;

/// Time between two checks of the file's name when no wake-up arrives.
const CHECK_MS: u64 = 2_000;

type Listener = Box<dyn Fn(&Share) + Send + Sync>;

pub(super) struct MemberState {
    pub(super) table: Table,
    pub(super) offer: Offer,
    pub(super) program: ProcessId,
    pub(super) watchdog: Option<ProcessId>,
    /// The time at which this member joined; distinct for each member of this process. With
    /// `program` it identifies the member's row, in any slot and after any number of rejoins.
    pub(super) joined_ns: u64,
    pub(super) location: Mutex<RowLocation>,
    pub(super) demand: AtomicU64,
    pub(super) own_settings: Mutex<OwnSettings>,
    /// A copy of the word in the live line.
    pub(super) last_loop: AtomicU64,
    /// The epoch of `share`, so that callers can see a change without a lock.
    pub(super) epoch: AtomicU64,
    pub(super) share: Mutex<Share>,
    pub(super) changed: Condvar,
    pub(super) listeners: Mutex<Vec<Listener>>,
    pub(super) watched: Mutex<Vec<ProcessId>>,
    pub(super) interrupt: EventFd,
    pub(super) leaving: AtomicBool,
    /// Whether the row says that its program is stopped.
    pub(super) marked_stopped: AtomicBool,
    /// Whether the watcher checks for stops: see [`MemberState::needs_stop_checks`].
    pub(super) checks_stops: AtomicBool,
}

/// The file and the slot of the row.
#[derive(Clone)]
pub(super) struct RowLocation {
    pub(super) mapping: Arc<Mapping>,
    pub(super) slot: u32,
}

/// The present time, but never the same one twice in a process.
fn joined_ns() -> u64 {
    static LAST: Mutex<u64> = Mutex::new(0);
    let mut last = LAST.lock();
    *last = sys::now_ns().max(*last + 1);
    *last
}

impl MemberState {
    pub(super) fn new(table: &Table, offer: Offer) -> Result<Self, Error> {
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

    pub(super) fn location(&self) -> RowLocation {
        self.location.lock().clone()
    }

    pub(super) fn is_leaving(&self) -> bool {
        // Acquire: the futex word changes after the flag was set; nothing else is read.
        self.leaving.load(Ordering::Acquire)
    }

    /// Takes a row.
    pub(super) fn take_row(&self) -> Result<(), Error> {
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
            // An earlier program of this slot may have left values.
            for word in [LiveWord::Progress, LiveWord::Waited, LiveWord::Idled, LiveWord::LastLoop]
            {
                live_word(mapping, slot, word).store(0, Ordering::Relaxed);
            }
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
            assigned: 0,
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
            waited_ns: 0,
            idled_ns: 0,
            last_loop: None,
            curve: state.remembered_curve(name),
            request: None,
            peers: [Peer::default(); PEERS],
        }
    }

    pub(super) fn listen(&self) {
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
    pub(super) fn follow_row(&self) -> bool {
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

    pub(super) fn set_own_settings(&self, own_settings: &OwnSettings) {
        let before = std::mem::replace(&mut *self.own_settings.lock(), own_settings.clone());
        if before != *own_settings {
            // If the table cannot be written now, the next look at the row tries again.
            let _ = self.publish(Reason::OwnSettings, |row| row.own_settings != *own_settings);
        }
    }

    fn take_share(&self, row: &Row, state: &TableState) {
        let listeners = self.listeners.lock();
        let mut share = self.share.lock();
        let epoch = share.epoch + 1;
        let new = Share { epoch, ..Share::of(row, state) };
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
    pub(super) fn rejoin(&self) {
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

    pub(super) fn set_demand(&self, threads: u32) {
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

    pub(super) fn leave(&self) {
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
